// Special functions: inverse error functions, gamma, its derivatives and incomplete integrals, Bessel functions.
// rows.hpp defines a row; special.cuh, incomplete_gamma.cuh and bessel.cuh of codegen_templates/common have the code
// and the sources of the methods.
#include <croton/elementwise.hpp>
#include <croton/grad.hpp>

#include <fmt/format.h>

#include "ops/elementwise/rows.hpp"
#include "ops/elementwise/special_reference.hpp"

namespace croton::ops {
namespace {

/// f(x) / x, and `at_zero` where x is 0.
Variable over_x(const Variable& f, const Variable& x, double at_zero) {
  return croton::where(eq(x, 0), at_zero, f / croton::where(eq(x, 0), 1, x));
}
/// 2 x erfcx(x) - 2 / sqrt(pi), the derivative of erfcx; for large x, where this cancels, its asymptotic series.
Variable erfcx_slope(const Variable& x, const Variable& erfcx_of_x) {
  const Variable two_over_root_pi = number(1.1283791670955126, erfcx_of_x);
  const Variable far = x > 50, safe = croton::where(far, x, 50), u = 0.5 / sqr(safe);
  // -2 / sqrt(pi) u (1 - 3 u + 15 u^2 - 105 u^3 + ...) with u = 1 / (2 x^2)
  const Variable series = 1 - u * (3 - u * (15 - u * (105 - u * (945 - u * 10395))));
  return croton::where(far, -two_over_root_pi * u * series, 2 * x * erfcx_of_x - two_over_root_pi);
}

/// The density of the gamma distribution, x^(a - 1) exp(-x) / gamma(a): the derivative of P(a, x).
Variable gamma_pdf(const Variable& a, const Variable& x) { return builder::apply("gamma_pdf", {a, x}, {}, x.where()); }

/// A Bessel function of the next order up or down; orders of unsigned dtypes would wrap below 0.
Variable adjacent_order(const GradientContext& c, int step, Variable (*bessel)(Operand, Operand)) {
  return bessel(cast(c.input(0), c.output.dtype()) + step, c.input(1));
}

// clang-format off
const std::vector<Row>& rows() {
  static const double half_root_pi = 0.886226925452758;  // sqrt(pi) / 2
  static const std::vector<Row> table = {
      {"erfinv", 1, real, "ct::erfinv({0})", in_double<X(reference::erfinv(x))>,
       G({g * number(half_root_pi, g) * croton::exp(sqr(c.output))}), "the inverse of erf", 60, false, {{-0.95, 0.95}}},
      {"erfcinv", 1, real, "ct::erfcinv({0})", in_double<X(reference::erfcinv(x))>,
       G({-g * number(half_root_pi, g) * croton::exp(sqr(c.output))}),
       "the inverse of erfc", 80, false, {{0.05, 1.95}}},
      {"erfcx", 1, real, "ct::erfcx({0})", in_double<X(reference::erfcx(x))>, G({g * erfcx_slope(x, c.output)}),
       "exp(x^2) erfc(x)", 40, false, {{-2, 4}}},
      {"gamma", 1, real, "ct::gamma({0})", in_double<X(reference::gamma(x))>, G({g * c.output * croton::psi(x)}),
       "the gamma function", 80, false, {{0.2, 4}}},
      {"gammaln", 1, real, "ct::gammaln({0})", in_double<X(reference::gammaln(x))>, G({g * croton::psi(x)}),
       "log |gamma(x)|", 80, false, {{0.2, 8}}},
      {"psi", 1, real, "ct::psi({0})", in_double<X(reference::psi(x))>, G({g * croton::tri_gamma(x)}),
       "the derivative of gammaln (digamma)", 80, false, {{0.2, 8}}},
      {"tri_gamma", 1, real, "ct::tri_gamma({0})", in_double<X(reference::tri_gamma(x))>,
       G({g * croton::polygamma(2, x)}), "the derivative of psi", 80, false, {{0.4, 8}}},
      // The gradient is by x; the functions below mark the order as an operand without a gradient.
      {"polygamma", 2, real, "ct::polygamma({0}, {1})", in_double<XY(reference::polygamma(x, y))>,
       G({zeros_like(x), g * croton::polygamma(x + 1, Y)}),
       "the derivative of psi of order a at b", 400, false, {{2, 2}, {0.4, 8}}},
      {"gammainc", 2, real, "ct::gammainc({0}, {1})", in_double<XY(reference::gammainc(x, y))>,
       G({zeros_like(x), g * gamma_pdf(x, Y)}),
       "the regularised lower incomplete gamma function of order a at b", 400, false, {{0.5, 4}, {0.3, 6}}},
      {"gammaincc", 2, real, "ct::gammaincc({0}, {1})", in_double<XY(reference::gammaincc(x, y))>,
       G({zeros_like(x), -g * gamma_pdf(x, Y)}),
       "the regularised upper incomplete gamma function of order a at b", 400, false, {{0.5, 4}, {0.3, 6}}},
      {"chi2sf", 2, real, "ct::chi2sf({0}, {1})", in_double<XY(reference::chi2sf(x, y))>,
       G({number(-0.5, g) * g * gamma_pdf(number(0.5, g) * Y, number(0.5, g) * x), zeros_like(Y)}),
       "the probability that a chi-square variable of b degrees of freedom is above a", 400, false, {{0.3, 6}, {1, 6}}},
      {"gamma_pdf", 2, real, "ct::gamma_pdf({0}, {1})", in_double<XY(reference::gamma_pdf(x, y))>,
       G({zeros_like(x), g * c.output * ((x - 1) / Y - 1)}),
       "the density of the gamma distribution of shape a at b", 200, false, {{0.5, 4}, {0.3, 6}}},
      {"i0", 1, real, "ct::i0({0})", in_double<X(reference::i0(x))>, G({g * croton::i1(x)}),
       "the modified Bessel function of the first kind of order 0", 60},
      {"i1", 1, real, "ct::i1({0})", in_double<X(reference::i1(x))>,
       G({g * (croton::i0(x) - over_x(c.output, x, 0.5))}),
       "the modified Bessel function of the first kind of order 1", 60},
      {"j0", 1, real, "ct::j0({0})", in_double<X(reference::j0(x))>, G({-g * croton::j1(x)}),
       "the Bessel function of the first kind of order 0", 80},
      {"j1", 1, real, "ct::j1({0})", in_double<X(reference::j1(x))>,
       G({g * (croton::j0(x) - over_x(c.output, x, 0.5))}), "the Bessel function of the first kind of order 1", 80},
      {"jv", 2, real, "ct::jv({0}, {1})", in_double<XY(reference::jv(x, y))>,
       G({zeros_like(x), number(0.5, g) * g * (adjacent_order(c, -1, croton::jv) - adjacent_order(c, 1, croton::jv))}),
       "the Bessel function of the first kind of order a at b", 600, false, {{0.5, 4}, {0.3, 6}}},
      {"iv", 2, real, "ct::iv({0}, {1})", in_double<XY(reference::iv(x, y))>,
       G({zeros_like(x), number(0.5, g) * g * (adjacent_order(c, -1, croton::iv) + adjacent_order(c, 1, croton::iv))}),
       "the modified Bessel function of the first kind of order a at b", 600, false, {{0.5, 4}, {0.3, 6}}},
  };
  return table;
}
// clang-format on

}  // namespace

void register_special(Registry& registry) { register_rows(registry, rows()); }

}  // namespace croton::ops

namespace croton {
namespace {

Variable unary(std::string_view op, const Operand& x) { return builder::apply(op, {x.variable}, {}, x.where); }
/// An operand by which the function is not differentiated.
Variable constant_order(std::string_view op, const Operand& order) {
  if (order.variable.is_constant()) return order.variable;
  return undefined_grad(order, fmt::format("{} has no gradient by its order", op));
}
auto where_of(const Operand& a, const Operand& b) { return b.variable.is_constant() ? a.where : b.where; }
/// A function of an order and of x.
Variable of_order(std::string_view op, const Operand& order, const Operand& x) {
  return builder::apply(op, {constant_order(op, order), x.variable}, {}, where_of(order, x));
}
/// A regularized function times gamma, computed in float64 for all dtypes: one factor may overflow the result's dtype,
/// and the other underflow, although the product fits.
Variable times_gamma(std::string_view regularised, const Operand& a, const Operand& x) {
  const builder::OriginScope origin(where_of(a, x));
  const Variable order = constant_order(regularised, a), wide = cast(order, DType::float64);
  const Variable part = builder::apply(regularised, {wide, cast(x.variable, DType::float64)}, {}, where_of(a, x));
  return cast(part * gamma(wide), of_order(regularised, a, x).dtype());
}

}  // namespace

Variable erfinv(Operand x) { return unary("erfinv", x); }
Variable erfcinv(Operand x) { return unary("erfcinv", x); }
Variable erfcx(Operand x) { return unary("erfcx", x); }
Variable gamma(Operand x) { return unary("gamma", x); }
Variable gammaln(Operand x) { return unary("gammaln", x); }
Variable psi(Operand x) { return unary("psi", x); }
Variable tri_gamma(Operand x) { return unary("tri_gamma", x); }
Variable polygamma(Operand n, Operand x) { return of_order("polygamma", n, x); }
Variable gammainc(Operand a, Operand x) { return of_order("gammainc", a, x); }
Variable gammaincc(Operand a, Operand x) { return of_order("gammaincc", a, x); }
Variable gammal(Operand a, Operand x) { return times_gamma("gammainc", a, x); }
Variable gammau(Operand a, Operand x) { return times_gamma("gammaincc", a, x); }
Variable chi2sf(Operand x, Operand k) {
  return builder::apply("chi2sf", {x.variable, constant_order("chi2sf", k)}, {}, where_of(k, x));
}
Variable i0(Operand x) { return unary("i0", x); }
Variable i1(Operand x) { return unary("i1", x); }
Variable j0(Operand x) { return unary("j0", x); }
Variable j1(Operand x) { return unary("j1", x); }
Variable jv(Operand v, Operand x) { return of_order("jv", v, x); }
Variable iv(Operand v, Operand x) { return of_order("iv", v, x); }

}  // namespace croton
