// Looking at expressions: what made a variable, of what.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace croton {

/// What a loop computes in each step.
struct LoopBody {
  std::vector<Variable> inputs;   ///< stand-ins for what a step is given
  std::vector<Variable> outputs;  ///< what it gives, as expressions of them
  std::int64_t truncate = -1;     ///< through how many steps gradients go back; -1: all
};

/// How a variable came to be.
struct Application {
  std::string op;                     ///< its name, as in printed graphs
  std::vector<Variable> inputs;       ///< what it was applied to
  std::string attributes = {};        ///< its parameters, as in printed graphs: "axes=[0, 1]"
  std::optional<LoopBody> body = {};  ///< of a loop
};

/// The op that a variable is the result of; none for inputs, constants and shared variables.
/// Attributes and body are left empty unless they are asked for: TypeError then for operations of the user, which
/// cannot be written down.
std::optional<Application> application(const Variable& x, bool attributes = false);
/// The variable of an application that was written down. ValueError for an op that there is not, or a text that is no
/// attributes; what the op says of inputs that do not fit.
Variable apply_again(const Application& made, Where where = std::source_location::current());
/// Whether it is a shared variable.
bool is_shared(const Variable& x);
/// The value of a constant (TypeError for others); it is not copied and cannot be written to.
Array constant_value(const Variable& x);
/// Whether both lists are the same computations: equal ops with equal parameters over equal constants, the same shared
/// variables and the same inputs; an input of `a_inputs` counts as the same as the one at its position in `b_inputs`.
bool equal_computations(const std::vector<Variable>& a, const std::vector<Variable>& b,
                        const std::vector<Variable>& a_inputs = {}, const std::vector<Variable>& b_inputs = {});

}  // namespace croton
