// Kernels for given shapes of arguments: the launches of a call that does not run.
#include <croton/croton.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

namespace ct = croton;

namespace {

std::vector<ct::KernelInfo> shown(const ct::Function& f, const std::vector<ct::Sizes>& shapes,
                                  const std::string& target = "cuda:sm_90") {
  return f.kernels(target, {.shapes = shapes});
}

}  // namespace

TEST_CASE("shapes give the launches of a call") {
  const auto x = ct::matrix("x");
  SECTION("rows") {
    const auto kernels = shown(ct::function({x}, ct::nnet::softmax(x, 1)), {{4096, 1024}});
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].launch == "4096 x 1024: 512 blocks of 256 threads");
    CHECK(kernels[0].blocks == 512);
    CHECK(kernels[0].threads == 256);
    CHECK(kernels[0].items == 4096);
    CHECK(kernels[0].points == 4096);
    CHECK(kernels[0].length == 1024);
    CHECK(kernels[0].launches == 1);
    REQUIRE(kernels[0].operands.size() == 2);
    CHECK(kernels[0].operands[0].bytes == 4096 * 1024 * 4);
    CHECK(kernels[0].operands[0].point_bytes == 1024 * 4);
    CHECK(kernels[0].operands[0].passes == 1);  // by the reduction that holds them, the others and the results
    CHECK_FALSE(kernels[0].operands[0].written);
    CHECK(kernels[0].operands[1].passes == 1);
    CHECK(kernels[0].operands[1].written);
  }
  SECTION("a long reduction has a block for each part") {
    const auto kernels = shown(ct::function({x}, ct::sum(x)), {{16384, 8192}});
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].launches == 1);
    CHECK(kernels[0].items == 1024);
    CHECK(kernels[0].blocks == 1024);
    CHECK(kernels[0].points == 1);
    CHECK(kernels[0].length == 16384 * 8192);
  }
  SECTION("one whose elements are on several lines, too") {
    const auto every = ct::slice({}, {}, 2);
    const auto kernels = shown(ct::function({x}, ct::sum(x.at({every, every}))), {{16384, 8192}});
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].launches == 1);
    CHECK(kernels[0].items == 1024);
  }
  SECTION("one whose elements depend on their position has a second entry") {
    const auto kernels = shown(ct::function({x}, ct::sum(x * ct::eye(x.shape(0), x.shape(1)))), {{8192, 4096}});
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].launches == 2);
    CHECK(kernels[0].items == 2048);
  }
  SECTION("an operand that is broadcast counts once, a part of one by its elements") {
    const auto b = ct::vector("b");
    const auto kernels = shown(ct::function({x, b}, x.at({ct::slice(1)}) + b), {{101, 50}, {50}});
    REQUIRE(kernels.size() == 1);
    REQUIRE(kernels[0].operands.size() == 3);
    CHECK(kernels[0].operands[0].bytes == 50 * 4);  // in the order of the kernel
    CHECK(kernels[0].operands[1].bytes == 100 * 50 * 4);
    CHECK(kernels[0].operands[2].bytes == 100 * 50 * 4);
  }
  SECTION("a routine has several launches") {
    const auto v = ct::vector("v");
    const auto kernels = shown(ct::function({v}, ct::cumsum(v)), {{1 << 20}});
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].launches == 3);
    CHECK(kernels[0].items == 1024);
    CHECK(kernels[0].length == 1024);
    CHECK(kernels[0].blocks == 8);
    CHECK(kernels[0].operands.size() == 3);
  }
}

TEST_CASE("the sizes decide which kernels a call has") {
  const auto a = ct::matrix("a"), b = ct::matrix("b");
  const auto f = ct::function({a, b}, ct::dot(a, b));
  CHECK(f.kernels("cuda:sm_90").empty());
  CHECK(shown(f, {{4, 4}, {4, 4}}).size() == 1);      // a small product is a generated kernel
  CHECK(shown(f, {{512, 512}, {512, 512}}).empty());  // a library computes it
}

TEST_CASE("shapes neither run the function nor read its arguments") {
  auto state = ct::shared(ct::Array::zeros(ct::DType::float32, {3}), {.name = "state"});
  const auto x = ct::vector("x"), y = ct::vector("y");
  const auto f = ct::function({x, ct::In(y)}, x + y, {.updates = {{state, state + 1.f}}});
  constexpr std::int64_t huge = std::int64_t{1} << 39;
  const auto kernels = shown(f, {{huge}, {huge}});
  CHECK(kernels.size() == 2);
  CHECK(f.counts().calls == 0);
  CHECK(state.get_value().at<float>(0) == 0);
  // After a call, too, which looks for arguments that share memory with a borrowed variable.
  state.set_value(ct::Array{1.f, 2.f, 3.f}, true);
  const ct::Array three{1.f, 2.f, 3.f};
  f(three, three);
  CHECK(shown(f, {{huge}, {huge}}).size() == 2);
  CHECK(f.counts().calls == 1);
  // The same text as with example sizes, and on the CPU work items instead of blocks.
  const auto cpu = shown(f, {{1000}, {1000}}, "cpu");
  CHECK(cpu[0].blocks == 0);
  CHECK(cpu[0].items > 0);
}

TEST_CASE("a function without inputs shows its call") {
  const auto a = ct::shared(ct::Array::zeros(ct::DType::float32, {3000}), {.name = "a"});
  const auto f = ct::function({}, ct::exp(a));
  const auto kernel = f.kernels("cuda:sm_90").at(0);
  CHECK(kernel.launch == "3000: 6 blocks of 128 threads");
  CHECK(kernel.operands.size() == 2);
  // Unless a size is computed.
  const auto computed = ct::function({}, ct::flatnonzero(a) + 1).kernels("cuda:sm_90");
  CHECK(!computed.empty());
  CHECK(computed.back().operands.empty());
}

TEST_CASE("without shapes the launch is for example sizes, and has no operands") {
  const auto x = ct::matrix("x");
  const auto kernel = ct::function({x}, ct::nnet::softmax(x, 1)).kernels("cuda:sm_90").at(0);
  CHECK(kernel.launch == "1009 x 1013: 127 blocks of 256 threads");
  CHECK(kernel.blocks == 127);
  CHECK(kernel.operands.empty());
}
