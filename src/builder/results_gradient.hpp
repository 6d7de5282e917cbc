// The arguments of the gradient of an op with several results: each result is a separate node, and all have the
// same inputs.
#pragma once

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

/// A result on which the cost depends, with its gradient.
struct ResultGradient {
  const Node& node;
  Variable gradient;
};

struct ResultsGradientContext {
  std::vector<ResultGradient> results;  // at least one
};

}  // namespace croton::builder
