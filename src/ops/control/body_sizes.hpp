// Sizes of a body in terms of the inputs of its node.
#pragma once

#include "expr/body.hpp"
#include "expr/op.hpp"

#include <optional>
#include <vector>

namespace croton::ops {

/// The input of the node that an input of the body reads, and the number of first axes that it lacks.
struct BodyRead {
  std::size_t input;
  std::size_t axes_out = 0;
};

class BodySizes {
 public:
  /// Throws through the context if the types of the body's inputs differ from those that they read.
  BodySizes(expr::InferContext& c, const expr::Graph& body, std::vector<BodyRead> reads);
  /// Adds the body's requirements on sizes to the node. Requirements that cannot be expressed by the node's inputs are
  /// checked when the body runs.
  void add_requirements();
  /// The size; nothing if it is only known after the body ran.
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
