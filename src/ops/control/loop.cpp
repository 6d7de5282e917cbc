// The op `loop`, which is a result of a loop (expr/loop.hpp), and its construction from the builder's expressions.
#include "ops/control/loop.hpp"

#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "builder/batch.hpp"
#include "builder/import.hpp"
#include "builder/node.hpp"
#include "builder/results_gradient.hpp"
#include "ops/control/body_sizes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::describe;
using expr::Arena;
using expr::Dim;
using expr::InferContext;
using expr::InferredType;
using expr::Loop;
using expr::LoopResult;
using expr::NodeId;

/// The inputs of the node that the inputs of the body read.
std::vector<BodyRead> reads_of(const Loop& loop) {
  std::vector<BodyRead> reads;
  reads.reserve(loop.sequences + loop.taps.size() + loop.captures);
  for (std::size_t i = 0; i < loop.sequences; ++i) reads.push_back({loop.sequence_input(i), 1});
  for (const Loop::Tap& tap : loop.taps) reads.push_back({loop.initial_input(tap.state), 1});
  for (std::size_t k = 0; k < loop.captures; ++k) reads.push_back({loop.capture_input(k), 0});
  return reads;
}

InferredType infer_loop(InferContext& c) {
  const Loop loop(c.attrs, c.inputs.size());
  const Dim n = c.value_of(Loop::steps_input), zero = c.constant(0);
  if (const auto count = c.known(n); count && *count < 0)
    c.shape_error(fmt::format("{} steps; there are at least 0", *count));
  c.require_equal(c.apply("minimum", n, zero), zero, "the number of steps is negative");  // the message has n
  c.require_equal(c.apply("maximum", n, zero), n, "a loop has at least 0 steps");         // sizes are n
  for (std::size_t i = 0; i < loop.sequences; ++i) {
    const InferredType& sequence = c.inputs[loop.sequence_input(i)];
    if (sequence.shape.empty()) c.type_error("a sequence has at least one axis");
    c.require_equal(sequence.shape[0], n, "a sequence has an element for each step");
  }
  for (std::size_t j = 0; j < loop.states(); ++j) {
    const InferredType& initial = c.inputs[loop.initial_input(j)];
    if (initial.shape.empty()) c.type_error("the initial rows of a state are along its first axis");
    c.require_equal(initial.shape[0], c.constant(loop.rows[j]), "the initial rows of a state");
  }
  BodySizes sizes(c, loop.body->graph(), reads_of(loop));
  sizes.add_requirements();
  const Arena& body = loop.body->graph().arena;
  const std::vector<NodeId>& outputs = loop.body->graph().outputs;
  for (std::size_t j = 0; j < loop.states(); ++j) {
    const InferredType& initial = c.inputs[loop.initial_input(j)];
    const expr::TensorType& next = body.type(outputs[Loop::next_row(j)]);
    if (next.dtype != initial.dtype || next.rank() + 1 != initial.shape.size())
      c.type_error(fmt::format("the next row of state {} is {}", j, body.type_text(outputs[Loop::next_row(j)])));
    for (std::size_t axis = 0; axis < next.rank(); ++axis) {
      if (const auto size = sizes.of(next.shape[axis]))
        c.require_equal(initial.shape[axis + 1], *size, fmt::format("axis {} of a state keeps its size", axis));
    }
  }
  if (loop.until) {
    const expr::TensorType& condition = body.type(outputs[loop.condition()]);
    if (condition.rank() != 0 || is_complex(condition.dtype)) c.type_error("the condition to stop is a real scalar");
  }
  switch (loop.result) {
    case LoopResult::steps:
      return {DType::int64, {}};
    case LoopResult::history:
    case LoopResult::last: {
      InferredType result = c.inputs[loop.initial_input(loop.index)];
      const Dim rows = c.constant(loop.rows[loop.index]);
      result.shape[0] = loop.result == LoopResult::last ? rows : c.apply("add", n, rows);
      return result;
    }
    case LoopResult::stacked:
      break;
  }
  const NodeId element = outputs[loop.stacked_output(loop.index)];
  InferredType result{body.type(element).dtype, {n}};
  for (const NodeId dim : body.type(element).shape) {
    const auto size = sizes.of(dim);
    if (!size)
      c.shape_error(
          fmt::format("result {} is {}, whose size may differ from step to step", loop.index, body.type_text(element)));
    result.shape.push_back(*size);
  }
  return result;
}

Array evaluate_loop(const expr::EvaluateContext& c) {
  const Loop loop(c.attrs, c.inputs.size());
  return expr::loop_result(loop, c.inputs, expr::evaluate_steps(loop, c.inputs), c.dtype, c.shape);
}

/// Drops the sequences and captures that the outputs of the body do not need.
void drop_unused(LoopSpec& spec) {
  std::unordered_set<const builder::Node*> used;
  for (const builder::Node* node : builder::topological_order(spec.body.outputs)) used.insert(node);
  std::size_t taps = 0;
  for (const LoopState& state : spec.states) taps += state.offsets.size();
  std::vector<Variable> inputs, sequences, captures;
  const auto keep = [&](std::size_t b, const Variable& what, std::vector<Variable>& kept) {
    if (!used.contains(spec.body.inputs[b].node())) return;
    inputs.push_back(spec.body.inputs[b]);
    kept.push_back(what);
  };
  for (std::size_t i = 0; i < spec.sequences.size(); ++i) keep(i, spec.sequences[i], sequences);
  for (std::size_t t = 0; t < taps; ++t) inputs.push_back(spec.body.inputs[spec.sequences.size() + t]);
  for (std::size_t k = 0; k < spec.captures.size(); ++k)
    keep(spec.sequences.size() + taps + k, spec.captures[k], captures);
  spec.body.inputs = std::move(inputs);
  spec.sequences = std::move(sequences);
  spec.captures = std::move(captures);
}

}  // namespace

Variable element_placeholder(const Variable& x) {
  Type type = x.type();
  type.shape.erase(type.shape.begin());
  return variable(type, x.name(), x.where());
}

expr::BodyPtr loop_body(LoopSource source, Where where) {
  builder::Imported imported = builder::import({source.inputs, source.outputs, {}, {}, where});
  return std::make_shared<const expr::Body>(std::move(imported.graph), std::make_shared<LoopSource>(std::move(source)));
}

LoopResults make_loop(LoopSpec spec, Where where) {
  drop_unused(spec);
  const std::size_t stacked = spec.body.outputs.size() - spec.states.size() - (spec.until ? 1 : 0);
  expr::Ints rows, taps;
  std::vector<Variable> inputs{spec.steps};
  inputs.insert(inputs.end(), spec.sequences.begin(), spec.sequences.end());
  for (std::int64_t j = 0; const auto& state : spec.states) {
    inputs.push_back(state.initial);
    rows.push_back(state.rows);
    for (const std::int64_t offset : state.offsets) taps.insert(taps.end(), {j, offset});
    ++j;
  }
  inputs.insert(inputs.end(), spec.captures.begin(), spec.captures.end());
  const expr::Attrs attrs = expr::loop_attrs(loop_body(std::move(spec.body), where), spec.sequences.size(), rows, taps,
                                             spec.reverse, spec.until);
  const auto result = [&](LoopResult kind, std::size_t index) {
    return builder::apply("loop", inputs, expr::result_attrs(attrs, kind, index), where);
  };
  LoopResults results;
  for (std::size_t j = 0; j < spec.states.size(); ++j) {
    results.history.push_back(result(LoopResult::history, j));
    results.last.push_back(result(LoopResult::last, j));
  }
  for (std::size_t k = 0; k < stacked; ++k) results.stacked.push_back(result(LoopResult::stacked, k));
  results.steps = result(LoopResult::steps, 0);
  return results;
}

const LoopSource& loop_source(const builder::Node& node) {
  return *static_cast<const LoopSource*>(node.attrs.body("body")->source().get());
}

LoopSpec spec_of(const builder::Node& node) {
  const Loop loop(node.attrs, node.inputs.size());
  LoopSpec spec;
  spec.steps = node.inputs[Loop::steps_input];
  spec.body = loop_source(node);
  spec.reverse = loop.reverse;
  spec.until = loop.until;
  for (std::size_t i = 0; i < loop.sequences; ++i) spec.sequences.push_back(node.inputs[loop.sequence_input(i)]);
  for (std::size_t j = 0; j < loop.states(); ++j) {
    spec.states.push_back({node.inputs[loop.initial_input(j)], loop.rows[j], {}});
    for (const Loop::Tap& tap : loop.taps) {
      if (tap.state == j) spec.states.back().offsets.push_back(tap.offset);
    }
  }
  for (std::size_t k = 0; k < loop.captures; ++k) spec.captures.push_back(node.inputs[loop.capture_input(k)]);
  return spec;
}

namespace {

/// Each element of the batch has its own loop: the batch axis is the one after that of the steps.
builder::Batched batch_loop(const builder::BatchContext& c) {
  const Loop loop(c.node.attrs, c.node.inputs.size());
  if (c.batched[Loop::steps_input]) c.require_same(0, "the number of steps");
  if (loop.until) {
    throw NotImplementedError(fmt::format(
        "loop ({}): with `until` the elements of a batch would stop at different steps; vectorize, jacobian "
        "and hessian do not take it",
        describe(c.node.where)));
  }
  LoopSpec spec = spec_of(c.node);
  spec.steps = c.inputs[Loop::steps_input];
  const auto after_steps = [&](std::size_t input) { return swapaxes(c.repeated(input), 0, 1); };
  std::vector<std::pair<Variable, Variable>> stand_ins;
  const auto batched_placeholder = [&](const Variable& own, const Type& type) {
    const Variable with = variable(type, own.name(), own.where());
    stand_ins.emplace_back(own, with);
    return with;
  };
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < loop.sequences; ++i) {
    const std::size_t at = loop.sequence_input(i);
    const Variable own = spec.body.inputs[i];
    if (!c.batched[at]) {
      spec.sequences[i] = c.inputs[at];
      inputs.push_back(own);
      continue;
    }
    spec.sequences[i] = after_steps(at);
    inputs.push_back(batched_placeholder(own, element_placeholder(spec.sequences[i]).type()));
  }
  // All states are batched: a state may differ along the batch because of another one.
  for (std::size_t j = 0; j < loop.states(); ++j) spec.states[j].initial = after_steps(loop.initial_input(j));
  for (std::size_t t = 0; t < loop.taps.size(); ++t) {
    const Variable& initial = spec.states[loop.taps[t].state].initial;
    inputs.push_back(batched_placeholder(spec.body.inputs[loop.tap_of(t)], element_placeholder(initial).type()));
  }
  for (std::size_t k = 0; k < loop.captures; ++k) {
    const std::size_t at = loop.capture_input(k);
    const Variable own = spec.body.inputs[loop.captured(k)];
    spec.captures[k] = c.inputs[at];
    if (!c.batched[at]) {
      inputs.push_back(own);
      continue;
    }
    inputs.push_back(batched_placeholder(own, c.inputs[at].type()));
  }
  spec.body.inputs = std::move(inputs);
  if (stand_ins.empty()) {  // no input differs: one loop for the whole batch
    return {builder::apply(*c.node.op, c.inputs, c.node.attrs, c.node.where), false};
  }
  spec.body.outputs = vectorize(spec.body.outputs, stand_ins, c.node.where);
  const LoopResults results = make_loop(std::move(spec), c.node.where);
  const Variable result = loop.result == LoopResult::history   ? results.history[loop.index]
                          : loop.result == LoopResult::last    ? results.last[loop.index]
                          : loop.result == LoopResult::stacked ? results.stacked[loop.index]
                                                               : results.steps;
  if (loop.result == LoopResult::steps) return {result, false};
  return {swapaxes(result, 0, 1)};
}

}  // namespace

void register_loop(Registry& registry) {
  static const expr::Op loop{.name = "loop",
                             .kind = expr::Kind::Loop,
                             .arity = -1,
                             .doc = "a result of a loop, which runs its body a number of times",
                             .infer = infer_loop,
                             .results_gradient = loop_gradient,
                             .evaluate = evaluate_loop,
                             .takes_complex = true,
                             .batch = batch_loop};
  registry.add(loop);
}

}  // namespace croton::ops
