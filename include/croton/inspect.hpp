// Looking at expressions: what made a variable, of what.
#pragma once

#include <croton/variable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace croton {

/// How a variable came to be.
struct Application {
  std::string op;                ///< its name, as in printed graphs
  std::vector<Variable> inputs;  ///< what it was applied to
};

/// The op that a variable is the result of; none for inputs, constants and shared variables.
std::optional<Application> application(const Variable& x);
/// Whether it is a shared variable.
bool is_shared(const Variable& x);
/// The value of a constant (TypeError for others); it is not copied and cannot be written to.
Array constant_value(const Variable& x);
/// Whether both lists are the same computations: equal ops with equal parameters over equal constants, the same shared
/// variables and the same inputs; an input of `a_inputs` counts as the same as the one at its position in `b_inputs`.
bool equal_computations(const std::vector<Variable>& a, const std::vector<Variable>& b,
                        const std::vector<Variable>& a_inputs = {}, const std::vector<Variable>& b_inputs = {});

}  // namespace croton
