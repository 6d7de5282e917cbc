// The text of graphs: one node per line, sizes as letters. It is also the language of tests and rules; parse.hpp is
// its parser.
//
//   x: f32[n, 784] = input
//   w: f32[784, 10] = shared
//   %0: f32[n, 10] = dot(x, w)
//   %1: f32[n, 10] = maximum(%0, f32 0.0)
//   return %1
//   update w = %2
#pragma once

#include "expr/graph.hpp"

#include <string>

namespace croton::expr {

/// Names the nodes of a graph as the printout does: inputs by name, sizes by letter, scalars as literals, the rest %0,
/// %1, ...
class Names {
 public:
  explicit Names(const Graph& graph);
  std::string operator()(NodeId id) const;
  std::string type(NodeId id) const;

 private:
  const Graph& graph_;
  std::vector<std::string> names_;
};

struct PrintOptions {
  bool origins = false;  // a comment with the user's line after each node
};

std::string print(const Graph& graph, const PrintOptions& options = {});
/// A type such as "f32[n0_1, 10]", where n0_1 is the size of axis 1 of input 0.
std::string type_text(const Arena& arena, const TensorType& type);
/// A scalar as text: "f32 0.5", "i64 3".
std::string literal(const Scalar& value);

}  // namespace croton::expr
