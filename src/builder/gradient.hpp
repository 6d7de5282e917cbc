// Reverse-mode differentiation, for grad, Lop and the functions that use them.
#pragma once

#include <croton/grad.hpp>

#include <string_view>
#include <vector>

namespace croton::builder {

/// A start of differentiation: a variable and its gradient.
struct Seed {
  Variable variable, gradient;
};

/// The gradients of sum(seed.variable * seed.gradient) over all seeds with respect to the variables. `op` is the public
/// function that messages name.
std::vector<Variable> gradients(std::string_view op, const std::vector<Seed>& seeds, const std::vector<Variable>& wrt,
                                const GradOptions& options, Where where);

/// TypeError if the variable is empty. `what`: its role in the message, such as "the cost".
void demand_defined(std::string_view op, const Variable& variable, std::string_view what, Where where);

}  // namespace croton::builder
