// The loops of a graph, as they are being changed by rules, and the graph that has them changed.
#pragma once

#include "base/index.hpp"
#include "rewrite/loop_edit.hpp"
#include "rewrite/rewriter.hpp"

#include <map>
#include <optional>
#include <vector>

namespace croton::rewrite {

class LoopSet {
 public:
  /// Loops lie in the order of the graph.
  LoopSet(expr::Graph& graph, const Options& options, Fired& fired);

 protected:
  struct Pick {  // a node that is a row of a state's history
    std::size_t loop, state;
    std::int64_t row;  // from the end, from 1
  };
  struct Made {
    expr::Attrs attrs;
    std::vector<NodeId> inputs;
    std::vector<std::size_t> state;  // the new number of each state
  };

  bool is_on(std::string_view rule) const;
  /// A rule has fired.
  void note(LoopEdit& edit, std::string_view rule);
  const LoopEdit* loop_at(NodeId node) const {
    return node < count_ && loop_of_[node] != none ? &loops_[loop_of_[node]] : nullptr;
  }
  std::size_t number_of(const LoopEdit& edit) const { return base::to_size(&edit - loops_.data()); }
  NodeId steps_of(const LoopEdit& edit) const { return arena_.representative(edit.inputs[expr::Loop::steps_input]); }
  /// Stacked results that somebody reads.
  static void stack_wanted(LoopEdit& edit);
  /// The number of a loop that took this one in, and so on; its own where none did.
  std::size_t home_of(std::size_t l) const;
  /// The graph with changed loops. What is not needed any more is left behind in the arena.
  void build();

  static constexpr std::size_t none = ~std::size_t{0};

  expr::Graph& graph_;
  expr::Arena& arena_;
  const Options& options_;
  Fired& fired_;
  const NodeId count_;
  std::vector<LoopEdit> loops_;
  std::vector<std::size_t> loop_of_;  // of each node of the graph
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> roots_;
  std::map<NodeId, Pick> picks_;

 private:
  NodeId result(const LoopEdit& edit, const Made& made, expr::LoopResult kind, std::size_t index);
  std::optional<Made> make_loop(LoopEdit& edit);
  std::optional<Made> make_loop(LoopEdit& edit, const std::vector<bool>& needed, NodeId& missing);
  NodeId outer_of(LoopEdit& edit, const LoopEdit::Sequence& sequence);
  NodeId outer_of(const LoopEdit& edit, const LoopEdit::Capture& capture);
  NodeId turned(NodeId matrix, expr::Place place);
  NodeId at_all_positions(LoopEdit& edit, const Made& made, NodeId node);
  NodeId outside(LoopEdit& edit, const Made* made, NodeId node, bool& batched);
  NodeId from_loop(LoopEdit& edit, const Made& made, NodeId node);
  NodeId rows_together(NodeId x, expr::Place place);
  NodeId sum_of(LoopEdit& edit, const Made& made, const LoopEdit::Sum& sum);
  bool can_make(std::size_t l) const;
  NodeId new_result(LoopEdit& edit, const Made& made, expr::LoopResult kind, std::size_t index);
  NodeId new_node(NodeId id);

  std::vector<NodeId> to_;  // of each node of the graph, the new one
  std::vector<std::optional<Made>> made_;
  std::vector<bool> tried_;
};

}  // namespace croton::rewrite
