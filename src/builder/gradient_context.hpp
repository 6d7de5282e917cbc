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
/// forward op, and what an operation is composed of to the line of its caller. Of nested ones the outermost counts.
class OriginScope {
 public:
  explicit OriginScope(Where where);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  static const Where* current();

 private:
  Where where_;
  const Where* outer_;
};

}  // namespace croton::builder
