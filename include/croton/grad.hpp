// Gradients of symbolic expressions, as symbolic expressions.
#pragma once

#include <croton/shared.hpp>
#include <croton/variable.hpp>

#include <array>
#include <functional>

namespace croton {

/// What a gradient does with a variable that the cost does not depend on.
enum class Disconnected { raise, warn, ignore };

struct GradOptions {
  std::vector<Variable> consider_constant = {};  ///< the gradient does not flow through these
  Disconnected disconnected_inputs =
      Disconnected::raise;  ///< raise DisconnectedInputError, or give zeros (with a warning)
};

/// The gradients of a scalar cost with respect to the variables, in their order; each has its variable's shape, and its
/// dtype (floatX for integer variables); that of a complex x + iy is dC/dx + i dC/dy. The same variable may be asked
/// for twice. TypeError if the cost is not a 0-d float. Conventions at kinks follow Theano; they are listed in
/// docs/gradients.md.
std::vector<Variable> grad(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options = {},
                           Where where = std::source_location::current());
Variable grad(const Variable& cost, const Variable& wrt, const GradOptions& options = {},
              Where where = std::source_location::current());
/// `auto [gw, gb] = grad(cost, w, b);`
template <class... V>
  requires(sizeof...(V) >= 2 && (std::derived_from<V, Variable> && ...))
std::array<Variable, sizeof...(V)> grad(Operand cost, const V&... wrt) {  // an Operand notes the caller's line
  const std::vector<Variable> all = grad(cost.variable, std::vector<Variable>{Variable(wrt)...}, {}, cost.where);
  std::array<Variable, sizeof...(V)> result;
  for (std::size_t i = 0; i < sizeof...(V); ++i) result[i] = all[i];
  return result;
}

/// Compares the gradient of sum(f(inputs) * r), r random and fixed, with central differences in float64 at the given
/// points (complex ones: in complex128, over real and imaginary parts). Returns the largest relative error
/// |a - n| / max(|a| + |n|, 1e-2); `order` 2 checks the gradient of the gradient too.
double verify_grad(const std::function<Variable(const std::vector<Variable>&)>& f, const std::vector<Array>& points,
                   int order = 1, std::uint64_t seed = 1);

}  // namespace croton
