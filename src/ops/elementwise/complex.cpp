// Complex numbers: the complex versions of elementwise ops, and the ops on real and imaginary parts. The references run
// in std::complex<double>, whose functions have the special values of C99's annex G; products and quotients are NumPy's
// (codegen_templates/common/complex.cuh).
#include <croton/complex.hpp>
#include <croton/ops.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::ComplexInfo;
using expr::Scalar;
using Types = expr::MapInfo::Types;
using DTypes = std::span<const DType>;
using Complex = std::complex<double>;
using Values = std::span<const Scalar>;

// ---- types ----

DType promoted(DTypes dtypes) {
  DType result = dtypes[0];
  for (const DType other : dtypes.subspan(1)) result = promote(result, other);
  return result;
}
/// The float of a complex number's parts.
DType part_of(DType dtype) { return dtype == DType::complex64 ? DType::float32 : DType::float64; }

Types same(DTypes t) { return {promoted(t), promoted(t)}; }
Types to_bool(DTypes t) { return {DType::bool_, promoted(t)}; }
Types to_part(DTypes t) { return {part_of(t[0]), t[0]}; }
Types of_choice(DTypes t) {
  const DType result = promote(t[1], t[2]);
  return {result, result};
}

/// Functions with real results: small integers become float32, wider ones float64.
Types real_result(DTypes t) {
  DType result = promoted(t);
  if (is_discrete(result)) result = size_of(result) <= 2 ? DType::float32 : DType::float64;
  return {result, result};
}
Types from_parts(DTypes t) {
  const DType result = promote(real_result(t).result, DType::complex64);
  return {result, part_of(result)};
}

// ---- references ----

template <auto f>
Scalar unary(Values x, DType result) {
  return Scalar::of_complex(f(x[0].as_complex()), result);
}
template <auto f>
Scalar binary(Values x, DType result) {
  return Scalar::of_complex(f(x[0].as_complex(), x[1].as_complex()), result);
}
template <auto f>
Scalar to_real(Values x, DType result) {
  return Scalar::of_double(f(x[0].as_complex()), result);
}
template <auto f>
Scalar test(Values x, DType result) {
  return Scalar::of_int(f(x[0].as_complex()), result);
}
template <bool equal>
Scalar compare(Values x, DType result) {
  return Scalar::of_int((x[0].as_complex() == x[1].as_complex()) == equal, result);
}

Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex divided(Complex a, Complex b) {
  // A sum of two parts may overflow although the quotient does not.
  const auto is_large = [](double part) { return std::abs(part) > std::numeric_limits<double>::max() / 2; };
  if (is_large(a.real()) || is_large(a.imag()) || is_large(b.real()) || is_large(b.imag())) a *= 0.5, b *= 0.5;
  const double c = b.real(), d = b.imag();
  if (c == 0 && d == 0) return {a.real() / std::abs(c), a.imag() / std::abs(c)};
  if (std::abs(c) >= std::abs(d)) {
    const double ratio = d / c, divisor = c + d * ratio;
    return {(a.real() + a.imag() * ratio) / divisor, (a.imag() - a.real() * ratio) / divisor};
  }
  const double ratio = c / d, divisor = c * ratio + d;
  return {(a.real() * ratio + a.imag()) / divisor, (a.imag() * ratio - a.real()) / divisor};
}
Complex power(Complex a, Complex b) {
  constexpr int most = 63;
  if (b.imag() == 0 && std::abs(b.real()) <= most && std::nearbyint(b.real()) == b.real()) {
    Complex product = 1, square = a;
    for (int count = static_cast<int>(std::abs(b.real())); count != 0; count /= 2, square = times(square, square)) {
      if (count % 2 == 1) product = times(product, square);
    }
    return b.real() < 0 ? divided(1, product) : product;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (a == 0.0) return b.real() > 0 ? Complex(0) : Complex(nan, nan);
  return std::exp(times(b, std::log(a)));
}
Complex direction(Complex z) {
  const double size = std::abs(z), nan = std::numeric_limits<double>::quiet_NaN();
  if (size == 0) return 0;
  if (!std::isinf(size)) return {z.real() / size, z.imag() / size};
  if (std::isinf(z.real()) && std::isfinite(z.imag())) return {std::copysign(1.0, z.real()), 0.0};
  if (std::isinf(z.imag()) && std::isfinite(z.real())) return {0.0, std::copysign(1.0, z.imag())};
  return {nan, nan};
}
Complex scaled(Complex z, double factor) { return {z.real() * factor, z.imag() * factor}; }
/// Near 0 the sums with 1 would lose digits.
Complex complex_expm1(Complex z) {
  const Complex power = std::exp(z);
  if (!(std::abs(z.real()) <= 1)) return power - 1.0;
  const long double x = z.real(), y = z.imag(), half = std::sin(0.5L * y);
  return {static_cast<double>(std::expm1(x) * std::cos(y) - 2 * half * half), power.imag()};
}
Complex complex_log1p(Complex z) {
  if (!(std::abs(z.real()) < 0.5 && std::abs(z.imag()) < 0.5)) return std::log(1.0 + z);
  const long double x = z.real(), y = z.imag();
  return {static_cast<double>(0.5L * std::log1p(x * (2 + x) + y * y)), std::atan2(z.imag(), 1 + z.real())};
}

constexpr double ln2 = std::numbers::ln2, ln10 = std::numbers::ln10;

#define F(expression) [](Complex z) -> Complex { return expression; }

// ---- gradients that differ from the real formulas ----

/// Derivatives of inverse functions, computed from their values: so they have the same branch cuts, and are on the same
/// side of a cut, which the sign of a zero determines.
std::vector<Variable> arcsin_gradient(const GradientContext& c) { return {c.gradient / cos(c.output)}; }
std::vector<Variable> arccos_gradient(const GradientContext& c) { return {-c.gradient / sin(c.output)}; }
std::vector<Variable> arcsinh_gradient(const GradientContext& c) { return {c.gradient / cosh(c.output)}; }
std::vector<Variable> arccosh_gradient(const GradientContext& c) { return {c.gradient / sinh(c.output)}; }
/// The component of g that rotates z, scaled by 1 / |z|: the component along z does not change the result.
std::vector<Variable> sgn_gradient(const GradientContext& c) {
  const Variable &z = c.input(0), &s = c.output, &g = c.gradient;
  return {where(eq(z, 0), zeros_like(z), (g - s * real(conj(s) * g)) / abs(z))};
}
std::vector<Variable> angle_gradient(const GradientContext& c) {
  const Variable& z = c.input(0);
  if (!is_complex(z.dtype())) return {builder::scalar_constant(0, base::config().float_x())};
  const Variable x = real(z), y = imag(z), square = sqr(x) + sqr(y), nowhere = eq(square, 0);
  const Variable scale = where(nowhere, zeros_like(square), c.gradient / where(nowhere, ones_like(square), square));
  return {complex(-y * scale, x * scale)};
}
std::vector<Variable> same_gradient(const GradientContext& c) { return {c.gradient}; }
std::vector<Variable> imag_gradient(const GradientContext& c) {
  if (!is_complex(c.input(0).dtype())) return {builder::scalar_constant(0, base::config().float_x())};
  return {complex(zeros_like(c.gradient), c.gradient)};
}
std::vector<Variable> conj_gradient(const GradientContext& c) { return {conj(c.gradient)}; }
std::vector<Variable> complex_gradient(const GradientContext& c) { return {real(c.gradient), imag(c.gradient)}; }
/// d/dr is the direction; d/dtheta is orthogonal to it.
std::vector<Variable> polar_gradient(const GradientContext& c) {
  const Variable &g = c.gradient, &r = c.input(0), &theta = c.input(1);
  const Variable x = cos(theta), y = sin(theta);
  return {real(g) * x + imag(g) * y, (imag(g) * x - real(g) * y) * r};
}

// ---- the table ----

const std::map<std::string_view, ComplexInfo>& infos() {
  static const std::map<std::string_view, ComplexInfo> table = {
      {"add", {same, binary<[](Complex a, Complex b) { return a + b; }>}},
      {"sub", {same, binary<[](Complex a, Complex b) { return a - b; }>}},
      {"mul", {same, binary<times>}},
      {"true_divide", {same, binary<divided>}},
      {"pow", {same, binary<power>}},
      {"neg", {same, unary<F(-z)>}},
      {"sqr", {same, unary<F(times(z, z))>}},
      {"reciprocal", {same, unary<F(divided(1, z))>}},
      {"abs", {to_part, to_real<[](Complex z) { return std::abs(z); }>}},
      {"sgn", {same, unary<direction>, false, sgn_gradient}},
      {"eq", {to_bool, compare<true>}},
      {"neq", {to_bool, compare<false>}},
      {"isnan", {to_bool, test<[](Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }>}},
      {"isinf", {to_bool, test<[](Complex z) { return std::isinf(z.real()) || std::isinf(z.imag()); }>}},
      {"isfinite", {to_bool, test<[](Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }>}},
      {"where", {of_choice, nullptr}},
      {"exp", {same, unary<F(std::exp(z))>}},
      {"exp2", {same, unary<F(std::exp(scaled(z, ln2)))>}},
      {"log", {same, unary<F(std::log(z))>}},
      {"log2", {same, unary<F(scaled(std::log(z), 1 / ln2))>}},
      {"log10", {same, unary<F(scaled(std::log(z), 1 / ln10))>}},
      {"expm1", {same, unary<complex_expm1>}},
      {"log1p", {same, unary<complex_log1p>}},
      {"sqrt", {same, unary<F(std::sqrt(z))>}},
      {"rsqrt", {same, unary<F(divided(1, std::sqrt(z)))>}},
      {"sin", {same, unary<F(std::sin(z))>}},
      {"cos", {same, unary<F(std::cos(z))>}},
      {"tan", {same, unary<F(std::tan(z))>}},
      {"arcsin", {same, unary<F(std::asin(z))>, true, arcsin_gradient}},
      {"arccos", {same, unary<F(std::acos(z))>, true, arccos_gradient}},
      {"arctan", {same, unary<F(std::atan(z))>}},
      {"sinh", {same, unary<F(std::sinh(z))>}},
      {"cosh", {same, unary<F(std::cosh(z))>}},
      {"tanh", {same, unary<F(std::tanh(z))>}},
      {"arcsinh", {same, unary<F(std::asinh(z))>, true, arcsinh_gradient}},
      {"arccosh", {same, unary<F(std::acosh(z))>, true, arccosh_gradient}},
      {"arctanh", {same, unary<F(std::atanh(z))>}},
      {"real", {to_part, to_real<[](Complex z) { return z.real(); }>}},
      {"imag", {to_part, to_real<[](Complex z) { return z.imag(); }>}},
      {"conj", {same, unary<F(std::conj(z))>, false}},
      {"angle", {to_part, to_real<[](Complex z) { return std::arg(z); }>}},
  };
  return table;
}

// ---- ops on parts; first for real operands ----

Scalar same_value(Values x, DType result) { return x[0].cast(result); }
Scalar zero_part(Values, DType result) { return Scalar::of_int(0, DType::int64).cast(result); }
Scalar real_angle(Values x, DType result) { return Scalar::of_double(std::atan2(0.0, x[0].as_double()), result); }
Scalar of_parts(Values x, DType result) { return Scalar::of_complex({x[0].as_double(), x[1].as_double()}, result); }
Scalar of_polar(Values x, DType result) {
  const double r = x[0].as_double(), theta = x[1].as_double();
  return Scalar::of_complex({r * std::cos(theta), r * std::sin(theta)}, result);
}

}  // namespace

const ComplexInfo* complex_info(std::string_view op) {
  const auto at = infos().find(op);
  return at == infos().end() ? nullptr : &at->second;
}

void register_complex(Registry& registry) {
  struct Row {
    std::string_view name;
    expr::MapInfo map;
    decltype(expr::Op::gradient) gradient;
    std::string_view doc;
  };
  static Row rows[] = {
      {"real",
       {same, "ct::real({0})", same_value, false, 1, std::vector<expr::Domain>(1)},
       same_gradient,
       "the real part"},
      {"imag",
       {same, "ct::imag({0})", zero_part, false, 1, std::vector<expr::Domain>(1)},
       imag_gradient,
       "the imaginary part"},
      {"conj",
       {same, "ct::conj({0})", same_value, false, 1, std::vector<expr::Domain>(1)},
       conj_gradient,
       "x - iy of x + iy"},
      {"angle",
       {real_result, "ct::angle({0})", real_angle, false, 20, std::vector<expr::Domain>(1)},
       angle_gradient,
       "atan2(y, x) of x + iy"},
      {"complex",
       {from_parts, "ct::complex<{T}>({0}, {1})", of_parts, false, 1, std::vector<expr::Domain>(2)},
       complex_gradient,
       "a + ib"},
      {"complex_from_polar",
       {from_parts, "ct::from_polar<{T}>({0}, {1})", of_polar, false, 32, std::vector<expr::Domain>(2)},
       polar_gradient,
       "a (cos(b) + i sin(b))"},
  };
  static std::vector<expr::Op> ops;
  ops.reserve(std::size(rows));
  for (Row& row : rows) {
    row.map.complex = complex_info(row.name);
    expr::Op op;
    op.name = row.name;
    op.kind = expr::Kind::Map;
    op.arity = base::to_int(row.map.domains.size());
    op.doc = row.doc;
    op.infer = infer_map;
    op.gradient = row.gradient;
    op.map = &row.map;
    ops.push_back(op);
    registry.add(ops.back());
  }
}

}  // namespace croton::ops

namespace croton {
namespace {

Variable part(std::string_view op, const Operand& z) { return builder::apply(op, {z.variable}, {}, z.where); }
/// Both operands get one dtype, which the parts of the result have.
Variable complex_of(std::string_view op, const Operand& a, const Operand& b) {
  return builder::apply(op, {a.variable, b.variable}, {}, a.variable.is_constant() ? b.where : a.where);
}
bool is_real(const Operand& x) { return !is_complex(x.variable.dtype()); }

}  // namespace

Variable real(Operand z) { return is_real(z) ? z.variable : part("real", z); }
Variable imag(Operand z) { return is_real(z) ? zeros_like(z) : part("imag", z); }
Variable isreal(Operand z) {
  const builder::OriginScope origin(z.where);
  return eq(imag(z), 0);
}
Variable iscomplex(Operand z) {
  const builder::OriginScope origin(z.where);
  return neq(imag(z), 0);
}
Variable conj(Operand z) {
  if (is_real(z)) return z.variable;
  const builder::Node& node = *z.variable.node();
  return node.op->is(expr::Core::conj) ? node.inputs[0] : part("conj", z);  // gradients often have two of them
}
Variable angle(Operand z) { return part("angle", z); }
Variable complex(Operand re, Operand im) { return complex_of("complex", re, im); }
Variable complex_from_polar(Operand r, Operand theta) { return complex_of("complex_from_polar", r, theta); }

}  // namespace croton
