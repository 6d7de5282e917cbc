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

/// What a gradient does with a variable that the cost does not depend on.
enum class Disconnected { raise, warn, ignore };

/// What stands for the gradient of such a variable, where that is no error: zeros, or an empty Variable.
enum class ReturnDisconnected { zero, none };

/// What is done where a gradient is not defined or not implemented: its error is raised, or an empty Variable stands
/// for it.
enum class NullGradients { raise, none };

struct GradOptions {
  std::vector<Variable> consider_constant = {};  ///< the gradient does not flow through these
  Disconnected disconnected_inputs =
      Disconnected::raise;  ///< raise DisconnectedInputError, or give what return_disconnected says (with a warning)
  /// Variables whose gradient is given, of their shape: it is taken as it is, and nothing is added to it.
  std::vector<std::pair<Variable, Variable>> known_grads = {};
  ReturnDisconnected return_disconnected = ReturnDisconnected::zero;
  NullGradients null_gradients = NullGradients::raise;
};

/// The gradients of a scalar cost with respect to the variables, in their order; each has its variable's shape, and its
/// dtype (floatX for integer variables); that of a complex x + iy is dC/dx + i dC/dy. The same variable may be asked
/// for twice, and may be inside the expression. TypeError if the cost is not a 0-d float; with known_grads it may be an
/// empty Variable. Conventions at kinks follow Theano; they are listed in docs/use/gradients.md.
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

// ---- derivatives of expressions of any shape ----

/// The product of eval_points and the Jacobian of f, from the left: the gradients of sum(f[i] * eval_points[i]) with
/// respect to the variables. Each eval point has the shape of its f.
std::vector<Variable> Lop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options = {},
                          Where where = std::source_location::current());
Variable Lop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options = {},
             Where where = std::source_location::current());
/// The product of the Jacobian of f and eval_points, from the right: for each f its derivative where the variables move
/// along the eval points, which have their shapes. An empty eval point: that variable does not move. It is the gradient
/// of Lop with respect to its eval point, in which Lop is linear; a kink has the same value in both.
std::vector<Variable> Rop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options = {},
                          Where where = std::source_location::current());
Variable Rop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options = {},
             Where where = std::source_location::current());

/// All derivatives of f by each variable: its shape is that of f followed by the variable's. Computed side by side, as
/// one batch of Lop: NotImplementedError names an op that has no rule for batches.
std::vector<Variable> jacobian(const Variable& f, const std::vector<Variable>& wrt, const GradOptions& options = {},
                               Where where = std::source_location::current());
Variable jacobian(const Variable& f, const Variable& wrt, const GradOptions& options = {},
                  Where where = std::source_location::current());
/// The second derivatives of a scalar cost by each variable alone: its shape twice. Zeros where the gradient does not
/// depend on the variable.
std::vector<Variable> hessian(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options = {},
                              Where where = std::source_location::current());
Variable hessian(const Variable& cost, const Variable& wrt, const GradOptions& options = {},
                 Where where = std::source_location::current());
/// The Hessian by all variables times the vectors (of their shapes), without the Hessian: about the work of two
/// gradients.
std::vector<Variable> hessian_times_vector(const Variable& cost, const std::vector<Variable>& wrt,
                                           const std::vector<Variable>& vectors, const GradOptions& options = {},
                                           Where where = std::source_location::current());
Variable hessian_times_vector(const Variable& cost, const Variable& wrt, const Variable& vector,
                              const GradOptions& options = {}, Where where = std::source_location::current());

/// Gradients of a part of an expression, from the cost, from given gradients at its end, or both, with respect to `wrt`
/// and to `end`, where it begins: nothing flows through those.
struct SubgraphGrads {
  std::vector<Variable> wrt, end;
};
SubgraphGrads subgraph_grad(const std::vector<Variable>& wrt, const std::vector<Variable>& end,
                            const std::vector<std::pair<Variable, Variable>>& start, const Variable& cost = {},
                            Where where = std::source_location::current());

/// The outputs for many values of some variables at once, without a loop: each is replaced by a batch of it, of one
/// more axis, the first, and so is each output. All batches have one size (ShapeError). Sizes, scalar indices and
/// bounds cannot differ within a batch. NotImplementedError names an op that has no rule for batches.
std::vector<Variable> vectorize(const std::vector<Variable>& outputs,
                                const std::vector<std::pair<Variable, Variable>>& batched,
                                Where where = std::source_location::current());

// ---- what an expression says of its gradient: all are x ----

/// x is no way to a variable: grad raises where there is no other (DisconnectedInputError).
Variable disconnected_grad(Operand x);
/// The gradient of x is 0.
Variable zero_grad(Operand x);
/// zero_grad, by Theano's other name.
Variable consider_constant(Operand x);
/// What flows back through x is clipped to [low, high]; NaN stays.
Variable grad_clip(Operand x, double low, double high);
/// What flows back through x is multiplied by the number; -1 reverses it.
Variable grad_scale(Operand x, double factor);
/// A gradient that comes through x raises NullTypeGradError, with the reason, where it reaches a variable of `wrt`.
Variable undefined_grad(Operand x, const std::string& reason = "");

/// Compares the gradient of sum(f(inputs) * r), r random and fixed, with central differences in float64 at the given
/// points (complex ones: in complex128, over real and imaginary parts). Returns the largest relative error
/// |a - n| / max(|a| + |n|, 1e-2); `order` 2 checks the gradient of the gradient too.
double verify_grad(const std::function<Variable(const std::vector<Variable>&)>& f, const std::vector<Array>& points,
                   int order = 1, std::uint64_t seed = 1, Where where = std::source_location::current());

}  // namespace croton
