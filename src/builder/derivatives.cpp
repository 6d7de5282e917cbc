// Derivatives of expressions of any shape, by reverse-mode differentiation (gradient.cpp) and
// vectorisation (batch.cpp).
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/gradient.hpp"
#include "builder/gradient_context.hpp"

namespace croton {
namespace {

using builder::describe;
using builder::OriginScope;
using builder::Seed;

/// Checks that there is one eval point for each variable, with its rank and its known sizes.
void check_points(std::string_view op, const std::vector<Variable>& variables, std::string_view what,
                  const std::vector<Variable>& points, bool may_be_empty, Where where) {
  if (points.size() != variables.size()) {
    throw ValueError(fmt::format("{} ({}): {} eval points for {} {}; one for each is needed", op, describe(where),
                                 points.size(), variables.size(), what));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    builder::demand_defined(op, variables[i], "a variable", where);
    if (!points[i].defined() && may_be_empty) continue;
    builder::demand_defined(op, points[i], "an eval point", where);
    const auto fits = [](std::int64_t a, std::int64_t b) { return a == unknown_size || b == unknown_size || a == b; };
    if (std::ranges::equal(points[i].type().shape, variables[i].type().shape, fits)) continue;
    throw TypeError(fmt::format("{} ({}): an eval point has the shape of its variable, but {} for {}", op,
                                describe(where), describe(points[i]), describe(variables[i])));
  }
}

void demand_float(std::string_view op, const Variable& v, Where where) {
  builder::demand_defined(op, v, "the expression", where);
  if (is_float(v.dtype())) return;
  const std::string_view hint = is_complex(v.dtype())
                                    ? "of complex numbers take the derivatives of their real and imaginary parts"
                                    : "integers and bool have no derivatives, so compute it in floats";
  throw TypeError(fmt::format("{} ({}): {}: {}", op, describe(where), describe(v), hint));
}

std::vector<Variable> vector_jacobian_products(std::string_view op, const std::vector<Variable>& f,
                                               const std::vector<Variable>& wrt, const std::vector<Variable>& points,
                                               const GradOptions& options, Where where) {
  std::vector<Seed> seeds;
  for (std::size_t i = 0; i < f.size(); ++i) {
    // Integers are connected, with gradient 0.
    const bool moves = !is_discrete(f[i].dtype());
    seeds.push_back({f[i], moves ? points[i] : builder::scalar_constant(0, DType::float32)});
  }
  return builder::gradients(op, seeds, wrt, options, where);
}

GradOptions ignoring_disconnected(GradOptions options) {
  options.disconnected_inputs = Disconnected::ignore;
  return options;
}

/// One row for each position of f: 1 at that position and 0 elsewhere.
Variable unit_vectors(const Variable& f) {
  if (f.rank() == 1) {
    const Variable at = arange(f.shape(0));
    return cast(eq(dimshuffle(at, {0, broadcast_axis}), dimshuffle(at, {broadcast_axis, 0})), f.dtype());
  }
  const Variable count = f.size(), at = arange(count);
  std::vector<Operand> shape{count};
  for (const Variable& size : f.shape()) shape.emplace_back(size);
  const Variable all = cast(eq(dimshuffle(at, {0, broadcast_axis}), dimshuffle(at, {broadcast_axis, 0})), f.dtype());
  return reshape(all, shape);
}

std::vector<Variable> all_derivatives(std::string_view op, const Variable& f, const std::vector<Variable>& wrt,
                                      const GradOptions& options, Where where) {
  demand_float(op, f, where);
  if (f.rank() == 0) return builder::gradients(op, {{f, builder::scalar_constant(1, f.dtype())}}, wrt, options, where);
  const Variable point = zeros_like(f);  // a placeholder, which the batch replaces
  std::vector<Variable> rows = vector_jacobian_products(op, {f}, wrt, {point}, options, where);
  std::vector<Variable> defined;
  std::ranges::copy_if(rows, std::back_inserter(defined), &Variable::defined);
  const std::vector<Variable> batches = vectorize(defined, {{point, unit_vectors(f)}}, where);
  auto next = batches.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].defined()) continue;
    rows[i] = *next++;
    if (f.rank() == 1) continue;
    std::vector<Operand> shape = builder::shape_of(f);
    for (const Variable& size : wrt[i].shape()) shape.emplace_back(size);
    rows[i] = reshape(rows[i], shape);
  }
  return rows;
}

}  // namespace

std::vector<Variable> Lop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options, Where where) {
  const OriginScope origin(where);
  check_points("Lop", f, "expressions", eval_points, false, where);
  return vector_jacobian_products("Lop", f, wrt, eval_points, options, where);
}
Variable Lop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options,
             Where where) {
  return Lop(std::vector{f}, std::vector{wrt}, std::vector{eval_point}, options, where)[0];
}

std::vector<Variable> Rop(const std::vector<Variable>& f, const std::vector<Variable>& wrt,
                          const std::vector<Variable>& eval_points, const GradOptions& options, Where where) {
  const OriginScope origin(where);
  check_points("Rop", wrt, "variables", eval_points, true, where);
  std::vector<Variable> points;  // of Lop; their values do not matter, because it is linear in them
  for (const Variable& one : f) {
    demand_float("Rop", one, where);
    points.push_back(zeros_like(one));
  }
  GradOptions inner = options;
  inner.return_disconnected = ReturnDisconnected::none;
  const std::vector<Variable> rows = vector_jacobian_products("Rop", f, wrt, points, inner, where);
  std::vector<Seed> seeds;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    if (rows[i].defined() && eval_points[i].defined()) seeds.push_back({rows[i], eval_points[i]});
  }
  GradOptions outer = ignoring_disconnected({});
  outer.null_gradients = options.null_gradients;
  return builder::gradients("Rop", seeds, points, outer, where);
}
Variable Rop(const Variable& f, const Variable& wrt, const Variable& eval_point, const GradOptions& options,
             Where where) {
  return Rop(std::vector{f}, std::vector{wrt}, std::vector{eval_point}, options, where)[0];
}

std::vector<Variable> jacobian(const Variable& f, const std::vector<Variable>& wrt, const GradOptions& options,
                               Where where) {
  const OriginScope origin(where);
  return all_derivatives("jacobian", f, wrt, options, where);
}
Variable jacobian(const Variable& f, const Variable& wrt, const GradOptions& options, Where where) {
  return jacobian(f, std::vector{wrt}, options, where)[0];
}

std::vector<Variable> hessian(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options,
                              Where where) {
  const std::vector<Variable> slopes = grad(cost, wrt, options, where);
  const OriginScope origin(where);
  GradOptions inner = ignoring_disconnected(options);
  inner.known_grads.clear();
  std::vector<Variable> result;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    result.push_back(slopes[i].defined() ? all_derivatives("hessian", slopes[i], {wrt[i]}, inner, where)[0]
                                         : Variable());
  }
  return result;
}
Variable hessian(const Variable& cost, const Variable& wrt, const GradOptions& options, Where where) {
  return hessian(cost, std::vector{wrt}, options, where)[0];
}

std::vector<Variable> hessian_times_vector(const Variable& cost, const std::vector<Variable>& wrt,
                                           const std::vector<Variable>& vectors, const GradOptions& options,
                                           Where where) {
  const std::vector<Variable> slopes = grad(cost, wrt, options, where);
  const OriginScope origin(where);
  check_points("hessian_times_vector", wrt, "variables", vectors, false, where);
  std::vector<Seed> seeds;  // the Hessian is symmetric, so the product from the left equals that from the right
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    if (slopes[i].defined()) seeds.push_back({slopes[i], vectors[i]});
  }
  GradOptions inner = ignoring_disconnected(options);
  inner.known_grads.clear();
  return builder::gradients("hessian_times_vector", seeds, wrt, inner, where);
}
Variable hessian_times_vector(const Variable& cost, const Variable& wrt, const Variable& vector,
                              const GradOptions& options, Where where) {
  return hessian_times_vector(cost, std::vector{wrt}, std::vector{vector}, options, where)[0];
}

SubgraphGrads subgraph_grad(const std::vector<Variable>& wrt, const std::vector<Variable>& end,
                            const std::vector<std::pair<Variable, Variable>>& start, const Variable& cost,
                            Where where) {
  std::vector<Variable> both = wrt;
  both.insert(both.end(), end.begin(), end.end());
  GradOptions options = ignoring_disconnected({});
  options.consider_constant = end;
  options.known_grads = start;
  const std::vector<Variable> all = grad(cost, both, options, where);
  const auto middle = all.begin() + std::ssize(wrt);
  return {{all.begin(), middle}, {middle, all.end()}};
}

}  // namespace croton
