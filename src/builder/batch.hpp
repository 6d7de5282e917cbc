// Vectorisation: an expression of one value becomes an expression of many values along a new leading axis. Each op has
// a rule for inputs with that axis (`batch` of expr::Op); maps and reductions do not need one.
#pragma once

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

/// The result of a rule. It is not batched if it is the same for the whole batch, such as the size of another axis.
struct Batched {
  Variable value;
  bool batched = true;
};

/// The context of a rule: the original node, its new inputs, whether each has the new leading axis, and the size of
/// that axis.
struct BatchContext {
  const Node& node;
  const std::vector<Variable>& inputs;
  const std::vector<bool>& batched;
  Variable size;

  /// The input with the new axis; it is repeated along the axis if it has none.
  Variable repeated(std::size_t input) const;
  /// NotImplementedError if one of the inputs from `first` on has the axis: sizes and bounds must be the same for the
  /// whole batch.
  void require_same(std::size_t first, std::string_view what) const;
};

/// For ops that treat leading axes alike: the same op on inputs that all have the axis.
Batched batch_each(const BatchContext& context);
/// As batch_each, for ops with an attribute `axis` that counts from the front.
Batched batch_along_axis(const BatchContext& context);

}  // namespace croton::builder
