// Results with a gradient of the user's in place of their own.
#pragma once

#include <croton/op.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::ops {

/// The results, each through an identity that carries the gradient and is gone when the graph is imported. `name` and
/// `where` are for messages.
std::vector<Variable> with_gradient(const std::vector<Variable>& results, const std::vector<Variable>& arguments,
                                    std::shared_ptr<const expr::Op> carrier, Where where);
/// That a rule of the user gave a gradient, or none, for each input, of its dimensions and stated sizes. A constant 0
/// serves for any input, and the dimensions of the result for one that has fewer and is repeated. ValueError,
/// ShapeError.
void check_gradients(std::string_view name, Where where, std::span<const Variable> inputs,
                     std::span<const Variable> gradients, const Variable& result);
/// What carries a gradient; it is kept alive by the variables that it is part of.
std::shared_ptr<const expr::Op> gradient_carrier(OpFromGraph::Gradient function, std::string name);

}  // namespace croton::ops
