#include "rewrite/single_steps.hpp"

#include <vector>

#include "expr/axes.hpp"
#include "expr/loop.hpp"
#include "rewrite/loop_edit.hpp"
#include "rewrite/rebuild.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Core;
using expr::Graph;
using expr::Ints;
using expr::Loop;
using expr::LoopResult;
using expr::no_node;

bool has_single_step(const Arena& arena, NodeId node) {
  return arena.op(node).kind == expr::Kind::Loop && arena.known(arena.input(node, Loop::steps_input)) == 1;
}

/// Inlines the only step of a loop into the graph of the loop.
class SingleStep {
 public:
  /// `inputs`: of the loop.
  SingleStep(Graph& graph, const Loop& loop, const std::vector<NodeId>& inputs, expr::Place place)
      : arena_(graph.arena),
        loop_(loop),
        inputs_(inputs),
        place_(place),
        body_(loop.body->graph()),
        copy_(body_, graph) {
    const auto bind_input = [&](std::size_t input, NodeId node) { copy_.bind(body_.inputs[input].node, node); };
    for (std::size_t i = 0; i < loop.sequences; ++i)
      bind_input(Loop::element_of(i), row(inputs[loop.sequence_input(i)], 0));
    for (std::size_t t = 0; t < loop.taps.size(); ++t)
      bind_input(loop.tap_of(t), row(initial(loop.taps[t].state), loop.taps[t].offset));
    for (std::size_t k = 0; k < loop.captures; ++k) bind_input(loop.captured(k), inputs[loop.capture_input(k)]);
  }

  /// The loop's result; no_node if the body cannot be inlined.
  NodeId result() {
    switch (loop_.result) {
      case LoopResult::steps:
        return arena_.integer(1);
      case LoopResult::stacked:
        return as_row(output(loop_.stacked_output(loop_.index)));
      case LoopResult::last:
        if (loop_.rows[loop_.index] == 1) return as_row(output(Loop::next_row(loop_.index)));
        return without_first_row(history());
      case LoopResult::history:
        return history();
    }
    return no_node;
  }

 private:
  NodeId initial(std::size_t state) const { return inputs_[loop_.initial_input(state)]; }
  NodeId row(NodeId rows, std::int64_t at) {
    return arena_.make(Core::subtensor, {rows, arena_.integer(at)}, {{"spec", Ints{0, 1, 0, 1}}}, place_);
  }
  NodeId without_first_row(NodeId rows) {
    if (rows == no_node) return no_node;
    return arena_.make(Core::subtensor, {rows, arena_.integer(1)}, {{"spec", Ints{1, 1, 0, 1}}}, place_);
  }
  /// The element as the only row of an array.
  NodeId as_row(NodeId element) {
    if (element == no_node) return no_node;
    Ints pattern = expr::all_axes(arena_.type(element).rank());
    pattern.insert(pattern.begin(), -1);
    return arena_.make(Core::dimshuffle, {element}, {{"pattern", pattern}}, place_);
  }
  NodeId output(std::size_t number) {
    NodeId missing = no_node;
    const NodeId node = body_.outputs[number];
    return copy_.copy({node}, missing) ? copy_[node] : no_node;
  }
  NodeId history() {
    const NodeId next = as_row(output(Loop::next_row(loop_.index)));
    if (next == no_node) return no_node;
    return arena_.make(Core::concatenate, {initial(loop_.index), next}, {{"axis", std::int64_t{0}}}, place_);
  }

  Arena& arena_;
  const Loop& loop_;
  const std::vector<NodeId>& inputs_;
  expr::Place place_;
  const Graph& body_;
  BodyCopy copy_;
};

}  // namespace

bool inline_single_steps(Graph& graph, const Options& options, Fired& fired) {
  if (!options.is_on(single_step_rule.name)) return false;
  if (!has_node(graph, [&](NodeId id) { return has_single_step(graph.arena, id); })) return false;
  return rebuild(graph, [&](NodeId id, const std::vector<NodeId>& inputs) {
    if (!has_single_step(graph.arena, id)) return no_node;
    // The results of one loop make the same nodes, which exist only once.
    const Loop loop(graph.arena.attrs(id), inputs.size());
    const NodeId made = SingleStep(graph, loop, inputs, graph.arena.node(id).place).result();
    if (made != no_node) ++fired[single_step_rule.name];
    return made;
  });
}

}  // namespace croton::rewrite
