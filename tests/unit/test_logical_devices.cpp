// The flag logical_devices: parts of the host and of GPUs as separate devices.
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <string>
#include <vector>

#include "base/device_name.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/device/device_split.hpp"
#include "runtime/devices.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::runtime::parse_split;
using ct::test::device_called;
using ct::test::error_of;
using ct::test::FakeGpus;
using ct::test::Machine;
using ct::test::values;

namespace {

std::string names() {
  std::string all;
  for (const ct::DeviceInfo& info : ct::devices()) all += (all.empty() ? "" : " ") + info.name;
  return all;
}

}  // namespace

TEST_CASE("the flag says what is split into how many parts") {
  CHECK(parse_split("").cpus == 1);
  CHECK(parse_split("cpu:4").cpus == 4);
  CHECK(parse_split("/gpu:1:3").parts_of(1) == 3);
  const auto both = parse_split("cpu:2+cuda1:3");
  CHECK(both.cpus == 2);
  CHECK(both.parts_of(0) == 1);
  CHECK(both.parts_of(1) == 3);
  CHECK(count_parts(both, 3) == 5);
  const auto part = part_of(both, 3, 3);
  CHECK(part.gpu == 1);
  CHECK(part.part == 2);
  CHECK(part.parts == 3);
  CHECK(part_of(both, 3, 4).gpu == 2);
  for (const char* wrong : {"cpu", "cpu:", "cpu:0", "cpu:17", "cpu:-1", "cpu:2x", ":2", "tpu:2", "cpu1:2", "cpu:2+",
                            "cpu:2+cpu:3", "cuda0:2+gpu:3", "+", "cpu:2,cuda0:2"}) {
    CAPTURE(wrong);
    CHECK_THAT(error_of<ct::ValueError>([&] { parse_split(wrong); }),
               contains(std::string("logical_devices=") + wrong) && contains("write cpu:4 for cpu0 to cpu3"));
  }
}

TEST_CASE("a wrong value of the flag raises when devices are listed") {
  const ct::change_flags wrong{"logical_devices=cpu:many"};
  CHECK_THAT(error_of<ct::ValueError>([] { ct::devices(); }), contains("'many' is not a number of parts"));
  const auto x = ct::vector("x");
  CHECK_THROWS_AS(ct::function({x}, x + 1)(Array{1.f}), ct::ValueError);
  CHECK_THROWS_AS(ct::shared(Array{1.f}, {.target = "cpu1"}), ct::ValueError);
}

TEST_CASE("parts are numbered through, the host is cpu0") {
  {
    const ct::change_flags flags{"logical_devices=cpu:3,cuda_root=none"};
    CHECK(names() == "cpu cpu1 cpu2");
    CHECK(ct::devices()[2].kind == ct::DeviceInfo::Kind::logical);
    CHECK_THAT(error_of<ct::DeviceError>([] { device_called("cpu3"); }),
               contains("there is no device cpu3; there are: cpu, cpu1 (logical), cpu2 (logical)") &&
                   contains("logical_devices=cpu:4 makes cpu0 to cpu3"));
    CHECK(ct::shared(Array{1.f}, {.target = "cpu0"}).home() == "cpu");
  }
  {
    const ct::change_flags flags{"cuda_simulator=1,logical_devices=cuda0:2"};
    CHECK(names() == "cpu cuda0 cuda1");
    CHECK(ct::devices()[2].kind == ct::DeviceInfo::Kind::simulated);
  }
  FakeGpus gpus({}, ",logical_devices=cuda0:2+cpu:2");
  CHECK(names() == "cpu cpu1 cuda0 cuda1 cuda2");
  const auto devices = ct::devices();
  CHECK(devices[2].title == "Fake GPU, part 1 of 2");
  CHECK(devices[3].title == "Fake GPU, part 2 of 2");
  CHECK(devices[3].kind == ct::DeviceInfo::Kind::logical);
  CHECK(devices[3].pci == devices[2].pci);
  CHECK(devices[4].title == "Fake GPU");
  CHECK(devices[4].kind == ct::DeviceInfo::Kind::real);
  CHECK(ct::runtime::describe_devices() == "cpu, cpu1 (logical), cuda0 (logical), cuda1 (logical), cuda2");
}

TEST_CASE("each part has an account of its memory") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto &first = device_called(machine.first), &second = device_called(machine.second);
  const auto before = first.memory_use(), other = second.memory_use();
  {
    const auto x = ct::shared(Array::zeros(DType::float32, {1000}), {.target = machine.first});
    CHECK(first.memory_use().bytes_in_use == before.bytes_in_use + 4000);
    CHECK(first.memory_use().allocations == before.allocations + 1);
    CHECK(first.memory_use().peak_bytes >= before.bytes_in_use + 4000);
  }
  CHECK(first.memory_use().bytes_in_use == before.bytes_in_use);
  CHECK(first.memory_use().peak_bytes >= before.bytes_in_use + 4000);
  CHECK(second.memory_use().allocations == other.allocations);
}

TEST_CASE("a GPU in two parts: streams and an account for each on one device") {
  const int delay = GENERATE(0, 1, 2);
  FakeGpus gpus({{"delay", delay}}, ",logical_devices=cuda0:2");
  {
    const auto x = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "x", .target = "cuda0"});
    const auto y = ct::shared(Array{4.f, 5.f, 6.f}, {.name = "y", .target = "cuda1"});
    CHECK(gpus.cuda().live("streams") == 4);
    CHECK(gpus.cuda().live("contexts") == 1);
    const ct::Function f = ct::function({}, x * 2 + y, {.updates = {{x, x + y}, {y, y - x}}});
    CHECK(values(f()) == std::vector<double>{6, 9, 12});
    CHECK(values(x.get_value()) == std::vector<double>{5, 7, 9});
    CHECK(values(y.get_value()) == std::vector<double>{3, 3, 3});
    CHECK(gpus.cuda().calls("cuMemcpyDtoDAsync_v2") > 0);
    CHECK(gpus.cuda().calls("cuMemcpyPeerAsync") == 0);
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("updates on parts of the host: homes move, pinned values go home, in place where they are") {
  const Machine machine(Machine::Kind::logical);
  const auto pinned = ct::shared(Array{1.f, 2.f}, {.name = "pinned", .target = "cpu1"});
  const auto loose = ct::shared(Array{1.f, 2.f}, {.name = "loose"});
  const ct::Function step =
      ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{pinned, pinned * 2}, {loose, loose * 3}}});
  {
    const ct::change_flags on{"device=cpu2"};
    step();
    step();
  }
  CHECK(pinned.home() == "cpu1");
  CHECK(loose.home() == "cpu2");
  CHECK(values(pinned.get_value()) == std::vector<double>{4, 8});
  CHECK(values(loose.get_value()) == std::vector<double>{9, 18});
  const ct::Function there =
      ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{pinned, pinned + 1}}});
  there();
  CHECK(there.transfers().empty());
  CHECK_THAT(there.plan(), contains("in the memory of"));
  CHECK(values(pinned.get_value()) == std::vector<double>{5, 9});
  CHECK(there.kernels()[0].target == "cpu");
}

TEST_CASE("transfers inside of branches have the names of the body's variables") {
  const Machine machine(Machine::Kind::logical);
  const auto x = ct::vector("x");
  const auto n = ct::scalar("n", DType::int32);
  const auto a = ct::shared(Array{1.f, 1.f}, {.name = "a"});
  const ct::Variable there = [&] {
    const ct::device_scope scope("cpu1");
    return ct::exp(x);
  }();
  const ct::Function f = ct::function({x, n}, ct::ifelse(n > 1, there + a, x));
  f(Array{1.f, 2.f}, Array(2));
  const std::vector<ct::TransferInfo> sent = f.transfers();
  REQUIRE(sent.size() == 2);
  for (const ct::TransferInfo& transfer : sent) {
    CHECK(transfer.kind == ct::TransferInfo::Kind::value);
    CHECK(transfer.what != "a");
    CHECK(transfer.what != "n");
  }
  CHECK(sent[0].what == "x");
}

TEST_CASE("a variable on a device that a flag has taken away is an error that says so") {
  const auto x = [] {
    const ct::change_flags two{"logical_devices=cpu:2"};
    return ct::shared(Array{1.f, 2.f}, {.name = "x", .target = "cpu1"});
  }();
  const ct::Function f = ct::function({}, x + 1);
  CHECK_THAT(error_of<ct::DeviceError>([&] { f(); }),
             contains("there is no device cpu1") && contains("logical_devices=cpu:2 makes cpu0 to cpu1"));
  CHECK(values(x.get_value()) == std::vector<double>{1, 2});
  const ct::change_flags again{"logical_devices=cpu:4"};
  CHECK(values(f()) == std::vector<double>{2, 3});
}
