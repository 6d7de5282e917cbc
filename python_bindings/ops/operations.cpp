// The functions of <croton/ops.hpp>; many are also methods of Variable.
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"
#include "ops/rows.hpp"

namespace croton::python {
namespace {

struct ReduceRow {
  const char* name;
  Variable (*f)(Operand, const ReduceOptions&);
  const char* doc;
};

constexpr UnaryRow unary_rows[] = {
    {"exp", &exp,
     "e to the power x. Integers become float32 (up to 16 bits) or float64, here and in the functions below."},
    {"exp2", &exp2, "2 to the power x."},
    {"expm1", &expm1, "exp(x) - 1, precise near 0."},
    {"log", &log, "The natural logarithm."},
    {"log2", &log2, "The logarithm to base 2."},
    {"log10", &log10, "The logarithm to base 10."},
    {"log1p", &log1p, "log(1 + x), precise near 0."},
    {"sqrt", &sqrt, "The square root."},
    {"rsqrt", &rsqrt, "1 / sqrt(x)."},
    {"reciprocal", &reciprocal, "1 / x."},
    {"sin", &sin, "The sine."},
    {"cos", &cos, "The cosine."},
    {"tan", &tan, "The tangent."},
    {"tanh", &tanh, "The hyperbolic tangent."},
    {"sinh", &sinh, "The hyperbolic sine."},
    {"cosh", &cosh, "The hyperbolic cosine."},
    {"erf", &erf, "The error function."},
    {"erfc", &erfc, "1 - erf(x), precise for large x."},
    {"sigmoid", &sigmoid, "1 / (1 + exp(-x))."},
    {"softplus", &softplus, "log(1 + exp(x))."},
    {"sqr", &sqr, "x * x."},
    {"abs", &abs, "The absolute value."},
    {"sgn", &sgn, "-1, 0 or 1; nan stays nan. TypeError for bool."},
    {"floor", &floor, "The nearest whole number below."},
    {"ceil", &ceil, "The nearest whole number above."},
    {"trunc", &trunc, "The nearest whole number towards zero."},
    {"isnan", &isnan, "True where x is nan."},
    {"isinf", &isinf, "True where x is infinite."},
    {"zeros_like", &zeros_like, "An array of the shape and dtype of x, filled with zeros."},
    {"ones_like", &ones_like, "An array of the shape and dtype of x, filled with ones."},
};

constexpr BinaryRow binary_rows[] = {
    {"floor_divide", &floor_divide, "The quotient rounded towards minus infinity; x // 0 is 0 for integers."},
    {"pow", &pow, "a to the power b; 0^0 = 1. Integers stay integers."},
    {"maximum", &maximum, "The larger operand; nan if either is nan."},
    {"minimum", &minimum, "The smaller operand; nan if either is nan."},
    {"eq", &eq, "Elementwise equality, as bool."},
    {"neq", &neq, "Elementwise inequality, as bool."},
};

constexpr ReduceRow reduce_rows[] = {
    {"sum", &sum,
     "The sum over axes (all if None). Integers are summed in 64 bits; floats along a fixed pairwise tree. dtype is "
     "that of the result, acc_dtype that of the computation, here and below; by default the dtype that holds both x's "
     "and the result's. TypeError for dtypes that the reduction does not support."},
    {"prod", &prod, "The product over axes."},
    {"mean", &mean, "The mean over axes: sum / count; integers give float64, no elements give nan."},
    {"max", &max, "The largest element; nan if there is one. There is no acc_dtype."},
    {"min", &min, "The smallest element; nan if there is one. There is no acc_dtype."},
    {"all", &all, "Whether all elements are true. The only dtype is bool."},
    {"any", &any, "Whether any element is true. The only dtype is bool."},
    {"argmax", &argmax,
     "The index (int64, or the integer dtype) of the first largest element; without axis, in the flattened variable."},
    {"argmin", &argmin,
     "The index (int64, or the integer dtype) of the first smallest element; without axis, in the flattened variable."},
    {"ptp", &ptp, "The range max - min, subtracted in acc_dtype, or in the dtype that holds x's and the result's."},
    {"logsumexp", &logsumexp, "log(sum(exp(x))) with the maximum subtracted first, computed in a float acc_dtype."},
    {"count_nonzero", &count_nonzero, "The number of elements that are not 0, int64."},
};

void bind_elementwise(nb::module_& m) {
  bind_rows(m, unary_rows);
  bind_rows(m, binary_rows);
  m.def(
      "clip",
      [](nb::handle x, nb::handle low, nb::handle high) {
        return clip(to_operand(x), to_operand(low), to_operand(high));
      },
      "x"_a, "low"_a, "high"_a, "min(max(x, low), high).");
  m.def(
      "where",
      [](nb::handle condition, nb::handle a, nb::handle b) {
        return where(to_operand(condition), to_operand(a), to_operand(b));
      },
      "condition"_a, "a"_a, "b"_a, "a where the condition is true, else b; both are computed.");
  m.def(
      "cast", [](nb::handle x, nb::handle dtype) { return cast(to_operand(x), to_dtype(dtype)); }, "x"_a, "dtype"_a,
      "x converted to a dtype; float to integer truncates towards zero and saturates, nan becomes 0.");
  const auto of_all = [&m](const char* name, Variable (*f)(const std::vector<Variable>&, Where), const char* doc) {
    m.def(name, [f](nb::args args) { return f(to_variables(args), here()); }, "args"_a, doc);
  };
  of_all("largest", &largest, "The largest of several variables, elementwise.");
  of_all("smallest", &smallest, "The smallest of several variables, elementwise.");
  m.def(
      "add_n", [](nb::list terms) { return add_n(to_variables(terms), here()); }, "terms"_a,
      "The sum of variables of one shape.");
}

/// The order of a norm: a number, or 'fro', NumPy's name for 2 over all elements of a matrix.
double to_order(nb::handle ord) {
  if (PyUnicode_Check(ord.ptr()) && nb::cast<std::string>(ord) == "fro") return 2;
  double order = 0;
  if (!nb::try_cast(ord, order)) {
    throw TypeError("the order of a norm is a number or 'fro', not " + nb::cast<std::string>(nb::repr(ord)));
  }
  return order;
}

void bind_reductions(nb::module_& m) {
  for (const ReduceRow& row : reduce_rows) {
    m.def(
        row.name,
        [f = row.f](nb::handle x, nb::handle axis, nb::handle dtype, bool keepdims, nb::handle acc_dtype) {
          return f(to_operand(x), to_reduce_options(axis, keepdims, dtype, acc_dtype));
        },
        "x"_a, "axis"_a = nb::none(), "dtype"_a = nb::none(), "keepdims"_a = false, "acc_dtype"_a = nb::none(),
        row.doc);
  }
  constexpr std::pair<const char*, Variable (*)(Operand, const ReduceOptions&, double)> spreads[] = {{"var", &var},
                                                                                                     {"std", &std}};
  for (const auto& [name, f] : spreads) {
    m.def(
        name,
        [f = f](nb::handle x, nb::handle axis, double ddof, bool keepdims, nb::handle dtype, nb::handle acc_dtype) {
          return f(to_operand(x), to_reduce_options(axis, keepdims, dtype, acc_dtype), ddof);
        },
        "x"_a, "axis"_a = nb::none(), "ddof"_a = 0.0, "keepdims"_a = false, "dtype"_a = nb::none(),
        "acc_dtype"_a = nb::none(),
        "var: sum((x - mean)^2) / (count - ddof), by two passes; std: its square root. Computed in a float acc_dtype.");
  }
  m.def(
      "norm",
      [](nb::handle x, nb::handle ord, nb::handle axis, bool keepdims, nb::handle dtype, nb::handle acc_dtype) {
        return norm(to_operand(x), to_order(ord), to_reduce_options(axis, keepdims, dtype, acc_dtype));
      },
      "x"_a, "ord"_a = 2.0, "axis"_a = nb::none(), "keepdims"_a = false, "dtype"_a = nb::none(),
      "acc_dtype"_a = nb::none(),
      "(sum |x|^ord)^(1 / ord) over the axes, computed in a float acc_dtype; inf: max |x|, -inf: min |x|, 0: the "
      "number of elements that are not 0, 'fro': as 2.");
  m.def(
      "max_and_argmax",
      [](nb::handle x, nb::handle axis, bool keepdims) {
        return max_and_argmax(to_operand(x), to_reduce_options(axis, keepdims, nb::none(), nb::none()));
      },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false, "(max, argmax).");
}

void bind_views(nb::module_& m) {
  m.def(
      "dimshuffle",
      [](nb::handle x, nb::args pattern) {
        std::vector<int> axes;
        const nb::handle first = pattern.size() == 1 ? nb::handle(pattern[0]) : nb::handle();
        const bool nested = first.is_valid() && (PyList_Check(first.ptr()) || PyTuple_Check(first.ptr()));
        for (const nb::handle entry : nested ? first : nb::handle(pattern)) {
          const bool is_new = PyUnicode_Check(entry.ptr()) && nb::cast<std::string>(entry) == "x";
          axes.push_back(is_new ? broadcast_axis : to_axis(entry));
          if (!is_new && axes.back() < 0)
            throw ValueError("dimshuffle takes axes from 0 and 'x', not " + std::to_string(axes.back()));
        }
        return dimshuffle(to_operand(x), axes);
      },
      "x"_a, "pattern"_a,
      "Axis i of the result is axis pattern[i] of x, or a new one where it is 'x'; axes left out must have the stated "
      "size 1.");
  m.def(
      "transpose",
      [](nb::handle x, nb::handle axes) {
        return transpose(to_operand(x), axes.is_none() ? std::vector<int>() : to_axes(axes));
      },
      "x"_a, "axes"_a = nb::none(), "x with its axes reversed, or in the given order.");
  m.def(
      "reshape", [](nb::handle x, nb::handle shape) { return reshape(to_operand(x), to_sizes(shape)); }, "x"_a,
      "shape"_a, "The elements of x, in C order, with another shape; one size may be -1, and sizes may be symbolic.");
  m.def(
      "flatten", [](nb::handle x, int ndim) { return flatten(to_operand(x), ndim); }, "x"_a, "ndim"_a = 1,
      "x with ndim dimensions: the last ones are merged into one.");
  m.def(
      "expand_dims", [](nb::handle x, nb::handle axis) { return expand_dims(to_operand(x), to_axes(axis)); }, "x"_a,
      "axis"_a, "x with new axes of size 1 at these positions of the result.");
  m.def(
      "squeeze",
      [](nb::handle x, nb::handle axis) {
        return axis.is_none() ? squeeze(to_operand(x)) : squeeze(to_operand(x), to_axes(axis));
      },
      "x"_a, "axis"_a = nb::none(),
      "x without these axes, which must have the stated size 1; None: without all axes that have it.");
}

void bind_generators(nb::module_& m) {
  m.def(
      "alloc", [](nb::handle value, nb::args shape) { return alloc(to_operand(value), to_sizes(shape)); }, "value"_a,
      "shape"_a, "An array of the shape, filled with the value: alloc(0, 2, n).");
  m.def(
      "zeros",
      [](nb::handle shape, nb::handle dtype) { return zeros(to_sizes(shape), to_optional_dtype(dtype), here()); },
      "shape"_a, "dtype"_a = nb::none(), "An array of the shape, filled with zeros; floatX by default.");
  m.def(
      "ones",
      [](nb::handle shape, nb::handle dtype) { return ones(to_sizes(shape), to_optional_dtype(dtype), here()); },
      "shape"_a, "dtype"_a = nb::none(), "An array of the shape, filled with ones; floatX by default.");
  m.def(
      "arange",
      [](nb::handle start, nb::handle stop, nb::handle step) {
        if (stop.is_none() && step.is_none()) return arange(to_operand(start));
        const Operand from = stop.is_none() ? Operand(0, here()) : to_operand(start);
        const Operand to = to_operand(stop.is_none() ? start : stop);
        return arange(from, to, step.is_none() ? Operand(1, here()) : to_operand(step));
      },
      "start"_a, "stop"_a = nb::none(), "step"_a = nb::none(),
      "The numbers start, start + step, ... below stop, in the promoted dtype (Python integers: int64); arange(n) "
      "counts from 0.");
}

}  // namespace

void bind_operations(nb::module_& m) {
  bind_elementwise(m);
  bind_reductions(m);
  bind_views(m);
  bind_generators(m);
}

}  // namespace croton::python
