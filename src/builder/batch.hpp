// Vectorisation: an expression of one value becomes that of many, side by side along a new leading axis. Each op says
// what it becomes where some of its inputs have that axis (`batch` of expr::Op); maps and reductions need not.
#pragma once

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

/// What an op becomes. Not batched: the same for all, such as the size of another axis.
struct Batched {
  Variable value;
  bool batched = true;
};

/// What a rule sees: the node as it was, its new inputs, which of them have the new leading axis, and its size.
struct BatchContext {
  const Node& node;
  const std::vector<Variable>& inputs;
  const std::vector<bool>& batched;
  Variable size;

  /// The input with the new axis, repeated along it where it has none.
  Variable repeated(std::size_t input) const;
  /// NotImplementedError if one of the inputs from `first` on has the axis: sizes and bounds must be the same for all.
  void require_same(std::size_t first, std::string_view what) const;
};

/// For ops that treat leading axes alike: the same op on inputs that all have the axis.
Batched batch_each(const BatchContext& context);
/// As batch_each, for ops with an attribute `axis` that counts from the front.
Batched batch_along_axis(const BatchContext& context);

}  // namespace croton::builder
