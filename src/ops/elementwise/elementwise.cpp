// The table of elementwise ops: arithmetic, comparison, logic, and the common functions. Less common ones are in
// functions.cpp and special.cpp; rows.hpp defines a row.
#include <croton/elementwise.hpp>

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "base/checked.hpp"
#include "base/convert.hpp"
#include "base/index.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/elementwise/rows.hpp"

namespace croton::ops {
namespace {

using expr::InferContext;
using expr::InferredType;
using expr::Kind;

// Integers wrap: in signed arithmetic an overflow would be undefined.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return base::wrapped_add(a, b);
  else
    return a + b;
}
template <class T>
T minus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return base::wrapped_sub(a, b);
  else
    return a - b;
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return base::wrapped_mul(a, b);
  else
    return a * b;
}
template <class T>
T negated(T x) {
  if constexpr (std::is_integral_v<T>)
    return base::wrapped_sub(T{0}, x);
  else
    return -x;
}

template <class T>
T python_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return std::nan("");
    const T r = std::fmod(a, b);
    return r == 0 ? std::copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T r = a % b;
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    } else {
      return a % b;
    }
  }
}
template <class T>
T python_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    // As in Python: the remainder is subtracted before the division, so that rounding of a / b never reaches the next
    // integer (1 // 0.1 is 9).
    if (b == 0) return a / b;
    const T r = std::fmod(a, b);
    const T quotient = (a - r) / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0), down = std::floor(quotient);
    return quotient == 0 ? std::copysign(T{0}, a / b) : quotient - down > 0.5 ? down + 1 : down;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return negated(a);
      const T q = a / b;
      return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
    } else {
      return a / b;
    }
  }
}
template <class T>
T power(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    }
    T result = 1;
    for (; b != 0; b >>= 1, a = times(a, a)) {
      if (b & 1) result = times(result, a);
    }
    return result;
  }
}
/// The maximum or minimum; nan if an operand is nan; 0 is larger than -0 (IEEE 754-2019, maximum and minimum).
template <bool larger, class T>
T extreme(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) == larger ? b : a;
  }
  return (larger ? b > a : b < a) ? b : a;
}

/// Rounds to an integer; integers do not change.
template <class T, class Round>
T whole(T x, Round round) {
  if constexpr (std::is_floating_point_v<T>)
    return round(x);
  else
    return x;
}

Checked exact_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || base == 0 || base == 1 || base == -1) return 0;  // the result is small
  Checked power = 1;
  for (std::int64_t i = 0; i < exponent && power; ++i) power = base::checked_mul(*power, base);
  return power;
}
bool square_fits(std::span<const Scalar> x) { return base::checked_mul(as_int64(x[0]), as_int64(x[0])).has_value(); }
bool quotient_fits(std::span<const Scalar> x) { return as_int64(x[1]) != -1 || has_negative(x); }

// clang-format off
const std::vector<Row>& rows() {
  static const double two_over_root_pi = 1.1283791670955126;  // 2 / sqrt(pi)
  static const double ln2 = 0.6931471805599453, ln10 = 2.302585092994046;
  static const std::vector<Row> table = {
      // -- arithmetic
      {"add", 2, same, "{0} + {1}", in_own<XY(plus(x, y))>, G({g, g}), "a + b", 1, true, {}, fits<base::checked_add>},
      {"ordered_add", 2, same, "{0} + {1}", in_own<XY(plus(x, y))>, G({g, g}),
       "a + b, in this order: no rewrite regroups a sum of several", 1, false, {}, fits<base::checked_add>},
      {"sub", 2, same, "{0} - {1}", in_own<XY(minus(x, y))>, G({g, -g}),
       "a - b", 1, false, {}, fits<base::checked_sub>},
      {"mul", 2, same, "{0} * {1}", in_own<XY(times(x, y))>, G({g * Y, g * x}),
       "a b", 1, true, {}, fits<base::checked_mul>},
      {"true_divide", 2, floats_only, "{0} / {1}", in_double<XY(x / y)>, G({g / Y, -g * x / (Y * Y)}), "a / b", 4},
      {"floor_divide", 2, same, "ct::floor_divide({0}, {1})", in_own<XY(python_div(x, y))>, zero,
       "a / b rounded towards minus infinity", 8, false, {}, quotient_fits},
      {"mod", 2, same, "ct::mod({0}, {1})", in_own<XY(python_mod(x, y))>,
       G({g, -g * floor_divide(x, Y)}), "the remainder, with the divisor's sign", 8},
      {"pow", 2, same, "ct::pow({0}, {1})", in_own<XY(power(x, y))>,
       G({g * croton::where(eq(Y, 0), 0, Y * croton::pow(x, Y - 1)),
         g * c.output * croton::where(eq(x, 0), 0, croton::log(x))}),
       "a to the power b", 40, false, {{0.1, 3}, {-2, 2}}, fits<exact_power>},
      {"maximum", 2, same, "ct::maximum({0}, {1})", in_own<XY(extreme<true>(x, y))>,
       G({where_chosen(c, eq(c.output, x)), where_chosen(c, neq(c.output, x))}),
       "the larger one; nan if either is", 2, true},
      {"minimum", 2, same, "ct::minimum({0}, {1})", in_own<XY(extreme<false>(x, y))>,
       G({where_chosen(c, eq(c.output, x)), where_chosen(c, neq(c.output, x))}),
       "the smaller one; nan if either is", 2, true},
      {"neg", 1, no_bool, "-{0}", in_own<X(negated(x))>, G({-g}), "-x", 1, false, {}, has_negative},
      {"sqr", 1, same, "{0} * {0}", in_own<X(times(x, x))>, G({g * 2 * x}), "x x", 1, false, {}, square_fits},
      {"abs", 1, same, "ct::abs({0})",
       in_own<Lambda<[](auto x) { return x < 0 ? negated(x) : (x == 0 ? decltype(x){0} : x); }>, 1>, G({g * sgn(x)}),
       "|x|", 1, false, {}, has_negative},
      {"sgn", 1, no_bool, "ct::sgn({0})",
       in_own<Lambda<[](auto x) { return 0 < x ? decltype(x)(1) : x < 0 ? decltype(x)(-1) : x; }>, 1>, zero,
       "-1, 0 or 1; nan stays"},
      // -- comparison and logic
      {"lt", 2, comparison, "{0} < {1}", in_own<XY(x < y)>, zero, "a < b"},
      {"le", 2, comparison, "{0} <= {1}", in_own<XY(x <= y)>, zero, "a <= b"},
      {"gt", 2, comparison, "{0} > {1}", in_own<XY(y < x)>, zero, "a > b"},
      {"ge", 2, comparison, "{0} >= {1}", in_own<XY(y <= x)>, zero, "a >= b"},
      {"eq", 2, comparison, "{0} == {1}", in_own<XY(x == y)>, zero, "a == b", 1, true},
      {"neq", 2, comparison, "{0} != {1}", in_own<XY(x != y)>, zero, "a != b", 1, true},
      {"isnan", 1, comparison, "{0} != {0}", in_own<X(x != x)>, zero, "whether x is nan"},
      {"isinf", 1, comparison, "ct::isinf({0})", in_double<X(std::isinf(x))>, zero, "whether x is infinite"},
      {"and", 2, bits, "{0} & {1}", in_integers<XY(x & y)>, zero, "bitwise (bool: logical) and", 1, true},
      {"or", 2, bits, "{0} | {1}", in_integers<XY(x | y)>, zero, "bitwise (bool: logical) or", 1, true},
      {"xor", 2, bits, "{0} ^ {1}", in_integers<XY(x ^ y)>, zero, "bitwise (bool: logical) exclusive or", 1, true},
      {"invert", 1, bits, "ct::invert({0})",
       [](std::span<const Scalar> x, DType result) {
         return Scalar::of_int(is_bool(result) ? !x[0].i : ~x[0].i, DType::int64).cast(result);
       },
       zero, "bitwise (bool: logical) not"},
      {"where", 3, select, "{0} ? {1} : {2}",
       [](std::span<const Scalar> x, DType result) { return (x[0].as_double() != 0 ? x[1] : x[2]).cast(result); },
       [](const GradientContext& c) -> std::vector<Variable> {
         const Variable none = zeros_like(c.gradient);
         return {zero(c)[0], croton::where(c.input(0), c.gradient, none),
                 croton::where(c.input(0), none, c.gradient)};
       },
       "the second operand where the first is not 0, else the third", 1, false, {{0, 1}, {-4, 4}, {-4, 4}}},
      {"fma", 3, floats_only, "ct::fma({0}, {1}, {2})",
       [](std::span<const Scalar> x, DType result) {
         const double a = x[0].as_double(), b = x[1].as_double(), c = x[2].as_double();
         return Scalar::of_double(
             result == DType::float32 ? std::fma(narrow(a), narrow(b), narrow(c)) : std::fma(a, b, c), result);
       },
       G({g * Y, g * x, g}), "a b + c, rounded once: made where kernels add up products", 1},
      // -- exponentials and logarithms
      {"exp", 1, real, "ct::exp({0})", in_double<X(std::exp(x))>, G({g * c.output}), "e to the power x", 12},
      {"exp2", 1, real, "ct::exp2({0})", in_double<X(std::exp2(x))>, G({g * c.output * number(ln2, g)}),
       "2 to the power x", 12},
      {"expm1", 1, real, "ct::expm1({0})", in_double<X(std::expm1(x))>, G({g * (c.output + 1)}),
       "exp(x) - 1, exact near 0", 16},
      {"log", 1, real, "ct::log({0})", in_double<X(std::log(x))>, G({g / x}),
       "natural logarithm", 14, false, {{0.01, 10}}},
      {"log2", 1, real, "ct::log2({0})", in_double<X(std::log2(x))>, G({g / (x * number(ln2, g))}),
       "logarithm to base 2", 14, false, {{0.01, 10}}},
      {"log10", 1, real, "ct::log10({0})", in_double<X(std::log10(x))>, G({g / (x * number(ln10, g))}),
       "logarithm to base 10", 14, false, {{0.01, 10}}},
      {"log1p", 1, real, "ct::log1p({0})", in_double<X(std::log1p(x))>, G({g / (1 + x)}),
       "log(1 + x), exact near 0", 16, false, {{-0.9, 10}}},
      {"sqrt", 1, real, "ct::sqrt({0})", in_double<X(std::sqrt(x))>, G({0.5 * g / c.output}),
       "square root, correctly rounded", 6, false, {{0.01, 10}}},
      {"rsqrt", 1, real, "ct::rsqrt({0})", in_double<X(1 / std::sqrt(x))>, G({-0.5 * g * c.output / x}),
       "1 / sqrt(x)", 8, false, {{0.01, 10}}},
      {"reciprocal", 1, real, "ct::reciprocal({0})", in_double<X(1 / x)>, G({-g * sqr(c.output)}),
       "1 / x", 4, false, {{0.1, 10}}},
      // -- trigonometric and hyperbolic
      {"sin", 1, real, "ct::sin({0})", in_double<X(std::sin(x))>, G({g * croton::cos(x)}), "sine of x in radians", 16},
      {"cos", 1, real, "ct::cos({0})", in_double<X(std::cos(x))>, G({-g * croton::sin(x)}),
       "cosine of x in radians", 16},
      {"tan", 1, real, "ct::tan({0})", in_double<X(std::tan(x))>, G({g * (1 + sqr(c.output))}),
       "tangent of x in radians", 24, false, {{-1.4, 1.4}}},
      {"sinh", 1, real, "ct::sinh({0})", in_double<X(std::sinh(x))>, G({g * croton::cosh(x)}), "hyperbolic sine", 20},
      {"cosh", 1, real, "ct::cosh({0})", in_double<X(std::cosh(x))>, G({g * croton::sinh(x)}), "hyperbolic cosine", 20},
      {"tanh", 1, real, "ct::tanh({0})", in_double<X(std::tanh(x))>, G({g * (1 - sqr(c.output))}),
       "hyperbolic tangent", 16},
      {"erf", 1, real, "ct::erf({0})", in_double<X(std::erf(x))>,
       G({g * number(two_over_root_pi, g) * croton::exp(-sqr(x))}), "error function", 20},
      {"erfc", 1, real, "ct::erfc({0})", in_double<X(std::erfc(x))>,
       G({-g * number(two_over_root_pi, g) * croton::exp(-sqr(x))}), "1 - erf(x), exact for large x", 24},
      // -- for networks
      {"sigmoid", 1, real, "ct::sigmoid({0})",
       in_double<X(x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)))>,
       G({g * c.output * (1 - c.output)}), "1 / (1 + exp(-x))", 16},
      {"softplus", 1, real, "ct::softplus({0})",
       in_double<X(0 < x ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)))>, G({g * croton::sigmoid(x)}),
       "log(1 + exp(x))", 24},
      // -- rounding
      {"floor", 1, same, "ct::floor({0})", in_own<X(whole(x, [](double v) { return std::floor(v); }))>, zero,
       "the next integer below"},
      {"ceil", 1, same, "ct::ceil({0})", in_own<X(whole(x, [](double v) { return std::ceil(v); }))>, zero,
       "the next integer above"},
      {"trunc", 1, same, "ct::trunc({0})", in_own<X(whole(x, [](double v) { return std::trunc(v); }))>, zero,
       "the integer part"},
      {"round", 1, same, "ct::rint({0})", in_own<X(whole(x, [](double v) { return std::nearbyint(v); }))>, zero,
       "the nearest integer, halves to even"},
  };
  return table;
}
// clang-format on

/// The code for integers if the operators of C++ are undefined on overflow; empty for other rows.
std::string_view wrapping_code(std::string_view name) {
  static const std::map<std::string_view, std::string_view> codes{
      {"add", "ct::add<{T}>({0}, {1})"},      {"ordered_add", "ct::add<{T}>({0}, {1})"},
      {"sub", "ct::subtract<{T}>({0}, {1})"}, {"mul", "ct::multiply<{T}>({0}, {1})"},
      {"neg", "ct::negate<{T}>({0})"},        {"sqr", "ct::multiply<{T}>({0}, {0})"}};
  const auto code = codes.find(name);
  return code == codes.end() ? "" : code->second;
}

/// Whether the results for floats of 16 bits are such floats without rounding.
bool chooses(std::string_view name) {
  static const std::set<std::string_view> names{"maximum", "minimum", "neg",  "abs",   "sgn",
                                                "where",   "floor",   "ceil", "trunc", "round"};
  return names.contains(name);
}

}  // namespace

InferredType infer_map(InferContext& c) {
  std::vector<DType> dtypes;
  std::size_t rank = 0;
  for (const InferredType& input : c.inputs) {
    dtypes.push_back(input.dtype);
    rank = std::max(rank, input.shape.size());
  }
  InferredType result;
  if (c.op_name == "cast") {
    result.dtype = c.attrs.dtype("dtype");
    try {
      base::check_conversion(result.dtype, dtypes[0]);
    } catch (const TypeError& e) {
      c.type_error(e.what());
    }
  } else {
    try {
      result.dtype = expr::op(c.op_name).map->types(dtypes).result;
    } catch (const TypeError& e) {
      c.type_error(e.what());
    }
  }
  result.shape = broadcast_shape(c, rank);
  return result;
}

namespace {

Scalar cast_reference(std::span<const Scalar> x, DType result) { return x[0].cast(result); }
bool cast_fits(std::span<const Scalar> x) { return x[0].dtype != DType::uint64 || x[0].i >= 0; }
std::vector<Variable> cast_gradient(const GradientContext& c) {
  if (is_discrete(c.output.dtype())) return zero(c);
  const DType to = c.input(0).dtype();
  if (is_complex(c.gradient.dtype()) && !is_complex(to)) return {c.gradient};  // grad takes its real part
  return {cast(c.gradient, is_discrete(to) ? base::config().float_x() : to)};
}

}  // namespace

std::vector<expr::Dim> broadcast_shape(InferContext& c, std::size_t rank) {
  std::vector<expr::Dim> shape;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::optional<expr::Dim> size;
    for (const InferredType& input : c.inputs) {
      const std::size_t missing = rank - input.shape.size();
      if (axis < missing) continue;
      const expr::Dim dim = input.shape[axis - missing];
      if (c.known(dim) == 1) continue;
      size = size ? c.require_equal(
                        *size, dim,
                        fmt::format("sizes along axis {} must be equal (only a stated size of 1 broadcasts)", axis))
                  : dim;
    }
    shape.push_back(size ? *size : c.constant(1));
  }
  return shape;
}

void register_rows(Registry& registry, const std::vector<Row>& rows) {
  static std::deque<MapInfo> facts;
  static std::deque<expr::Op> ops;
  for (const Row& row : rows) {
    std::vector<Domain> domains = row.domains;
    domains.resize(base::to_size(row.arity), domains.empty() ? Domain{} : domains[0]);
    facts.push_back({row.types, row.code, row.reference, row.commutative, row.cost, std::move(domains)});
    facts.back().complex = complex_info(row.name);
    facts.back().wrapping = wrapping_code(row.name);
    facts.back().exact = row.exact;
    facts.back().chooses = chooses(row.name);
    expr::Op op;
    op.name = row.name;
    op.kind = Kind::Map;
    op.arity = row.arity;
    op.doc = row.doc;
    op.infer = infer_map;
    op.gradient = row.gradient;
    op.map = &facts.back();
    ops.push_back(op);
    registry.add(ops.back());
  }
}

void register_elementwise(Registry& registry) {
  register_rows(registry, rows());
  register_rows(
      registry,
      {{"cast", 1, same, "", cast_reference, cast_gradient, "conversion to another dtype", 1, false, {}, cast_fits}});
}

}  // namespace croton::ops

// ---- the C++ functions of the rows ----

namespace croton {
namespace {

Variable binary(std::string_view op, const Operand& a, const Operand& b) {
  return builder::apply(op, {a.variable, b.variable}, {}, a.variable.is_constant() ? b.where : a.where);
}
Variable unary(std::string_view op, const Operand& x) { return builder::apply(op, {x.variable}, {}, x.where); }

}  // namespace

Variable operator+(Operand a, Operand b) { return binary("add", a, b); }
Variable operator-(Operand a, Operand b) { return binary("sub", a, b); }
Variable operator*(Operand a, Operand b) { return binary("mul", a, b); }
Variable operator/(Operand a, Operand b) {
  if (is_discrete(a.variable.dtype()) && is_discrete(b.variable.dtype())) {
    const DType floatx = base::config().float_x();
    a.variable = cast(a, floatx);
    b.variable = cast(b, floatx);
  }
  return binary("true_divide", a, b);
}
Variable operator%(Operand a, Operand b) { return binary("mod", a, b); }
Variable operator-(Operand a) { return unary("neg", a); }
Variable floor_divide(Operand a, Operand b) { return binary("floor_divide", a, b); }
Variable pow(Operand a, Operand b) { return binary("pow", a, b); }
Variable maximum(Operand a, Operand b) { return binary("maximum", a, b); }
Variable minimum(Operand a, Operand b) { return binary("minimum", a, b); }
Variable clip(Operand x, Operand low, Operand high) { return minimum(Operand(maximum(x, low), x.where), high); }
namespace {
/// Combines several variables, two at a time.
template <class Combine>
Variable folded(std::string_view name, const std::vector<Variable>& all, Where where, const Combine& combine) {
  if (all.empty())
    throw ValueError(
        fmt::format("{} ({}): no variables are given; at least one is needed", name, builder::describe(where)));
  Variable result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) result = combine(Operand(result, where), Operand(all[i], where));
  return result;
}
}  // namespace
Variable add_n(const std::vector<Variable>& terms, Where where) {
  return folded("add_n", terms, where, [](const Operand& a, const Operand& b) { return a + b; });
}
Variable largest(const std::vector<Variable>& all, Where where) {
  return folded("largest", all, where, [](const Operand& a, const Operand& b) { return maximum(a, b); });
}
Variable smallest(const std::vector<Variable>& all, Where where) {
  return folded("smallest", all, where, [](const Operand& a, const Operand& b) { return minimum(a, b); });
}
namespace {
/// A signed integer that is not negative is compared with a uint64 as uint64: both promote to a float, in which
/// different numbers may be equal.
Variable compare(std::string_view op, const Operand& a, const Operand& b) {
  const auto is_signed_with_uint64 = [](const Operand& x, const Operand& other) {
    return is_signed_int(x.variable.dtype()) && other.variable.dtype() == DType::uint64;
  };
  const bool left = is_signed_with_uint64(a, b), right = is_signed_with_uint64(b, a);
  if (!left && !right) return binary(op, a, b);
  const builder::OriginScope origin(a.variable.is_constant() ? b.where : a.where);
  const Operand& x = left ? a : b;
  const Operand wide(cast(x, DType::uint64), x.where);
  const Variable same = left ? binary(op, wide, b) : binary(op, a, wide);
  if (x.variable.is_constant() && x.variable.rank() == 0 && x.variable.node()->value.as_double(0) >= 0) return same;
  // A negative number is less than every uint64.
  const bool below = op == "neq" || (left ? op == "lt" || op == "le" : op == "gt" || op == "ge");
  const Operand negative(binary("lt", x, Operand(0, x.where)), x.where);
  return below ? negative | Operand(same, x.where) : ~negative & Operand(same, x.where);
}
}  // namespace
Variable operator<(Operand a, Operand b) { return compare("lt", a, b); }
Variable operator<=(Operand a, Operand b) { return compare("le", a, b); }
Variable operator>(Operand a, Operand b) { return compare("gt", a, b); }
Variable operator>=(Operand a, Operand b) { return compare("ge", a, b); }
Variable eq(Operand a, Operand b) { return compare("eq", a, b); }
Variable neq(Operand a, Operand b) { return compare("neq", a, b); }
Variable isnan(Operand x) { return unary("isnan", x); }
Variable isinf(Operand x) { return unary("isinf", x); }
Variable operator&(Operand a, Operand b) { return ops::integer_op("and", a, b); }
Variable operator|(Operand a, Operand b) { return ops::integer_op("or", a, b); }
Variable operator^(Operand a, Operand b) { return ops::integer_op("xor", a, b); }
Variable operator~(Operand a) { return unary("invert", a); }
Variable where(Operand condition, Operand a, Operand b) {
  return builder::apply("where", {condition.variable, a.variable, b.variable}, {}, condition.where);
}
Variable switch_(Operand condition, Operand a, Operand b) { return where(condition, a, b); }
Variable exp(Operand x) { return unary("exp", x); }
Variable exp2(Operand x) { return unary("exp2", x); }
Variable expm1(Operand x) { return unary("expm1", x); }
Variable log(Operand x) { return unary("log", x); }
Variable log2(Operand x) { return unary("log2", x); }
Variable log10(Operand x) { return unary("log10", x); }
Variable log1p(Operand x) { return unary("log1p", x); }
Variable sqrt(Operand x) { return unary("sqrt", x); }
Variable rsqrt(Operand x) { return unary("rsqrt", x); }
Variable reciprocal(Operand x) { return unary("reciprocal", x); }
Variable sin(Operand x) { return unary("sin", x); }
Variable cos(Operand x) { return unary("cos", x); }
Variable tan(Operand x) { return unary("tan", x); }
Variable tanh(Operand x) { return unary("tanh", x); }
Variable sinh(Operand x) { return unary("sinh", x); }
Variable cosh(Operand x) { return unary("cosh", x); }
Variable erf(Operand x) { return unary("erf", x); }
Variable erfc(Operand x) { return unary("erfc", x); }
Variable sigmoid(Operand x) { return unary("sigmoid", x); }
Variable softplus(Operand x) { return unary("softplus", x); }
Variable sqr(Operand x) { return unary("sqr", x); }
Variable abs(Operand x) { return unary("abs", x); }
Variable sgn(Operand x) { return unary("sgn", x); }
Variable floor(Operand x) { return unary("floor", x); }
Variable ceil(Operand x) { return unary("ceil", x); }
Variable trunc(Operand x) { return unary("trunc", x); }
Variable round(Operand x) { return is_complex(x.variable.dtype()) ? round(x, 0) : unary("round", x); }
Variable cast(Operand x, DType dtype) {
  if (x.variable.dtype() == dtype) return x.variable;
  return builder::apply("cast", {x.variable}, {{"dtype", dtype}}, x.where);
}
Variable Variable::astype(DType dtype, Where where) const { return cast(Operand(*this, where), dtype); }

}  // namespace croton
