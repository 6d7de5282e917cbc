// Gradients of symbolic expressions, as symbolic expressions.
#pragma once

#include <croton/shared.hpp>
#include <croton/variable.hpp>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace croton {

/// Treatment of a variable on which the cost does not depend.
enum class Disconnected { raise, warn, ignore };

/// The gradient of such a variable, if that is not an error: zeros, or an empty Variable.
enum class ReturnDisconnected { zero, none };

/// Treatment of a gradient that is undefined or not implemented: raise its error, or return an empty Variable.
enum class NullGradients { raise, none };

struct GradOptions {
  std::vector<Variable> consider_constant = {};  ///< the gradient does not flow through these
  Disconnected disconnected_inputs =
      Disconnected::raise;  ///< raise DisconnectedInputError, or follow return_disconnected (with a warning)
  /// Variables with their given gradients, of the same shape, which are used unchanged: nothing is added to them.
  std::vector<std::pair<Variable, Variable>> known_grads = {};
  ReturnDisconnected return_disconnected = ReturnDisconnected::zero;
  NullGradients null_gradients = NullGradients::raise;
};

/// The gradients of a scalar cost with respect to the variables, in their order; each has its variable's shape, and its
/// dtype (floatX for integer variables); that of a complex x + iy is dC/dx + i dC/dy. A variable may occur twice, and
/// may be inside the expression. TypeError if the cost is not a 0-d float; with known_grads it may be an empty
/// Variable. Conventions at kinks follow Theano; they are listed in docs/use/gradients.md.
std::vector<Variable> grad(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options = {},
                           Where where = std::source_location::current());
Variable grad(const Variable& cost, const Variable& wrt, const GradOptions& options = {},
              Where where = std::source_location::current());
/// `auto [gw, gb] = grad(cost, w, b);`
template <class... V>
  requires(sizeof...(V) >= 2 && (std::derived_from<V, Variable> && ...))
std::array<Variable, sizeof...(V)> grad(Operand cost, const V&... wrt) {  // an Operand stores the caller's line
  const std::vector<Variable> all = grad(cost.variable, std::vector<Variable>{Variable(wrt)...}, {}, cost.where);
  std::array<Variable, sizeof...(V)> result;
  for (std::size_t i = 0; i < sizeof...(V); ++i) result[i] = all[i];
  return result;
}

// ---- derivatives of expressions of any shape ----

/// The vector-Jacobian product of eval_points and f (the L-operator): the gradients of sum(f[i] * eval_points[i]) with
/// respect to the variables. Each eval point has the shape of its f.
std::vector<Variable> Lop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options = {},
                          Where where = std::source_location::current());
Variable Lop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options = {},
             Where where = std::source_location::current());
/// The Jacobian-vector product of f and eval_points (the R-operator): for each f its derivative in the direction of the
/// eval points, which have the shapes of the variables. An empty eval point means direction 0. It is computed as the
/// gradient of Lop with respect to its eval point, in which Lop is linear; a kink has the same value in both.
std::vector<Variable> Rop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options = {},
                          Where where = std::source_location::current());
Variable Rop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options = {},
             Where where = std::source_location::current());

/// The Jacobians of f with respect to each variable: the shape is that of f followed by the variable's. They are
/// computed as one batch of Lop: NotImplementedError names an op without a batching rule.
std::vector<Variable> jacobian(const Variable& f, const std::vector<Variable>& wrt, const GradOptions& options = {},
                               Where where = std::source_location::current());
Variable jacobian(const Variable& f, const Variable& wrt, const GradOptions& options = {},
                  Where where = std::source_location::current());
/// The Hessians of a scalar cost with respect to each variable separately: the shape is that of the variable twice.
/// Zeros if the gradient does not depend on the variable.
std::vector<Variable> hessian(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options = {},
                              Where where = std::source_location::current());
Variable hessian(const Variable& cost, const Variable& wrt, const GradOptions& options = {},
                 Where where = std::source_location::current());
/// The product of the Hessian with respect to all variables and the vectors (of their shapes), without making the
/// Hessian: about the work of two gradients.
std::vector<Variable> hessian_times_vector(const Variable& cost, const std::vector<Variable>& wrt,
                                           const std::vector<Variable>& vectors, const GradOptions& options = {},
                                           Where where = std::source_location::current());
Variable hessian_times_vector(const Variable& cost, const Variable& wrt, const Variable& vector,
                              const GradOptions& options = {}, Where where = std::source_location::current());

/// Gradients of a part of an expression with respect to `wrt` and to `end`, where the part begins. They start from the
/// cost, from given gradients, or both, and do not flow through `end`.
struct SubgraphGrads {
  std::vector<Variable> wrt, end;
};
SubgraphGrads subgraph_grad(const std::vector<Variable>& wrt, const std::vector<Variable>& end,
                            const std::vector<std::pair<Variable, Variable>>& start, const Variable& cost = {},
                            Where where = std::source_location::current());

/// The outputs for a batch of values of some variables, without a loop: each variable is replaced by its batch, with
/// one more axis, the first, and each output also has this axis. All batches must have the same size (ShapeError).
/// Sizes, scalar indices and bounds cannot differ within a batch. NotImplementedError names an op without a batching
/// rule.
std::vector<Variable> vectorize(const std::vector<Variable>& outputs,
                                const std::vector<std::pair<Variable, Variable>>& batched,
                                Where where = std::source_location::current());

// ---- operations that change the gradient: their value is x ----

/// No gradient flows through x: grad raises DisconnectedInputError for a variable without another path.
Variable disconnected_grad(Operand x);
/// The gradient of x is 0.
Variable zero_grad(Operand x);
/// zero_grad, by Theano's other name.
Variable consider_constant(Operand x);
/// The gradient of x is clipped to [low, high]; NaN stays.
Variable grad_clip(Operand x, double low, double high);
/// The gradient of x is multiplied by the number; -1 reverses it.
Variable grad_scale(Operand x, double factor);
/// The gradient of x is undefined: it raises NullTypeGradError, with the reason, if it reaches a variable of `wrt`.
Variable undefined_grad(Operand x, const std::string& reason = "");

/// Compares the gradient of sum(f(inputs) * r), r random and fixed, with central differences in float64 at the given
/// points (complex ones: in complex128, over real and imaginary parts). Returns the largest relative error
/// |a - n| / max(|a| + |n|, 1e-2); `order` 2 also checks the gradient of the gradient.
double verify_grad(const std::function<Variable(const std::vector<Variable>&)>& f, const std::vector<Array>& points,
                   int order = 1, std::uint64_t seed = 1, Where where = std::source_location::current());

}  // namespace croton
