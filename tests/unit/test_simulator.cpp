// The CUDA simulator: kernels give the right results for every order of threads, and each kind of error is found, named
// and stopped before it has effects.
#include <algorithm>
#include <array>
#include <cmath>
#include <croton/error.hpp>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "codegen/embedded.hpp"
#include "contains.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/launch.hpp"
#include "runtime/simulator/memory.hpp"
#include "runtime/simulator/shadow.hpp"

using namespace croton::runtime::simulator;
using croton::DeviceError;

namespace {

std::string template_file(const std::string& file) { return std::string(croton::codegen::embedded_file(file)); }

// The texts below are CUDA: NVRTC compiles each of them after device_cuda.cuh.
std::string with_header(const std::string& text) { return template_file("common/device_simulator.hpp") + text; }

Program build(const std::string& text, const std::string& kernel, bool checked) {
  const std::vector<std::string> kernels = {kernel};
  const std::string whole = with_header(text);
  return Program(compile(whole, kernels, checked), whole);
}

// An array of the simulated device.
template <typename T>
class Buffer {
 public:
  Buffer(DeviceMemory& memory, const std::vector<T>& values)
      : memory_(memory), size_(values.size()), address_(static_cast<T*>(memory.allocate(size_ * sizeof(T)))) {
    memory_.copy_in(address_, std::as_bytes(std::span(values)));
  }
  ~Buffer() { memory_.free(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::vector<T> values() const {
    std::vector<T> all(size_);
    memory_.copy_out(std::as_writable_bytes(std::span(all)), address_);
    return all;
  }
  void* argument() { return &address_; }
  T* address() const { return address_; }

 private:
  DeviceMemory& memory_;
  std::size_t size_;
  T* address_;
};

template <typename... Arguments>
std::vector<void*> pointers(Arguments&... arguments) {
  return {static_cast<void*>(&arguments)...};
}

std::string message_of(const Program& program, const std::string& kernel, const LaunchShape& shape,
                       std::span<void* const> arguments, const DeviceMemory& memory, std::uint64_t seed = 0) {
  try {
    launch(program, kernel, shape, arguments, memory, seed);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<float> some_numbers(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::sin(static_cast<float>(i) * 0.37f) * 3.0f;
  return numbers;
}

const std::string sum_text = R"(
CT_KERNEL void CT_LAUNCH_BOUNDS(256) sum(const float* __restrict__ x, double* __restrict__ y, long long n) {
  CT_SHARED double part[8];
  CT_SHARED unsigned int seen;
  if (ct::thread_index() == 0) seen = 0u;
  double total = 0.0;
  const long long step = (long long)ct::block_size() * ct::block_count();
  for (long long i = (long long)ct::block_index() * ct::block_size() + ct::thread_index(); i < n; i += step) total += double(x[i]);
  for (unsigned int mask = 16u; mask > 0u; mask >>= 1) total += ct::shuffle_xor(total, mask);
  if (ct::lane_index() == 0) part[ct::warp_index()] = total;
  ct::barrier();
  ct::atomic_add(&seen, 1u);
  if (ct::warp_index() == 0) {
    double other = ct::lane_index() < 8 ? part[ct::lane_index()] : 0.0;
    for (unsigned int delta = 16u; delta > 0u; delta >>= 1) other += ct::shuffle_down(other, delta);
    if (ct::lane_index() == 0) part[0] = other;
  }
  ct::barrier();
  if (ct::thread_index() == 7) y[ct::block_index()] = part[0] + (seen == ct::block_size() ? 0.0 : 1e9);
})";

const std::string softmax_text = R"(
struct Row { const float* x; float* y; int columns; int stride; long long unused; };
CT_KERNEL void softmax(Row row) {
  float* values = ct::dynamic_shared<float>();
  CT_SHARED float results[32];
  const float* x = row.x + (long long)ct::block_index() * row.stride;
  float* y = row.y + (long long)ct::block_index() * row.columns;
  float highest = -1e30f;
  for (int i = ct::thread_index(); i < row.columns; i += ct::block_size()) {
    values[i] = x[i];
    highest = values[i] > highest ? values[i] : highest;
  }
  for (unsigned int mask = 16u; mask > 0u; mask >>= 1) {
    const float other = ct::shuffle_xor(highest, mask);
    highest = other > highest ? other : highest;
  }
  if (ct::lane_index() == 0) results[ct::warp_index()] = highest;
  ct::barrier();
  for (unsigned int w = 0; w < ct::block_size() / 32u; ++w) highest = results[w] > highest ? results[w] : highest;
  ct::barrier();
  float total = 0.0f;
  for (int i = ct::thread_index(); i < row.columns; i += ct::block_size()) {
    const float t = values[i] - highest;  // exp(t) as (1 + t / 1024) ^ 1024: good enough to compare with the same on the host
    float power = ct::fma(t, 0.0009765625f, 1.0f);
    for (int k = 0; k < 10; ++k) power *= power;
    values[i] = power;
    total += power;
  }
  for (unsigned int mask = 16u; mask > 0u; mask >>= 1) total += ct::shuffle_xor(total, mask);
  if (ct::lane_index() == 0) results[ct::warp_index()] = total;
  ct::barrier();
  total = 0.0f;
  for (unsigned int w = 0; w < ct::block_size() / 32u; ++w) total += results[w];
  for (int i = ct::thread_index(); i < row.columns; i += ct::block_size()) y[i] = values[i] / total;
})";

const std::string scale_text = R"(
CT_KERNEL void scale(float factor, const float* x, float* y, int n) {
  const int i = ct::block_index() * ct::block_size() + ct::thread_index();
  if (i < n) y[i] = factor * x[i];
})";

}  // namespace

TEST_CASE("a kernel without barriers runs as a loop", "[simulator]") {
  for (const bool checked : {false, true}) {
    const Program program = build(scale_text, "scale", checked);
    CHECK_FALSE(program.waits());
    CHECK(program.is_checked() == checked);
    DeviceMemory memory;
    const std::vector<float> x = some_numbers(1000);
    Buffer<float> in(memory, x), out(memory, std::vector<float>(1000, 0.0f));
    float factor = 3.0f;
    int n = 1000;
    launch(program, "scale", {.blocks = 8, .threads = 128},
           std::vector<void*>{&factor, in.argument(), out.argument(), &n}, memory);
    const std::vector<float> y = out.values();
    for (std::size_t i = 0; i < 1000; ++i) REQUIRE(y[i] == 3.0f * x[i]);
  }
}

TEST_CASE("a reduction is right in every order of threads and blocks", "[simulator]") {
  DeviceMemory memory;
  const std::vector<float> x = some_numbers(5000);
  Buffer<float> in(memory, x);
  const double expected = std::accumulate(x.begin(), x.end(), 0.0);
  std::vector<double> first;
  for (const bool checked : {false, true}) {
    const Program program = build(sum_text, "sum", checked);
    CHECK(program.waits());
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Buffer<double> out(memory, std::vector<double>(3, 0.0));
      long long n = 5000;
      launch(program, "sum", {.blocks = 3, .threads = 256}, std::vector<void*>{in.argument(), out.argument(), &n},
             memory, seed);
      const std::vector<double> y = out.values();
      if (first.empty()) first = y;
      CHECK(y == first);  // bit for bit
      CHECK(y[0] + y[1] + y[2] == Approx(expected));
    }
  }
}

TEST_CASE("rows in dynamic shared memory, with the same bits as on the CPU", "[simulator]") {
  constexpr int rows = 7, columns = 100, threads = 64;
  DeviceMemory memory;
  const std::vector<float> x = some_numbers(rows * columns);
  Buffer<float> in(memory, x);
  std::vector<float> first;
  for (const bool checked : {false, true}) {
    const Program program = build(softmax_text, "softmax", checked);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Buffer<float> out(memory, std::vector<float>(rows * columns, 0.0f));
      struct {
        const float* x;
        float* y;
        int columns;
        int stride;
        long long unused;
      } row = {in.address(), out.address(), columns, columns, 0};
      launch(program, "softmax", {rows, threads, columns * sizeof(float)}, pointers(row), memory, seed);
      const std::vector<float> y = out.values();
      if (first.empty()) first = y;
      CHECK(y == first);
    }
  }
  for (int r = 0; r < rows; ++r) {
    const float* begin = x.data() + r * columns;
    const double highest = *std::max_element(begin, begin + columns);
    double total = 0;
    for (int i = 0; i < columns; ++i) total += std::exp(begin[i] - highest);
    for (int i = 0; i < columns; ++i) {
      CHECK(first[static_cast<std::size_t>(r * columns + i)] ==
            Approx(std::exp(begin[i] - highest) / total).epsilon(0.05).margin(1e-4));
    }
  }
}

TEST_CASE("the mathematics of kernels has the same bits as on the CPU", "[simulator]") {
  const std::string body = R"(
template <class T>
CT_DEVICE T mixture(T x, T y) {
  const T s = ct::sqrt(ct::abs(x)) * ct::exp(y) + ct::tanh(x * y) - ct::log(ct::abs(y) + T(0.25));
  return ct::fma(s, ct::rint(y), ct::floor(x) * ct::ceil(y) - ct::trunc(x)) / (x * x + y * y);
})";
  const std::string common = template_file("common/numeric.cuh") + template_file("common/math.cuh") + body;
  const std::string on_cpu = template_file("cpu/device_cpu.hpp") + common + R"(
extern "C" void all(const float* x, float* y, double* z, long n) {
  for (long i = 0; i + 1 < n; ++i) { y[i] = mixture(x[i], x[i + 1]); z[i] = mixture(double(x[i]), double(x[i + 1]) / 3.0); }
})";
  const std::string on_device = common + R"(
CT_KERNEL void all(const float* x, float* y, double* z, long long n) {
  const long long i = (long long)ct::block_index() * ct::block_size() + ct::thread_index();
  if (i + 1 < n) { y[i] = mixture(x[i], x[i + 1]); z[i] = mixture(double(x[i]), double(x[i + 1]) / 3.0); }
})";
  long long n = 2000;
  const std::vector<float> x = some_numbers(2000);
  std::vector<float> y(2000, 0.0f);
  std::vector<double> z(2000, 0.0);
  auto& compiler = croton::runtime::cpu::Compiler::instance();
  compiler.load(compiler.compile(on_cpu))
      ->get<void(const float*, float*, double*, long)>("all")(x.data(), y.data(), z.data(), 2000);
  CHECK(y[7] != 0.0f);
  for (const bool checked : {false, true}) {
    DeviceMemory memory;
    Buffer<float> in(memory, x), floats(memory, std::vector<float>(2000, 0.0f));
    Buffer<double> doubles(memory, std::vector<double>(2000, 0.0));
    launch(build(on_device, "all", checked), "all", {16, 128},
           std::vector<void*>{in.argument(), floats.argument(), doubles.argument(), &n}, memory);
    CHECK(std::memcmp(floats.values().data(), y.data(), 2000 * sizeof(float)) == 0);
    CHECK(std::memcmp(doubles.values().data(), z.data(), 2000 * sizeof(double)) == 0);
  }
}

TEST_CASE("votes and shuffles of every type", "[simulator]") {
  const std::string text = R"(
template <class T>
CT_DEVICE bool exchanges(T value) {
  const unsigned int lane = ct::lane_index();
  const T base = T(value - T(lane));
  return ct::shuffle_xor(value, 5u) == T(base + T(lane ^ 5u)) && ct::shuffle(value, 3u) == T(base + T(3)) &&
         ct::shuffle(value, lane + 1u) == T(base + T((lane + 1u) % 32u)) &&
         ct::shuffle_down(value, 4u) == T(base + T(lane < 28u ? lane + 4u : lane)) && ct::shuffle_down(value, 32u) == value;
}
CT_KERNEL void check(unsigned int* out) {
  const unsigned int lane = ct::lane_index();
  bool right = exchanges(float(lane) + 0.5f);
  right = exchanges(double(lane) + 0.25) && right;
  right = exchanges(int(lane) - 100) && right;
  right = exchanges(lane + 4000000000u) && right;
  right = exchanges((long long)lane - 1000000000000ll) && right;
  right = exchanges((unsigned long long)lane + 0xffffffffffff0000ull) && right;
  const unsigned int votes = ct::ballot(lane % 3u == 0u);
  const unsigned int all = ct::ballot(right);
  ct::memory_fence();
  ct::atomic_or(&out[0], 1u << ct::warp_index());
  if (lane == 0u) { out[1 + 2 * ct::warp_index()] = votes; out[2 + 2 * ct::warp_index()] = all; }
})";
  for (const bool checked : {false, true}) {
    const Program program = build(text, "check", checked);
    DeviceMemory memory;
    Buffer<unsigned> out(memory, std::vector<unsigned>(5, 0u));
    launch(program, "check", {.blocks = 1, .threads = 64}, std::vector<void*>{out.argument()}, memory);
    CHECK(out.values() == std::vector<unsigned>{3u, 0x49249249u, 0xffffffffu, 0x49249249u, 0xffffffffu});
  }
}

TEST_CASE("an access out of bounds is stopped before it happens", "[simulator]") {
  const std::string text = R"(
CT_KERNEL void beyond(float* x, int n) {
  const int i = ct::block_index() * ct::block_size() + ct::thread_index();
  if (i <= n)
    x[i] = 1.0f;
})";
  const Program program = build(text, "beyond", true);
  DeviceMemory memory;
  Buffer<float> x(memory, std::vector<float>(100, 0.0f));
  int n = 100;
  const std::string message =
      message_of(program, "beyond", {.blocks = 4, .threads = 32}, std::vector<void*>{x.argument(), &n}, memory);
  CHECK_THAT(message,
             contains("simulated kernel beyond stopped in block 3, thread 4: out-of-bounds write of 4 bytes at 0x"));
  CHECK_THAT(message, contains(": `x[i] = 1.0f;`; nearest is the allocation at 0x"));
  CHECK_THAT(message, contains("of 400 bytes, which ends 0 bytes before the address"));
  float after = 0;
  std::memcpy(&after, x.address() + 100, sizeof after);  // the rest of the page exists, but is not allocated
  CHECK(after == 0.0f);

  n = 99;
  CHECK(message_of(program, "beyond", {.blocks = 4, .threads = 32}, std::vector<void*>{x.argument(), &n}, memory) ==
        "no error");
}

TEST_CASE("reads and shared variables have bounds too", "[simulator]") {
  const std::string text = R"(
CT_KERNEL void outside(const float* x, float* y, int which) {
  CT_SHARED float first[8];
  CT_SHARED float second[8];
  float* dynamic = ct::dynamic_shared<float>();
  first[0] = 0.0f; second[0] = 0.0f;
  if (which == 0) y[0] = x[-1];
  if (which == 1) first[8 + which - 1] = 1.0f;
  if (which == 2) dynamic[2] = 1.0f;
  if (which == 3) y[0] = *(const float*)0;
  if (which == 4) { y[0] = first[0] + second[0]; dynamic[1] = 0.0f; }
})";
  const Program program = build(text, "outside", true);
  DeviceMemory memory;
  Buffer<float> x(memory, {1.0f}), y(memory, {2.0f});
  const auto outcome = [&](int which) {
    return message_of(program, "outside", {1, 1, 8}, std::vector<void*>{x.argument(), y.argument(), &which}, memory);
  };
  CHECK_THAT(outcome(0), contains("out-of-bounds read of 4 bytes"));
  CHECK_THAT(outcome(0), contains("of 4 bytes, which begins 4 bytes after the address"));
  CHECK_THAT(
      outcome(1),
      contains("nearest is the shared variable outside::first of 32 bytes, which ends 0 bytes before the address"));
  CHECK_THAT(outcome(2),
             contains("nearest is the dynamic shared memory of 8 bytes, which ends 0 bytes before the address"));
  CHECK_THAT(outcome(3), contains("out-of-bounds read of 4 bytes at 0x0"));
  CHECK(outcome(4) == "no error");
}

TEST_CASE("freed memory is out of bounds", "[simulator]") {
  const Program program = build(scale_text, "scale", true);
  DeviceMemory memory;
  Buffer<float> in(memory, {1.0f});
  void* freed = memory.allocate(4);
  memory.free(freed);
  float factor = 1.0f;
  int n = 1;
  CHECK_THAT(message_of(program, "scale", {1, 1}, std::vector<void*>{&factor, in.argument(), &freed, &n}, memory),
             contains("out-of-bounds write"));
}

TEST_CASE("misaligned accesses are found", "[simulator]") {
  const std::string text = R"(
struct alignas(16) Four { float a, b, c, d; };
CT_KERNEL void shifted(const float* x, float* y, int offset) {
  const Four v = *(const Four*)(x + offset);
  y[0] = v.a + v.b + v.c + v.d;
})";
  const Program program = build(text, "shifted", true);
  DeviceMemory memory;
  Buffer<float> x(memory, std::vector<float>(8, 1.0f)), y(memory, {0.0f});
  int offset = 4;
  const std::vector<void*> arguments = {x.argument(), y.argument(), &offset};
  CHECK(message_of(program, "shifted", {1, 1}, arguments, memory) == "no error");
  CHECK(y.values()[0] == 4.0f);
  offset = 1;
  CHECK_THAT(message_of(program, "shifted", {1, 1}, arguments, memory), contains("misaligned read of"));
  CHECK_THAT(message_of(program, "shifted", {1, 1}, arguments, memory), contains("it must be a multiple of 16"));
}

namespace {

// A copy by packs of n elements, of a type that `element` names, from `x + offset`.
std::string pack_text(const std::string& element, int n) {
  return "CT_KERNEL void copied(const " + element + "* x, " + element +
         "* y, int offset) {\n  const int i = ct::block_index() * ct::block_size() + ct::thread_index();\n"
         "  ct::store_pack(y + " +
         std::to_string(n) + " * i, ct::load_pack<" + std::to_string(n) + ">(x + offset + " + std::to_string(n) +
         " * i));\n}";
}

std::string pack_header() {
  return template_file("common/numeric.cuh") + template_file("common/vector.cuh") + template_file("common/math.cuh") +
         template_file("common/complex.cuh");
}

struct PackType {
  const char* element;
  int size;  // in bytes
};
constexpr PackType pack_types[] = {{"bool", 1},
                                   {"ct::i8", 1},
                                   {"ct::u8", 1},
                                   {"ct::f16", 2},
                                   {"ct::bf16", 2},
                                   {"ct::i32", 4},
                                   {"ct::f32", 4},
                                   {"ct::f64", 8},
                                   {"ct::i64", 8},
                                   {"ct::complex<float>", 8},
                                   {"ct::complex<double>", 16}};

}  // namespace

TEST_CASE("packs of every storage type are copied bit for bit, by checked accesses of up to 16 bytes", "[simulator]") {
  DeviceMemory memory;
  std::vector<unsigned char> bytes(2048);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);  // as bool too
  Buffer<unsigned char> in(memory, bytes);
  for (const PackType& type : pack_types) {
    for (const int wide : {type.size, 16, 32}) {  // bytes of a pack
      const int n = wide / type.size;
      if (wide != type.size && n < 2) continue;
      INFO(n << " of " << type.element);
      const Program program = build(pack_header() + pack_text(type.element, n), "copied", true);
      Buffer<unsigned char> out(memory, std::vector<unsigned char>(static_cast<std::size_t>(32 * wide), 7));
      int offset = 0;
      const std::vector<void*> arguments = {in.argument(), out.argument(), &offset};
      REQUIRE(message_of(program, "copied", {.blocks = 1, .threads = 32}, arguments, memory) == "no error");
      const std::vector<unsigned char> copied = out.values();
      CHECK(std::equal(copied.begin(), copied.end(), bytes.begin()));
      const std::string access = "of " + std::to_string(std::min(wide, 16)) + " bytes";
      if (n > 1) {
        offset = 1;
        const std::string report = message_of(program, "copied", {.blocks = 1, .threads = 32}, arguments, memory);
        if (type.size < 16) CHECK_THAT(report, contains("misaligned read " + access));
        if (type.size < 16)
          CHECK_THAT(report, contains("it must be a multiple of " + std::to_string(std::min(wide, 16))));
      }
      offset = (2048 - 16 * wide) / type.size;
      CHECK_THAT(message_of(program, "copied", {.blocks = 1, .threads = 32}, arguments, memory),
                 contains("out-of-bounds read " + access));
    }
  }
}

TEST_CASE("a pack with one element that was never written is reported", "[simulator]") {
  const std::string half =
      "CT_KERNEL void half(float* x, float* y) {\n  x[0] = x[1] = x[2] = 1.0f;\n"
      "  ct::store_pack(y, ct::load_pack<4>(x));\n}";
  const Program program = build(pack_header() + half, "half", true);
  DeviceMemory memory;
  void *x = memory.allocate(16), *y = memory.allocate(16);
  CHECK_THAT(message_of(program, "half", {1, 1}, std::vector<void*>{&x, &y}, memory),
             contains("uninitialised read of 16 bytes"));
}

TEST_CASE("packs have the same bits on the CPU", "[simulator]") {
  const std::string text = template_file("cpu/device_cpu.hpp") + pack_header() + R"(
extern "C" void halves(const ct::f16* x, ct::f16* y, long n) {
  for (long i = 0; i + 8 <= n; i += 8) {
    auto pack = ct::load_pack<8>(x + i);
    for (int j = 0; j < 8; ++j) pack[j] = ct::cast<ct::f16>(ct::to_float(pack[j]) * 2.0f);
    ct::store_pack(y + i, pack);
  }
})";
  alignas(16) std::array<std::uint16_t, 32> x{}, y{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(0x3c00 + i);
  auto& compiler = croton::runtime::cpu::Compiler::instance();
  compiler.load(compiler.compile(text))
      ->get<void(const std::uint16_t*, std::uint16_t*, long)>("halves")(x.data(), y.data(), 32);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == x[i] + 0x400);
}

TEST_CASE("a missing barrier is a race", "[simulator]") {
  const auto text = [](const std::string& between) {
    return "CT_KERNEL void turn(float* x) {\n  CT_SHARED float part[64];\n  const unsigned int i = "
           "ct::thread_index();\n"
           "  part[i] = x[i];\n  " +
           between + "\n  x[i] = part[63u - i];\n}";
  };
  DeviceMemory memory;
  Buffer<float> x(memory, std::vector<float>(64, 1.0f));
  const std::vector<void*> arguments = {x.argument()};
  const Program right = build(text("ct::barrier();"), "turn", true);
  const Program wrong = build(text(""), "turn", true);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(message_of(right, "turn", {1, 64}, arguments, memory, seed) == "no error");
    // The first thread reads what no thread has written, or writes what another thread has read.
    const std::string message = message_of(wrong, "turn", {1, 64}, arguments, memory, seed);
    CHECK_THAT(message, contains("simulated kernel turn stopped in block 0, thread "));
    CHECK_THAT(message, contains("race in shared memory: ") || contains("uninitialised read of 4 bytes"));
    CHECK_THAT(message, contains("line "));
  }
  // Two reads do not race, a read and a write do, and atomics do not race with each other.
  const auto outcome = [&](const std::string& body) {
    const Program program = build(
        "CT_KERNEL void k(unsigned int* x) { CT_SHARED unsigned int s; const unsigned int i = ct::thread_index();\n"
        "if (i == 0) s = 5u;\nct::barrier();\n" +
            body + "\n}",
        "k", true);
    Buffer<unsigned> out(memory, std::vector<unsigned>(64, 0u));
    return message_of(program, "k", {1, 64}, std::vector<void*>{out.argument()}, memory);
  };
  CHECK(outcome("x[i] = s;") == "no error");
  CHECK(outcome("ct::atomic_add(&s, 1u);") == "no error");
  CHECK_THAT(outcome("ct::atomic_add(&s, 1u); x[i] = s;"), contains("race"));
  CHECK_THAT(outcome("x[i] = s; if (i == 40u) s = 1u;"), contains("race"));
  CHECK_THAT(outcome("s = 7u;"), contains("race"));
  // A warp's exchange orders its own lanes, not those of another warp.
  CHECK(outcome("if (i < 32u) { if (i == 3u) s = 1u; ct::ballot(true); x[i] = s; }") == "no error");
  CHECK_THAT(outcome("if (i == 3u) s = 1u; ct::ballot(true); x[i] = s;"), contains("race"));
}

TEST_CASE("a barrier that not all threads meet is found", "[simulator]") {
  DeviceMemory memory;
  for (const bool checked : {false, true}) {
    const auto outcome = [&](const std::string& body, unsigned threads) {
      const Program program = build("CT_KERNEL void k(int n) {\n" + body + "\n}", "k", checked);
      int n = 40;
      return message_of(program, "k", {1, threads}, pointers(n), memory);
    };
    CHECK(outcome("ct::barrier();", 64) == "no error");
    const std::string left = outcome("if (ct::thread_index() >= n) return;\nct::barrier();", 64);
    CHECK_THAT(left, contains("divergent barrier: thread 0 waits at a barrier"));
    CHECK_THAT(left, contains("but thread 40 has left the kernel"));
    if (checked) CHECK_THAT(left, contains(": `ct::barrier();`)"));
    CHECK_THAT(outcome("if (ct::thread_index() < n) ct::barrier(); else { ct::barrier(); ct::ballot(true); }", 64),
               contains("divergent"));
    CHECK_THAT(outcome("if (ct::thread_index() < n) ct::ballot(true);", 64),
               contains("divergent shuffle or ballot: thread 32 waits in a ballot"));
    CHECK_THAT(outcome("ct::ballot(true);", 48), contains("in a warp of 16 threads"));
  }
}

TEST_CASE("blocks have shared memory of their own, which begins as garbage", "[simulator]") {
  // Unchecked: otherwise the read of it is stopped.
  const std::string text = R"(
CT_KERNEL void k(unsigned int* out) {
  CT_SHARED unsigned int s;
  out[ct::block_index()] = s;
  s = ct::block_index();
})";
  DeviceMemory memory;
  Buffer<unsigned> out(memory, std::vector<unsigned>(4, 0u));
  launch(build(text, "k", false), "k", {4, 1}, std::vector<void*>{out.argument()}, memory);
  CHECK(out.values() == std::vector<unsigned>(4, 0xffffffffu));
  CHECK_THAT(message_of(build(text, "k", true), "k", {4, 1}, std::vector<void*>{out.argument()}, memory),
             contains("uninitialised read of 4 bytes") && contains("it is at byte 0 of the shared variable k::s"));
}

TEST_CASE("a seed determines how many blocks are resident, and whether one of them starves", "[simulator]") {
  const std::string text = R"(
CT_KERNEL void counted(unsigned int* counters, unsigned int* resident, unsigned int* begun, unsigned int* ended) {
  const unsigned int block = ct::block_index();
  if (ct::thread_index() == 0) {
    resident[block] = ct::atomic_add(&counters[0], 1u) + 1u;
    begun[block] = ct::atomic_add(&counters[1], 1u);
  }
  for (int i = 0; i < 8; ++i) ct::barrier();
  if (ct::thread_index() == 0) {
    ct::atomic_add(&counters[0], 0xffffffffu);
    ended[block] = ct::atomic_add(&counters[2], 1u);
  }
})";
  constexpr unsigned blocks = 24;
  const Program program = build(text, "counted", true);
  DeviceMemory memory;
  bool is_one = false, are_many = false, starves = false;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const std::vector<unsigned> zeros(blocks, 0u);
    std::vector<std::vector<unsigned>> results;
    for (int repeated = 0; repeated < 2; ++repeated) {
      Buffer<unsigned> counters(memory, {0, 0, 0}), resident(memory, zeros), begun(memory, zeros), ended(memory, zeros);
      launch(program, "counted", {.blocks = blocks, .threads = 32},
             std::vector<void*>{counters.argument(), resident.argument(), begun.argument(), ended.argument()}, memory,
             seed);
      for (const auto* values : {&resident, &begun, &ended}) results.push_back(values->values());
    }
    CHECK(std::equal(results.begin(), results.begin() + 3, results.begin() + 3));  // the seed repeats the order
    const unsigned most = *std::max_element(results[0].begin(), results[0].end());
    is_one = is_one || most == 1;
    are_many = are_many || most > 12;
    for (std::size_t i = 0; i < blocks; ++i)
      starves = starves || (results[1][i] < blocks / 4 && results[2][i] == blocks - 1);
  }
  CHECK(is_one);
  CHECK(are_many);
  CHECK(starves);
}

TEST_CASE("launches that a GPU would refuse are refused", "[simulator]") {
  const Program program = build(scale_text, "scale", false);
  DeviceMemory memory;
  const std::vector<void*> none(4, nullptr);
  CHECK_THAT(message_of(program, "scale", {0, 32}, none, memory), contains("at least one block"));
  CHECK_THAT(message_of(program, "scale", {1, 1025}, none, memory), contains("1 to 1024 threads"));
  CHECK_THAT(message_of(program, "scale", {1, 1, std::size_t{1} << 40}, none, memory),
             contains("a block of sm_90 has 232448"));
  CHECK_THROWS_AS(launch(program, "scale", {1, 1}, std::vector<void*>{}, memory), croton::InternalError);
  CHECK_THROWS_AS(launch(program, "other", {1, 1}, none, memory), croton::InternalError);
}

TEST_CASE("device memory checks what it is asked", "[simulator]") {
  DeviceMemory memory;
  void* block = memory.allocate(10);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % 256 == 0);
  std::vector<std::byte> bytes(11);
  CHECK_NOTHROW(memory.copy_in(block, std::span(bytes).first(10)));
  CHECK_THROWS_AS(memory.copy_in(block, bytes), croton::InternalError);
  CHECK_THROWS_AS(memory.copy_out(bytes, block), croton::InternalError);
  CHECK_THROWS_AS(memory.free(bytes.data()), croton::InternalError);
  CHECK_THROWS_AS(memory.allocate(SIZE_MAX), croton::OutOfMemory);
  CHECK_THROWS_AS(memory.allocate(SIZE_MAX / 4), croton::OutOfMemory);
  CHECK(memory.allocations().size() == 1);
  memory.free(block);
  CHECK(memory.allocations().empty());
}

TEST_CASE("several threads launch the same program at once", "[simulator]") {
  const Program program = build(sum_text, "sum", true);
  DeviceMemory memory;
  Buffer<float> in(memory, std::vector<float>(512, 1.0f));
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Buffer<double> out(memory, {0.0});
      long long n = 512;
      launch(program, "sum", {1, 256}, std::vector<void*>{in.argument(), out.argument(), &n}, memory, t);
      sums[t] = out.values()[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<double>(4, 512.0));
}

TEST_CASE("the record of written bytes is that of a plain list, in any pieces") {
  // Sizes around the chunks in which it is kept.
  constexpr std::size_t size = 3 * 4096 + 100;
  WrittenBytes record(size), other(size);
  std::vector<char> expected(size, 0), expected_other(size, 0);
  std::uint64_t state = 1;
  const auto below = [&](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  for (int step = 0; step < 300; ++step) {
    const std::size_t count = below(step % 3 == 0 ? size : 300), at = below(size - count + 1),
                      from = below(size - count + 1);
    if (step % 5 == 0) {
      record.copy(at, other, from, count);
      std::copy_n(expected_other.begin() + static_cast<std::ptrdiff_t>(from), count,
                  expected.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (step % 2 == 0) {
      record.set(at, count);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), count, 1);
    } else {
      other.set(from, count / 8);
      std::fill_n(expected_other.begin() + static_cast<std::ptrdiff_t>(from), count / 8, 1);
    }
    if (step % 97 == 96) {
      record.clear();
      std::ranges::fill(expected, 0);
    }
    const std::span<const char> part = std::span(expected).subspan(from, count);
    CHECK(record.all(from, count) == std::ranges::all_of(part, [](char c) { return c == 1; }));
    CHECK(record.any(from, count) == std::ranges::any_of(part, [](char c) { return c == 1; }));
  }
  record.set(0, size);
  CHECK(record.all(0, size));
}

TEST_CASE("memory that a simulated device does not use costs nothing") {
  constexpr std::size_t size = std::size_t{1} << 33;
  DeviceMemory memory;
  auto* const first = static_cast<std::byte*>(memory.allocate(size));
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte* const last = first + size - bytes.size();
  memory.copy_in(last, bytes);
  const Allocation piece = memory.piece(first, size, true);
  CHECK(piece.written->all(size - bytes.size(), bytes.size()));
  CHECK(!piece.written->any(0, 4096));
  memory.set_written(piece);
  CHECK_NOTHROW(memory.check_read(last, bytes.size(), "it"));
  CHECK_THROWS_AS(memory.check_read(last - 1, bytes.size(), "it"), DeviceError);
  // Accesses to words and to bytes of one chunk, and of two neighbouring ones.
  Shadow shadow(size);
  shadow.cells(size - 8, 4)[0].write.time = 5;
  CHECK(shadow.cells(size - 8, 1)[0].write.time == 5);
  CHECK(shadow.cells(size - 6, 2)[1].write.time == 5);
  shadow.cells(size - 8, 1)[0].write.time = 6;
  CHECK(shadow.cells(size - 8, 4)[0].write.time == 6);
  CHECK(shadow.cells(size - 260, 8).size() == 8);  // one of the two has cells by bytes
  memory.free(first);
}
