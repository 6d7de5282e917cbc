// The arguments of an op's gradient function.
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

/// `value` in the dtype of x, for the numbers of a formula. (A literal of the user is float32 or floatX; it would
/// reduce the precision of a float64 formula, or make a float16 formula float32.)
inline Variable number(double value, const Variable& x) { return scalar_constant(value, x.dtype(), x.where()); }

/// While it lives, variables made on this thread have the line `where`: gradients get the line of their forward op, and
/// the parts of a composed operation get the line of its caller. Of nested scopes the outermost counts.
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
