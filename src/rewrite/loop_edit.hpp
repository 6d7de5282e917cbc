// A loop that is being changed: the nodes of its body for its inputs and results.
#pragma once

#include "expr/loop.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace croton::rewrite {

using expr::NodeId;

struct LoopEdit {
  struct Sequence {
    NodeId outer;                     // node outside the loop; no_node: a result of the loop `from`
    NodeId body_node;                 // of the body
    std::size_t from = 0, index = 0;  // a loop, and one of its stacked results
    bool before_loop = false;         // computed for all steps before the loop, by the body's ops
  };
  struct State {
    NodeId initial;
    std::int64_t rows;
    std::vector<std::pair<std::int64_t, NodeId>> taps;  // offset, node of the body
    NodeId next;
    bool needed = false;
  };
  struct Capture {
    NodeId outer;
    NodeId body_node;
    bool transposed = false;  // the body reads the transposed matrix
  };
  /// A state to which each step adds a term, computed as one sum after the loop: of matrix products (left is the matrix
  /// before its transposition), or of sums along axes.
  struct Sum {
    std::size_t state;
    NodeId left, right;  // without left: a sum of right along `axes`
    expr::Ints axes = {};
  };

  LoopEdit(const expr::Arena& arena, NodeId result);

  expr::Loop loop;  // before the changes
  std::vector<NodeId> inputs;
  expr::OriginId origin;
  expr::Place place;
  std::map<std::pair<expr::LoopResult, std::size_t>, NodeId> wanted;  // results of the graph
  expr::Graph body;                                                   // nodes are only added
  std::size_t body_size;                                              // before nodes were added

  std::vector<Sequence> sequences;
  std::vector<State> states;
  std::vector<Capture> captures;
  std::vector<Sum> sums;
  std::vector<NodeId> stacked;     // of the body
  std::vector<NodeId> after_loop;  // nodes of the body that are computed for all steps after the loop
  bool changed = false;

  /// Of a loop that was merged into another one: the number of that loop, and the numbers of this loop's states and the
  /// nodes of its body there.
  static constexpr std::size_t not_merged = ~std::size_t{0};
  std::size_t merged_into = not_merged, first_state = 0;
  std::vector<NodeId> moved;

  /// Merges another loop with the same number of steps into this one. Arrays that both read become one input.
  void merge_loop(LoopEdit& other, std::size_t own_number);
  /// The index of a body's node among the stacked results, to which it is added if needed.
  std::size_t stack(NodeId node);
  /// The nodes of the body that the wanted results need; also sets `needed` of the states.
  std::vector<bool> find_needed();
  /// The sequence of which a node of the body is the element, or null.
  const Sequence* element(NodeId node) const;
  const Capture* capture(NodeId node) const;
  bool is_tap(NodeId node) const;
  bool is_next(NodeId node) const;
};

/// Copies nodes of one body into another graph.
class BodyCopy {
 public:
  BodyCopy(const expr::Graph& from, expr::Graph& to);
  /// Makes the node an input of the new graph.
  void add_input(NodeId node);
  /// Uses a node of the new graph for `node`.
  void bind(NodeId node, NodeId new_node);
  /// Copies these nodes and their operands. False if they need the size or value of an input that is not bound:
  /// `missing` is that input.
  bool copy(std::vector<NodeId> nodes, NodeId& missing);
  NodeId operator[](NodeId node) const { return copies_[node]; }

 private:
  NodeId copy_leaf(NodeId node);

  const expr::Graph& from_;
  expr::Graph& to_;
  std::vector<NodeId> copies_, sizes_;
};

/// The body of an edited loop, with these inputs in this order. Nothing if `missing` has to be an input too.
std::optional<expr::Graph> rebuild_body(const expr::Graph& old, const std::vector<NodeId>& inputs,
                                        const std::vector<NodeId>& outputs, NodeId& missing);

}  // namespace croton::rewrite
