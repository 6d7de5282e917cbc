// A kind of device that is not part of the library (stub_device/): whole functions run on it, through the common
// interface of back-ends.
#include <croton/croton.hpp>
#include <croton/device.hpp>
#include <croton/scan.hpp>
#include <croton/sorting.hpp>

#include <string>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"
#include "runtime/cpu/kernels.hpp"
#include "runtime/devices.hpp"
#include "stub_device/device.hpp"

namespace ct = croton;
namespace stub = croton::test::stub;
using ct::Array;
using ct::DType;
using ct::test::device_called;
using ct::test::error_of;
using ct::test::values;
using Kind = ct::TransferInfo::Kind;

TEST_CASE("a device of another kind is there while its back-end says so") {
  const ct::test::ProcessDevice any;
  {
    const stub::Present present;
    CHECK_THAT(ct::runtime::describe_devices(), contains(", stub0 (stub)"));
    CHECK(ct::devices().back().name == "stub0");
    CHECK(ct::devices().back().title == "a stub");
    CHECK(device_called("stub").name() == "stub0");
    CHECK_THROWS_AS(device_called("stub1"), ct::DeviceError);
  }
  CHECK(ct::runtime::describe_devices().find("stub") == std::string::npos);
  CHECK_THAT(error_of<ct::DeviceError>([] { device_called("stub0"); }),
             contains("there is no device stub0") && contains("(the test is over)"));
}

TEST_CASE("a function runs on a device of another kind, in its memory") {
  if (!ct::runtime::cpu::can_compile()) return;
  const ct::test::ProcessDevice any;
  const stub::Present present;
  const auto before = device_called("stub0").memory_use();
  const stub::Work earlier = stub::work();
  {
    const auto w = ct::shared(Array{1.f, 2.f, 3.f}, {.name = "w", .target = "stub0"});
    CHECK(w.home() == "stub0");
    CHECK(device_called("stub0").memory_use().bytes_in_use == before.bytes_in_use + 12);
    const auto x = ct::vector("x");
    const ct::Function f = ct::function({x}, ct::sum(w * x + 1), {.updates = {{w, w + x}}});
    CHECK(f(Array{4.f, 5.f, 6.f}).item<float>() == 35);
    CHECK_THAT(f.plan(), contains(" on stub0 = "));
    CHECK(f.kernels()[0].target == "cpu");
    CHECK(values(w.get_value()) == std::vector<double>{5, 7, 9});
    CHECK(f(Array{4.f, 5.f, 6.f}).item<float>() == 112);
    CHECK(w.home() == "stub0");
    // The argument is sent, the result is returned; the shared variable remains there.
    REQUIRE(f.transfers().size() == 2);
    CHECK(f.transfers()[0].kind == Kind::input);
    CHECK(f.transfers()[0].to == "stub0");
    CHECK(f.transfers()[1].kind == Kind::output);
    CHECK(f.transfers()[1].from == "stub0");
    CHECK(stub::work().launches >= earlier.launches + 2);
    CHECK(stub::work().copies_in == earlier.copies_in + 3);    // the variable's first value, two arguments
    CHECK(stub::work().copies_out >= earlier.copies_out + 3);  // two results, get_value
  }
  CHECK(device_called("stub0").memory_use().allocations > before.allocations);
  CHECK(device_called("stub0").memory_use().bytes_in_use == before.bytes_in_use);
}

TEST_CASE("products, routines, loops and checks on a device of another kind") {
  if (!ct::runtime::cpu::can_compile()) return;
  const ct::test::ProcessDevice any;
  const stub::Present present;
  const std::size_t before = device_called("stub0").memory_use().bytes_in_use;
  const Array weights = Array::uniform(DType::float32, {32, 32}, 1, -1, 1);
  {
    const auto w = ct::shared(weights, {.name = "w", .target = "stub0"});
    const auto x = ct::matrix("x");
    const auto i = ct::lvector("i");
    const auto steps =
        ct::scan([&](const std::vector<ct::Variable>& in) { return ct::Step(ct::tanh(ct::dot(in[0], w))); }, {}, {x},
                 {}, {.n_steps = 3})
            .outputs[0][-1];
    const ct::Function f = ct::function({x, i}, {ct::cumsum(ct::dot(x, w), 0), steps, ct::sum(ct::take(w, i, 0))});
    const Array given = Array::uniform(DType::float32, {32, 32}, 2, -1, 1);
    const Array some{std::int64_t{3}, std::int64_t{5}}, beyond{std::int64_t{3}, std::int64_t{32}};
    const std::uint64_t products = stub::work().products;
    const ct::Outputs there = f(given, some);
    CHECK(stub::work().products > products);
    CHECK_THROWS_AS(f(given, beyond), ct::IndexError);
    const ct::change_flags host{"device=cpu"};
    const ct::Outputs here = f(given, some);
    for (std::size_t k = 0; k < 3; ++k) CHECK(there[k].all_close(here[k], 1e-5, 1e-5));
  }
  CHECK(device_called("stub0").memory_use().bytes_in_use == before);
}
