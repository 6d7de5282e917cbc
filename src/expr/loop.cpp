#include "expr/loop.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "expr/evaluate.hpp"

namespace croton::expr {
namespace {

constexpr std::string_view result_names[] = {"history", "last", "stacked", "steps"};

}  // namespace

std::string_view name_of(LoopResult result) { return result_names[base::ordinal(result)]; }

Loop::Loop(const Attrs& attrs, std::size_t inputs) : body(attrs.body("body")), rows(attrs.ints("rows")) {
  const auto demand = [](bool holds, std::string_view what) {
    if (!holds) throw AttrFault(fmt::format("a loop needs {}", what));
  };
  const Graph& graph = body->graph();
  reverse = attrs.integer_or("reverse", 0) != 0;
  until = attrs.integer_or("until", 0) != 0;
  const std::int64_t count = attrs.integer("sequences");
  demand(base::is_index(count, inputs + 1), "as many inputs as it has sequences");
  sequences = base::to_size(count);
  demand(inputs >= 1 + sequences + states(), "an input for each sequence and state");
  captures = inputs - 1 - sequences - states();
  const Ints& pairs = attrs.ints("taps");
  demand(pairs.size() % 2 == 0, "a state and an offset for each tap");
  for (const std::int64_t each : rows) demand(each >= 1, "at least one row of each state");
  for (std::size_t at = 0; at < pairs.size(); at += 2) {
    demand(base::is_index(pairs[at], states()), "taps of states that there are");
    const Tap tap{base::to_size(pairs[at]), pairs[at + 1]};
    demand(tap.offset >= 0 && tap.offset < rows[tap.state], "taps among the rows of their state");
    taps.push_back(tap);
  }
  demand(graph.inputs.size() == sequences + taps.size() + captures, "a body with an input for all that is read");
  demand(graph.updates.empty(), "a body that updates nothing");
  demand(graph.outputs.size() >= states() + (until ? 1 : 0), "a body with a next row of each state");
  stacked = graph.outputs.size() - states() - (until ? 1 : 0);
  const std::string& wanted = attrs.text("result");
  const auto found = std::ranges::find(result_names, std::string_view(wanted));
  demand(found != std::end(result_names), "a result: history, last, stacked or steps");
  result = static_cast<LoopResult>(found - std::begin(result_names));
  const std::int64_t at = attrs.integer_or("index", 0);
  const std::size_t most = result == LoopResult::steps ? 1 : result == LoopResult::stacked ? stacked : states();
  demand(base::is_index(at, most), "the index of a result that there is");
  index = base::to_size(at);
}

Attrs loop_attrs(BodyPtr body, std::size_t sequences, const Ints& rows, const Ints& taps, bool reverse, bool until) {
  Attrs attrs{{"body", std::move(body)}, {"sequences", sequences}, {"rows", rows}, {"taps", taps}};
  if (reverse) attrs.set("reverse", std::int64_t{1});
  if (until) attrs.set("until", std::int64_t{1});
  return attrs;
}

Attrs result_attrs(Attrs loop, LoopResult result, std::size_t index) {
  loop.set("result", std::string(name_of(result)));
  loop.set("index", index);
  return loop;
}

Attrs without_result(const Attrs& attrs) { return result_attrs(attrs, LoopResult::steps, 0); }

std::vector<std::vector<Array>> evaluate_steps(const Loop& loop, const std::vector<Array>& inputs) {
  const std::int64_t n = inputs[Loop::steps_input].astype(DType::int64).item<std::int64_t>();
  std::vector<std::vector<Array>> steps;
  const auto row_of = [&](const Loop::Tap& tap, std::int64_t row) {
    const std::int64_t given = loop.rows[tap.state];
    return row < given ? inputs[loop.initial_input(tap.state)].row(row)
                       : base::nth(steps, row - given)[Loop::next_row(tap.state)];
  };
  for (std::int64_t t = 0; t < n; ++t) {
    std::vector<Array> given;
    for (std::size_t i = 0; i < loop.sequences; ++i)
      given.push_back(inputs[loop.sequence_input(i)].row(loop.position(t, n)).contiguous());
    for (const Loop::Tap& tap : loop.taps) given.push_back(row_of(tap, t + tap.offset).contiguous());
    for (std::size_t k = 0; k < loop.captures; ++k) given.push_back(inputs[loop.capture_input(k)].contiguous());
    steps.push_back(evaluate(loop.body->graph(), given));
    for (Array& result : steps.back()) result = result.copy();  // an output may be a view of an input
    if (loop.until && steps.back()[loop.condition()].as_double(0) != 0) break;
  }
  return steps;
}

Array loop_result(const Loop& loop, const std::vector<Array>& inputs, const std::vector<std::vector<Array>>& steps,
                  DType dtype, const Sizes& shape) {
  const std::int64_t done = std::ssize(steps);
  if (loop.result == LoopResult::steps) return Array(done);
  Array result = Array::zeros(dtype, shape);
  if (loop.result == LoopResult::stacked) {
    for (std::int64_t t = 0; t < done; ++t)
      result.row(loop.position(t, shape[0])).copy_from(base::nth(steps, t)[loop.stacked_output(loop.index)]);
    return result;
  }
  const Array& initial = inputs[loop.initial_input(loop.index)];
  const std::int64_t given = loop.rows[loop.index], first = loop.result == LoopResult::history ? 0 : done;
  for (std::int64_t row = first; row < done + given; ++row) {
    result.row(row - first)
        .copy_from(row < given ? initial.row(row) : base::nth(steps, row - given)[Loop::next_row(loop.index)]);
  }
  return result;
}

}  // namespace croton::expr
