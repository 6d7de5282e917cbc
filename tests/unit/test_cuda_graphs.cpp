// CUDA graphs of loops on the fake driver: capture, launch and destruction, with every call made to fail, memory that
// graphs keep, and work of other threads, which is not captured. tests/ops/test_recorded_loops.cpp has the values.
#include <croton/croton.hpp>
#include <croton/grad.hpp>
#include <croton/scan.hpp>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/loops/repeated_work.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::runtime::recording_counts;
using ct::test::error_of;
using ct::test::FakeGpus;
using ct::test::values;
namespace result = ct::runtime::cuda::result;

namespace {

constexpr std::int64_t units = 520;  // a library computes its products

/// A recurrent layer on cuda0 of which only the last state is an output: its memory does not move.
struct Layer {
  ct::SharedVariable u =
      ct::shared(Array::uniform(DType::float32, {units, units}, 1, -0.1, 0.1), {.name = "u", .target = "cuda0"});
  ct::SharedVariable count = ct::shared(Array(0.f), {.name = "count", .target = "cuda0"});
  ct::Function f;
  std::uint64_t seed = 0;

  explicit Layer(std::int64_t steps = 4) {
    const auto h0 = ct::variable({DType::float32, {ct::unknown_size, units}}, "h0");
    const auto last =
        ct::scan([&](const std::vector<ct::Variable>& in) { return ct::Step(ct::tanh(ct::dot(in[0], u))); }, {}, {h0},
                 {}, {.n_steps = steps})
            .outputs[0][-1];
    f = ct::function({h0}, last, {.updates = {{count, count + 1}}});
  }
  /// Whether a call returns the right result.
  bool run() {
    const Array h0 = Array::uniform(DType::float32, {3, units}, ++seed, -1, 1);
    const Array got = f(h0).only();
    const Array matrix = u.get_value();
    const float* const weights = matrix.data<float>().data();
    Array wanted = h0;
    for (int step = 0; step < 4; ++step) {
      Array next = Array::zeros(DType::float32, {3, units});
      for (std::int64_t i = 0; i < 3; ++i) {
        const float* const row = wanted.data<float>().data() + i * units;
        for (std::int64_t j = 0; j < units; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < units; ++k) sum += double{row[k]} * weights[k * units + j];
          next.at<float>(i, j) = static_cast<float>(std::tanh(sum));
        }
      }
      wanted = next;
    }
    return got.all_close(wanted, 1e-4, 1e-5);
  }
};

struct Graphs {
  long long begun, made, launched, ended, live;
  bool operator==(const Graphs&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Graphs& g) {
  return out << g.begun << " begun, " << g.made << " made, " << g.launched << " launched, " << g.ended << " ended, "
             << g.live << " live";
}
Graphs graphs_of(FakeGpus& gpus) {
  return {gpus.cuda().calls("cuStreamBeginCapture_v2"), gpus.cuda().calls("cuGraphInstantiateWithFlags"),
          gpus.cuda().calls("cuGraphLaunch"), gpus.cuda().calls("cuGraphExecDestroy"),
          gpus.cuda().live("graphs") + gpus.cuda().live("executable graphs")};
}

}  // namespace

TEST_CASE("a loop is captured once, launched with every call, and destroyed with the function", "[cuda]") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Layer layer;
    CHECK_THAT(layer.f.plan(), contains("a step at a time, as a CUDA graph: the product of test_cuda_graphs.cpp:"));
    CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{0, 0, 0, 0, 0});
    const long long launches = gpus.cuda().calls("cuLaunchKernel"), products = gpus.cuda().calls("cublasLtMatmul");
    CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{1, 1, 1, 0, 1});
    const long long all = gpus.cuda().calls("cuLaunchKernel");
    CHECK(gpus.cuda().calls("cublasLtMatmul") == 2 * products);
    for (int call = 0; call < 4; ++call) CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{1, 1, 5, 0, 1});
    CHECK(gpus.cuda().calls("cublasLtMatmul") == 2 * products);
    // In addition to the loop, a call only has the kernel that counts.
    CHECK(gpus.cuda().calls("cuLaunchKernel") - all < 4 * (all - launches));
    CHECK(layer.f.counts().products == static_cast<std::uint64_t>(6 * products));
    CHECK(values(layer.count.get_value()) == std::vector<double>{6});
  }
  CHECK(graphs_of(gpus) == Graphs{1, 1, 5, 1, 0});
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a loop whose addresses change with every call is never captured", "[cuda]") {
  FakeGpus gpus;
  Layer layer;
  for (std::uint64_t call = 0; call < 6; ++call) {
    layer.u.set_value(Array::uniform(DType::float32, {units, units}, call, -0.1, 0.1));  // at a new address each time
    CHECK(layer.run());
  }
  CHECK(graphs_of(gpus) == Graphs{0, 0, 0, 0, 0});
  // Now it has a fixed address, and is recorded.
  CHECK(layer.run());
  CHECK(layer.run());
  CHECK(graphs_of(gpus) == Graphs{1, 1, 2, 0, 1});
  // Recordings that are not used again are removed.
  for (std::uint64_t call = 0; call < 6; ++call) {
    layer.u.set_value(Array::uniform(DType::float32, {units, units}, call, -0.1, 0.1));
    CHECK(layer.run());
  }
  CHECK(graphs_of(gpus) == Graphs{1, 1, 2, 1, 0});
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("recordings that are not used again do not go on", "[cuda]") {
  FakeGpus gpus;
  Layer layer;
  for (std::uint64_t call = 0; call < 12; ++call) {
    layer.u.set_value(Array::uniform(DType::float32, {units, units}, call, -0.1, 0.1));
    CHECK(layer.run());
    CHECK(layer.run());  // twice for each address
  }
  CHECK(graphs_of(gpus).made == 5);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("work that cannot be captured runs as before", "[cuda]") {
  const auto entry = GENERATE(std::string("cuStreamBeginCapture_v2"), std::string("cuStreamEndCapture"),
                              std::string("cuGraphInstantiateWithFlags"), std::string("cuLaunchKernel"),
                              std::string("cublasLtMatmul"), std::string("cuStreamCreate"));
  const auto code = GENERATE(result::unknown, result::out_of_memory);
  const int delay = GENERATE(0, 2);
  CAPTURE(entry, code, delay);
  FakeGpus gpus({{"delay", delay}});
  {
    Layer layer;
    CHECK(layer.run());
    const long long before = gpus.cuda().live("streams");
    const auto failed = recording_counts().failed;
    // The second call of the capture fails: some of the graph exists. Nothing is launched before the loop.
    gpus.cuda().fail(entry, entry.starts_with("cuL") || entry.starts_with("cub") ? 2 : 1, code);
    CHECK(layer.run());
    CHECK(recording_counts().failed == failed + 1);
    CHECK(graphs_of(gpus).live == 0);
    CHECK(gpus.cuda().live("streams") == before);
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    CHECK(graphs_of(gpus).launched == 0);  // it is not tried again
    CHECK(values(layer.count.get_value()) == std::vector<double>{5});
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a first run that fails is not the one before a recording", "[cuda]") {
  FakeGpus gpus;
  {
    Layer layer;
    for (const char* entry : {"cuMemAllocFromPoolAsync", "cublasLtMatmul", "cuLaunchKernel"}) {
      gpus.cuda().fail(entry, 2, result::unknown);
      CHECK_THROWS_AS(layer.run(), ct::DeviceError);
    }
    CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{0, 0, 0, 0, 0});
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{1, 1, 3, 0, 1});
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a graph that the device has no memory to launch is done without", "[cuda]") {
  FakeGpus gpus;
  {
    Layer layer;
    CHECK(layer.run());
    gpus.cuda().fail("cuGraphLaunch", 1, result::out_of_memory);
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    CHECK(gpus.cuda().calls("cuGraphLaunch") == 1);
    CHECK(graphs_of(gpus).live == 0);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a launch of a graph that fails is the call's error, and changes nothing", "[cuda]") {
  FakeGpus gpus;
  {
    Layer layer;
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    gpus.cuda().fail("cuGraphLaunch", 1, result::unknown);
    CHECK_THAT(error_of<ct::DeviceError>([&] { layer.run(); }),
               contains("cuGraphLaunch failed on cuda0") && contains("test_cuda_graphs.cpp:"));
    CHECK(values(layer.count.get_value()) == std::vector<double>{3});
    CHECK(layer.run());
    gpus.cuda().fail("cuGraphLaunch", 1, result::illegal_address);
    CHECK_THAT(error_of<ct::DeviceError>([&] { layer.run(); }), contains("cuGraphLaunch"));
    CHECK_THAT(error_of<ct::DeviceError>([&] { layer.run(); }), contains("cannot be used any more in this process"));
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a graph keeps the memory that products work in", "[cuda]") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Layer layer;
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    // A product without terms: zeros are written to the memory for products, which must grow.
    const auto a = ct::matrix("a"), b = ct::matrix("b");
    const ct::Function empty = ct::function({a, b}, ct::dot(a, b));
    CHECK(empty(Array::zeros(DType::float32, {3, 0}), Array::zeros(DType::float32, {0, 9000})).only().size() == 27000);
    for (int call = 0; call < 3; ++call) CHECK(layer.run());
    CHECK(graphs_of(gpus) == Graphs{1, 1, 5, 0, 1});
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("other threads' work is in no graph", "[cuda]") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  {
    Layer layer;
    CHECK(layer.run());
    std::vector<int> right(3, 0);
    std::vector<std::thread> threads;
    for (int& count : right) {
      threads.emplace_back([&] {
        const ct::change_flags flags(gpus.flags());
        Layer own;
        for (int call = 0; call < 4; ++call) count += own.run() ? 1 : 0;
      });
    }
    for (int call = 0; call < 4; ++call) CHECK(layer.run());
    for (std::thread& thread : threads) thread.join();
    CHECK(right == std::vector<int>{4, 4, 4});
  }
  CHECK(graphs_of(gpus).live == 0);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("memory and copies of the host have no place in a recording", "[cuda]") {
  const ct::test::Machine machine(GENERATE(from_range(ct::test::Machine::gpus())));
  ct::runtime::Device& device = ct::test::device_called(machine.first);
  const auto memory = device.allocate(64);
  std::vector<std::byte> host(64);
  const auto refused = [&](const std::function<void()>& work) {
    return error_of<ct::InternalError>([&] { device.record(work); });
  };
  CHECK_THAT(refused([&] { device.allocate(8); }), contains("memory was requested while work of cuda0 is recorded"));
  CHECK_THAT(refused([&] { device.copy_in(memory.get(), host.data(), 64); }), contains("a copy from the host"));
  CHECK_THAT(refused([&] { device.copy_out(host.data(), memory.get(), 64); }), contains("a copy to the host"));
  CHECK_THAT(refused([&] { device.record([] {}); }), contains("recorded while work is recorded"));
  // The capture has ended nevertheless.
  device.copy_in(memory.get(), host.data(), 64);
  device.copy_out(host.data(), memory.get(), 64);
  const auto recording = device.record([] {});
  REQUIRE(recording);
  CHECK(recording->replay());
}

TEST_CASE("a device without kernels of its own records nothing", "[cuda]") {
  const ct::test::Machine machine(ct::test::Machine::Kind::logical);
  bool ran = false;
  CHECK_FALSE(ct::test::device_called(machine.first).record([&] { ran = true; }));
  CHECK_FALSE(ran);
}
