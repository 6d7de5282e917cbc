// What the gradient function of an op sees.
#pragma once

#include "builder/node.hpp"

namespace croton::builder {

struct GradientContext {
  const Node& node;
  const std::vector<Variable>& inputs;
  Variable output;
  Variable gradient;  // of the cost with respect to `output`
  const Variable& input(std::size_t i) const { return inputs[i]; }
};

/// While it lives, variables made on this thread are said to come from `where`: gradients lead to the line of their
/// forward op.
class OriginScope {
 public:
  explicit OriginScope(std::source_location where);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  static const std::source_location* current();

 private:
  std::source_location where_;
  const std::source_location* outer_;
};

}  // namespace croton::builder
