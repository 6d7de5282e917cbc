// A loop that is being changed: which nodes of its body stand for what it reads, and which it gives.
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
    NodeId outer;                     // of the graph that has the loop; no_node: a result of `from`
    NodeId stands_for;                // of the body
    std::size_t from = 0, index = 0;  // which loop, and which of its stacked results
    bool in_front = false;            // computed for all steps in front of the loop, as the body would for one
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
    NodeId stands_for;
    bool transposed = false;  // it stands for the transposed matrix
  };
  /// A state to which each step adds a term, as a sum behind the loop: of products of matrices (the left one as it
  /// lies, before it is transposed), or of sums along axes.
  struct Sum {
    std::size_t state;
    NodeId left, right;  // no_node for the left: a sum of the right along `axes`
    expr::Ints axes = {};
  };

  LoopEdit(const expr::Arena& arena, NodeId result);

  expr::Loop loop;  // as it was
  std::vector<NodeId> inputs;
  expr::OriginId origin;
  expr::Place place;
  std::map<std::pair<expr::LoopResult, std::size_t>, NodeId> wanted;  // results of the graph
  expr::Graph body;                                                   // nodes are added, none is changed
  std::size_t body_size;                                              // without those

  std::vector<Sequence> sequences;
  std::vector<State> states;
  std::vector<Capture> captures;
  std::vector<Sum> sums;
  std::vector<NodeId> stacked;  // of the body
  std::vector<NodeId> behind;   // of the body: computed for all steps behind the loop
  bool changed = false;

  /// Of one that another loop has taken in: which, and what its states and the nodes of its body are there.
  static constexpr std::size_t itself = ~std::size_t{0};
  std::size_t home = itself, first_state = 0;
  std::vector<NodeId> moved;

  /// Takes in another loop of as many steps, so that one run computes both. What both read is one input.
  void take_in(LoopEdit& other, std::size_t own_number);
  /// The index of a body's node among the stacked results, where it is added if it is not there.
  std::size_t stack(NodeId node);
  /// The nodes of the body that are needed for what is wanted; finds which states are.
  std::vector<bool> find_needed();
  /// The element that a node of the body is, if it is one.
  const Sequence* element(NodeId node) const;
  const Capture* capture(NodeId node) const;
  bool is_tap(NodeId node) const;
  bool is_next(NodeId node) const;
};

/// Nodes of one body, copied into another.
class BodyCopy {
 public:
  BodyCopy(const expr::Graph& from, expr::Graph& to);
  /// A node becomes an input there, or is one of those that are there.
  void add_input(NodeId node);
  void put(NodeId node, NodeId there);
  /// Copies these and what they are computed from. False where a size, or a value, cannot be had from what was given:
  /// `missing` is the input that has it.
  bool copy(std::vector<NodeId> nodes, NodeId& missing);
  NodeId operator[](NodeId node) const { return there_[node]; }

 private:
  NodeId copy_leaf(NodeId node);

  const expr::Graph& from_;
  expr::Graph& to_;
  std::vector<NodeId> there_, sizes_;
};

/// The body of an edited loop: inputs are the nodes given, in that order. Nothing where `missing` should be one of
/// them.
std::optional<expr::Graph> rebuild_body(const expr::Graph& old, const std::vector<NodeId>& inputs,
                                        const std::vector<NodeId>& outputs, NodeId& missing);

}  // namespace croton::rewrite
