// Arguments that are copied to a GPU while it still computes the previous call, on the fake driver: this happens, with
// at most two calls at a time, and results are right on devices that run everything late, or copies early.
#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/nn.hpp>
#include <croton/scan.hpp>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"

namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;
using ct::DType;
using ct::test::error_of;
using ct::test::FakeGpus;
using ct::test::Machine;
using ct::test::values;
namespace result = ct::runtime::cuda::result;

namespace {

const ct::OutputList nothing{std::vector<ct::Out>{}};

Array numbers(const ct::Sizes& shape, std::uint64_t seed) { return Array::uniform(DType::float32, shape, seed, -1, 1); }

/// The results of `make` and its calls, on the host.
template <class Make>
auto on_host(const Make& make) {
  const ct::change_flags host{"device=cpu"};
  return make("cpu");
}

void check_close(const std::vector<double>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(1e-4).margin(1e-5));
}

/// A call leaves all results on the device, so the host runs ahead. The new value is not written over the old one,
/// which the kernel reads from its end: a failing call changes nothing.
struct Moving {
  ct::SharedVariable w;
  ct::Function f;
  std::vector<float> wanted;
  std::size_t first;
  int calls = 0;

  /// `unread`: elements of the argument that are copied and not used.
  explicit Moving(std::int64_t n, std::int64_t unread = 0)
      : w(ct::shared(Array::zeros(DType::float32, {n}), {.name = "w", .target = "cuda0"})),
        wanted(static_cast<std::size_t>(n), 0.f),
        first(static_cast<std::size_t>(unread)) {
    const auto x = ct::vector("x");
    f = ct::function({x}, nothing, {.updates = {{w, w[ct::slice({}, {}, -1)] * 0.5 + x[ct::slice(unread, {})]}}});
  }
  void call() {
    Array x = numbers({static_cast<std::int64_t>(first + wanted.size())}, static_cast<std::uint64_t>(++calls));
    f(x);
    std::reverse(wanted.begin(), wanted.end());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * 0.5f + x.data<float>()[first + i];
    std::ranges::fill(x.data<float>(), 100.f);  // the caller may change it again
  }
  bool is_right() const {
    const Array now = w.get_value();
    return std::ranges::equal(now.data<float>(), wanted);
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "asked for k_abc in stream 3" as "asked for kernel in stream 3", with the streams numbered as they appear.
std::vector<std::string> short_trace(const std::string& text) {
  std::vector<std::string> lines = lines_of(text), streams;
  for (std::string& line : lines) {
    const std::size_t at = line.find(" in ");
    const std::string stream = line.substr(at + 4);
    if (std::ranges::find(streams, stream) == streams.end()) streams.push_back(stream);
    const auto number = std::ranges::find(streams, stream) - streams.begin();
    const std::string verb = line.starts_with("ran ") ? "ran " : "asked for ";
    const bool copy = line.find("cuMemcpyHtoDAsync") != line.npos;
    line = verb + (copy ? "copy" : "kernel") + " in " + "AB"[number];
  }
  return lines;
}

}  // namespace

TEST_CASE(
    "the copy of an argument runs while the call before is still computed, and the host is two calls ahead at most") {
  FakeGpus gpus({{"delay", 2}});
  {
    Moving moving(1000);
    for (int call = 0; call < 4; ++call) moving.call();
    CHECK(moving.is_right());  // and waits for it
    gpus.cuda().start_trace();
    std::vector<std::string> wanted;
    const auto add = [&](const std::vector<std::string>& lines) {
      wanted.insert(wanted.end(), lines.begin(), lines.end());
    };
    const std::vector<std::string> a_call{"asked for copy in A", "ran copy in A", "asked for kernel in B"};
    moving.call();
    add(a_call);
    CHECK(short_trace(gpus.cuda().trace()) == wanted);
    // The kernel of the previous call has not run, because nothing waits for it.
    moving.call();
    add(a_call);
    CHECK(short_trace(gpus.cuda().trace()) == wanted);
    // From now on the host waits for the call before the last one.
    for (int call = 0; call < 4; ++call) {
      moving.call();
      add({"ran kernel in B"});
      add(a_call);
      CHECK(short_trace(gpus.cuda().trace()) == wanted);
    }
    CHECK(moving.is_right());
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("all arguments are copied ahead of a kernel that the host waits for") {
  FakeGpus gpus({{"delay", 2}});
  {
    const auto w = ct::shared(Array::zeros(DType::float32, {}), {.name = "w", .target = "cuda0"});
    const auto x = ct::vector("x"), y = ct::vector("y");
    const auto i = ct::lvector("i");
    const ct::Function f =
        ct::function({x, i, y}, nothing, {.updates = {{w, w + ct::sum(x[i]) + ct::sum(ct::exp(y))}}});
    for (int call = 0; call < 3; ++call) f(Array{1.f, 2.f}, Array{std::int64_t{1}, std::int64_t{0}}, Array{0.f});
    CHECK(w.get_value().as_double(0) == 12);
    gpus.cuda().start_trace();
    f(Array{1.f, 2.f}, Array{std::int64_t{1}, std::int64_t{1}}, Array{0.f});
    const std::vector<std::string> lines = short_trace(gpus.cuda().trace());
    const auto kernel = std::ranges::find(lines, "asked for kernel in B");
    CHECK(std::count(lines.begin(), kernel, "asked for copy in A") == 3);
    CHECK(std::ranges::count(lines, "asked for copy in A") == 3);
    CHECK(std::ranges::count(lines, "ran kernel in B") > 0);  // the kernel with the check
    CHECK(w.get_value().as_double(0) == 17);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("arguments of all sizes, call after call") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto run = [&](const std::string& device) {
    const auto w = ct::shared(numbers({6, 5}, 1), {.name = "w", .target = device});
    const auto count = ct::shared(Array(0.f), {.name = "count", .target = device});
    const auto x = ct::matrix("x"), y = ct::matrix("y");
    const auto rate = ct::scalar("rate");
    const auto error = ct::tanh(ct::dot(x, w)) - y;
    const ct::Function step = ct::function(
        {x, y, rate}, nothing,
        {.updates = {{w, w - rate * ct::dot(ct::transpose(x), error)}, {count, count + ct::sum(error * error)}}});
    std::uint64_t seed = 10;
    // First sizes grow by one, so that memory is new; then smaller ones; then 30000 rows, in several pieces of pinned
    // memory.
    for (const std::int64_t rows : {3, 4, 9, 20, 40, 80, 7, 1, 0, 0, 7, 90, 30'000, 30'001, 2, 30'000, 5, 5, 5, 5, 5}) {
      step(numbers({rows, 6}, seed), numbers({rows, 5}, seed + 1), rows > 100 ? 1e-5f : 0.01f);
      seed += 2;
    }
    std::vector<double> all = values(w.get_value());
    all.push_back(count.get_value().as_double(0) / 1e5);
    return all;
  };
  check_close(run(machine.first), on_host(run));
}

TEST_CASE("results that are waited for, arguments that are several calls', and functions in turn") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto run = [&](const std::string& device) {
    const auto w = ct::shared(numbers({50}, 1), {.name = "w", .target = device});
    const auto x = ct::vector("x");
    const ct::Function add = ct::function({x}, nothing, {.updates = {{w, w + x}}});
    const ct::Function scale = ct::function({x}, nothing, {.updates = {{w, w * x}}});
    const ct::Function look = ct::function({x}, ct::sum(w * x));
    const ct::Function other = add.copy();
    std::vector<double> all;
    for (std::uint64_t call = 0; call < 12; ++call) {
      const Array same = numbers({50}, call / 3);
      add(same);
      scale(numbers({50}, call));
      if (call % 3 != 0) other(numbers({50}, 50 + call));
      if (call % 4 == 3) all.push_back(look(same).only().as_double(0));
    }
    return all;
  };
  check_close(run(machine.first), on_host(run));
}

TEST_CASE("an argument for two devices, and from one to the other") {
  const int delay = GENERATE(0, 1, 2);
  const auto split = GENERATE(std::string(), std::string(",logical_devices=cuda0:2"));
  const auto run = [&](const std::string& device) {
    const bool host = device == "cpu";
    const auto a = ct::shared(numbers({40}, 1), {.name = "a", .target = device});
    const auto b = ct::shared(numbers({40}, 2), {.name = "b", .target = host ? "cpu" : "cuda1"});
    const auto x = ct::vector("x"), y = ct::vector("y");
    const auto there = ct::tanh(a + x) * y;
    const ct::Function step =
        ct::function({x, y}, nothing, {.updates = {{a, a * 0.5 + x * ct::tanh(b)}, {b, b * 0.5 + x + there}}});
    for (std::uint64_t call = 0; call < 10; ++call) step(numbers({40}, 10 + call), numbers({40}, 40 + call));
    std::vector<double> all = values(a.get_value());
    for (const double value : values(b.get_value())) all.push_back(value);
    return all;
  };
  const auto wanted = on_host(run);
  FakeGpus gpus({{"delay", delay}}, split);
  check_close(run("cuda0"), wanted);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a loop that is recorded reads each call's arguments") {
  const int delay = GENERATE(0, 1, 2);
  constexpr std::int64_t units = 520;  // a library computes its products
  const auto run = [&](const std::string& device) {
    const auto u =
        ct::shared(Array::uniform(DType::float32, {units, units}, 1, -0.1, 0.1), {.name = "u", .target = device});
    const auto sum = ct::shared(Array::zeros(DType::float32, {3, units}), {.name = "sum", .target = device});
    const auto h0 = ct::variable({DType::float32, {ct::unknown_size, units}}, "h0");
    const auto last =
        ct::scan([&](const std::vector<ct::Variable>& in) { return ct::Step(ct::tanh(ct::dot(in[0], u))); }, {}, {h0},
                 {}, {.n_steps = 4})
            .outputs[0][-1];
    const ct::Function step = ct::function({h0}, nothing, {.updates = {{sum, sum * 0.5 + last}}});
    for (std::uint64_t call = 0; call < 7; ++call) step(numbers({3, units}, 40 + call));
    if (device != "cpu") CHECK_THAT(step.plan(), contains("as a CUDA graph"));
    return values(sum.get_value());
  };
  const auto wanted = on_host(run);
  FakeGpus gpus({{"delay", delay}});
  check_close(run("cuda0"), wanted);
  CHECK(gpus.cuda().calls("cuGraphLaunch") > 0);
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("learning on a GPU gives the host's weights") {
  const int delay = GENERATE(0, 1, 2);
  const auto run = [&](const std::string& device) {
    const ct::change_flags there{"device=" + device};
    nn::set_seed(1);
    nn::Sequential model{nn::Dense(16, {.activation = "relu", .input_shape = {5}}),
                         nn::Dense(3, {.activation = "softmax"})};
    model.compile({.loss = "mse", .optimizer = "adam", .metrics = {"mae"}});
    const nn::Dataset data = nn::Dataset::from_arrays({numbers({100, 5}, 1)}, {numbers({100, 3}, 2)},
                                                      {.batch_size = 16, .shuffle = true, .seed = 3})
                                 .prefetch(2);
    const nn::FitOptions options{.epochs = 3, .verbose = nn::Verbose::silent};
    const nn::History history = model.fit(data, options);
    std::vector<double> all;
    for (const Array& weight : model.get_weights())
      for (const double value : values(weight)) all.push_back(value);
    for (const nn::Logs& logs : history.logs) all.push_back(logs["loss"]);
    return all;
  };
  const auto wanted = run("cpu");
  FakeGpus gpus({{"delay", delay}});
  const auto copies = gpus.cuda().calls("cuMemcpyHtoDAsync_v2");
  check_close(run("cuda0"), wanted);
  CHECK(gpus.cuda().calls("cuMemcpyHtoDAsync_v2") >= copies + 2 * 3 * 7);  // two arguments of each of the steps
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("every call of the driver for a copy ahead made to fail changes nothing") {
  const int delay = GENERATE(0, 1, 2);
  const auto entry =
      GENERATE(std::string("cuMemcpyHtoDAsync_v2"), std::string("cuEventRecord"), std::string("cuEventCreate"),
               std::string("cuEventSynchronize"), std::string("cuStreamWaitEvent"), std::string("cuMemHostAlloc"),
               std::string("cuMemAllocFromPoolAsync"), std::string("cuLaunchKernel"));
  const auto fresh = [&] {
    return std::make_unique<FakeGpus>(std::vector{std::pair<std::string, long long>("delay", delay)});
  };
  auto gpus = fresh();
  long long failed = 0, copies = 0;
  // In the first calls, which allocate memory, and in a later one.
  for (int before = 0; before < 4; ++before) {
    long long count = 0;
    for (long long nth = 0; nth <= count; ++nth) {
      CAPTURE(delay, entry, before, nth, count);
      if (entry == "cuMemHostAlloc" || entry == "cuEventCreate") {  // a device allocates pinned memory only once
        gpus.reset();
        gpus = fresh();
      }
      Moving moving(100, 200'000);  // two pieces of pinned memory
      for (int call = 0; call < before; ++call) moving.call();
      if (nth == 0) {  // nothing fails yet
        const long long calls = gpus->cuda().calls(entry), others = gpus->cuda().calls("cuMemcpyHtoDAsync_v2");
        moving.call();
        count = gpus->cuda().calls(entry) - calls;
        copies = gpus->cuda().calls("cuMemcpyHtoDAsync_v2") - others;
        continue;
      }
      gpus->cuda().fail(entry, nth, result::unknown);
      const std::string message = error_of<ct::DeviceError>([&] { moving.call(); });
      CHECK_THAT(message, contains("test_uploads.cpp:") && contains(entry.substr(0, entry.find("_v2"))));
      ++failed;
      for (int call = 0; call < 3; ++call) moving.call();
      CHECK(moving.is_right());
    }
  }
  CHECK(failed > 0);
  CHECK(copies == 2);
  CHECK(gpus->cuda().faults() == "");
}

TEST_CASE("a copy of a call that failed has run before its memory ends") {
  const bool waited_for = GENERATE(true, false);
  FakeGpus gpus({{"delay", 1}});
  {
    Moving ends(1000);
    for (int call = 0; call < 3; ++call) ends.call();
    gpus.cuda().fail("cuStreamWaitEvent", 1, result::unknown);
    if (!waited_for) gpus.cuda().fail("cuStreamSynchronize", 1, result::unknown);  // to show that it would be found
    CHECK_THAT(error_of<ct::DeviceError>([&] { ends.call(); }), contains("cuStreamWaitEvent"));
  }
  Moving next(1000);
  CHECK(next.is_right());  // and that the memory is freed
  for (int call = 0; call < 3; ++call) next.call();
  CHECK(next.is_right());
  CHECK(gpus.cuda().faults() == (waited_for ? "" : "cuMemcpyHtoDAsync: memory after its end\n"));
}

TEST_CASE("where memory is short there is one set of it, and copies run in order") {
  const int delay = GENERATE(0, 1, 2);
  // Room for w, its new value and one argument; or for one less, in addition to the allocations of the first calls.
  const int memory = GENERATE(350, 450);
  FakeGpus gpus({{"delay", delay}, {"memory", memory * 1000}});
  {
    Moving moving(25'000);
    for (int call = 0; call < 3; ++call) moving.call();
    CHECK(moving.is_right());
    const bool ahead = memory > 400;
    gpus.cuda().start_trace();
    moving.call();
    const auto lines = short_trace(gpus.cuda().trace());
    CHECK(std::ranges::count(lines, ahead ? "asked for kernel in B" : "asked for kernel in A") == 1);
    for (int call = 0; call < 6; ++call) moving.call();
    CHECK(moving.is_right());
    // One larger than all memory changes nothing.
    const auto x = ct::vector("x");
    const ct::Function sum = ct::function({x}, ct::sum(x));
    CHECK_THAT(error_of<ct::OutOfMemory>([&] { sum(Array::zeros(DType::float32, {2'000'000})); }),
               contains("could not be allocated on cuda0") && contains("test_uploads.cpp:"));
    CHECK(values(sum(Array{1.f, 2.f})) == std::vector<double>{3});
    moving.call();
    CHECK(moving.is_right());
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a function that ends while its calls are under way") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}});
  const auto before = ct::test::device_called("cuda0").memory_use().bytes_in_use;
  const auto w = ct::shared(Array::zeros(DType::float32, {300}), {.name = "w", .target = "cuda0"});
  std::vector<double> wanted(300, 0);
  for (std::uint64_t round = 0; round < 5; ++round) {
    const auto x = ct::vector("x");
    const ct::Function f = ct::function({x}, nothing, {.updates = {{w, w + x}}});
    for (std::uint64_t call = 0; call <= round; ++call) {
      const Array given = numbers({300}, 10 * round + call);
      f(given);
      for (std::size_t i = 0; i < 300; ++i) wanted[i] += given.as_double(static_cast<std::int64_t>(i));
    }
  }
  check_close(values(w.get_value()), wanted);
  CHECK(ct::test::device_called("cuda0").memory_use().bytes_in_use == before + 1200);
  CHECK(gpus.cuda().faults() == "");
}
