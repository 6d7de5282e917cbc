// Pins, flags, scopes and transfers on simulated GPUs and those of the fake driver: placement of work, transfers, and
// results.
#include <croton/config.hpp>
#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/grad.hpp>
#include <croton/nnet.hpp>

#include <iostream>
#include <sstream>
#include <thread>

#include "base/device_name.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/devices.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::TransferInfo;
using ct::Variable;
using ct::test::Machine;
using ct::test::values;

namespace {

/// Whether a step of the plan runs on this device.
bool runs_on(const ct::Function& f, const std::string& device) {
  return f.plan().find(" on " + device + " = ") != std::string::npos;
}

std::vector<TransferInfo> of_kind(const ct::Function& f, TransferInfo::Kind kind) {
  std::vector<TransferInfo> result;
  for (const TransferInfo& t : f.transfers()) {
    if (t.kind == kind) result.push_back(t);
  }
  return result;
}

}  // namespace

TEST_CASE("devices have many names") {
  using croton::base::parse_device;
  for (const char* first : {"cuda", "cuda0", "gpu", "gpu0", "gpu,0", "gpu:0", "/gpu:0", "GPU:0", "/cuda:0"})
    CHECK(parse_device(first).to_string() == "cuda0");
  for (const char* first : {"cpu", "cpu0", "/cpu:0", "cpu:0", "CPU"}) CHECK(parse_device(first).to_string() == "cpu");
  CHECK(parse_device("/gpu:3").to_string() == "cuda3");
  CHECK(parse_device("cpu2").to_string() == "cpu2");
  for (const char* wrong :
       {"", "tpu", "cuda-1", "cuda0x", "cuda:", "cuda999", "0", "/", "cuda 0", "cuda100000000000000000000"})
    CHECK_THROWS_AS(parse_device(wrong), ct::ValueError);
}

TEST_CASE("the devices that there are") {
  CHECK(ct::devices().size() >= 1);
  CHECK(ct::devices()[0].name == "cpu");
  const ct::change_flags two{"cuda_simulator=2"};
  const auto devices = ct::devices();
  REQUIRE(devices.size() == 3);
  CHECK(devices[2].name == "cuda1");
  CHECK(devices[2].kind == ct::DeviceInfo::Kind::simulated);
  CHECK(devices[2].compute_capability == "9.0");
  CHECK_THAT(devices[1].to_string(), contains("cuda0: simulated GPU, "));
}

TEST_CASE("a pinned variable draws work to its device; the flag of a call moves it") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  Array host{1.f, 2.f, 3.f};
  const auto x = ct::shared(host, {.name = "x", .target = "gpu"});
  CHECK(x.home() == "cuda0");
  CHECK(x.pinned());
  host.data<float>()[0] = 100;
  CHECK(values(x.get_value()) == std::vector<double>{1, 2, 3});

  const ct::Function f = ct::function({}, x * 2);
  const Array first = f();
  CHECK(first.dtype() == DType::float32);
  CHECK(first.device() == "cpu");
  CHECK(first.to_string() == "[2. 4. 6.]");
  REQUIRE(f.kernels().size() == 1);
  CHECK(f.kernels()[0].target == "cuda:sm_90");
  CHECK_THAT(f.kernels()[0].source, contains("CT_KERNEL"));
  CHECK(runs_on(f, "cuda0"));
  // Only the result was sent: to the host.
  REQUIRE(f.transfers().size() == 1);
  CHECK(f.transfers()[0].kind == TransferInfo::Kind::output);
  CHECK(f.transfers()[0].from == "cuda0");
  CHECK(f.transfers()[0].to == "cpu");
  CHECK(f.transfers()[0].bytes == 12);

  {
    const ct::change_flags on{"device=cuda1"};
    CHECK(Array(f()).to_string() == "[2. 4. 6.]");
    CHECK(runs_on(f, "cuda1"));
    const auto sent = of_kind(f, TransferInfo::Kind::shared);
    REQUIRE(sent.size() == 1);  // three elements, between the devices
    CHECK(sent[0].what == "x");
    CHECK(sent[0].from == "cuda0");
    CHECK(sent[0].to == "cuda1");
    CHECK(sent[0].bytes == 12);
    CHECK(f.transfers().size() == 2);
    // A second call sends only its result, and compiles nothing.
    const auto before = f.counts();
    CHECK(Array(f()).to_string() == "[2. 4. 6.]");
    CHECK(f.transfers().size() == 1);
    CHECK(of_kind(f, TransferInfo::Kind::output).size() == 1);
    CHECK(f.counts().compiled == before.compiled);
    CHECK(f.counts().transfers == before.transfers + 1);
  }
  // The scope is over, and nothing has moved.
  CHECK(x.home() == "cuda0");
  const auto before = f.counts();
  CHECK(Array(f()).to_string() == "[2. 4. 6.]");
  CHECK(f.transfers().size() == 1);
  CHECK(f.counts().compiled == before.compiled);
  CHECK(runs_on(f, "cuda0"));
}

TEST_CASE("of several pinned inputs the one with the most bytes draws the work") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto small = ct::shared(Array::full(DType::float32, {1, 100}, 1), {.name = "small", .target = machine.first});
  const auto large = ct::shared(Array::full(DType::float32, {100, 50}, 2), {.name = "large", .target = machine.second});
  const ct::Function f = ct::function({}, ct::dot(small, large));
  CHECK(f.devices() == std::vector<std::string>{machine.second});
  CHECK(values(f()) == std::vector<double>(50, 200));
}

TEST_CASE("a copy on another device is sent again only when the variable has changed") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  auto x = ct::shared(Array{1.f, 2.f}, {.name = "x", .target = "cuda0"});
  const ct::Function f = ct::function({}, x + 1);
  const ct::Function g = ct::function({}, ct::sum(x));
  const ct::change_flags on{"device=cuda1"};
  f();
  CHECK(of_kind(f, TransferInfo::Kind::shared).size() == 1);
  // Another function uses the copy.
  CHECK(Array(g()).item<float>() == 3);
  CHECK(of_kind(g, TransferInfo::Kind::shared).empty());
  x.set_value(Array{5.f, 6.f});
  CHECK(values(f()) == std::vector<double>{6, 7});
  CHECK(of_kind(f, TransferInfo::Kind::shared).size() == 1);
  CHECK(Array(g()).item<float>() == 11);
  CHECK(of_kind(g, TransferInfo::Kind::shared).empty());
}

TEST_CASE("flags of a scope end with it, also after an exception, nested and per thread") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto x = ct::shared(Array{1.f, 2.f}, {.name = "x", .target = "cuda0"});
  const auto n = ct::lscalar("n");
  const ct::Function f = ct::function({n}, x[n]);
  try {
    const ct::change_flags on{"device=cuda1"};
    f(5);
    FAIL("there is no element 5");
  } catch (const ct::IndexError&) {
  }
  CHECK(Array(f(1)).item<float>() == 2);
  CHECK_FALSE(runs_on(f, "cuda1"));
  {
    const ct::change_flags outer{"device=cuda1"};
    {
      const ct::change_flags inner{"device=cpu"};
      f(1);
      CHECK_FALSE(runs_on(f, "cuda0"));
    }
    CHECK(runs_on(f, "cuda1"));
    bool elsewhere = true;
    std::thread([&] {
      const ct::change_flags here(machine.flags());  // scopes are per thread
      elsewhere = runs_on(f, "cuda1");
    }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK(runs_on(f, "cuda0"));
}

TEST_CASE("a scope says something also where it says what the process says") {
  const ct::change_flags two{"cuda_simulator=2"};
  const std::string before = ct::flag("device");
  ct::set_flag("device", "cpu");
  const auto x = ct::shared(Array{1.f, 2.f}, {.name = "x", .target = "cuda0"});
  const ct::Function f = ct::function({}, x * 2);
  CHECK(f.devices() == std::vector<std::string>{"cuda0"});
  {
    const ct::change_flags on{"device=cpu"};
    CHECK(f.devices() == std::vector<std::string>{"cpu"});
    const ct::change_flags off{"device=auto"};  // names no device
    CHECK(f.devices() == std::vector<std::string>{"cuda0"});
  }
  CHECK(f.devices() == std::vector<std::string>{"cuda0"});
  ct::set_flag("device", before);
}

TEST_CASE("use() makes a device the default for what comes later") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const ct::change_flags quiet{"print_active_device=false"};
  const auto before = ct::shared(Array{1.f}, {.name = "before"});
  const std::string device = ct::flag("device");
  ct::use("gpu,1");
  const auto after = ct::shared(Array{1.f}, {.name = "after"});
  const auto v = ct::vector("v");
  const ct::Function f = ct::function({v}, ct::exp(v));
  CHECK(runs_on(f, "cuda1"));
  CHECK(Array(f(Array{0.f})).item<float>() == 1);
  CHECK(of_kind(f, TransferInfo::Kind::input).size() == 1);
  ct::set_flag("device", device);
  CHECK(before.home() == "cpu");
  CHECK(after.home() == "cuda1");
  CHECK_FALSE(after.pinned());
  CHECK_THROWS_WITH(ct::use("cuda7"), contains("no device cuda7") && contains("cpu, " + machine.listed()));
  CHECK(ct::flag("device") == device);
}

TEST_CASE("device scopes nest; the innermost applies; ops built outside have no fixed device") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  ct::Variable left, right, sum;
  {
    const ct::device_scope outer("/gpu:0");
    left = ct::dot(a, a);
    {
      const ct::device_scope inner("/gpu:1");
      right = ct::dot(b, b);
    }
    const ct::device_scope host("/cpu:0");
    sum = left + right;
  }
  const ct::Function f = ct::function({a, b}, sum);
  const ct::Function one = ct::function({a, b}, ct::dot(a, a) + ct::dot(b, b));
  const Array x = Array::uniform(DType::float32, {17, 17}, 1), y = Array::uniform(DType::float32, {17, 17}, 2);
  const auto apart = values(f(x, y)), together = values(one(x, y));
  for (std::size_t i = 0; i < apart.size(); ++i) CHECK(apart[i] == Approx(together[i]).epsilon(1e-5));
  // The same library on the host and in simulated memory: the same bits.
  if (machine.kind() == Machine::Kind::simulated) CHECK(apart == together);
  CHECK(runs_on(f, "cuda0"));
  CHECK(runs_on(f, "cuda1"));
  CHECK(of_kind(f, TransferInfo::Kind::input).size() == 2);
  const auto sent = of_kind(f, TransferInfo::Kind::value);
  REQUIRE(sent.size() == 2);
  for (const TransferInfo& t : sent) {
    CHECK(t.to == "cpu");
    CHECK(t.bytes == 17 * 17 * 4);
  }
  CHECK(of_kind(f, TransferInfo::Kind::output).empty());
  // By default work runs on the first GPU, unless it is simulated.
  CHECK(runs_on(one, "cuda0") == machine.is_fake());
  CHECK(one.transfers().empty() != machine.is_fake());
}

TEST_CASE("gradients run where their op runs") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto x = ct::matrix("x");
  const auto w = ct::shared(Array::uniform(DType::float32, {5, 3}, 3), {.name = "w"});
  ct::Variable h;
  {
    const ct::device_scope on("cuda1");
    h = ct::tanh(ct::dot(x, w));
  }
  const auto loss = ct::sum(h * h);
  const ct::Function f = ct::function({x}, ct::grad(loss, w));
  const std::string placement = f.placement();
  std::size_t products = 0;
  std::istringstream lines(placement);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(dot)") == std::string::npos) continue;
    ++products;
    CHECK_THAT(line, contains("cuda1"));
  }
  CHECK(products == 2);
  const Array in = Array::uniform(DType::float32, {4, 5}, 4);
  const ct::change_flags reference{"mode=reference"};
  const ct::Function g = ct::function({x}, ct::grad(loss, w));
  const auto got = values(f(in)), expected = values(g(in));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("transfer() moves a value, and its gradient back") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto x = ct::vector("x");
  const auto moved = ct::transfer(x * 2, "cuda1");
  const ct::Function f = ct::function({x}, ct::exp(moved));
  CHECK(runs_on(f, "cuda1"));  // work without a device runs where its transferred operand is
  CHECK(values(f(Array{0.f, 1.f}))[0] == 1);
  const ct::Function g = ct::function({x}, ct::grad(ct::sum(moved * moved), x));
  CHECK(values(g(Array{1.f, 3.f})) == std::vector<double>{8, 24});
  // No transfer if the value is already there.
  const ct::Function here = ct::function({x}, ct::transfer(x, "cpu") + 1);
  CHECK(here.plan().find("transfer") == std::string::npos);
  CHECK(values(here(Array{1.f})) == std::vector<double>{2});
}

TEST_CASE("a device that is not there is an error with the user's line, or soft placement") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto x = ct::vector("x");
  ct::Variable y;
  {
    const ct::device_scope on("cuda5");
    y = ct::exp(x);
    y.named("y");
  }
  CHECK_THROWS_AS(ct::function({x}, y), ct::DeviceError);
  CHECK_THROWS_WITH(ct::function({x}, y), contains("test_devices.cpp:") && contains("cuda5") &&
                                              contains("cpu, cuda0, cuda1") && contains("allow_soft_placement"));
  CHECK_THROWS_WITH(ct::shared(Array{1.f}, {.name = "w", .target = "cuda5"}),
                    contains("shared 'w'") && contains("no device cuda5"));
  const ct::change_flags soft{"allow_soft_placement=true"};
  const ct::Function f = ct::function({x}, y);
  CHECK(values(f(Array{0.f})) == std::vector<double>{1});
  CHECK_THAT(f.placement(), contains("there is no cuda5"));
  {
    const ct::change_flags hard{"allow_soft_placement=false"};
    CHECK_THROWS_AS(
        [&] {
          const ct::change_flags on{"device=cuda5"};
          f(Array{0.f});
        }(),
        ct::DeviceError);
  }
}

TEST_CASE("updates: a pinned variable's new value goes home, another's home moves") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto pinned = ct::shared(Array{1.f, 2.f}, {.name = "pinned", .target = "cuda0"});
  const auto loose = ct::shared(Array{1.f, 2.f}, {.name = "loose"});
  const ct::Function step =
      ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{pinned, pinned * 2}, {loose, loose * 3}}});
  {
    const ct::change_flags on{"device=cuda1"};
    step();
    step();
  }
  CHECK(pinned.home() == "cuda0");
  CHECK(loose.home() == "cuda1");
  CHECK(values(pinned.get_value()) == std::vector<double>{4, 8});
  CHECK(values(loose.get_value()) == std::vector<double>{9, 18});
  // In place on its device: nothing is sent.
  const ct::Function there =
      ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{pinned, pinned + 1}}});
  there();
  CHECK(there.transfers().empty());
  CHECK_THAT(there.plan(), contains("in the memory of"));
  CHECK(values(pinned.get_value()) == std::vector<double>{5, 9});
}

TEST_CASE("a constant is sent once, whatever the sizes of calls") {
  const ct::change_flags two{"cuda_simulator=2,device=cuda1"};
  const auto x = ct::matrix("x");
  const auto table = ct::constant(Array{1.f, 2.f, 3.f});
  const ct::Function f = ct::function({x}, x * table);
  f(Array::full(DType::float32, {2, 3}, 1));
  REQUIRE(of_kind(f, TransferInfo::Kind::constant).size() == 1);
  CHECK(of_kind(f, TransferInfo::Kind::constant)[0].bytes == 12);
  CHECK(values(f(Array::full(DType::float32, {1, 3}, 2))) == std::vector<double>{2, 4, 6});
  CHECK(of_kind(f, TransferInfo::Kind::constant).empty());
  const ct::Function g = f.copy();
  g(Array::full(DType::float32, {2, 3}, 1));
  CHECK(of_kind(g, TransferInfo::Kind::constant).empty());
}

TEST_CASE("use() says which device that is") {
  const ct::change_flags two{"cuda_simulator=2"};
  const std::string device = ct::flag("device");
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  ct::use("gpu,0");
  std::cerr.rdbuf(before);
  ct::set_flag("device", device);
  CHECK(said.str() == "Mapped name None to device cuda0: simulated GPU (simulated)\n");
}

TEST_CASE("sizes may depend on a number that is on a device") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto n = ct::shared(Array(std::int64_t{3}), {.name = "n", .target = machine.first});
  const ct::Function f = ct::function({}, ct::arange(n) * 2, {.updates = {{n, n + 1}}});
  CHECK(values(f()) == std::vector<double>{0, 2, 4});
  CHECK(values(f()) == std::vector<double>{0, 2, 4, 6});
}

TEST_CASE("integers that a device computes reach the host's memory by a copy") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto n = ct::shared(Array(std::int64_t{3}), {.name = "n", .target = machine.first});
  const Variable twice = n * 2;
  // As results, as sizes, as operands of work on the host; separately and together.
  const ct::Function result = ct::function({}, twice, {.updates = {{n, n + 1}}});
  CHECK(result().item<std::int64_t>() == 6);
  CHECK(result().item<std::int64_t>() == 8);
  const ct::Function both = ct::function({}, {twice, ct::arange(twice), twice + 1, ct::eq(twice, 10)});
  const ct::Outputs got = both();
  CHECK(got[0].item<std::int64_t>() == 10);
  CHECK(got[1].shape() == ct::Sizes{10});
  CHECK(got[2].item<std::int64_t>() == 11);
  CHECK(got[3].item<bool>());
  const Variable on_host = [&] {
    const ct::device_scope scope("cpu");
    return ct::cast(twice, DType::float32) / 4 + ct::sum(ct::arange(twice + 1));
  }();
  CHECK(ct::function({}, on_host)().item<double>() == 57.5);
  // The same if a call's flag selects the host.
  {
    const ct::change_flags scope("device=cpu");
    CHECK(both()[0].item<std::int64_t>() == 10);
    CHECK(both()[1].shape() == ct::Sizes{10});
    CHECK(result().item<std::int64_t>() == 10);
  }
  // A value that is already on the host is not sent.
  const auto m = ct::variable({DType::int64, {}}, "m");
  const ct::change_flags scope("device=" + machine.first);
  const ct::Function of_argument = ct::function({m}, {m * 2, ct::arange(m * 2)});
  CHECK(of_argument(std::int64_t{4})[0].item<std::int64_t>() == 8);
  CHECK(of_argument(std::int64_t{4})[1].shape() == ct::Sizes{8});
}

TEST_CASE("arrays on devices are reached by copies alone") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto w = ct::shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda0"});
  const ct::Function f = ct::function({}, w);
  CHECK(Array(f()).device() == "cpu");
  CHECK(values(w.get_value(true)) == std::vector<double>{1, 2});
}

TEST_CASE("the placement log names every op, its device and the reason, and every transfer with its bytes") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const auto x = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "x", .target = "cuda0"});
  const ct::Function f = ct::function({}, x * 2, {.name = "twice"});
  std::ostringstream log;
  ct::log_device_placement(log);
  {
    const ct::change_flags on{"device=cuda1"};
    f();
    const std::string first = log.str();
    CHECK_THAT(first, contains("devices: cpu, cuda0") && contains(", cuda1") && contains("twice runs here:"));
    CHECK_THAT(first, contains("(mul): cuda1  [change_flags]"));
    CHECK_THAT(first, contains("twice: shared variable x: cuda0 -> cuda1, 12 bytes"));
    CHECK_THAT(first, contains("cuda1 -> cpu, 12 bytes"));
    log.str("");
    f();
    CHECK(log.str().find("shared variable") == std::string::npos);
    CHECK(log.str().find("runs here") == std::string::npos);
  }
  ct::log_device_placement(nullptr);
  log.str("");
  f();
  CHECK(log.str().empty());
}

// ---- a product on a simulated device accesses each operand once ----

namespace {

using croton::runtime::MatrixProduct;

/// Memory of the simulated cuda0 with these values; without values nothing is written to it.
std::shared_ptr<void> put(croton::runtime::Device& device, std::size_t count, bool written = true) {
  const std::vector<float> values(count, 1.f);
  auto memory = device.allocate(count * sizeof(float));
  if (written) device.copy_in(memory.get(), values.data(), count * sizeof(float));
  return memory;
}

MatrixProduct product_of(void* a, void* b, void* c) {
  MatrixProduct p;
  p.dtype = DType::float32;
  p.m = 3, p.k = 4, p.n = 5;
  p.lda = 4, p.ldb = 5, p.ldc = 5;
  p.a = a, p.b = b, p.c = c;
  return p;
}

}  // namespace

TEST_CASE("products on a simulated device are checked: bounds, what nobody wrote, what overlaps") {
  auto& device =
      croton::runtime::device_at(croton::base::parse_device("cuda0").place(), croton::runtime::Gpus::simulated);
  const auto a = put(device, 12), b = put(device, 20), c = put(device, 15, false);
  MatrixProduct p = product_of(a.get(), b.get(), c.get());
  device.gemm(p);
  float result[15];
  device.copy_out(result, c.get(), sizeof result);
  for (const float value : result) CHECK(value == 4);
  p.beta = 1;
  p.alpha = -1;
  device.gemm(p);  // in place: 4 - 4
  device.copy_out(result, c.get(), sizeof result);
  for (const float value : result) CHECK(value == 0);

  const auto expect = [&](MatrixProduct wrong, const std::string& what) {
    CHECK_THROWS_AS(device.gemm(wrong), ct::DeviceError);
    CHECK_THROWS_WITH(device.gemm(wrong), contains(what));
  };
  p = product_of(a.get(), b.get(), c.get());
  p.lda = 5;  // the last row extends beyond the memory
  expect(p, "out of bounds on a simulated device: the left operand");
  p = product_of(a.get(), b.get(), c.get());
  p.ldc = 6;
  expect(p, "out of bounds on a simulated device: the result");
  p = product_of(a.get(), b.get(), c.get());
  p.transpose_b = true;
  p.ldb = 4;
  CHECK_NOTHROW(device.gemm(p));
  const auto blank = put(device, 20, false);
  expect(product_of(a.get(), blank.get(), c.get()), "uninitialised read on a simulated device: the right operand");
  p = product_of(a.get(), b.get(), put(device, 15, false).get());
  const auto fresh = put(device, 15, false);
  p.c = fresh.get();
  p.beta = 1;
  expect(p, "uninitialised read on a simulated device: the result");
  expect(product_of(a.get(), b.get(), b.get()), "race on a simulated device");
  float host[15] = {};
  expect(product_of(a.get(), b.get(), host), "out of bounds on a simulated device: the result");
}
