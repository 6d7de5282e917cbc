// Launches of texts with dynamic shared memory, on simulated GPUs and on those of the fake driver: beyond the 48 KiB
// that need no permission, recorded, and beyond the limit of the device.
#include <croton/error.hpp>

#include <array>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "catch.hpp"
#include "codegen/emit.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/device/device.hpp"

using namespace croton;
using croton::test::Machine;

namespace {

constexpr std::int64_t count = 16'000;
constexpr std::size_t shared_bytes = count * sizeof(float);  // 64,000

// Reverses an array through shared memory, in one block.
codegen::Text reversing_text() {
  codegen::Text text;
  text.name = "pointwise_reversed";
  text.code = R"(
struct Reversed { float* x; };
CT_KERNEL void pointwise_reversed(const Reversed p, ct::index n) {
  float* const tile = ct::dynamic_shared<float>();
  for (ct::index i = ct::thread_index(); i < n; i += ct::block_size()) tile[i] = p.x[i];
  ct::barrier();
  for (ct::index i = ct::thread_index(); i < n; i += ct::block_size()) p.x[i] = tile[n - 1 - i];
}
)";
  text.digest = base::to_hex(base::hash128(text.code));
  return text;
}

struct Reversing {
  explicit Reversing(runtime::Device& on) : device(on), x(on.allocate(shared_bytes)) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    device.copy_in(x.get(), values.data(), shared_bytes);
  }
  void launch(std::size_t shared) {
    std::array<std::uint64_t, 1> parameters{reinterpret_cast<std::uint64_t>(x.get())};
    const std::array<runtime::Operand, 1> operands{runtime::Operand{x.get(), shared_bytes, true, true}};
    device.launch({.text = &text,
                   .parameters = parameters,
                   .items = count,
                   .blocks = 1,
                   .threads = 64,
                   .shared_bytes = shared,
                   .operands = operands});
  }
  std::vector<float> values() {
    std::vector<float> all(count);
    device.copy_out(all.data(), x.get(), shared_bytes);
    return all;
  }

  runtime::Device& device;
  codegen::Text text = reversing_text();
  std::shared_ptr<void> x;
};

}  // namespace

TEST_CASE("a launch may have more dynamic shared memory than needs no permission", "[devices]") {
  for (const Machine::Kind kind : Machine::gpus()) {
    Machine machine(kind);
    Reversing work(test::device_called(machine.first));
    work.device.prepare(work.text, 64, 1000);  // a later launch may need more
    work.device.prepare(work.text, 64, shared_bytes);
    work.launch(shared_bytes);
    const std::vector<float> once = work.values();
    for (std::size_t i = 0; i < once.size(); ++i) REQUIRE(once[i] == static_cast<float>(once.size() - 1 - i));
    const auto recording = work.device.record([&] { work.launch(shared_bytes); });
    REQUIRE(recording != nullptr);
    CHECK(work.values() == once);
    CHECK(recording->replay());
    CHECK(work.values() == std::vector<float>(once.rbegin(), once.rend()));
  }
}

TEST_CASE("dynamic shared memory counts for cooperative launches", "[devices]") {
  for (const Machine::Kind kind : Machine::gpus()) {
    Machine machine(kind);
    Reversing work(test::device_called(machine.first));
    work.device.prepare(work.text, 64, 200'000);
    const int without = work.device.max_cooperative_blocks(work.text, 64, 0);
    const int with = work.device.max_cooperative_blocks(work.text, 64, 200'000);
    CHECK(with > 0);
    CHECK(with < without);
    CHECK(with == work.device.facts().multiprocessors);
  }
}

TEST_CASE("more dynamic shared memory than a block has is refused, with both numbers", "[devices]") {
  for (const Machine::Kind kind : Machine::gpus()) {
    Machine machine(kind);
    Reversing work(test::device_called(machine.first));
    try {
      work.device.prepare(work.text, 64, 232'449);
      FAIL("it was accepted");
    } catch (const DeviceError& error) {
      CHECK_THAT(error.what(), contains("232449 bytes of") && contains("has 232448"));
    }
  }
}

TEST_CASE("a launch with less dynamic shared memory than the kernel uses is reported", "[devices]") {
  const change_flags flags("cuda_simulator=1");
  Reversing work(test::device_called("cuda0"));
  work.device.prepare(work.text, 64, shared_bytes);
  try {
    work.launch(shared_bytes - 4);
    FAIL("nothing was reported");
  } catch (const DeviceError& error) {
    CHECK_THAT(error.what(), contains("out-of-bounds write of 4 bytes"));
    CHECK_THAT(error.what(), contains("the dynamic shared memory of 63996 bytes"));
    CHECK_THAT(error.what(), contains("(cuda_simulator_seed="));
  }
}

TEST_CASE("simulated GPUs have the limits of their architecture", "[devices]") {
  const change_flags flags("cuda_simulator=1,cuda_simulator_architecture=sm_75");
  runtime::Device& device = test::device_called("cuda0");
  CHECK(device.architecture() == "sm_75");
  Reversing work(device);
  CHECK_NOTHROW(work.device.prepare(work.text, 64, 65'536));
  CHECK_THROWS_AS(work.device.prepare(work.text, 64, 65'537), DeviceError);
  CHECK(work.device.max_cooperative_blocks(work.text, 1024, 0) == device.facts().multiprocessors);
  const change_flags newer("cuda_simulator_architecture=sm_90");
  CHECK(test::device_called("cuda0").architecture() == "sm_90");
  CHECK(&test::device_called("cuda0") != &device);
}
