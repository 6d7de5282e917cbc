// Sizes of a body in terms of the inputs of the node that has it.
#pragma once

#include "expr/body.hpp"
#include "expr/op.hpp"

#include <optional>
#include <vector>

namespace croton::ops {

/// What an input of the body has the type of: an input of the node, without so many of its first axes.
struct BodyRead {
  std::size_t input;
  std::size_t axes_out = 0;
};

class BodySizes {
 public:
  /// Raises through the context where the body's inputs do not fit what they read.
  BodySizes(expr::InferContext& c, const expr::Graph& body, std::vector<BodyRead> reads);
  /// What the body asks of sizes, the node asks. What cannot be said of the node's inputs is found to hold when it
  /// runs.
  void take_requirements();
  /// Nothing for a size that only running the body finds.
  std::optional<expr::Dim> of(expr::NodeId size) const;

 private:
  void bind_inputs();
  std::optional<expr::Dim> translated(expr::NodeId id);

  expr::InferContext& c_;
  const expr::Graph& graph_;
  std::vector<BodyRead> reads_;
  std::vector<std::optional<expr::Dim>> dims_;
};

}  // namespace croton::ops
