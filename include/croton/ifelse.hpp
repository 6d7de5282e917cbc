// Lazy branches: of two expressions the one that is taken is computed, and nothing of the other.
#pragma once

#include <croton/variable.hpp>

#include <vector>

namespace croton {

/// `then` if the condition, a scalar, is not 0, else `otherwise`. What only the branch that is not taken needs is not
/// computed, not sent between devices, and its requirements on sizes need not hold; in gradients neither. (`where`
/// takes element by element, and computes both.) dtypes, dimensions and stated sizes of 1 must be equal (TypeError);
/// other sizes may differ.
Variable ifelse(Operand condition, Operand then, Operand otherwise);
/// For several variables at once, one by one. ValueError where there are not as many of both.
std::vector<Variable> ifelse(Operand condition, const std::vector<Variable>& then,
                             const std::vector<Variable>& otherwise);

}  // namespace croton
