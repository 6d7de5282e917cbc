// Special functions: inverse error functions, gamma and its derivatives, Bessel functions. rows.hpp says what a row is;
// codegen_templates/common/special.cuh has the spellings and their sources.
#include <croton/elementwise.hpp>

#include "ops/rows.hpp"
#include "ops/special_reference.hpp"

namespace croton::ops {
namespace {

/// f(x) / x, and `at_zero` where x is 0.
Variable over_x(const Variable& f, const Variable& x, double at_zero) {
  return croton::where(eq(x, 0), at_zero, f / croton::where(eq(x, 0), 1, x));
}
/// 2 x erfcx(x) - 2 / sqrt(pi), the derivative of erfcx; of large x, where that cancels, its asymptotic series.
Variable erfcx_slope(const Variable& x, const Variable& erfcx_of_x) {
  const Variable two_over_root_pi = number(1.1283791670955126, erfcx_of_x);
  const Variable far = x > 50, safe = croton::where(far, x, 50), u = 0.5 / sqr(safe);
  // -2 / sqrt(pi) u (1 - 3 u + 15 u^2 - 105 u^3 + ...) with u = 1 / (2 x^2)
  const Variable series = 1 - u * (3 - u * (15 - u * (105 - u * (945 - u * 10395))));
  return croton::where(far, -two_over_root_pi * u * series, 2 * x * erfcx_of_x - two_over_root_pi);
}

// clang-format off
const std::vector<Row>& rows() {
  static const double half_root_pi = 0.886226925452758;  // sqrt(pi) / 2
  static const std::vector<Row> table = {
      {"erfinv", 1, real, "ct::erfinv({0})", in_double<X(reference::erfinv(x))>, G({g * number(half_root_pi, g) * croton::exp(sqr(c.output))}), "the inverse of erf", 60, false, {{-0.95, 0.95}}},
      {"erfcinv", 1, real, "ct::erfcinv({0})", in_double<X(reference::erfcinv(x))>, G({-g * number(half_root_pi, g) * croton::exp(sqr(c.output))}), "the inverse of erfc", 80, false, {{0.05, 1.95}}},
      {"erfcx", 1, real, "ct::erfcx({0})", in_double<X(reference::erfcx(x))>, G({g * erfcx_slope(x, c.output)}), "exp(x^2) erfc(x)", 40, false, {{-2, 4}}},
      {"gamma", 1, real, "ct::gamma({0})", in_double<X(reference::gamma(x))>, G({g * c.output * croton::psi(x)}), "the gamma function", 80, false, {{0.2, 4}}},
      {"gammaln", 1, real, "ct::gammaln({0})", in_double<X(reference::gammaln(x))>, G({g * croton::psi(x)}), "log |gamma(x)|", 80, false, {{0.2, 8}}},
      {"psi", 1, real, "ct::psi({0})", in_double<X(reference::psi(x))>, G({g * croton::tri_gamma(x)}), "the derivative of gammaln (digamma)", 80, false, {{0.2, 8}}},
      {"tri_gamma", 1, real, "ct::tri_gamma({0})", in_double<X(reference::tri_gamma(x))>, G({g * croton::polygamma(2, x)}), "the derivative of psi", 80, false, {{0.4, 8}}},
      {"polygamma", 2, real, "ct::polygamma({0}, {1})", in_double<XY(reference::polygamma(x, y))>,
       G({zeros_like(x), g * croton::polygamma(x + 1, Y)}), "the derivative of psi of order a at b", 400, false, {{2, 2}, {0.4, 8}}},
      {"i0", 1, real, "ct::i0({0})", in_double<X(reference::i0(x))>, G({g * croton::i1(x)}), "the modified Bessel function of the first kind of order 0", 60},
      {"i1", 1, real, "ct::i1({0})", in_double<X(reference::i1(x))>, G({g * (croton::i0(x) - over_x(c.output, x, 0.5))}), "the modified Bessel function of the first kind of order 1", 60},
      {"j0", 1, real, "ct::j0({0})", in_double<X(reference::j0(x))>, G({-g * croton::j1(x)}), "the Bessel function of the first kind of order 0", 80},
      {"j1", 1, real, "ct::j1({0})", in_double<X(reference::j1(x))>, G({g * (croton::j0(x) - over_x(c.output, x, 0.5))}), "the Bessel function of the first kind of order 1", 80},
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

}  // namespace

Variable erfinv(Operand x) { return unary("erfinv", x); }
Variable erfcinv(Operand x) { return unary("erfcinv", x); }
Variable erfcx(Operand x) { return unary("erfcx", x); }
Variable gamma(Operand x) { return unary("gamma", x); }
Variable gammaln(Operand x) { return unary("gammaln", x); }
Variable psi(Operand x) { return unary("psi", x); }
Variable tri_gamma(Operand x) { return unary("tri_gamma", x); }
Variable polygamma(Operand n, Operand x) {
  return builder::apply("polygamma", {n.variable, x.variable}, {}, x.variable.is_constant() ? n.where : x.where);
}
Variable i0(Operand x) { return unary("i0", x); }
Variable i1(Operand x) { return unary("i1", x); }
Variable j0(Operand x) { return unary("j0", x); }
Variable j1(Operand x) { return unary("j1", x); }

}  // namespace croton
