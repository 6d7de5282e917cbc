// Running sums and products, and the linear recurrence for the gradient of running products.
#include <croton/ops.hpp>
#include <croton/sorting.hpp>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/index.hpp"
#include "base/shape.hpp"
#include "builder/gradient_context.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "expr/evaluate.hpp"
#include "expr/routine.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/lines.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::Lines;
using expr::RoutineSizes;
using expr::RoutineWork;
using expr::Scalar;

bool is_reversed(const expr::Attrs& attrs) { return attrs.integer_or("reverse", 0) != 0; }

// ---- cumsum, cumprod ----

InferredType infer_cumulate(InferContext& c) {
  line_axis(c, 0);
  return c.inputs[0];
}

RoutineWork cumulate_work(const RoutineSizes& s) {
  const Lines lines(s.result, s.attrs.integer("axis"));
  RoutineWork work;
  work.numbers = {lines.length, lines.inner, is_reversed(s.attrs)};
  if (lines.count() == 0) return work;
  const std::int64_t parts = (lines.length - 1) / ct::cumulate_part + 1, all = lines.outer * parts * lines.inner;
  const std::int64_t cost = std::min<std::int64_t>(lines.length, ct::cumulate_part);
  if (parts > 1) {
    work.phases = {{.phase = 0, .items = all, .cost = cost},
                   {.phase = 1, .items = lines.outer * lines.inner, .cost = parts}};
    work.workspace_bytes = all * base::element_size(compute_dtype(s.dtypes[0]));
  }
  work.phases.push_back({.phase = 2, .items = all, .cost = cost});
  return work;
}

/// Multiplies real and imaginary parts as kernels do: std::complex recovers infinities, kernels do not.
std::complex<double> multiplied(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Running products of complex numbers.
Array evaluate_complex_products(const EvaluateContext& c) {
  const Lines lines(c.shape, c.attrs.integer("axis"));
  std::vector<Scalar> result(base::to_size(lines.count()));
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::complex<double> value = 1;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const std::int64_t at = lines.at(line, is_reversed(c.attrs) ? lines.length - 1 - i : i);
      const std::complex<double> x = c.inputs[0].as_complex(at);
      value = i == 0 ? x : multiplied(value, x);
      base::nth(result, at) = Scalar::of_complex(value, c.dtype);
    }
  }
  return expr::array_of(result, c.dtype, c.shape);
}

template <bool product>
Array evaluate_cumulate(const EvaluateContext& c) {
  if (product && is_complex(c.dtype)) return evaluate_complex_products(c);
  const Lines lines(c.shape, c.attrs.integer("axis"));
  std::vector<Scalar> result(base::to_size(lines.count()));
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    double real = product ? 1 : 0;
    std::int64_t whole = product ? 1 : 0;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const std::int64_t at = lines.at(line, is_reversed(c.attrs) ? lines.length - 1 - i : i);
      const Scalar x = expr::element_of(c.inputs[0], at);
      real = product ? real * x.d : i == 0 ? x.d : real + x.d;
      whole = product ? base::wrapped_mul(whole, x.i) : base::wrapped_add(whole, x.i);
      base::nth(result, at) =
          is_float(c.dtype) ? Scalar::of_double(real, c.dtype) : Scalar::of_int(whole, DType::int64).cast(c.dtype);
    }
  }
  return expr::array_of(result, c.dtype, c.shape);
}

expr::Attrs reversed_attrs(const GradientContext& c) {
  return {{"axis", c.node.attrs.integer("axis")}, {"reverse", std::int64_t{!is_reversed(c.node.attrs)}}};
}

/// The gradient of an element is the sum of the gradients of all results that contain it.
std::vector<Variable> cumsum_gradient(const GradientContext& c) {
  return {builder::apply("cumsum", {c.gradient}, reversed_attrs(c), c.node.where)};
}

/// The previous element in the direction of the recurrence; 0 for the first one.
Variable previous(const Variable& x, int axis, bool reversed) {
  const auto spec = [&](expr::Ints own) {
    expr::Ints all;
    for (int d = 0; d < axis; ++d) all.insert(all.end(), {1, 0, 0, 1});
    all.insert(all.end(), own.begin(), own.end());
    return all;
  };
  const Where where = x.where();
  const auto bound = [&](std::int64_t value) { return constant(Array(value), "", where); };
  const expr::Ints from = spec({1, 1, 0, 1}), to = spec({1, 0, 1, 1});  // [1:] and [:-1]
  const Variable part =
      builder::apply("subtensor", {x, bound(reversed ? 1 : -1)}, {{"spec", reversed ? from : to}}, where);
  std::vector<Variable> inputs{part};
  for (const Variable& size : x.shape(where)) inputs.push_back(size);
  inputs.push_back(bound(reversed ? -1 : 1));
  return builder::apply("subtensor_grad", inputs, {{"rank", std::int64_t{x.rank()}}, {"spec", reversed ? to : from}},
                        where);
}

/// 1 at the first element of the recurrence, 0 elsewhere; it broadcasts against x.
Variable first_indicator(const Variable& x, int axis, bool reversed) {
  const Variable length = x.shape(axis);
  const Variable is_first = eq(arange(length), reversed ? length - 1 : constant(Array(std::int64_t{0})));
  return along_axis(cast(is_first, x.dtype()), axis, x.rank());
}

/// dx[j] is the product of all elements before x[j] times s[j] = g[j] + x[j+1] s[j+1]. There is no division, so that
/// zeros are exact.
std::vector<Variable> cumprod_gradient(const GradientContext& c) {
  const int axis = c.node.attrs.axis();
  const bool reversed = is_reversed(c.node.attrs);
  const Variable before = previous(c.output, axis, reversed) + first_indicator(c.output, axis, reversed);
  expr::Attrs attrs = reversed_attrs(c);
  attrs.set("shifted", std::int64_t{1});
  return {before * builder::apply("linear_recurrence", {c.input(0), c.gradient}, attrs, c.node.where)};
}

// ---- linear_recurrence: a, b -> y[i] = b[i] + a[i] y[i-1]; shifted: a[i-1] instead of a[i] ----

InferredType infer_recurrence(InferContext& c) {
  line_axis(c, 0);
  const InferredType &a = c.inputs[0], &b = c.inputs[1];
  if (a.dtype != b.dtype || is_discrete(a.dtype) || a.shape.size() != b.shape.size())
    c.type_error("both sides must be floats or complex numbers of one dtype and rank");
  InferredType result = a;
  for (std::size_t d = 0; d < a.shape.size(); ++d)
    result.shape[d] = c.require_equal(a.shape[d], b.shape[d], "a linear recurrence has as many factors as terms");
  return result;
}

RoutineWork recurrence_work(const RoutineSizes& s) {
  const Lines lines(s.result, s.attrs.integer("axis"));
  RoutineWork work;
  work.numbers = {lines.length, lines.inner, is_reversed(s.attrs), s.attrs.integer_or("shifted", 0)};
  work.phases = {{.items = lines.length == 0 ? 0 : lines.outer * lines.inner, .cost = lines.length}};
  return work;
}

Array evaluate_recurrence(const EvaluateContext& c) {
  const Lines lines(c.shape, c.attrs.integer("axis"));
  const bool shifted = c.attrs.integer_or("shifted", 0) != 0;
  const auto numbers = [](const Array& x, std::int64_t at) {
    return is_complex(x.dtype()) ? x.as_complex(at) : std::complex<double>(x.as_double(at));
  };
  std::vector<Scalar> result(base::to_size(lines.count()));
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::complex<double> value = 0, before = 0;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const std::int64_t at = lines.at(line, is_reversed(c.attrs) ? lines.length - 1 - i : i);
      const std::complex<double> a = numbers(c.inputs[0], at), b = numbers(c.inputs[1], at);
      value = i == 0                ? b
              : is_complex(c.dtype) ? b + multiplied(shifted ? before : a, value)
                                    : b.real() + (shifted ? before : a).real() * value.real();
      before = a;
      base::nth(result, at) =
          is_complex(c.dtype) ? Scalar::of_complex(value, c.dtype) : Scalar::of_double(value.real(), c.dtype);
    }
  }
  return expr::array_of(result, c.dtype, c.shape);
}

/// The gradient of b is the reversed recurrence of the result's gradient; that of a is this, times the y that a was
/// multiplied with.
std::vector<Variable> recurrence_gradient(const GradientContext& c) {
  const bool reversed = is_reversed(c.node.attrs), shifted = c.node.attrs.integer_or("shifted", 0) != 0;
  expr::Attrs attrs = reversed_attrs(c);
  attrs.set("shifted", std::int64_t{!shifted});
  const Variable terms = builder::apply("linear_recurrence", {c.input(0), c.gradient}, attrs, c.node.where);
  const int axis = c.node.attrs.axis();
  const Variable factors =
      shifted ? previous(terms, axis, !reversed) * c.output : terms * previous(c.output, axis, reversed);
  return {factors, terms};
}

}  // namespace

void register_cumulate(Registry& registry) {
  constexpr std::string_view file = "routines/cumulate.cuh", numbers = "length inner reverse";
  static const expr::RoutineInfo sums{file, "ct::Cumulate<{0}, ct::Sum>", numbers, cumulate_work};
  static const expr::RoutineInfo products{file, "ct::Cumulate<{0}, ct::Product>", numbers, cumulate_work};
  static const expr::RoutineInfo recurrences{"routines/recurrence.cuh", "ct::Recurrence<{0}>",
                                             "length inner reverse shifted", recurrence_work};
  static const expr::Op ops[] = {
      {.name = "cumsum",
       .kind = expr::Kind::Routine,
       .doc = "running sums along an axis",
       .infer = infer_cumulate,
       .gradient = cumsum_gradient,
       .evaluate = evaluate_cumulate<false>,
       .routine = &sums,
       .batch = builder::batch_along_axis},
      {.name = "cumprod",
       .kind = expr::Kind::Routine,
       .doc = "running products along an axis",
       .infer = infer_cumulate,
       .gradient = cumprod_gradient,
       .evaluate = evaluate_cumulate<true>,
       .routine = &products,
       .takes_complex = true,
       .batch = builder::batch_along_axis},
      {.name = "linear_recurrence",
       .kind = expr::Kind::Routine,
       .arity = 2,
       .doc = "y[i] = b[i] + a[i] y[i-1] along an axis; shifted: a[i-1]",
       .infer = infer_recurrence,
       .gradient = recurrence_gradient,
       .evaluate = evaluate_recurrence,
       .routine = &recurrences,
       .takes_complex = true,
       .batch = builder::batch_along_axis},
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton {
namespace {

/// Converts to the accumulation dtype, applies the op along the lines, and converts to the result's dtype.
Variable cumulate(std::string_view name, const Operand& x, std::optional<int> axis, std::optional<DType> dtype,
                  std::optional<DType> acc_dtype) {
  const builder::OriginScope origin(x.where);
  const auto [lines, at] = ops::flat_or_axis(x, axis, name);
  // bool is counted, as NumPy does.
  const DType own = is_bool(lines.dtype()) ? DType::int64 : lines.dtype(), result = dtype.value_or(own);
  const Variable numbers = cast(lines, acc_dtype.value_or(dtype ? ops::common_dtype(own, result) : own));
  const auto run = [&](const Variable& v) { return builder::apply(name, {v}, {{"axis", std::int64_t{at}}}, x.where); };
  const bool in_parts = name == "cumsum" && is_complex(numbers.dtype());
  return cast(in_parts ? ops::of_parts(numbers, run) : run(numbers), result);
}

}  // namespace

Variable cumsum(Operand x, std::optional<int> axis, std::optional<DType> dtype, std::optional<DType> acc_dtype) {
  return cumulate("cumsum", x, axis, dtype, acc_dtype);
}
Variable cumprod(Operand x, std::optional<int> axis, std::optional<DType> dtype, std::optional<DType> acc_dtype) {
  return cumulate("cumprod", x, axis, dtype, acc_dtype);
}

}  // namespace croton
