// Results with a user-defined gradient.
#pragma once

#include <croton/op.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::ops {

/// The results, each through an identity op that carries the gradient; import removes it. `where` is for messages.
std::vector<Variable> with_gradient(const std::vector<Variable>& results, const std::vector<Variable>& arguments,
                                    std::shared_ptr<const expr::Op> carrier, Where where);
/// Checks that the user's rule returned a gradient, or none, for each input, of its dimensions and stated sizes. A
/// constant 0 is valid for any input, and the dimensions of the result for an input that is broadcast. ValueError,
/// ShapeError.
void check_gradients(std::string_view name, Where where, std::span<const Variable> inputs,
                     std::span<const Variable> gradients, const Variable& result);
/// The op that carries a gradient; the variables that use it keep it alive.
std::shared_ptr<const expr::Op> gradient_carrier(OpFromGraph::Gradient function, std::string name);

}  // namespace croton::ops
