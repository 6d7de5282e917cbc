// Inspection of expressions: the op and the inputs of a variable.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace croton {

/// The computation of one step of a loop.
struct LoopBody {
  std::vector<Variable> inputs;   ///< placeholders for the arguments of a step
  std::vector<Variable> outputs;  ///< its results, as expressions of the inputs
  std::int64_t truncate = -1;     ///< number of steps through which gradients flow; -1: all
};

/// The application of an op that a variable is the result of.
struct Application {
  std::string op;                     ///< its name, as in printed graphs
  std::vector<Variable> inputs;       ///< the operands
  std::string attributes = {};        ///< its parameters, as in printed graphs: "axes=[0, 1]"
  std::optional<LoopBody> body = {};  ///< if the op is a loop
};

/// The application that a variable is the result of; none for inputs, constants and shared variables. Attributes and
/// body are filled in only if `attributes` is true: then user-defined operations, which have no text, raise TypeError.
std::optional<Application> application(const Variable& x, bool attributes = false);
/// The result of a stored application. ValueError for an unknown op, or for text that is not attributes; the op's own
/// errors for wrong inputs.
Variable apply_again(const Application& made, Where where = std::source_location::current());
/// Whether x is a shared variable.
bool is_shared(const Variable& x);
/// The value of a constant (TypeError for others); a read-only reference to it, not a copy.
Array constant_value(const Variable& x);
/// Whether both lists have the same computations: equal ops with equal parameters on equal constants, the same shared
/// variables and the same inputs; an input of `a_inputs` corresponds to the one at its position in `b_inputs`.
bool equal_computations(const std::vector<Variable>& a, const std::vector<Variable>& b,
                        const std::vector<Variable>& a_inputs = {}, const std::vector<Variable>& b_inputs = {});

}  // namespace croton
