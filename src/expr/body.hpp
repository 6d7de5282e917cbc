// Body: a graph inside a node, such as the step of a loop. It is an attribute: two bodies are equal if their texts and
// constants are equal. All values from outside are explicit inputs.
#pragma once

#include "expr/graph.hpp"

#include <memory>
#include <string>
#include <vector>

namespace croton::expr {

class Body {
 public:
  /// `source`: the builder's expressions that it was made from, for its gradient; a rewritten body has none.
  explicit Body(Graph graph, std::shared_ptr<const void> source = nullptr);
  const Graph& graph() const { return graph_; }
  const std::shared_ptr<const void>& source() const { return source_; }
  /// The graph as printed.
  const std::string& text() const { return text_; }

  friend bool operator==(const Body& a, const Body& b);

 private:
  Graph graph_;
  std::shared_ptr<const void> source_;
  std::string text_;
};

/// For each node, whether its number can be computed outside of the body, from the sizes of its inputs and the values
/// of inputs that are integer scalars.
std::vector<bool> computable_from_inputs(const Graph& graph);

/// Whether nodes of the op have bodies among their attributes.
inline bool has_body(const Op& op) { return op.kind == Kind::Loop || op.kind == Kind::Branch; }

}  // namespace croton::expr
