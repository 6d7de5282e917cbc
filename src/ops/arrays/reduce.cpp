// Reductions over axes. A row: name, combiner (a struct of codegen_templates/common/combine.cuh), gradient, reference.
// The result has the dtype of the input (argmax, argmin: int64): sums of integers in 64 bits, acc_dtype and similar
// options are casts that the C++ functions below add.
#include <croton/complex.hpp>
#include <croton/grad.hpp>
#include <croton/nnet.hpp>
#include <croton/ops.hpp>
#include <croton/sorting.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/axes.hpp"
#include "expr/evaluate.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/custom_gradient.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::Scalar;

InferredType infer(InferContext& c) {
  const InferredType& x = c.inputs[0];
  const expr::Ints& axes = c.attrs.ints("axes");
  const bool rising = std::ranges::adjacent_find(axes, std::ranges::greater_equal{}) == axes.end();
  if (!rising) c.type_error("the axes must be in order, each once");
  InferredType result{expr::op(c.op_name).reduce->yields_index ? DType::int64 : x.dtype, {}};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const bool reduced = expr::contains(axes, axis);
    if (!reduced) result.shape.push_back(x.shape[axis]);
    if (reduced && expr::op(c.op_name).reduce->needs_elements && c.known(x.shape[axis]) == 0) {
      c.shape_error(fmt::format("axis {} has no elements, and {} of nothing is not defined", axis, c.op_name));
    }
  }
  if (!axes.empty() && (axes.front() < 0 || axes.back() >= std::ssize(x.shape))) {
    c.type_error(fmt::format("axes out of range for {} dimension(s)", x.shape.size()));
  }
  return result;
}

/// A reduction over `axes` (in order) with the reduced axes restored as axes of size 1.
template <class Axes>
Variable with_kept_axes(const Operand& reduced, const Axes& axes, int rank) {
  std::vector<int> pattern;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis)
    pattern.push_back(std::ranges::binary_search(axes, axis) ? broadcast_axis : next++);
  return dimshuffle(reduced, pattern);
}

/// A result of the node with axes that broadcast against its input.
Variable with_axes(const Variable& reduced, const GradientContext& c) {
  return with_kept_axes(reduced, c.node.attrs.ints("axes"), c.input(0).rank());
}

Variable spread(const Variable& value, const Variable& like) { return alloc(value, builder::shape_of(like)); }

std::vector<Variable> sum_gradient(const GradientContext& c) { return {spread(with_axes(c.gradient, c), c.input(0))}; }
/// Every element equal to the extreme gets the whole gradient.
std::vector<Variable> extreme_gradient(const GradientContext& c) {
  const Variable chosen = eq(c.input(0), with_axes(c.output, c));
  return {where(chosen, with_axes(c.gradient, c), 0)};
}
/// For each element the product of all others: the running product before it times the one after it.
Variable product_of_others(const Variable& x, const expr::Ints& axes) {
  std::vector<int> order;
  std::vector<Operand> moved, line, one;  // shapes: with the axes last, with the axes merged, with one element
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) order.push_back(axis);
  }
  for (const int axis : order) line.emplace_back(x.shape(axis));
  one = line;
  order.insert(order.end(), axes.begin(), axes.end());
  for (const int axis : order) moved.emplace_back(x.shape(axis));
  line.emplace_back(-1);
  one.emplace_back(1);
  const Variable ones = alloc(builder::number(1, x), one), factors = reshape(dimshuffle(x, order), line);
  const int last = factors.rank() - 1;
  const Variable before = part_along(cumprod(concatenate({ones, factors}, -1), -1), last, {}, -1);
  const Variable after = flip(cumprod(flip(concatenate({factors, ones}, -1), {{-1}}), -1), {{-1}});
  return dimshuffle(reshape(before * part_along(after, last, 1, {}), moved), expr::inverse_order(order));
}

/// prod / x where no factor is zero; with one zero only its position gets the product of the others; with two zeros no
/// position does. This formula has no derivative at the zeros, unlike the product of the others, which is
/// differentiated instead.
std::vector<Variable> prod_gradient(const GradientContext& c) {
  const Variable& x = c.input(0);
  const expr::Ints& list = c.node.attrs.ints("axes");
  const ReduceOptions axes(std::vector<int>(list.begin(), list.end()));
  const Variable is_zero = eq(x, 0);
  const Variable zero_count = sum(cast(is_zero, x.dtype()), axes);
  const Variable rest = prod(where(is_zero, ones_like(x), x), axes);
  const Variable others =
      where(is_zero, where(eq(with_axes(zero_count, c), 1), with_axes(rest, c), 0),
            where(eq(with_axes(zero_count, c), 0), with_axes(rest, c) / where(is_zero, ones_like(x), x), 0));
  if (is_complex(x.dtype())) return {with_axes(c.gradient, c) * others};
  const auto carrier = gradient_carrier(
      [list](const std::vector<Variable>& inputs, const std::vector<Variable>&,
             const std::vector<Variable>& gradients) {
        return std::vector<Variable>{Lop(product_of_others(inputs[0], list), inputs[0], gradients[0])};
      },
      "prod");
  return {with_axes(c.gradient, c) * with_gradient({others}, {x}, carrier, c.node.where)[0]};
}
std::vector<Variable> zero_gradient(const GradientContext&) {
  return {builder::scalar_constant(0, base::config().float_x())};
}

/// Folds the elements of each result, in order, by `step(state, value, position)`.
template <class Init, class Step, class Finish>
Array walk(const EvaluateContext& c, Init init, Step step, Finish finish) {
  const Array& x = c.inputs[0];
  const expr::Ints& axes = c.attrs.ints("axes");
  std::vector<int> order;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) order.push_back(axis);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const Array moved = x.transpose(order).copy();
  const std::int64_t results = std::accumulate(c.shape.begin(), c.shape.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t length = results == 0 ? 0 : moved.size() / results;
  const DType wide = is_complex(c.dtype) ? DType::complex128 : is_float(c.dtype) ? DType::float64 : DType::int64;
  Array out = Array::empty(wide, c.shape);
  for (std::int64_t r = 0; r < results; ++r) {
    auto state = init();
    for (std::int64_t k = 0; k < length; ++k) step(state, moved, r * length + k, k);
    const Scalar value = finish(state, length);
    if (is_complex(c.dtype))
      base::nth(out.data<std::complex<double>>(), r) = value.as_complex();
    else if (is_float(c.dtype))
      base::nth(out.data<double>(), r) = value.as_double();
    else
      base::nth(out.data<std::int64_t>(), r) = value.as_int();
  }
  return out.astype(c.dtype);
}

/// An element in the widest dtype of its kind.
Scalar element(const Array& x, std::int64_t at) {
  Scalar value = expr::element_of(x, at);
  value.dtype = is_complex(x.dtype())        ? DType::complex128
                : is_float(x.dtype())        ? DType::float64
                : x.dtype() == DType::uint64 ? DType::uint64
                                             : DType::int64;
  return value;
}

/// Multiplies real and imaginary parts as kernels do: std::complex recovers infinities, kernels do not.
std::complex<double> multiplied(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// A sum of floats and of the rounding errors of its additions (A. Neumaier, Rundungsfehleranalyse einiger Verfahren
/// zur Summation endlicher Summen, 1974): the error of a reference should not grow with the number of terms.
struct CompensatedSum {
  double total = 0, lost = 0;
  void add(double x) {
    const double next = total + x;
    lost += std::abs(total) >= std::abs(x) ? (total - next) + x : (x - next) + total;
    total = next;
  }
  double value() const { return std::isfinite(total) ? total + lost : total; }
};

Array evaluate_float_sum(const EvaluateContext& c) {
  return walk(
      c, [] { return CompensatedSum{}; },
      [](CompensatedSum& s, const Array& x, std::int64_t at, std::int64_t) { s.add(x.as_double(at)); },
      [](const CompensatedSum& s, std::int64_t) { return Scalar::of_double(s.value(), DType::float64); });
}

template <bool product>
Array evaluate_sum(const EvaluateContext& c) {
  if (!product && is_float(c.dtype) && is_float(c.inputs[0].dtype())) return evaluate_float_sum(c);
  return walk(
      c,
      [&] {
        if (is_complex(c.dtype)) return Scalar::of_complex(product, DType::complex128);
        return is_float(c.dtype) ? Scalar::of_double(product, DType::float64) : Scalar::of_int(product, DType::int64);
      },
      [&](Scalar& s, const Array& x, std::int64_t at, std::int64_t) {
        const Scalar v = element(x, at);
        if (is_complex(c.dtype))
          s = Scalar::of_complex(product ? multiplied(s.as_complex(), v.as_complex()) : s.as_complex() + v.as_complex(),
                                 DType::complex128);
        else if (is_float(c.dtype))
          s.d = product ? s.d * v.d : s.d + v.d;
        else
          s.i = product ? base::wrapped_mul(s.i, v.i) : base::wrapped_add(s.i, v.i);
      },
      [](const Scalar& s, std::int64_t) { return s; });
}

template <bool largest, bool index, bool of_nothing = false>
Array evaluate_extreme(const EvaluateContext& c) {
  struct State {
    Scalar value;
    std::int64_t position = -1;
  };
  for (const std::int64_t axis : c.attrs.ints("axes")) {
    if (!of_nothing && base::nth(c.inputs[0].shape(), axis) == 0)
      throw ValueError(fmt::format("{}: axis {} has no elements", index ? "argmax or argmin" : "max or min", axis));
  }
  return walk(
      c, [] { return State{}; },
      [&](State& s, const Array& x, std::int64_t at, std::int64_t k) {
        const Scalar v = element(x, at);
        const auto better = [&] {
          if (is_float(v.dtype)) {
            if (s.value.d != s.value.d) return false;  // a nan stays
            // 0 is larger than -0, as for `maximum`; a position is that of the first equal element.
            if (!index && v.d == s.value.d) return std::signbit(s.value.d) == largest;
            return v.d != v.d || (largest ? v.d > s.value.d : v.d < s.value.d);
          }
          if (v.dtype == DType::uint64) {
            const std::uint64_t a = v.as_unsigned(), b = s.value.as_unsigned();
            return largest ? a > b : a < b;
          }
          return largest ? v.i > s.value.i : v.i < s.value.i;
        };
        if (s.position < 0 || better()) s = {v, k};
      },
      [&](const State& s, std::int64_t) {
        if (of_nothing && s.position < 0) return Scalar::of_double(-std::numeric_limits<double>::infinity(), c.dtype);
        return index ? Scalar::of_int(s.position, DType::int64) : s.value;
      });
}

template <bool all_of>
Array evaluate_logical(const EvaluateContext& c) {
  return walk(
      c, [] { return Scalar::of_int(all_of, DType::int64); },
      [](Scalar& s, const Array& x, std::int64_t at, std::int64_t) {
        const bool v = element(x, at).cast(DType::bool_).i != 0;
        s.i = all_of ? (s.i != 0 && v) : (s.i != 0 || v);
      },
      [](const Scalar& s, std::int64_t) { return s; });
}

}  // namespace

void register_reduce(Registry& registry) {
  struct Row {
    std::string_view name;
    expr::ReduceInfo info;
    decltype(expr::Op::gradient) gradient;
    decltype(expr::Op::evaluate) evaluate;
    std::string_view doc;
    bool needs_order = false;  // complex numbers have no order
  };
  static const Row rows[] = {
      {"sum", {"Sum"}, sum_gradient, evaluate_sum<false>, "the sum over axes; 0 of nothing"},
      {"prod", {"Product"}, prod_gradient, evaluate_sum<true>, "the product over axes; 1 of nothing"},
      {"max",
       {"Max", true},
       extreme_gradient,
       evaluate_extreme<true, false>,
       "the largest over axes; nan if there is one",
       true},
      {"max_or_lowest", {"Max"}, nullptr, evaluate_extreme<true, false, true>, "max; -inf of nothing", true},
      {"min",
       {"Min", true},
       extreme_gradient,
       evaluate_extreme<false, false>,
       "the smallest over axes; nan if there is one",
       true},
      {"all", {"All"}, zero_gradient, evaluate_logical<true>, "whether all are true; true of nothing"},
      {"any", {"Any"}, zero_gradient, evaluate_logical<false>, "whether any is true; false of nothing"},
      {"argmax",
       {"ArgMax", true, true},
       zero_gradient,
       evaluate_extreme<true, true>,
       "the position of the first largest; of the first nan",
       true},
      {"argmin",
       {"ArgMin", true, true},
       zero_gradient,
       evaluate_extreme<false, true>,
       "the position of the first smallest; of the first nan",
       true},
  };
  static std::vector<expr::Op> ops;
  ops.reserve(std::size(rows));
  for (const Row& row : rows) {
    expr::Op op;
    op.name = row.name;
    op.kind = expr::Kind::Reduce;
    op.doc = row.doc;
    op.infer = infer;
    op.gradient = row.gradient;
    op.evaluate = row.evaluate;
    op.reduce = &row.info;
    op.takes_complex = !row.needs_order;
    ops.push_back(op);
    registry.add(ops.back());
  }
}

}  // namespace croton::ops

namespace croton {
namespace {

std::vector<int> axes_of(const Operand& operand, const ReduceOptions& options, std::string_view op) {
  const int rank = operand.variable.rank();
  return options.axis ? ops::normal_axes(*options.axis, rank, op, operand) : expr::axes_from(0, rank);
}

/// The number of elements of each result.
Variable element_count(const Operand& x, const ReduceOptions& options, std::string_view op) {
  Variable count = constant(Array(std::int64_t{1}), "", x.where);
  for (const int axis : axes_of(x, options, op))
    count = Operand(count, x.where) * Operand(x.variable.shape(axis, x.where), x.where);
  return count;
}

Variable reduce(std::string_view op, const Operand& x, const ReduceOptions& options) {
  const std::vector<int> axes = axes_of(x, options, op);
  const Variable result = builder::apply(op, {x.variable}, {{"axes", expr::Ints(axes.begin(), axes.end())}}, x.where);
  return options.keepdims ? ops::with_kept_axes(Operand(result, x.where), axes, x.variable.rank()) : result;
}

/// The bools that all and any reduce.
Operand truth(const Operand& x) {
  return x.variable.dtype() == DType::bool_ ? x : Operand(neq(x, Operand(0, x.where)), x.where);
}

[[noreturn]] void throw_type_error(std::string_view op, const Operand& x, const std::string& why) {
  throw TypeError(fmt::format("{} ({}): {}: {}", op, builder::describe(x.where), builder::describe(x.variable), why));
}

/// TypeError for acc_dtype in a reduction that does not accumulate.
void check_no_acc_dtype(std::string_view op, const Operand& x, const ReduceOptions& options) {
  if (options.acc_dtype)
    throw_type_error(
        op, x,
        fmt::format("acc_dtype={}, but nothing is added up; dtype is the result's", name_of(*options.acc_dtype)));
}

/// The result in the dtype of the options, if they have one.
Variable in_result_dtype(const Variable& result, const Operand& x, const ReduceOptions& options) {
  return options.dtype ? cast(Operand(result, x.where), *options.dtype) : result;
}

/// max and min: one of the elements, converted.
Variable extreme(std::string_view op, const Operand& x, const ReduceOptions& options) {
  check_no_acc_dtype(op, x, options);
  return in_result_dtype(reduce(op, x, options), x, options);
}

/// argmax and argmin.
Variable position_of_extreme(std::string_view op, const Operand& x, const ReduceOptions& options) {
  check_no_acc_dtype(op, x, options);
  if (options.dtype && !is_integer(*options.dtype))
    throw_type_error(op, x, fmt::format("dtype={}; a position is an integer", name_of(*options.dtype)));
  return in_result_dtype(reduce(op, x, options), x, options);
}

/// all and any.
Variable logical_reduction(std::string_view op, const Operand& x, const ReduceOptions& options) {
  check_no_acc_dtype(op, x, options);
  if (options.dtype && !is_bool(*options.dtype))
    throw_type_error(op, x, fmt::format("dtype={}; the result is bool, which cast converts", name_of(*options.dtype)));
  return reduce(op, truth(x), options);
}

/// `f(x, options)` of reductions that compute in floats: computed in acc_dtype, or in the common dtype of `own` and the
/// result, and converted at the end. `own` is the default dtype of the result.
template <class F>
Variable computed_in_floats(std::string_view op, const Operand& x, const ReduceOptions& options, DType own, F f) {
  if (!options.dtype && !options.acc_dtype) return f(x, options);
  const DType result = options.dtype.value_or(own);
  DType wide = options.acc_dtype.value_or(compute_dtype(promote(own, result)));
  if (is_discrete(wide)) throw_type_error(op, x, fmt::format("acc_dtype={}; it is computed in floats", name_of(wide)));
  if (is_complex(x.variable.dtype())) wide = promote(wide, DType::complex64);
  return cast(f(Operand(cast(x, wide), x.where), ReduceOptions(options.axis, options.keepdims)), result);
}

/// sum and prod: widen, reduce, convert.
Variable accumulate(std::string_view op, const Operand& x, const ReduceOptions& options) {
  const DType own = x.variable.dtype();
  const DType wide = is_unsigned_int(own) ? DType::uint64 : is_discrete(own) ? DType::int64 : own;
  const DType result = options.dtype.value_or(wide);
  const DType accumulator =
      options.acc_dtype.value_or(compute_dtype(options.dtype ? ops::common_dtype(wide, result) : wide));
  return cast(Operand(reduce(op, Operand(cast(x, accumulator), x.where), options), x.where), result);
}

}  // namespace

Variable sum(Operand x, const ReduceOptions& options) { return accumulate("sum", x, options); }
Variable prod(Operand x, const ReduceOptions& options) { return accumulate("prod", x, options); }
Variable max(Operand x, const ReduceOptions& options) { return extreme("max", x, options); }
Variable min(Operand x, const ReduceOptions& options) { return extreme("min", x, options); }
Variable argmax(Operand x, const ReduceOptions& options) { return position_of_extreme("argmax", x, options); }
Variable argmin(Operand x, const ReduceOptions& options) { return position_of_extreme("argmin", x, options); }
Variable all(Operand x, const ReduceOptions& options) { return logical_reduction("all", x, options); }
Variable any(Operand x, const ReduceOptions& options) { return logical_reduction("any", x, options); }

Variable mean(Operand x, const ReduceOptions& options) {
  const DType own = is_discrete(x.variable.dtype()) ? DType::float64 : x.variable.dtype();
  const DType accumulator =
      options.acc_dtype.value_or(options.dtype ? compute_dtype(*options.dtype) : compute_dtype(own));
  const Variable count = element_count(x, options, "mean");
  ReduceOptions inner = options;
  inner.dtype = inner.acc_dtype = std::nullopt;
  Variable total = reduce("sum", Operand(cast(x, accumulator), x.where), inner);
  // The quotient of two integers would be floatX.
  const DType quotient = is_discrete(accumulator) ? compute_dtype(own) : accumulator;
  if (is_discrete(accumulator)) total = cast(Operand(total, x.where), quotient);
  return cast(Operand(Operand(total, x.where) / Operand(cast(Operand(count, x.where), quotient), x.where), x.where),
              options.dtype.value_or(own));
}

namespace {

/// The variance of floats; without dtypes in the options.
Variable spread_of(const Operand& x, const ReduceOptions& options, double ddof) {
  ReduceOptions kept = options;
  kept.keepdims = true;
  const Variable squares = sqr(x - mean(x, kept));
  if (ddof == 0) return mean(squares, options);
  const DType result = squares.dtype();
  const Variable count = cast(element_count(x, options, "var"), compute_dtype(result));
  return cast(sum(squares, options) / maximum(count - builder::number(ddof, count), 0), result);
}

/// The variance or its root. For complex numbers it is the mean of |x - mean|^2: the sum of the variances of both
/// parts.
Variable spread(std::string_view op, const Operand& x, const ReduceOptions& options, double ddof, bool root) {
  const builder::OriginScope origin(x.where);
  const DType given = x.variable.dtype();
  const DType own = is_discrete(given) ? DType::float64 : is_complex(given) ? real(x).dtype() : given;
  return computed_in_floats(op, x, options, own, [&](const Operand& v, const ReduceOptions& axes) {
    // The squares of float16 overflow from 256 on.
    const auto of = [&](const Variable& part) {
      return spread_of(Operand(cast(part, compute_dtype(part.dtype())), x.where), axes, ddof);
    };
    const Variable var = is_complex(v.variable.dtype()) ? of(real(v)) + of(imag(v)) : of(v.variable);
    const DType result = is_float(v.variable.dtype()) ? v.variable.dtype() : var.dtype();
    return cast(root ? sqrt(var) : var, result);
  });
}

}  // namespace

Variable var(Operand x, const ReduceOptions& options, double ddof) { return spread("var", x, options, ddof, false); }
Variable std(Operand x, const ReduceOptions& options, double ddof) { return spread("std", x, options, ddof, true); }

Variable ptp(Operand x, const ReduceOptions& options) {
  const builder::OriginScope origin(x.where);
  const DType own = x.variable.dtype(), result = options.dtype.value_or(own);
  const DType wide = options.acc_dtype.value_or(ops::common_dtype(own, result));
  const ReduceOptions axes(options.axis, options.keepdims);
  return cast(cast(max(x, axes), wide) - cast(min(x, axes), wide), result);
}

namespace {

/// The norm of floats; without dtypes in the options.
Variable norm_of(const Variable& v, double order, const ReduceOptions& options) {
  if (std::isinf(order)) return order > 0 ? max(abs(v), options) : min(abs(v), options);
  if (order == 0) return sum(cast(neq(v, 0), v.dtype()), options);
  if (order == 1) return sum(abs(v), options);
  return ops::in_one_rounding(v, [&](const Variable& wide) {
    if (order == 2) return sqrt(sum(sqr(wide), options));
    return pow(sum(pow(abs(wide), builder::number(order, wide)), options), builder::number(1 / order, wide));
  });
}

Variable logsumexp_of(const Operand& x, const ReduceOptions& options) {
  const std::vector<int> axes = axes_of(x, options, "logsumexp");
  // Moves the axes to the end and merges them: the op logsumexp and its rules handle one axis.
  std::vector<int> order;
  std::vector<Operand> shape;
  for (int axis = 0; axis < x.variable.rank(); ++axis) {
    if (std::ranges::binary_search(axes, axis)) continue;
    order.push_back(axis);
    shape.emplace_back(x.variable.shape(axis));
  }
  order.insert(order.end(), axes.begin(), axes.end());
  shape.emplace_back(element_count(x, options, "logsumexp"));
  const Variable result = nnet::logsumexp(
      axes.size() == 1 && axes[0] + 1 == x.variable.rank() ? x.variable : reshape(dimshuffle(x, order), shape));
  return options.keepdims ? ops::with_kept_axes(result, axes, x.variable.rank()) : result;
}

}  // namespace

Variable norm(Operand x, double order, const ReduceOptions& options) {
  const builder::OriginScope origin(x.where);
  const Variable given = ops::in_floats(x);
  const Operand sizes(is_complex(given.dtype()) ? abs(given) : given, x.where);
  return computed_in_floats(
      "norm", sizes, options, sizes.variable.dtype(),
      [&](const Operand& v, const ReduceOptions& axes) { return norm_of(v.variable, order, axes); });
}

Variable logsumexp(Operand x, const ReduceOptions& options) {
  const builder::OriginScope origin(x.where);
  return computed_in_floats("logsumexp", x, options, ops::in_floats(x).dtype(), logsumexp_of);
}

Variable count_nonzero(Operand x, const ReduceOptions& options) {
  const builder::OriginScope origin(x.where);
  return sum(neq(x, 0), options);
}

std::pair<Variable, Variable> max_and_argmax(Operand x, const ReduceOptions& options) {
  if (options.dtype)
    throw_type_error(
        "max_and_argmax", x,
        fmt::format("dtype={}, and there are two results; max and argmax take one each", name_of(*options.dtype)));
  return {max(x, options), argmax(x, options)};
}

}  // namespace croton
