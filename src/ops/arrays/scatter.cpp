// scatter, with the inputs x, idx, the stable order of idx, y. The order is an input, so that several uses share one
// sort.
#include "ops/arrays/scatter.hpp"

#include <croton/complex.hpp>
#include <croton/ops.hpp>
#include <croton/sorting.hpp>

#include "base/checked.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/evaluate.hpp"
#include "expr/routine.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/lines.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::RoutineSizes;
using expr::RoutineWork;
using expr::Scalar;

InferredType infer(InferContext& c) {
  c.attrs.integer("inc");
  const InferredType &x = c.inputs[0], &idx = c.inputs[1], &order = c.inputs[2], &y = c.inputs[3];
  if (idx.dtype != DType::int64 || order.dtype != DType::int64 || idx.shape.size() != 1 || order.shape.size() != 1)
    c.type_error("rows and their order are int64 vectors");
  if (x.dtype != y.dtype || x.shape.empty() || x.shape.size() != y.shape.size())
    c.type_error("both sides must have one dtype and one rank, of at least 1");
  c.require_equal(idx.shape[0], order.shape[0], "each named row has a position in the order");
  c.require_equal(idx.shape[0], y.shape[0], "there must be as many new rows as named rows");
  InferredType result = x;
  for (std::size_t d = 1; d < x.shape.size(); ++d)
    result.shape[d] = c.require_equal(x.shape[d], y.shape[d], "the rows that are given must have the shape of rows");
  return result;
}

RoutineWork work(const RoutineSizes& s) {
  const std::int64_t rows = s.result[0], count = s.inputs[1][0];
  std::int64_t width = 1;
  for (std::size_t d = 1; d < s.result.size(); ++d) width *= s.result[d];
  RoutineWork result;
  result.numbers = {width, count, s.attrs.integer("inc")};
  if (rows * width == 0) return result;
  result.phases = {{.phase = 0, .items = rows, .cost = 32}, {.phase = 1, .items = rows * width, .cost = 4}};
  result.workspace_bytes = rows * std::int64_t{sizeof(std::int64_t)};
  return result;
}

/// Writes in the order of idx; the sorted order is not used.
Array evaluate(const EvaluateContext& c) {
  const Array &x = c.inputs[0], &y = c.inputs[3];
  const auto idx = c.inputs[1].data<std::int64_t>();
  const std::int64_t rows = c.shape[0], width = rows == 0 ? 0 : x.size() / rows;
  const bool inc = c.attrs.integer("inc") != 0;
  std::vector<Scalar> result;
  for (std::int64_t i = 0; i < x.size(); ++i) result.push_back(expr::element_of(x, i));
  for (std::int64_t k = 0; k < std::ssize(idx); ++k) {
    const std::int64_t row = base::nth(idx, k);
    if (row < 0 || row >= rows) continue;
    for (std::int64_t column = 0; column < width; ++column) {
      Scalar& to = base::nth(result, row * width + column);
      const Scalar more = expr::element_of(y, k * width + column);
      if (!inc) {
        to = more;
      } else if (is_float(c.dtype)) {
        to.d += more.d;  // rounded once, at the end
      } else if (is_bool(c.dtype)) {
        to.i |= more.i;
      } else {
        to.i = base::wrapped_add(to.i, more.i);
      }
    }
  }
  if (!is_float(c.dtype)) {
    for (Scalar& value : result) value = Scalar::of_int(value.i, DType::int64).cast(c.dtype);
  }
  return expr::array_of(result, c.dtype, c.shape);
}

/// inc passes the gradient to x and y. set passes it to the rows of x that were not written, and to the rows of y that
/// were not overwritten.
std::vector<Variable> gradient(const GradientContext& c) {
  const Variable &x = c.input(0), &idx = c.input(1), &order = c.input(2), &y = c.input(3);
  // Rows outside x have no gradient: positions below 0 read as 0.
  const Variable row = where((idx >= 0) & (idx < x.shape(0)), idx, -1);
  const Variable rows = take_along(c.gradient, row, 0);
  if (c.node.attrs.integer("inc") != 0) return {c.gradient, {}, {}, rows};
  const Variable nothing = zeros_like(cast(y, c.gradient.dtype()));
  const auto set = [&](const Variable& to, const Variable& from) {
    return builder::apply("scatter", {to, idx, order, from}, {{"inc", std::int64_t{0}}}, c.node.where);
  };
  const Variable number = arange(idx.shape(0));
  const Variable none = alloc(constant(Array(std::int64_t{-1})), {x.shape(0)});
  const Variable stays = eq(pick(set(none, number), row), number);
  return {set(c.gradient, nothing), {}, {}, where(along_axis(stays, 0, y.rank()), rows, nothing)};
}

}  // namespace

Variable scatter(const Variable& x, const Variable& idx, const Variable& y, bool inc) {
  const builder::OriginScope origin(x.where());
  if (is_complex(x.dtype())) {
    return complex(scatter(real(x), idx, real(y), inc), scatter(imag(x), idx, imag(y), inc));
  }
  return builder::apply("scatter", {x, idx, argsort(idx), y}, {{"inc", std::int64_t{inc}}}, x.where());
}

void register_scatter(Registry& registry) {
  static const expr::RoutineInfo routine{"routines/scatter.cuh", "ct::Scatter<{0}>", "width count inc", work};
  static const expr::Op op{.name = "scatter",
                           .kind = expr::Kind::Routine,
                           .arity = 4,
                           .doc = "rows written to, or added to, the named rows, in a given order",
                           .infer = infer,
                           .gradient = gradient,
                           .evaluate = evaluate,
                           .routine = &routine,
                           .batch = batch_scatter};
  registry.add(op);
}

}  // namespace croton::ops
