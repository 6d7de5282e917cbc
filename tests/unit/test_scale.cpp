// Large graphs: every stage is a loop over nodes, so that time is linear in their number and the stack does not grow
// with their depth.
#include <croton/croton.hpp>

#include <chrono>

#include "catch.hpp"

namespace ct = croton;
using ct::Array;

namespace {

/// Nodes, each of which uses the previous one and one of the last fifty.
ct::Variable fan_out(const ct::Variable& x, int nodes) {
  std::vector<ct::Variable> pool{x, x * 1.0001};
  for (int i = 0; i < nodes; ++i) {
    const std::size_t back = 1 + static_cast<std::size_t>(i) * 7919u % std::min<std::size_t>(pool.size(), 50);
    const ct::Variable a = pool.back(), b = pool[pool.size() - back];
    pool.push_back(i % 3 == 0 ? (a + b) * 0.5 : i % 3 == 1 ? a * 0.5 + b * 0.25 : ct::maximum(a, b));
  }
  return pool.back();
}

double compile_seconds(int nodes) {
  const auto x = ct::vector("x");
  const ct::Variable y = fan_out(x, nodes);
  const auto start = std::chrono::steady_clock::now();
  const ct::Function f = ct::function({x}, y);
  CHECK(f.source("cuda:sm_90").size() > static_cast<std::size_t>(nodes));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("100,000 nodes with fan-out become text in time that grows with their number") {
  const ct::change_flags flags{"verify=false"};
  compile_seconds(1000);
  const double tenth = compile_seconds(10'000), whole = compile_seconds(100'000);
  CAPTURE(tenth, whole);
  // Ten times the nodes: quadratic work would take a hundred times as long. The margin is for a busy machine.
  CHECK(whole < 40 * tenth);
}

TEST_CASE("a chain of a million is built, differentiated and destroyed") {
  const auto x = ct::scalar("x");
  ct::Variable y = x;
  for (int i = 0; i < 1'000'000; ++i) y = -y;
  const ct::Variable slope = ct::grad(y, x);
  CHECK(slope.rank() == 0);
}

TEST_CASE("a chain of 20,000 gives what it should") {
  const auto x = ct::vector("x");
  ct::Variable y = x;
  for (int i = 0; i < 20'000; ++i) y = i % 2 == 0 ? y + 1 : y * 0.5;
  const ct::Function f = ct::function({x}, y);
  // y -> (y + 1) / 2 has the fixed point 1.
  CHECK(f(Array{5.f, -3.f}).only().all_close(Array{1.f, 1.f}));
}

TEST_CASE("a chain of 5,000 slices does not recurse") {
  const auto x = ct::vector("x");
  ct::Variable y = x;
  for (int i = 0; i < 5'000; ++i) y = y[ct::slice(1, {})];
  const ct::Function f = ct::function({x}, y + 1);
  CHECK(f(Array::arange(0, 5003, 1, ct::DType::float32)).only().equals(Array{5001.f, 5002.f, 5003.f}));
}

TEST_CASE("a line added to the program leaves kernels as they are") {
  const auto x = ct::vector("x");
  const ct::Function first = ct::function({x}, ct::tanh(x) * 3);

  const auto other_name = ct::vector("a name with */ and \\");
  const ct::Function second = ct::function({other_name}, ct::tanh(other_name) * 3);
  CHECK(first.kernels()[0].name == second.kernels()[0].name);
  CHECK(first.kernels()[0].source != second.kernels()[0].source);  // the comments differ
  CHECK(second(Array{0.f}).only().equals(Array{0.f}));
}
