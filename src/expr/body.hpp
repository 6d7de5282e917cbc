// Body: a graph inside a node, such as what a loop does in each step. It is an attribute: two bodies are the same where
// they print the same. What it reads from outside are its inputs, explicitly.
#pragma once

#include "expr/graph.hpp"

#include <memory>
#include <string>
#include <vector>

namespace croton::expr {

class Body {
 public:
  /// `source`: the builder's expressions that it was made of, for its gradient; a body that was rewritten has none.
  explicit Body(Graph graph, std::shared_ptr<const void> source = nullptr);
  const Graph& graph() const { return graph_; }
  const std::shared_ptr<const void>& source() const { return source_; }
  /// As printed.
  const std::string& text() const { return text_; }

  friend bool operator==(const Body& a, const Body& b);

 private:
  Graph graph_;
  std::shared_ptr<const void> source_;
  std::string text_;
};

/// Per node: whether it is a number that whoever has the body can find without running it, of the sizes of its inputs
/// and of those that are integer scalars.
std::vector<bool> found_from_inputs(const Graph& graph);

/// Whether nodes of the op have bodies among their attributes.
inline bool has_body(const Op& op) { return op.kind == Kind::Loop || op.kind == Kind::Branch; }

}  // namespace croton::expr
