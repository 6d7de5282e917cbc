// What the gradient of an op with several results sees: each result is a node of its own, with the inputs of the
// others.
#pragma once

#include "builder/node.hpp"

#include <vector>

namespace croton::builder {

/// A result of which the cost depends.
struct ResultGradient {
  const Node& node;
  Variable gradient;
};

struct ResultsGradientContext {
  std::vector<ResultGradient> results;  // at least one
};

}  // namespace croton::builder
