// The loops of a graph while rules change them, and the construction of the changed graph.
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
  /// Loops are in the order of the graph.
  LoopSet(expr::Graph& graph, const Options& options, Fired& fired);

 protected:
  struct HistoryRow {  // a node that reads one row of a state's history
    std::size_t loop, state;
    std::int64_t row;  // counted from the end, from 1
  };
  struct BuiltLoop {
    expr::Attrs attrs;
    std::vector<NodeId> inputs;
    std::vector<std::size_t> state;  // new number of each state
  };

  bool is_on(std::string_view rule) const;
  /// Records that a rule has fired.
  void note(LoopEdit& edit, std::string_view rule);
  const LoopEdit* loop_at(NodeId node) const {
    return node < count_ && loop_of_[node] != none ? &loops_[loop_of_[node]] : nullptr;
  }
  std::size_t number_of(const LoopEdit& edit) const { return base::to_size(&edit - loops_.data()); }
  NodeId steps_of(const LoopEdit& edit) const { return arena_.representative(edit.inputs[expr::Loop::steps_input]); }
  /// Stacks the results that are read.
  static void stack_wanted(LoopEdit& edit);
  /// The number of the loop that this one was merged into; its own if it was not merged.
  std::size_t merge_target(std::size_t l) const;
  /// Builds the graph with the changed loops. Nodes that are not needed any more stay in the arena.
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
  std::map<NodeId, HistoryRow> history_rows_;

 private:
  NodeId result(const LoopEdit& edit, const BuiltLoop& made, expr::LoopResult kind, std::size_t index);
  std::optional<BuiltLoop> make_loop(LoopEdit& edit);
  std::optional<BuiltLoop> make_loop(LoopEdit& edit, const std::vector<bool>& needed, NodeId& missing);
  NodeId outer_of(LoopEdit& edit, const LoopEdit::Sequence& sequence);
  NodeId outer_of(const LoopEdit& edit, const LoopEdit::Capture& capture);
  NodeId transpose(NodeId matrix, expr::Place place);
  NodeId at_all_positions(LoopEdit& edit, const BuiltLoop& made, NodeId node);
  NodeId compute_outside(LoopEdit& edit, const BuiltLoop* made, NodeId node, bool& batched);
  NodeId from_loop(LoopEdit& edit, const BuiltLoop& made, NodeId node);
  NodeId flatten_rows(NodeId x, expr::Place place);
  NodeId sum_of(LoopEdit& edit, const BuiltLoop& made, const LoopEdit::Sum& sum);
  bool can_make(std::size_t l) const;
  NodeId new_result(LoopEdit& edit, const BuiltLoop& made, expr::LoopResult kind, std::size_t index);
  NodeId new_node(NodeId id);

  std::vector<NodeId> to_;  // the new node for each node of the graph
  std::vector<std::optional<BuiltLoop>> built_;
  std::vector<bool> tried_;
};

}  // namespace croton::rewrite
