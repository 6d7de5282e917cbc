// The walk behind grad, Lop and what is made of them.
#pragma once

#include <croton/grad.hpp>

#include <string_view>
#include <vector>

namespace croton::builder {

/// Where a walk starts: a variable, and the gradient that comes from outside.
struct Seed {
  Variable variable, gradient;
};

/// The gradients of sum(seed.variable * seed.gradient) over all seeds with respect to the variables. `op` is the public
/// function that messages name.
std::vector<Variable> gradients(std::string_view op, const std::vector<Seed>& seeds, const std::vector<Variable>& wrt,
                                const GradOptions& options, Where where);

/// TypeError where the variable was never given an expression. `what`: "the cost".
void demand_defined(std::string_view op, const Variable& variable, std::string_view what, Where where);

}  // namespace croton::builder
