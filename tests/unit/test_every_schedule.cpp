// Kernels of every family under many schedules, on simulated GPUs: each has the bits of the CPU, whatever its threads,
// packs, blocks and architecture are, for aligned operands and for others.
#include <croton/convolution.hpp>
#include <croton/croton.hpp>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Variable;

namespace {

using Variables = std::vector<Variable>;

/// Numbers with the extremes of the dtype among them, NaN included.
Array numbers(DType dtype, const ct::Sizes& shape, std::uint64_t seed) {
  const bool is_float = dtype == DType::float32 || dtype == DType::float16 || dtype == DType::float64;
  const Array values = is_float ? Array::uniform(dtype, shape, seed, -2, 2)
                                : Array::uniform(DType::float64, shape, seed, -128, 128).astype(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  const double floats[] = {std::nan(""), infinity, -infinity, -0.0, 6e-8}, integers[] = {-128, 127};
  const auto& extremes = is_float ? std::span<const double>(floats) : std::span<const double>(integers);
  // Few, so that most sums are numbers.
  Array flat = values.reshape({-1});
  for (std::size_t k = 0; k < extremes.size(); ++k) {
    const auto at = static_cast<std::int64_t>((k + 1) * 61 + seed) % flat.size();
    flat.slice(0, at, at + 1).copy_from(Array::full(dtype, {1}, extremes[k]));
  }
  return values;
}

/// The results of a graph for its inputs, each of which may lack its first element along the last axis: then no pack of
/// it is aligned.
struct Graph {
  std::string name;
  std::string family;     // the template that runs it, or the beginning of its name
  std::size_t schedules;  // at least so many of `schedules` below differ for it; 1: it has none to choose
  std::vector<Array> inputs;
  std::function<Variables(const Variables& in)> results;
};

// Without an override simulated GPUs have 64 threads.
constexpr const char* schedules[] = {
    "threads=32+vector=1+items=4+blocks=1", "threads=96+vector=4+items=1+blocks=3+index=64",
    "threads=128+vector=2+items=2+blocks=3", "threads=256+vector=1+items=3+blocks=1+index=64",
    "threads=1024+vector=4+items=2+blocks=3"};

ct::Function make(const Graph& graph, bool aligned) {
  Variables inputs, parts;
  for (const Array& input : graph.inputs) {
    inputs.push_back(ct::variable({input.dtype(), ct::Sizes(input.shape().size(), ct::unknown_size)}));
    std::vector<ct::SliceSpec> specs(input.shape().size(), ct::slice());
    if (!aligned) specs.back() = ct::slice(1, {});
    parts.push_back(aligned ? inputs.back() : inputs.back().at(specs));
  }
  return ct::function(std::vector<ct::In>(inputs.begin(), inputs.end()), ct::OutputList(graph.results(parts)));
}

std::vector<Array> call(const ct::Function& f, const Graph& graph) {
  std::vector<ct::Argument> arguments(graph.inputs.begin(), graph.inputs.end());
  const auto results = f.call(arguments);
  std::vector<Array> all;
  for (std::size_t i = 0; i < results.size(); ++i) all.push_back(results[i]);
  return all;
}

std::vector<Array> results_on_cpu(const Graph& graph, bool aligned) {
  const ct::change_flags scope("mode=run");
  return call(make(graph, aligned), graph);
}

/// The results under a schedule, compared with the CPU's; returns the schedules of the kernels of the family.
std::string run(const Graph& graph, bool aligned, const std::string& flags, const std::vector<Array>& expected) {
  const ct::change_flags scope("mode=simulate" + flags);
  const ct::Function f = make(graph, aligned);
  INFO(graph.name << (aligned ? "" : ", not aligned") << flags);
  const std::vector<Array> results = call(f, graph);
  for (std::size_t i = 0; i < results.size(); ++i) {
    INFO("result " << i);
    CHECK(results[i].same_bits(expected[i]));
  }
  if (graph.family == "row_meetings(") {
    std::string ran;
    for (const ct::KernelSchedule& kernel : f.schedule()) ran += kernel.schedule;
    CHECK_THAT(ran, contains(" meets="));
  }
  std::string schedule;
  std::vector<ct::Sizes> shapes;
  for (const Array& input : graph.inputs) shapes.push_back(input.shape());
  for (const ct::KernelInfo& kernel : f.kernels("cuda", {.shapes = shapes})) {
    if (kernel.source.find("ct::" + graph.family) != std::string::npos) schedule += kernel.schedule + "; ";
  }
  CHECK(schedule != "");
  return schedule;
}

void check(const std::vector<Graph>& graphs) {
  for (const Graph& graph : graphs) {
    for (const bool aligned : {true, false}) {
      const std::vector<Array> expected = results_on_cpu(graph, aligned);
      std::set<std::string> different;
      for (const char* schedule : std::span(schedules).first(graph.schedules == 1 ? 1 : std::size(schedules)))
        different.insert(run(graph, aligned, std::string(",schedule=") + schedule, expected));
      // The one with the least memory and threads, and the newest one.
      run(graph, aligned, std::string(",cuda_simulator_architecture=") + (aligned ? "sm_75" : "sm_120"), expected);
      INFO(graph.name << (aligned ? "" : ", not aligned"));
      CHECK(different.size() >= graph.schedules);
    }
  }
}

Array floats(const ct::Sizes& shape, std::uint64_t seed = 1) { return numbers(DType::float32, shape, seed); }
Array halves(const ct::Sizes& shape, std::uint64_t seed = 2) { return numbers(DType::float16, shape, seed); }
Array bytes(const ct::Sizes& shape, std::uint64_t seed = 3) { return numbers(DType::int8, shape, seed); }

}  // namespace

TEST_CASE("pointwise kernels have the same bits under every schedule") {
  const auto sums = [](const Variables& in) { return Variables{in[0] * 3.f + in[1]}; };
  const auto widths = [](const Variables& in) {
    return Variables{in[0] + ct::cast(in[2], DType::float32), in[1] * in[1], in[2] * in[2] + in[2]};
  };
  const auto differences = [](const Variables& in) { return Variables{in[0] - in[1]}; };
  const auto absolute = [](const Variables& in) { return Variables{ct::abs(in[0])}; };
  const auto first_of_lines = [](const Variables& in) {
    return Variables{ct::transpose(ct::maximum(ct::transpose(in[0]), in[0].at({ct::slice(), 0})))};
  };
  const auto strided = [](const Variables& in) {
    return Variables{in[0].at({ct::slice({}, {}, -1), ct::slice({}, {}, 2)}) * 2};
  };
  const auto transposed = [](const Variables& in) { return Variables{ct::transpose(in[0]) + 1.f}; };
  check({
      {"flat", "pointwise(", 5, {floats({1501}), floats({1501}, 4)}, sums},
      {"flat, of three widths", "pointwise(", 5, {floats({701}), halves({701}), bytes({701})}, widths},
      {"lines", "pointwise(", 5, {bytes({37, 46}), bytes({46}, 5)}, differences},
      {"long lines", "pointwise(", 5, {bytes({7, 133})}, absolute},
      {"lines of whole packs", "pointwise(", 5, {floats({7, 300}), floats({300}, 4)}, differences},
      {"lines and columns", "pointwise(", 4, {floats({37, 49})}, first_of_lines},
      {"strides", "pointwise(", 4, {halves({21, 69})}, strided},
      {"tiles", "pointwise_tiles(", 5, {floats({71, 98})}, transposed},
  });
}

TEST_CASE("rows that are gathered have the same bits under every schedule") {
  const auto positions = [](const ct::Sizes& shape, std::int64_t rows) {
    Array at = Array::empty(DType::int64, shape);
    for (std::int64_t i = 0; i < at.size(); ++i)
      at.data<std::int64_t>()[static_cast<std::size_t>(i)] = i * 7 % (2 * rows) - rows;
    return at;
  };
  const auto rows = [](const Variables& in) {
    return Variables{ct::take(in[0], in[1], 0), ct::exp(ct::take(in[0], in[1], 0)) + in[2]};
  };
  const auto of_three_axes = [](const Variables& in) { return Variables{in[0].at({in[1], in[2]}) * 2.f}; };
  const auto clipped = [](const Variables& in) { return Variables{ct::take(in[0], in[1], 0, ct::IndexMode::clip)}; };
  check({
      {"whole packs", "pointwise(", 4, {floats({19, 36}), positions({23}, 19), floats({36}, 4)}, rows},
      {"not whole packs", "pointwise(", 4, {halves({19, 37}), positions({23}, 19), halves({37}, 4)}, rows},
      {"wide rows", "pointwise(", 4, {bytes({5, 700}), positions({9}, 5), bytes({700}, 4)}, rows},
      {"rows of two axes",
       "pointwise(",
       3,
       {floats({5, 7, 36}), positions({23}, 5), positions({23}, 7)},
       of_three_axes},
      {"clipped", "pointwise(", 4, {floats({19, 36}), positions({23}, 30)}, clipped},
  });
}

TEST_CASE("conditional reads have the same bits under every schedule") {
  const auto beside = [](const Variables& in) { return Variables{ct::concatenate({in[0], ct::exp(in[1]), in[0]}, 1)}; };
  const auto below = [](const Variables& in) { return Variables{ct::concatenate({in[0], in[1]}, 0) * 2}; };
  const auto border = [](const Variables& in) {
    return Variables{ct::pad(in[0], {{1, 2}, {4, 3}}), ct::pad(in[0], {{1, 2}, {4, 3}}, ct::PadMode::constant, 7)};
  };
  const auto rolled = [](const Variables& in) { return Variables{ct::roll(in[0], 4, 1), ct::roll(in[0], 2, 0)}; };
  const auto of_many = [](const Variables& in) {
    const Variable &x = in[0], &y = in[1];
    return Variables{ct::concatenate({x, y, x, y, x, y, x, y, x, y}, 1)};
  };
  check({
      {"next to each other", "pointwise(", 4, {floats({7, 44}), floats({7, 28}, 4)}, beside},
      {"next to each other, not whole packs", "pointwise(", 4, {halves({7, 45}), halves({7, 3}, 4)}, beside},
      {"below each other", "pointwise(", 4, {bytes({7, 52}), bytes({3, 52}, 4)}, below},
      {"a border", "pointwise(", 4, {floats({7, 36})}, border},
      {"rolled", "pointwise(", 4, {floats({7, 68})}, rolled},
      {"many", "pointwise(", 4, {floats({3, 24}), floats({3, 4}, 4)}, of_many},
  });
}

TEST_CASE("updates in one launch have the same bits under every schedule") {
  const auto run_updates = [](const std::string& flags, std::string& schedule) {
    const ct::change_flags scope(flags);
    const ct::SharedVariable a = ct::shared(floats({300})), b = ct::shared(halves({9, 41})),
                             c = ct::shared(bytes({35}));
    const Variable x = ct::matrix("x");
    const Variable more = x.at({1, ct::slice(1, {})});
    ct::FunctionOptions options;
    options.updates = {{a, a * 2.f + more}, {b, b + b}, {c, c * c}};
    const ct::Function f = ct::function({x}, ct::OutputList(Variables{}), options);
    f(floats({2, 301}, 4));
    for (const ct::KernelInfo& kernel : f.kernels("cuda")) {
      if (kernel.name.starts_with("group")) schedule = kernel.schedule;
    }
    return std::vector<Array>{a.get_value(), b.get_value(), c.get_value()};
  };
  std::string ignored;
  const std::vector<Array> expected = run_updates("mode=run", ignored);
  std::set<std::string> different;
  for (const char* schedule : schedules) {
    INFO(schedule);
    std::string printed;
    const std::vector<Array> results =
        run_updates(std::string("device=cuda0,cuda_simulator=1,schedule=") + schedule, printed);
    for (std::size_t i = 0; i < results.size(); ++i) CHECK(results[i].same_bits(expected[i]));
    CHECK(printed != "");
    different.insert(printed);
  }
  CHECK(different.size() == std::size(schedules));
}

TEST_CASE("row kernels have the same bits under every schedule") {
  const auto floats_of_rows = [](const Variables& in) {
    return Variables{ct::sum(in[0], 1), ct::argmax(in[0], 1), ct::nnet::softmax(in[0], 1)};
  };
  const auto products = [](const Variables& in) {
    return Variables{ct::sum(in[0] * in[1], 1), ct::max(in[0] + in[1], 1)};
  };
  const auto others = [](const Variables& in) {
    return Variables{ct::sum(in[0], 1), ct::max(in[0], 1), ct::argmin(in[0], 1)};
  };
  const auto normalised = [](const Variables& in) {
    return Variables{ct::nnet::softmax(in[0], 1), ct::nnet::softmax(ct::cast(in[0], DType::bfloat16), 1)};
  };
  check({
      {"three elements", "row_packs(", 4, {floats({37, 4})}, floats_of_rows},
      {"short", "row_packs(", 4, {floats({37, 45})}, floats_of_rows},
      {"a warp", "row_packs(", 4, {floats({9, 700})}, floats_of_rows},
      {"several warps", "row_packs(", 1, {floats({3, 2101})}, floats_of_rows},
      {"not held", "row_packs(", 4, {floats({5, 700}), floats({5, 700}, 4)}, products},
      {"several warps, not held", "row_packs(", 1, {floats({2, 2101}), floats({2, 2101}, 4)}, products},
      {"halves", "row_packs(", 4, {halves({19, 201})}, others},
      {"rows of halves", "row_packs(", 4, {halves({19, 201})}, normalised},
      {"bytes", "row_packs(", 4, {bytes({19, 201})}, others},
  });
}

TEST_CASE("rows whose parts meet have the same bits under every schedule") {
  const auto softmax = [](const Variables& in) { return Variables{ct::nnet::softmax(in[0], 1)}; };
  const auto normalised = [](const Variables& in) {
    const Variable centred = in[0] - ct::mean(in[0], ct::ReduceOptions(std::vector<int>{1}, true));
    return Variables{centred / ct::sqrt(ct::mean(centred * centred, ct::ReduceOptions(std::vector<int>{1}, true))) *
                     in[1]};
  };
  const auto largest = [](const Variables& in) {
    return Variables{ct::nnet::logsumexp(in[0], 1),
                     in[0] - ct::max(in[0], ct::ReduceOptions(std::vector<int>{1}, true)), ct::argmax(in[0], 1)};
  };
  const auto of_channels = [](const Variables& in) {
    const Variable scale = ct::max(in[0], ct::ReduceOptions(std::vector<int>{0, 2}, true));
    return Variables{in[0] / scale};
  };
  const std::vector<Graph> graphs{
      {"softmax", "row_meetings(", 3, {floats({3, 20004})}, softmax},
      {"softmax of halves", "row_meetings(", 3, {halves({1, 30001})}, softmax},
      {"normalised", "row_meetings(", 3, {floats({2, 20004}), floats({20004}, 4)}, normalised},
      {"results of rows", "row_meetings(", 3, {floats({2, 20004})}, largest},
      {"channels", "row_meetings(", 3, {floats({40, 2, 404})}, of_channels},
  };
  for (const Graph& graph : graphs) {
    for (const bool aligned : {true, false}) {
      const std::vector<Array> expected = results_on_cpu(graph, aligned);
      std::set<std::string> different;
      for (const char* schedule : {"threads=64+part=2048", "threads=128+part=8192+index=64", "threads=256+part=8192",
                                   "threads=32+part=2048", "threads=32+part=1024"})
        different.insert(run(graph, aligned, std::string(",schedule=") + schedule, expected));
      // By all orders of blocks that the seed gives, among them those in which one block starves.
      for (const int seed : {1, 2, 3})
        run(graph, aligned, fmt::format(",schedule=threads=64+part=2048,cuda_simulator_seed={}", seed), expected);
      CHECK(different.size() >= graph.schedules);
    }
  }
}

TEST_CASE("row kernels with elements on several axes have the same bits under every schedule") {
  const std::vector<int> axes{0, 2};
  const auto per_channel = [](const Variable& x) {
    return ct::dimshuffle(x, {ct::broadcast_axis, 0, ct::broadcast_axis});
  };
  const auto reductions = [axes](const Variables& in) {
    return Variables{ct::sum(in[0], axes), ct::max(in[0] * in[0], axes), ct::any(in[0] > 1, axes)};
  };
  const auto normalised = [axes, per_channel](const Variables& in) {
    const Variable centred = in[0] - per_channel(ct::mean(in[0], axes));
    return Variables{centred / per_channel(ct::sqrt(ct::mean(centred * centred, axes)))};
  };
  const auto of_two = [axes, per_channel](const Variables& in) {
    const Variable kept = ct::where(in[1] > 0, in[0], 0.f);
    return Variables{kept, ct::sum(kept, axes), in[0] * per_channel(ct::min(in[1], axes))};
  };
  const auto pairs = [](const Variables& in) {
    return Variables{ct::sum(in[0], std::vector<int>{1, 3}), ct::max(in[0], std::vector<int>{1, 3})};
  };
  check({
      {"whole packs", "row_packs(", 4, {floats({9, 5, 36})}, reductions},
      {"not whole packs", "row_packs(", 4, {floats({6, 5, 23})}, reductions},
      {"normalised", "row_packs(", 4, {floats({9, 3, 32})}, normalised},
      {"normalised, several warps", "row_packs(", 1, {floats({5, 3, 404})}, normalised},
      {"two operands", "row_packs(", 4, {floats({9, 3, 20}), floats({9, 3, 20}, 4)}, of_two},
      {"two operands, several warps", "row_packs(", 1, {floats({5, 3, 301}), floats({5, 3, 301}, 4)}, of_two},
      {"halves", "row_packs(", 4, {halves({9, 4, 41})}, reductions},
      {"rows on two axes", "row_packs(", 4, {floats({3, 5, 4, 12})}, pairs},
  });
}

TEST_CASE("column kernels have the same bits under every schedule") {
  const auto reductions = [](const Variables& in) {
    return Variables{ct::sum(in[0], 0), ct::argmax(in[0], 0), ct::min(in[0], 0)};
  };
  const auto elements = [](const Variables& in) { return Variables{in[0] - ct::max(in[0], 0)}; };
  const auto independent = [](const Variables& in) {
    const Variable kept = ct::where(in[0] > 0, in[0], 0.f);
    return Variables{kept, ct::sum(kept, 0), ct::max(in[0], 0)};
  };
  // Where the states of a block need too much shared memory, the template is that of a thread for each point.
  check({
      {"short", "column", 4, {floats({21, 46})}, reductions},
      {"long", "column", 4, {floats({300, 11})}, reductions},
      {"halves", "column", 4, {halves({70, 35})}, reductions},
      {"bytes", "column", 4, {bytes({70, 35})}, reductions},
      {"with results of elements", "column", 4, {floats({70, 35})}, elements},
      {"with results of elements, in parts", "column", 4, {floats({900, 12})}, independent},
  });
}

TEST_CASE("row and column kernels in one launch have the same bits under every schedule") {
  const Graph graph{
      "rows and columns", "inner_outer(", 1, {floats({37, 301}), floats({37, 301}, 4)}, [](const Variables& in) {
        const Variable dz = ct::nnet::softmax(in[0], 1) - in[1];
        return Variables{dz, ct::sum(dz, 0)};
      }};
  for (const bool aligned : {true, false}) {
    const std::vector<Array> expected = results_on_cpu(graph, aligned);
    for (const char* schedule : schedules)
      run(graph, aligned, std::string(",schedule=kernels=2+") + schedule, expected);
  }
}

TEST_CASE("split, contracting and loop kernels have the same bits under every schedule") {
  const auto largest = [](const Variables& in) { return Variables{ct::sum(in[0]), ct::argmax(in[0])}; };
  const auto smallest = [](const Variables& in) { return Variables{ct::sum(in[0]), ct::min(in[0])}; };
  const auto of_difference = [](const Variables& in) {
    const Variable difference = in[0] - in[1];
    return Variables{ct::sum(difference), ct::max(difference), ct::argmin(difference)};
  };
  const auto of_first_column = [](const Variables& in) {
    const Variable difference = ct::transpose(ct::transpose(in[0]) - in[0].at({ct::slice(), 0}));
    return Variables{ct::sum(difference), ct::min(difference)};
  };
  const auto of_middle = [](const Variables& in) {
    const Variable difference = in[0] - ct::max(in[0], ct::ReduceOptions(std::vector<int>{1}, true));
    return Variables{ct::sum(difference), ct::min(difference)};
  };
  const auto windows = [](const Variables& in) { return Variables{ct::nnet::conv1d(in[0], in[1])}; };
  const auto steps = [](const Variables& in) {
    const auto step = [](const Variables& of) { return ct::Step(ct::tanh(of[1] + of[0]) - ct::sum(of[0])); };
    return ct::scan(step, {in[0]}, {in[0][0]}).outputs;
  };
  // A product, sums along other axes than neighbouring ones, of rows and of columns, and elements of strided operands.
  const Variable square = ct::constant(floats({6, 6}, 9));
  const auto steps_of_boxes = [&](const Variables& in) {
    const auto step = [&](const Variables& of) {
      const Variable &x = of[0], &state = of[1];
      const Variable along = ct::sum(x.at({ct::slice(), ct::slice(), ct::slice(0, 3)}), std::vector<int>{0, 2});
      return ct::Step(ct::tanh(ct::dot(state, square) + x.at({ct::slice(), ct::slice(), 1})) + ct::sum(x, 2) +
                      ct::sum(x.at({ct::slice(), ct::slice(), 0}), 0) * along);
    };
    return ct::scan(step, {in[0]}, {ct::constant(floats({4, 6}, 8))}).outputs;
  };
  check({
      {"everything", "split_packs(", 3, {floats({9001})}, largest},
      {"all bytes", "split_packs(", 3, {bytes({9001})}, smallest},
      {"everything, on two axes", "split_packs(", 3, {floats({97, 101}), floats({101}, 4)}, of_difference},
      {"everything, on lines of whole packs", "split_", 3, {halves({97, 100})}, of_first_column},
      {"everything, on three axes", "split_packs(", 3, {floats({40, 7, 42})}, of_middle},
      {"windows", "contract(", 5, {floats({3, 4, 31}), floats({5, 4, 4}, 6)}, windows},
      {"a loop", "loop(", 4, {floats({5, 34})}, steps},
      {"a loop over boxes", "loop(", 4, {floats({3, 4, 6, 5})}, steps_of_boxes},
  });
}
