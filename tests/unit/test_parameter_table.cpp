// Launches with more parameters than 4096 bytes: these are in a table in the device's memory, which is copied again
// only when they change, before anything is overwritten. On simulated GPUs and on GPUs of the fake driver.
#include <croton/croton.hpp>
#include <croton/scan.hpp>

#include <string>
#include <vector>

#include "base/memory.hpp"
#include "contains.hpp"
#include "machines.hpp"
#include "runtime/loops/repeated_work.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::test::FakeGpus;
using ct::test::Machine;
using Vars = std::vector<ct::Variable>;
namespace result = ct::runtime::cuda::result;

namespace {

const ct::OutputList nothing{Vars{}};
constexpr const char* copy_entry = "cuMemcpyHtoDAsync_v2";

Array numbers(const ct::Sizes& shape, std::uint64_t seed) { return Array::uniform(DType::float32, shape, seed, -1, 1); }

/// v = 0.9 v - 0.1 g x[0]; p = p + v for `count` tensors of different sizes, one of which has no elements. x is an
/// argument or a shared variable.
struct Momentum {
  std::vector<ct::SharedVariable> p, v, g;
  ct::Variable x = ct::vector("x");
  ct::SharedVariable here;
  bool passes;
  ct::Function step;

  Momentum(std::size_t count, const std::string& device, bool passed = true)
      : here(ct::shared(Array{1.f}, {.target = device})), passes(passed) {
    ct::FunctionOptions options;
    for (std::size_t i = 0; i < count; ++i) {
      const ct::Sizes shape{i == 7 ? 0 : static_cast<std::int64_t>(1 + i * 37 % 301)};
      const auto add = [&](std::vector<ct::SharedVariable>& to, std::uint64_t seed) {
        to.push_back(ct::shared(numbers(shape, seed), {.target = device}));
      };
      add(p, 3 * i);
      add(v, 3 * i + 1);
      add(g, 3 * i + 2);
      const ct::Variable velocity = 0.9f * v[i] - 0.1f * g[i] * (passes ? x : ct::Variable(here))[0];
      options.updates.emplace_back(v[i], velocity);
      options.updates.emplace_back(p[i], p[i] + velocity);
    }
    step = ct::function(passes ? std::vector<ct::In>{x} : std::vector<ct::In>{}, nothing, options);
  }
  void call(float factor) {
    if (passes) {
      step(Array{factor});
    } else {
      step();
    }
  }
  std::vector<Array> values() const {
    std::vector<Array> all;
    for (const auto* of : {&p, &v}) {
      for (const auto& variable : *of) all.push_back(variable.get_value());
    }
    return all;
  }
};

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b, [](const Array& x, const Array& y) { return x.same_bits(y); });
}

/// The values after calls with 1, 2, ... on the host.
std::vector<Array> wanted(std::size_t count, int calls, bool passes = true) {
  const ct::change_flags host{"device=cpu"};
  Momentum momentum(count, "cpu", passes);
  for (int call = 1; call <= calls; ++call) momentum.call(static_cast<float>(call));
  return momentum.values();
}

std::vector<ct::KernelInfo> groups_of(const ct::Function& f) {
  std::vector<ct::KernelInfo> groups = f.kernels("cuda:sm_90");
  std::erase_if(groups, [](const ct::KernelInfo& kernel) { return !kernel.name.starts_with("group_"); });
  return groups;
}

bool has_table(const ct::KernelInfo& kernel) {
  return kernel.source.find("Params* __restrict__ table") != std::string::npos;
}

}  // namespace

TEST_CASE("updates are one launch, with as many tensors as arguments have room for, with one more, and with 200") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  std::size_t most = 2, more = 200;  // without and with a table
  while (more - most > 1) {
    const std::size_t middle = (most + more) / 2;
    (has_table(groups_of(Momentum(middle, machine.first).step).at(0)) ? more : most) = middle;
  }
  CHECK(most > 50);
  for (const std::size_t count : {most, most + 1, std::size_t{200}}) {
    CAPTURE(count, most);
    Momentum momentum(count, machine.first);
    const std::vector<ct::KernelInfo> groups = groups_of(momentum.step);
    REQUIRE(groups.size() == 1);
    CHECK(has_table(groups[0]) == (count > most));
    for (int call = 1; call <= 3; ++call) momentum.call(static_cast<float>(call));
    const std::uint64_t launches = momentum.step.counts().kernels;
    momentum.call(4);
    CHECK(momentum.step.counts().kernels == launches + Momentum(2, machine.first).step.kernels().size());
    CHECK(same_bits(momentum.values(), wanted(count, 4)));
  }
}

TEST_CASE("a table is copied again only when addresses have changed") {
  const int delay = GENERATE(0, 1, 2);
  const bool passes = GENERATE(false, true);
  CAPTURE(delay, passes);
  FakeGpus gpus({{"delay", delay}});
  {
    Momentum momentum(200, "cuda0", passes);
    int calls = 0;
    const auto copies_of_call = [&] {
      const long long before = gpus.cuda().calls(copy_entry);
      momentum.call(static_cast<float>(++calls));
      return gpus.cuda().calls(copy_entry) - before;
    };
    // Calls have their argument in two places in turn.
    const long long every = passes ? 2 : 0;
    CHECK(copies_of_call() == (passes ? 2 : 1));
    CHECK(copies_of_call() == every);
    CHECK(copies_of_call() == every);
    const Array value = momentum.v[150].get_value();
    momentum.v[150].set_value(numbers({value.size() + 1}, 1000));
    const ct::SharedVariable taken = ct::shared(value, {.target = "cuda0"});  // where it was
    momentum.v[150].set_value(value);
    CHECK(copies_of_call() == (passes ? 2 : 1));
    CHECK(copies_of_call() == every);
    CHECK(same_bits(momentum.values(), wanted(200, calls, passes)));
  }
  CHECK(gpus.cuda().faults() == "");
}

TEST_CASE("a failed call of the driver for a table changes nothing") {
  const auto entry = GENERATE(std::string(copy_entry), std::string("cuMemAllocFromPoolAsync"),
                              std::string("cuMemHostAlloc"), std::string("cuEventRecord"));
  const auto code = GENERATE(result::unknown, result::out_of_memory);
  const std::vector<Array> after = wanted(80, 2);
  long long count = 1;
  for (long long nth = 0; nth <= count; ++nth) {
    CAPTURE(entry, nth, count);
    FakeGpus gpus;
    {
      Momentum momentum(80, "cuda0");
      const std::vector<Array> before = momentum.values();
      const long long calls = gpus.cuda().calls(entry);
      bool failed = false;
      if (nth > 0) gpus.cuda().fail(entry, nth, code);
      try {
        momentum.call(1);
      } catch (const ct::Error&) {
        failed = true;
        CHECK(same_bits(momentum.values(), before));
        momentum.call(1);
      }
      if (nth == 0) count = gpus.cuda().calls(entry) - calls;
      CHECK((failed || nth == 0 || code == result::out_of_memory));  // some memory can be saved
      momentum.call(2);
      CHECK(same_bits(momentum.values(), after));
    }
    CHECK(gpus.cuda().faults() == "");
  }
}

TEST_CASE("the simulator without memory for a table changes nothing") {
  const ct::change_flags flags("cuda_simulator=1");
  const std::vector<Array> after = wanted(80, 2);
  int failures = 0;
  for (int nth = 1;; ++nth) {
    CAPTURE(nth);
    Momentum momentum(80, "cuda0");
    const std::vector<Array> before = momentum.values();
    bool failed = false;
    {
      const ct::base::FailAllocation fail(nth);
      try {
        momentum.call(1);
      } catch (const ct::OutOfMemory&) {
        failed = true;
        ++failures;
      }
    }
    if (failed) {
      CHECK(same_bits(momentum.values(), before));
      momentum.call(1);
    }
    momentum.call(2);
    CHECK(same_bits(momentum.values(), after));
    if (!failed || nth >= 12) break;
  }
  CHECK(failures > 0);
}

TEST_CASE("verified updates of 200 tensors") {
  const ct::change_flags flags("cuda_simulator=1,mode=verify");
  Momentum momentum(200, "cuda0");
  for (int call = 1; call <= 2; ++call) momentum.call(static_cast<float>(call));
  CHECK(same_bits(momentum.values(), wanted(200, 2)));
}

namespace {

/// A loop of many states of different sizes, each with a kernel of its own in every step.
ct::Function many_states(const std::string& device, std::int64_t rows) {
  const ct::device_scope scope(device);
  std::vector<ct::OutputInfo> start;
  for (std::int64_t i = 0; i < 40; ++i)
    start.emplace_back(ct::constant(numbers({rows, 3 + i}, 100 + static_cast<std::uint64_t>(i))));
  const ct::Variable x = ct::matrix("x");
  const auto outputs =
      ct::scan(
          [&](const Vars& in) {
            Vars next;
            for (std::size_t i = 1; i < in.size(); ++i)
              next.push_back(ct::tanh(in[i] * 0.5f) + ct::sum(in[i], {std::vector<int>{1}, true}) * in[0][0]);
            return ct::Step(next);
          },
          {x}, start)
          .outputs;
  Vars last;
  for (const ct::Variable& output : outputs) last.push_back(output[-1]);
  return ct::function({x}, last);
}

}  // namespace

TEST_CASE("a loop of many kernels is one launch") {
  const Machine machine(GENERATE(from_range(Machine::gpus())));
  const ct::Function there = many_states(machine.first, 5), here = many_states("cpu", 5);
  CHECK_THAT(there.plan(), contains("all steps in one launch"));
  bool found = false;
  for (const ct::KernelInfo& kernel : there.kernels("cuda:sm_90"))
    found = found || (kernel.name.starts_with("loop_") && has_table(kernel));
  CHECK(found);
  for (std::uint64_t call = 0; call < 2; ++call) {
    const Array x = numbers({4, 2}, call);
    const ct::Outputs got = there(x), expected = here(x);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(Array(got[i]).all_close(expected[i], 1e-5, 1e-6));
  }
}
