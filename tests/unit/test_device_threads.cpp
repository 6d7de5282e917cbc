// Several threads that call functions on one device at the same time, and on two in turn. Also run under the thread
// sanitizer.
#include <croton/croton.hpp>
#include <croton/device.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "machines.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::test::Machine;
using ct::test::values;

namespace {

constexpr int thread_count = 4, rounds = 8;

/// Runs `body(number of the thread)` in several threads, which see the machine's devices. True if none raised.
template <class Body>
bool in_threads(const Machine& machine, const std::string& more_flags, const Body& body) {
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      try {
        const ct::change_flags flags(machine.flags() + more_flags);  // scopes are per thread
        body(t);
      } catch (const std::exception& error) {
        good = false;
        std::fprintf(stderr, "thread %d: %s\n", t, error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return good;
}

}  // namespace

TEST_CASE("threads call functions of their own on one device") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto x = ct::matrix("x");
  const auto w = ct::shared(Array::uniform(DType::float32, {20, 10}, 1), {.name = "w", .target = machine.first});
  const ct::Function f = ct::function({x}, ct::tanh(ct::dot(x, w)) + 1);
  const auto input = [](int t) { return Array::uniform(DType::float32, {16 + t, 20}, static_cast<std::uint64_t>(t)); };
  std::vector<std::vector<double>> expected;
  for (int t = 0; t < thread_count; ++t) expected.push_back(values(f(input(t))));
  std::atomic<int> wrong{0};
  CHECK(in_threads(machine, "", [&](int t) {
    const ct::Function mine = f.copy();
    for (int round = 0; round < rounds; ++round)
      wrong += values(mine(input(t))) != expected[static_cast<std::size_t>(t)];
  }));
  CHECK(wrong == 0);
}

TEST_CASE("threads compile the same kernels for one device at once") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  std::atomic<int> wrong{0};
  CHECK(in_threads(machine, ",device=" + machine.first, [&](int) {
    const auto v = ct::vector("v");
    const ct::Function f = ct::function({v}, ct::exp(v * 0) + ct::sum(v));
    wrong += values(f(Array{1.f, 2.f})) != std::vector<double>{4, 4};
  }));
  CHECK(wrong == 0);
}

TEST_CASE("threads update one variable on a device, and read its copy on another") {
  const Machine machine(GENERATE(from_range(Machine::all())));
  const auto count = ct::shared(Array::zeros(DType::float32, {100}), {.name = "count", .target = machine.first});
  const ct::Function add = ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{count, count + 1}}});
  const ct::Function read = ct::function({}, ct::max(count) - ct::min(count));
  std::atomic<int> torn{0};
  CHECK(in_threads(machine, "", [&](int t) {
    const ct::Function mine = add.copy(), look = read.copy();
    for (int round = 0; round < rounds; ++round) {
      mine();
      const ct::change_flags on{"device=" + (t % 2 == 0 ? machine.first : machine.second)};
      torn += Array(look()).item<float>() != 0;
    }
  }));
  CHECK(torn == 0);
  CHECK(values(count.get_value()) == std::vector<double>(100, thread_count * rounds));
}
