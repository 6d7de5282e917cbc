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

/// `value` in the dtype of x: what a formula means by its numbers. (A literal of the user is float32 or floatX, and
/// would cost a float64 formula its precision, or make a float16 one float32.)
inline Variable number(double value, const Variable& x) { return scalar_constant(value, x.dtype(), x.where()); }

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
