// GPUs through the driver, on the fake one: whole functions, every call of the driver made to fail in turn, lost
// devices, memory that runs out, products with and without the library.
#include <croton/convolution.hpp>
#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/grad.hpp>
#include <croton/op.hpp>
#include <croton/scan.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/device_name.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/devices.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::test::device_called;
using ct::test::error_of;
using ct::test::FakeGpus;
using ct::test::Machine;
using ct::test::values;
namespace result = ct::runtime::cuda::result;

namespace {

/// A step of training on cuda0 with all kinds of work: kernels, products, a reduction in parts, an index that may be
/// wrong, transfers from and to the host and from cuda1, updates in place and not.
struct Training {
  ct::SharedVariable w = ct::shared(Array::uniform(DType::float32, {12, 9}, 1), {.name = "w", .target = "cuda0"});
  ct::SharedVariable b = ct::shared(Array::uniform(DType::float32, {9}, 2), {.name = "b", .target = "cuda0"});
  ct::SharedVariable far = ct::shared(Array::uniform(DType::float32, {9}, 3), {.name = "far", .target = "cuda1"});
  ct::SharedVariable count = ct::shared(Array(0.f), {.name = "count", .target = "cuda0"});
  ct::SharedVariable here = ct::shared(Array{1.f, 2.f}, {.name = "here", .target = "cpu"});
  ct::Function step;

  Training() {
    const auto x = ct::matrix("x");
    const auto i = ct::lscalar("i");
    const auto h = ct::tanh(ct::dot(x, w) + b + far);
    const auto loss = ct::sum(h * h) + ct::sum(h[i]);
    const auto g = ct::grad(loss, {w, b});
    step = ct::function({x, i}, std::vector<ct::Variable>{loss, h},
                        {.updates = {{w, w - 0.1 * g[0]}, {b, b - 0.1 * g[1]}, {count, count + 1}, {here, here * 2}}});
  }
  std::vector<Array> run(std::int64_t row = 3) {
    const ct::Outputs out = step(Array::uniform(DType::float32, {30, 12}, 4), row);
    return {out[0], out[1]};
  }
  /// The next call sends it to cuda0 again.
  void change_far() { far.set_value(far.get_value()); }
  std::vector<std::vector<double>> state() const {
    return {values(w.get_value()), values(b.get_value()), values(far.get_value()), values(count.get_value())};
  }
};

/// The calls of the driver and its libraries that a body makes, by entry.
std::map<std::string, long long> calls_of(FakeGpus& gpus, const std::function<void()>& body) {
  static const std::vector<std::string> entries{
#define CROTON_CUDA_ENTRY(name, symbol, ...) #symbol,
#include "runtime/cuda/driver/driver_entries.def"
#undef CROTON_CUDA_ENTRY
      "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulDescCreate", "nvrtcCompileProgram"};
  std::map<std::string, long long> before, made;
  for (const std::string& entry : entries) before[entry] = gpus.cuda().calls(entry);
  body();
  for (const std::string& entry : entries) {
    if (const long long count = gpus.cuda().calls(entry) - before[entry]; count > 0) made[entry] = count;
  }
  return made;
}

// Failures that are not errors of the call: destructors ignore them, and a product does without its library.
bool may_pass(const std::string& entry) {
  return entry == "cuMemFreeAsync" || entry == "cuEventDestroy_v2" || entry == "cuModuleUnload" ||
         entry.starts_with("cublasLt") || entry == "cuCtxSetCurrent";
}

}  // namespace

TEST_CASE("real devices are named with what they are") {
  FakeGpus gpus;
  const auto devices = ct::devices();
  REQUIRE(devices.size() == 3);
  CHECK(devices[1].to_string() == "cuda0: Fake GPU, 1.0 GiB, compute capability 9.0, PCI 0000:01:00.0");
  CHECK(devices[2].name == "cuda1");
  CHECK(devices[2].kind == ct::DeviceInfo::Kind::real);
  CHECK(ct::runtime::describe_devices() == "cpu, cuda0, cuda1");
  const ct::change_flags simulated{"cuda_simulator=1"};
  CHECK(ct::runtime::describe_devices() == "cpu, cuda0 (simulated)");
}

TEST_CASE("why there is no GPU is said in a few words") {
  const auto error = [] { return error_of<ct::DeviceError>([] { device_called("cuda0"); }); };
  {
    FakeGpus none({{"devices", 0}});
    CHECK_THAT(error(), contains("there is no device cuda0; there is: cpu (the driver finds no GPU; the flag"));
    // It is not called again.
    const long long before = none.cuda().calls("cuDeviceGetCount");
    error();
    CHECK(none.cuda().calls("cuDeviceGetCount") == before);
  }
  {
    FakeGpus old({{"version", 11040}});
    CHECK_THAT(error(), contains("too old: it supports CUDA 11.4, and 12.0 is needed"));
  }
  {
    const ct::change_flags hidden{"cuda_root=none"};
    CHECK_THAT(error(), contains("(real GPUs are hidden by cuda_root=none; the flag cuda_simulator=2 makes"));
  }
}

TEST_CASE("the driver is asked only where a GPU may be meant") {
  FakeGpus gpus;
  const auto asked = [&] { return gpus.cuda().calls("cuInit") + gpus.cuda().calls("cuDeviceGetCount"); };
  const auto x = ct::vector("x");
  const std::string device = ct::flag("device");
  ct::set_flag("device", "cpu");
  const ct::Function on_host = ct::function({x}, x + 1);
  CHECK(values(on_host(Array{1.f})) == std::vector<double>{2});
  {
    const ct::change_flags simulated{"cuda_simulator=1,device=cuda0"};
    CHECK(values(on_host(Array{1.f})) == std::vector<double>{2});
  }
  CHECK(asked() == 0);
  ct::set_flag("device", device);
  const ct::Function f = ct::function({x}, x + 1);
  CHECK(values(f(Array{1.f})) == std::vector<double>{2});
  CHECK(asked() > 0);
  CHECK(f.kernels()[0].target == "cuda:sm_90");
}

TEST_CASE("kernels go through the cache, once for a process and once for a machine") {
  const auto x = ct::vector("x");
  const double unlike_others = 0.734216;
  const auto run = [&] {
    FakeGpus gpus;
    const ct::Function f = ct::function({x}, ct::exp(x) * unlike_others);
    f(Array{1.f});
    const auto first = f.counts();
    f(Array{1.f, 2.f});
    CHECK(f.counts().compiled == first.compiled);
    const ct::Function g = ct::function({x}, ct::exp(x) * unlike_others);
    g(Array{1.f});
    CHECK(g.counts().compiled + g.counts().cached == 0);
    CHECK(first.compiled + first.cached == 1);
    return first.cached;
  };
  run();
  CHECK(run() == 1);  // another driver: another device, and the code from the disk
}

TEST_CASE("a chip that the compiler does not know gets PTX") {
  FakeGpus gpus({{"capability", 95}});
  const auto x = ct::vector("x");
  const ct::Function f = ct::function({x}, x * 3);
  CHECK(values(f(Array{1.f, 2.f})) == std::vector<double>{3, 6});
  CHECK(ct::devices()[1].compute_capability == "9.5");
}

TEST_CASE("a schedule that the kernel cannot have is refused before anything runs") {
  FakeGpus gpus({{"max_threads", 64}});
  const auto x = ct::vector("x");
  const ct::Function f = ct::function({x}, x * 3);
  CHECK_THAT(error_of<ct::DeviceError>([&] { f(Array{1.f}); }),
             contains("at most 64 threads a block") && contains("schedule=threads=64") && contains("test_gpu.cpp:"));
  const ct::change_flags fewer{"schedule=threads=64"};
  const ct::Function g = ct::function({x}, x * 3);
  CHECK(values(g(Array{1.f})) == std::vector<double>{3});
}

TEST_CASE("every call of the driver made to fail in turn changes nothing") {
  const int delay = GENERATE(0, 1, 2);
  const auto setting = std::pair<std::string, long long>{"delay", delay};
  std::map<std::string, long long> made;
  {
    FakeGpus gpus({setting});
    Training training;
    for (int call = 0; call < 4; ++call) training.run();  // these allocate memory for copies
    training.change_far();
    made = calls_of(gpus, [&] { training.run(); });
  }
  for (const char* entry : {"cuLaunchKernel", "cublasLtMatmul", "cuMemcpyPeerAsync", "cuMemcpyHtoDAsync_v2",
                            "cuMemcpyDtoHAsync_v2", "cuStreamWaitEvent"})
    CHECK(made.contains(entry));
  long long given_up = 0;
  auto gpus = std::make_unique<FakeGpus>(std::vector{setting});
  auto training = std::make_unique<Training>();
  for (int call = 0; call < 4; ++call) training->run();
  for (const auto& [entry, count] : made) {
    for (long long nth = 1; nth <= count; nth += entry == "cuCtxSetCurrent" ? 7 : 1) {
      CAPTURE(entry, nth, count, delay);
      training->change_far();
      const auto before = training->state();
      const auto here = values(training->here.get_value());
      gpus->cuda().fail(entry, nth, result::unknown);
      const std::string message = error_of<ct::DeviceError>([&] { training->run(); });
      if (message.empty()) {
        CHECK(may_pass(entry));
        continue;
      }
      CHECK_THAT(message, contains("test_gpu.cpp:"));
      CHECK(values(training->here.get_value()) == here);
      auto after = before;
      const std::string later = error_of<ct::DeviceError>([&] {
        after = training->state();
        training->run();
      });
      CHECK(after == before);
      if (later.empty()) continue;
      // After the commit point some values were overwritten and others not: the device cannot be used any more.
      ++given_up;
      CHECK_THAT(later,
                 contains("cannot be used any more in this process") &&
                     contains("a call failed after it had overwritten some, but not all, of its shared variables"));
      training.reset();  // arrays of a lost device end like any others
      CHECK(gpus->cuda().faults() == "");
      gpus.reset();
      gpus = std::make_unique<FakeGpus>(std::vector{setting});
      training = std::make_unique<Training>();
      for (int call = 0; call < 4; ++call) training->run();
      training->run();
    }
  }
  CHECK(given_up > 0);
  training.reset();
  CHECK(gpus->cuda().faults() == "");
}

TEST_CASE("a lost device says so to every later call, and its arrays end") {
  FakeGpus gpus;
  {
    Training training;
    training.run();
    gpus.cuda().fail("cuLaunchKernel", 1, result::illegal_address);
    CHECK_THAT(error_of<ct::DeviceError>([&] { training.run(); }),
               contains("cuLaunchKernel of ") && contains("CUDA_ERROR_ILLEGAL_ADDRESS") && contains("test_gpu.cpp:"));
    const auto lost = contains("cuda0 (Fake GPU) cannot be used any more in this process, because of an earlier error");
    CHECK_THAT(error_of<ct::DeviceError>([&] { training.run(); }), lost);
    CHECK_THAT(error_of<ct::DeviceError>([&] { training.w.get_value(); }), lost);
    CHECK_THAT(error_of<ct::DeviceError>([&] { training.b.set_value(Array::zeros(DType::float32, {9})); }), lost);
    CHECK_THAT(error_of<ct::DeviceError>([&] { ct::shared(Array(1.f), {.target = "cuda0"}); }), lost);
    CHECK(values(training.far.get_value()).size() == 9);  // on the other device
  }
  const auto x = ct::vector("x");
  const ct::change_flags other{"device=cuda1"};
  CHECK(values(ct::function({x}, x + 1)(Array{1.f})) == std::vector<double>{2});
  const ct::change_flags host{"device=cpu"};
  CHECK(values(ct::function({x}, x + 1)(Array{1.f})) == std::vector<double>{2});
}

TEST_CASE("an index that is wrong is found on a GPU, and changes nothing") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  Training training;
  training.run();
  const auto before = training.state();
  CHECK_THAT(error_of<ct::IndexError>([&] { training.run(30); }), contains("index 30") && contains("test_gpu.cpp:"));
  CHECK(training.state() == before);
  training.run();
}

TEST_CASE("the checks of a call are read once, and the first one that failed is named") {
  FakeGpus gpus;
  const ct::change_flags flags{"device=cuda0"};
  const ct::SharedVariable words = ct::shared(Array::uniform(DType::float32, {20, 8}, 1)),
                           places = ct::shared(Array::uniform(DType::float32, {5, 8}, 2)),
                           w = ct::shared(Array::uniform(DType::float32, {8, 8}, 3));
  const auto i = ct::lvector("i"), j = ct::lvector("j");
  // A product reads each of the gathers, so that both are kernels of their own.
  const auto loss = ct::sum(ct::dot(ct::take(words, i, 0), w) * ct::dot(ct::take(places, j, 0), w));
  const ct::Function step =
      ct::function({i, j}, loss, {.updates = {{w, w - 0.1 * ct::grad(loss, w)}, {words, words * 2}}});
  const auto positions = [](std::int64_t last) { return Array{std::int64_t{1}, std::int64_t{-2}, last}; };
  for (int call = 0; call < 3; ++call) step(positions(4), positions(0));
  auto made = calls_of(gpus, [&] { step(positions(4), positions(0)); });
  CHECK(made["cuMemcpyDtoHAsync_v2"] == 2);  // the words of both kernels, and the result
  CHECK(made["cuMemcpyHtoDAsync_v2"] == 2);  // the arguments
  const auto state = [&] { return std::vector{values(w.get_value()), values(words.get_value())}; };
  const auto before = state();
  CHECK_THAT(error_of<ct::IndexError>([&] { step(positions(20), positions(7)); }),
             contains("index 20 is") && contains("test_gpu.cpp:"));
  CHECK_THAT(error_of<ct::IndexError>([&] { step(positions(3), positions(7)); }), contains("index 7 is"));
  CHECK(state() == before);
  step(positions(4), positions(0));
  CHECK(state() != before);
}

TEST_CASE("a callback gets no values that a check on the device has refused, and the next call is not affected") {
  FakeGpus gpus;
  const ct::change_flags flags{"device=cuda0"};
  int called = 0;
  const ct::HostOp doubled({.name = "doubled",
                            .results =
                                [](const std::vector<ct::Variable>& in) {
                                  return std::vector<ct::HostOp::Result>{{in[0].dtype(), {in[0].shape(0)}}};
                                },
                            .compute =
                                [&](const std::vector<Array>& in) {
                                  ++called;
                                  return std::vector<Array>{in[0].copy()};
                                }});
  const ct::SharedVariable table = ct::shared(Array::uniform(DType::float32, {20}, 1));
  const auto i = ct::lvector("i");
  const ct::Function f = ct::function({i}, doubled(ct::exp(ct::take(table, i, 0))));
  const Array right{std::int64_t{1}, std::int64_t{2}}, wrong{std::int64_t{1}, std::int64_t{20}};
  f(right);
  CHECK(called == 1);
  CHECK_THAT(error_of<ct::IndexError>([&] { f(wrong); }), contains("index 20 is"));
  CHECK(called == 1);
  f(right);
  CHECK(called == 2);
  // A call that ends before the host has read the words, which tell of a wrong index.
  gpus.cuda().fail("cuMemcpyDtoHAsync_v2", 1, result::invalid_value);
  CHECK_THAT(error_of<ct::DeviceError>([&] { f(wrong); }), contains("cuMemcpyDtoHAsync"));
  f(right);
  CHECK(called == 3);
}

TEST_CASE("a loop whose blocks wait for each other is a cooperative launch of no more than run at once") {
  const bool delayed = GENERATE(false, true);
  const auto a = ct::matrix("a"), x = ct::matrix("x");
  const ct::ScanResult powers = ct::scan(
      [&](const std::vector<ct::Variable>& in) {
        const ct::Variable next = ct::dot(a, in[0]);
        return ct::Step(next / ct::max(next));
      },
      {}, {x}, {}, {.n_steps = 3});
  const Array a0 = Array::uniform(DType::float32, {20, 20}, 1), x0 = Array::uniform(DType::float32, {20, 20}, 2);
  std::vector<double> wanted;
  {
    const ct::change_flags host{"device=cpu"};
    wanted = values(ct::function({a, x}, powers.outputs[0])(a0, x0).only());
  }
  const auto close = [&](const Array& got) {
    const std::vector<double> all = values(got);
    REQUIRE(all.size() == wanted.size());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(std::abs(all[i] - wanted[i]) < 1e-5);
  };
  const std::string schedule = ",schedule=threads=64+meeting=1";
  {
    FakeGpus gpus({{"multiprocessors", 2}, {"resident", 2}, {"delay", delayed ? 1 : 0}}, schedule);
    const ct::Function f = ct::function({a, x}, powers.outputs[0]);
    close(f(a0, x0).only());
    CHECK_THAT(f.plan(), contains("one cooperative launch of 4 blocks"));
    CHECK(gpus.cuda().calls("cuLaunchCooperativeKernel") == 1);
    // A failed launch leaves no memory allocated.
    gpus.cuda().fail("cuLaunchCooperativeKernel", 1, result::unknown);
    CHECK_THAT(error_of<ct::DeviceError>([&] { f(a0, x0); }), contains("cuLaunchCooperativeKernel of loop_"));
    close(f(a0, x0).only());
    CHECK(gpus.cuda().calls("cuLaunchCooperativeKernel") == 3);
    CHECK(gpus.cuda().faults() == "");
  }
  FakeGpus gpus({{"cooperative", 0}, {"delay", delayed ? 1 : 0}}, schedule);
  const ct::Function f = ct::function({a, x}, powers.outputs[0]);
  close(f(a0, x0).only());
  CHECK_THAT(f.plan(), contains("one launch of one block"));
  CHECK(gpus.cuda().calls("cuLaunchCooperativeKernel") == 0);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("parts of rows meet in a cooperative launch, unless they cannot all run at once") {
  const auto x = ct::matrix("x");
  const Array x0 = Array::uniform(DType::float32, {2, 9000}, 1);
  const auto softmax = [&] { return ct::function({x}, ct::nnet::softmax(x, 1)); };
  std::vector<double> wanted;
  {
    const ct::change_flags host{"device=cpu"};
    wanted = values(softmax()(x0).only());
  }
  // 2 rows of 5 parts: as many blocks as run at the same time, and fewer.
  struct Case {
    int resident, cooperative;
    long long launches;
  };
  for (const Case c : {Case{5, 1, 1}, Case{4, 1, 0}, Case{5, 0, 0}}) {
    INFO(c.resident << " blocks on a multiprocessor, cooperative: " << c.cooperative);
    FakeGpus gpus({{"multiprocessors", 2}, {"resident", c.resident}, {"cooperative", c.cooperative}},
                  ",schedule=threads=64+part=2048");
    const ct::Function f = softmax();
    CHECK(values(f(x0).only()) == wanted);
    CHECK(values(f(x0).only()) == wanted);  // the counters of the rows are 0 again
    CHECK(gpus.cuda().calls("cuLaunchCooperativeKernel") == 2 * c.launches);
    CHECK(gpus.cuda().faults() == "");
  }
}

TEST_CASE("memory that runs out: freed memory is had back, then OutOfMemory, then less works") {
  const bool delayed = GENERATE(false, true);
  FakeGpus gpus({{"memory", 1 << 20}, {"delay", delayed ? 1 : 0}});
  const auto x = ct::vector("x");
  const auto w = ct::shared(Array(2.f), {.name = "w", .target = "cuda0"});
  const ct::Function f = ct::function({x}, ct::exp(x) * 0 + x + w);
  const auto run = [&](std::int64_t n) { return values(f(Array::full(DType::float32, {n}, 1)))[0]; };
  CHECK(run(1000) == 3);
  CHECK(gpus.cuda().calls("cuMemPoolTrimTo") == 0);
  // Each size needs separate memory, and the pool keeps freed memory: it must be trimmed in between.
  for (std::int64_t n = 20'000; n <= 120'000; n += 20'000) CHECK(run(n) == 3);
  CHECK(gpus.cuda().calls("cuMemPoolTrimTo") > 0);
  CHECK_THAT(error_of<ct::OutOfMemory>([&] { run(1'000'000); }),
             contains("could not be allocated on cuda0 (Fake GPU)") && contains("test_gpu.cpp:"));
  CHECK(run(120'000) == 3);
  CHECK(run(1000) == 3);
  CHECK_THROWS_AS(ct::shared(Array::zeros(DType::float32, {1'000'000}), {.target = "cuda0"}), ct::OutOfMemory);
  CHECK(values(w.get_value()) == std::vector<double>{2});
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("products go to the library, or to a generated kernel where there is none") {
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const Array x = Array::uniform(DType::float32, {40, 30}, 1), y = Array::uniform(DType::float32, {30, 20}, 2);
  const auto expected = [&] {
    const ct::change_flags host{"device=cpu,mode=reference"};
    return values(ct::function({a, b}, ct::dot(a, b))(x, y));
  }();
  const auto check = [&](bool with_library) {
    const ct::Function f = ct::function({a, b}, ct::dot(a, b));
    const auto got = values(f(x, y));
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-5));
    CHECK(f.counts().products == (with_library ? 1 : 0));
    CHECK(f.counts().kernels == (with_library ? 0 : 1));
    // An update to which a product is added in place.
    auto w = ct::shared(Array::zeros(DType::float32, {40, 20}), {.name = "w", .target = "cuda0"});
    const ct::Function g =
        ct::function({a, b}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{w, w + ct::dot(a, b)}}});
    g(x, y);
    g(x, y);
    const auto twice = values(w.get_value());
    for (std::size_t i = 0; i < twice.size(); ++i) CHECK(twice[i] == Approx(2 * expected[i]).epsilon(1e-5));
  };
  {
    FakeGpus gpus;
    check(true);
    CHECK(gpus.cuda().calls("cublasLtMatmul") == 3);
    CHECK(gpus.cuda().faults() == "");
  }
  {
    FakeGpus gpus({{"split_k_only", 1}}, ",warn=false");  // a library without a suitable algorithm
    check(false);
    CHECK(gpus.cuda().calls("cublasLtMatmul") == 0);
    CHECK(gpus.cuda().faults() == "");
  }
}

TEST_CASE("a library that a flag names and that is not there is an error: nothing else does its work") {
  const auto a = ct::matrix("a");
  const auto image = ct::tensor4("image"), filters = ct::tensor4("filters");
  const Array x = Array::uniform(DType::float32, {40, 40}, 1), y = Array::uniform(DType::float32, {4, 32, 16, 15}, 2);
  const ct::Function product = ct::function({a}, ct::dot(a, a));
  const ct::Function convolution = ct::function({image, filters}, ct::nnet::conv2d(image, filters));
  const FakeGpus gpus({}, ",cuda_blaslt=/nowhere/libcublasLt.so.13,cuda_dnn=/nowhere/libcudnn.so.9");
  CHECK_THAT(
      error_of<ct::ConfigError>([&] { product(x); }),
      contains("cuda_blaslt=/nowhere/libcublasLt.so.13: cuBLASLt (matrix products on NVIDIA GPUs) was not found. "
               "Tried:\n  /nowhere/libcublasLt.so.13: no such file\n"));
  CHECK_THAT(error_of<ct::ConfigError>([&] { convolution(y, Array::uniform(DType::float32, {24, 32, 3, 3}, 3)); }),
             contains("cuda_dnn=/nowhere/libcudnn.so.9: cuDNN (convolutions on NVIDIA GPUs) was not found. Tried:\n  "
                      "/nowhere/libcudnn.so.9: no such file\n"));
}

TEST_CASE("names of devices that come to mean others never lead to a wrong address") {
  auto x = [] {
    const ct::change_flags simulated{"cuda_simulator=1"};
    return ct::shared(Array{1.f, 2.f}, {.name = "x", .target = "cuda0"});
  }();
  const ct::Function f = ct::function({}, x * 2);
  {
    const ct::change_flags simulated{"cuda_simulator=1"};
    CHECK(values(f()) == std::vector<double>{2, 4});
  }
  {
    FakeGpus gpus;
    CHECK_THAT(error_of<ct::DeviceError>([&] { f(); }),
               contains("x, test_gpu.cpp:") && contains("is on another cuda0 than the one that the flags now name") &&
                   contains("x.set_value(x.get_value())"));
    CHECK(values(x.get_value()) == std::vector<double>{1, 2});  // reading is always possible
    const ct::change_flags elsewhere{"device=cuda1"};
    CHECK_THAT(error_of<ct::DeviceError>([&] { f(); }), contains("is on another cuda0"));
  }
  const ct::change_flags none{"cuda_root=none"};
  CHECK_THAT(error_of<ct::DeviceError>([&] { f(); }), contains("there is no device cuda0"));
  const ct::change_flags simulated{"cuda_simulator=1"};
  CHECK(values(f()) == std::vector<double>{2, 4});
  FakeGpus gpus;
  x.set_value(x.get_value());
  CHECK(values(f()) == std::vector<double>{2, 4});
  const ct::change_flags simulate{"mode=simulate"};
  const ct::Function g = ct::function({}, x * 3);
  CHECK_THAT(error_of<ct::DeviceError>([&] { g(); }), contains("is on another cuda0"));
  x.set_value(Array{0.f});
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a function without variables of its own follows the flags to another kind of device") {
  const auto v = ct::vector("v");
  const ct::Function f = ct::function({v}, v + 1);
  FakeGpus gpus;
  CHECK(values(f(Array{1.f})) == std::vector<double>{2});
  const long long launches = gpus.cuda().calls("cuLaunchKernel");
  CHECK(launches > 0);
  {
    const ct::change_flags simulated{"cuda_simulator=1,device=cuda0"};
    CHECK(values(f(Array{1.f})) == std::vector<double>{2});
    CHECK(gpus.cuda().calls("cuLaunchKernel") == launches);
  }
  CHECK(values(f(Array{1.f})) == std::vector<double>{2});
  CHECK(gpus.cuda().calls("cuLaunchKernel") == launches + 1);
}
