// Reductions of whole arrays on a GPU that do not depend on each other are one launch, whose last block also computes
// what is made of their results: clipping by the norm of all gradients is one launch before that of the updates. On
// simulated GPUs, whose blocks are interleaved, and on GPUs of the fake driver.
#include <croton/croton.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "contains.hpp"
#include "machines.hpp"
#include "runtime/simulator/kernels.hpp"
#include "template_programs.hpp"

namespace ct = croton;
using croton::test::replaced;
using croton::test::RestoredTexts;
using ct::Array;
using ct::DType;
using ct::SharedVariable;
using ct::Variable;
using ct::test::FakeGpus;
using ct::test::Machine;
using Vars = std::vector<Variable>;

namespace {

const ct::OutputList nothing{Vars{}};

Array numbers(DType dtype, const ct::Sizes& shape, std::uint64_t seed) {
  return Array::uniform(DType::float64, shape, seed, -1, 1).astype(dtype);
}

/// p = p - 0.1 g min(1, most / norm) for tensors of mixed sizes, where norm is that of all g together. `dtypes` in
/// turn.
struct Clipped {
  std::vector<SharedVariable> p, g;
  ct::Function step;

  Clipped(std::size_t count, const std::vector<DType>& dtypes, const std::string& device,
          std::int64_t largest = 100'000, std::size_t first = 0) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<ct::Sizes> shapes{{1000}, {0}, {1}, {largest}, {17, 3}, {4096}, {2, 5, 101}};
      const ct::Sizes& shape = shapes[(first + i) % shapes.size()];
      const auto add = [&](std::vector<SharedVariable>& to, std::uint64_t seed) {
        to.push_back(ct::shared(numbers(dtypes[i % dtypes.size()], shape, seed), {.target = device}));
      };
      add(p, 2 * i);
      add(g, 2 * i + 1);
    }
    Variable squares = ct::sum(ct::sqr(g[0]));
    for (std::size_t i = 1; i < count; ++i) squares = squares + ct::sum(ct::sqr(g[i]));
    const Variable scale = ct::minimum(1.f, 2.f / ct::sqrt(squares));
    ct::FunctionOptions options;
    for (std::size_t i = 0; i < count; ++i)
      options.updates.emplace_back(p[i], p[i] - 0.1f * g[i] * ct::cast(scale, p[i].dtype()));
    step = ct::function({}, nothing, options);
  }
  std::vector<Array> values() const {
    std::vector<Array> all;
    for (const SharedVariable& variable : p) all.push_back(variable.get_value());
    return all;
  }
};

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::ranges::equal(a, b, [](const Array& x, const Array& y) { return x.same_bits(y); });
}

/// Launches of kernels in a call.
std::uint64_t launches_of(const ct::Function& f) {
  const std::uint64_t before = f.counts().kernels;
  f();
  return f.counts().kernels - before;
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

TEST_CASE("clipping by the norm of all gradients is one launch, and one for the updates") {
  const std::vector<std::vector<DType>> dtypes{{DType::float32}, {DType::float64, DType::float32}};
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{60}}) {
    for (const std::vector<DType>& of : dtypes) {
      // The largest ones, of many parts, are among the few.
      const std::int64_t largest = count == 60 ? 3000 : 100'000;
      CAPTURE(count, of.size());
      std::vector<Array> wanted;
      {
        const ct::change_flags host{"device=cpu"};
        Clipped clipped(count, of, "cpu", largest, 2);
        clipped.step();
        clipped.step();
        wanted = clipped.values();
      }
      for (const int seed : {1, 2, 3, 4}) {
        CAPTURE(seed);
        const ct::change_flags flags("cuda_simulator=1,device=cuda0,cuda_simulator_seed=" + std::to_string(seed));
        Clipped clipped(count, of, "cuda0", largest, 2);
        CHECK(launches_of(clipped.step) == 2);
        CHECK(launches_of(clipped.step) == 2);
        CHECK(same_bits(clipped.values(), wanted));
      }
    }
  }
}

TEST_CASE("many gradients have their parameters in a table, and blocks of few threads give the same bits") {
  std::vector<Array> wanted;
  {
    const ct::change_flags host{"device=cpu"};
    Clipped clipped(200, {DType::float32}, "cpu", 9000);
    clipped.step();
    wanted = clipped.values();
  }
  for (const std::string schedule : {"", ",schedule=threads=32", ",schedule=split.threads=128+pointwise.threads=32"}) {
    CAPTURE(schedule);
    const ct::change_flags flags("cuda_simulator=1,device=cuda0" + schedule);
    Clipped clipped(200, {DType::float32}, "cuda0", 9000);
    CHECK(launches_of(clipped.step) == 2);
    CHECK(same_bits(clipped.values(), wanted));
    const std::vector<ct::KernelInfo> groups = groups_of(clipped.step);
    REQUIRE(groups.size() == 2);
    CHECK(has_table(groups[0]));
    CHECK(groups[0].schedules.size() > 201);
  }
}

TEST_CASE("the launch is shown as that of the updates is, also for a function on the host") {
  const std::string device = GENERATE(std::string("cpu"), std::string("cuda0"));
  const ct::change_flags flags("cuda_simulator=1,device=" + device);
  Clipped clipped(3, {DType::float32}, device, 20'000, 2);
  const std::vector<ct::KernelInfo> kernels = clipped.step.kernels("cuda:sm_90");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name.starts_with("group_"));
  CHECK_THAT(kernels[0].source, contains("ct::split_block(") && contains("ct::is_last_block(p.finished, 3u)"));
  CHECK_THAT(kernels[0].launch, contains("1, 20000, 51: 5 blocks of 256 threads"));
  CHECK_THAT(kernels[0].expression, contains("kernel split") && contains("kernel pointwise"));
  CHECK(kernels[0].schedules.size() == 4);
  CHECK(clipped.step.kernels("cpu").size() == 5);
  if (device == "cpu") return;
  CHECK_THAT(clipped.step.plan(), contains("one launch of 4 kernels"));
  clipped.step();
  const std::vector<ct::KernelSchedule> schedules = clipped.step.schedule();
  REQUIRE(schedules.size() == 7);
  CHECK(schedules[0].family == "split");
  CHECK(schedules[3].family == "pointwise");
}

TEST_CASE("a failed launch leaves the counters clean") {
  std::vector<Array> once, twice;
  {
    const ct::change_flags host{"device=cpu"};
    Clipped clipped(3, {DType::float32}, "cpu", 20'000, 2);
    clipped.step();
    once = clipped.values();
    clipped.step();
    twice = clipped.values();
  }
  for (const int seed : {1, 2, 3, 4}) {
    CAPTURE(seed);
    const ct::change_flags flags("cuda_simulator=1,device=cuda0,cuda_simulator_seed=" + std::to_string(seed));
    const RestoredTexts restored;
    Clipped clipped(3, {DType::float32}, "cuda0", 20'000, 2);
    clipped.step();
    // The second of three parts of an array stops, when other blocks have counted themselves.
    const std::string store = "if (leads()) states[number * body.parts() + part] = state;";
    ct::runtime::simulator::change_texts([&](std::string unit) {
      return replaced(std::move(unit), store, "if (leads()) states[part == 1 ? 1 << 20 : part] = state;");
    });
    CHECK_THROWS_AS(clipped.step(), ct::DeviceError);
    CHECK(same_bits(clipped.values(), once));
    ct::runtime::simulator::change_texts({});
    clipped.step();
    CHECK(same_bits(clipped.values(), twice));
  }
  FakeGpus gpus;
  {
    Clipped clipped(3, {DType::float32}, "cuda0", 20'000, 2);
    const std::vector<Array> before = clipped.values();
    gpus.cuda().fail("cuLaunchKernel", 1, ct::runtime::cuda::result::unknown);
    CHECK_THROWS_AS(clipped.step(), ct::Error);
    CHECK(same_bits(clipped.values(), before));
    clipped.step();
    CHECK(same_bits(clipped.values(), once));
  }
  CHECK(gpus.cuda().faults() == "");
}

namespace {

/// Reductions of everything with their plan and results on a simulated GPU, compared with the host's.
std::string check_outputs(const std::vector<Array>& arguments, const std::function<Vars(const Vars&)>& make,
                          std::uint64_t launches) {
  const auto run = [&](const std::string& device) {
    const ct::change_flags flags("cuda_simulator=1,device=" + device);
    Vars in;
    ct::FunctionOptions options;
    for (const Array& value : arguments) in.push_back(ct::shared(value, {.target = device}));
    const ct::Function f = ct::function({}, make(in), options);
    const ct::Outputs first = f();
    const std::uint64_t before = f.counts().kernels;
    const ct::Outputs again = f();
    if (device != "cpu") CHECK(f.counts().kernels - before == launches);
    std::vector<Array> results;
    for (std::size_t i = 0; i < again.size(); ++i) {
      CHECK(again[i].same_bits(first[i]));
      results.push_back(again[i].to_host());
    }
    return std::pair(std::move(results), f.plan());
  };
  const auto [wanted, ignored] = run("cpu");
  const auto [found, plan] = run("cuda0");
  CHECK(same_bits(found, wanted));
  return plan;
}

}  // namespace

TEST_CASE("independent reductions of different arrays are one launch") {
  const std::vector<Array> arguments{numbers(DType::float32, {9001}, 1), numbers(DType::float64, {70, 30}, 2),
                                     numbers(DType::int8, {123}, 3)};
  INFO(check_outputs(
      arguments,
      [](const Vars& in) {
        return Vars{ct::sum(in[0]), ct::argmax(ct::flatten(in[1])), ct::max(in[2]), ct::mean(in[1])};
      },
      1));
}

TEST_CASE("reductions that depend on each other, or on conditions, have launches of their own") {
  const std::vector<Array> arguments{numbers(DType::float32, {9001}, 1), numbers(DType::float32, {90, 41}, 2)};
  // The variance needs the mean first, and is together with the other sum.
  INFO(check_outputs(
      arguments,
      [](const Vars& in) {
        const Variable centred = in[0] - ct::mean(in[0]);
        return Vars{ct::sum(centred * centred), ct::sum(ct::exp(in[1]))};
      },
      2));
  for (const DType dtype : {DType::float32, DType::float16}) {
    INFO(check_outputs(
        {numbers(dtype, {9001}, 1)},
        [](const Vars& in) { return Vars{ct::sqrt(ct::sum(ct::sqr(in[0] - ct::mean(in[0])))) + ct::mean(in[0])}; }, 2));
  }
  // One whose elements are on one axis, and one whose are on two; and one that uses their indices.
  INFO(check_outputs(
      arguments,
      [](const Vars& in) {
        const auto every = ct::slice({}, {}, 2);
        return Vars{ct::sum(in[0]) + ct::sum(in[1].at({every, every}))};
      },
      1));
  INFO(check_outputs(
      arguments, [](const Vars& in) { return Vars{ct::sum(in[0]) + ct::sum(in[1] * ct::eye(90, 41))}; }, 3));
}

TEST_CASE("arrays that reductions of one launch use keep their memory until its end") {
  const std::vector<Array> arguments{numbers(DType::float32, {64, 64}, 1), numbers(DType::float32, {64, 64}, 2)};
  // The product is read for the last time by one reduction, while the other one writes tanh.
  const std::string plan = check_outputs(
      arguments,
      [](const Vars& in) {
        const Variable product = ct::dot(in[0], in[1]), t = ct::tanh(in[0]);
        return Vars{ct::sum(ct::sqr(product)), ct::sum(t), ct::dot(t, in[1])};
      },
      1);
  CHECK_THAT(plan, contains("one launch of 2 kernels"));
  // Gradients that are products: each is needed until the norm is known.
  const std::string of_norm = check_outputs(
      arguments,
      [](const Vars& in) {
        const Variable first = ct::dot(in[0], in[1]), second = ct::dot(in[1], in[0]);
        const Variable norm = ct::sqrt(ct::sum(ct::sqr(first)) + ct::sum(ct::sqr(second)));
        return Vars{first / norm, second / norm, norm};
      },
      3);
  CHECK_THAT(of_norm, contains("one launch of 3 kernels"));
}
