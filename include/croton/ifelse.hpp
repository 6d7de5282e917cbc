// Lazy branches: of two expressions only the selected one is computed.
#pragma once

#include <croton/variable.hpp>

#include <vector>

namespace croton {

/// `then` if the condition, a scalar, is not 0, else `otherwise`. Values that only the other branch needs are not
/// computed and not sent between devices, and its requirements on sizes are not checked; the same is true for
/// gradients. (`where` selects element by element, and computes both.) dtypes, ranks and static sizes of 1 must be
/// equal (TypeError); other sizes may differ.
Variable ifelse(Operand condition, Operand then, Operand otherwise);
/// ifelse for each pair of variables, with one condition. ValueError unless both lists have the same length.
std::vector<Variable> ifelse(Operand condition, const std::vector<Variable>& then,
                             const std::vector<Variable>& otherwise);

}  // namespace croton
