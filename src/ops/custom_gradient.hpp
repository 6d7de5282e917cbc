// Results with a gradient of the user's in place of their own.
#pragma once

#include <croton/op.hpp>

#include <string>
#include <vector>

namespace croton::ops {

/// The results, each through an identity that carries the gradient and is gone when the graph is imported. `name` and
/// `where` are for messages.
std::vector<Variable> with_gradient(const std::vector<Variable>& results, const std::vector<Variable>& arguments,
                                    std::shared_ptr<const expr::Op> carrier, Where where);
/// What carries a gradient; it is kept alive by the variables that it is part of.
std::shared_ptr<const expr::Op> gradient_carrier(OpFromGraph::Gradient function, std::string name);

}  // namespace croton::ops
