#include "ops/elementwise/special_reference.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/index.hpp"

namespace croton::ops::reference {
namespace {

using Wide = long double;

constexpr Wide pi = std::numbers::pi_v<Wide>, root_pi = 1.772453850905516027298167483341145183L;
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

double rounded(Wide x) { return static_cast<double>(x); }
bool is_whole(double x) { return std::floor(x) == x; }

/// Near a zero the argument must be reduced exactly.
Wide sin_pi(Wide x) {
  const Wide whole = std::nearbyint(x), sine = std::sin(pi * (x - whole));
  return std::fmod(whole, 2) == 0 ? sine : -sine;
}
Wide cos_pi(Wide x) { return sin_pi(std::fmod(x, 2) + 0.5L); }

/// The y >= 0 with erfc(y) = c for c in (0, 1], by Newton's method: on the logarithm of erfc, which is concave, or, for
/// small y, on erf(y) = s, where s is 1 - c exactly.
double inverse(Wide c, Wide s) {
  Wide y = c < 0.5L ? std::sqrt(-std::log(c)) : s;
  for (int step = 0; step < 100; ++step) {
    const Wide slope = 2 / root_pi * std::exp(-y * y), tail = std::erfc(y);
    const Wide next = c < 0.5L ? y + (std::log(tail) - std::log(c)) * tail / slope : y - (std::erf(y) - s) / slope;
    if (std::fabs(next - y) <= 1e-19L * y) break;
    y = next;
  }
  return rounded(y);
}

/// The sum of (x + k)^-s over k >= 0 (Hurwitz's zeta): terms up to x + k = 40 + 2 s, then Euler and Maclaurin.
Wide hurwitz(Wide s, Wide x) {
  Wide sum = 0;
  for (const Wide far = 40 + 2 * s; x < far; x += 1) sum += std::pow(x, -s);
  // B_2j / (2 j)!
  constexpr Wide c[] = {1.0L / 12,
                        -1.0L / 720,
                        1.0L / 30240,
                        -1.0L / 1209600,
                        1.0L / 47900160,
                        -691.0L / 1307674368000.0L,
                        1.0L / 74724249600.0L,
                        -3617.0L / 10670622842880000.0L};
  const Wide tail = std::pow(x, -s);
  sum += tail * (x / (s - 1) + 0.5L);
  Wide term = s / x;
  for (int j = 0; j < 8; ++j) {
    sum += tail * c[j] * term;
    term *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);
  }
  return sum;
}

/// log(gamma(1 + a)), with full relative precision for small a.
Wide log_gamma_1p(Wide a) {
  if (a > 0.1L) return std::lgamma(1 + a);
  // The standard library's zeta is slow.
  static const std::vector<Wide> zeta = [] {
    std::vector<Wide> values;
    for (Wide n = 0; n < 25; ++n) values.push_back(n < 2 ? 0 : std::riemann_zeta(n));
    return values;
  }();
  Wide sum = -std::numbers::egamma_v<Wide> * a, power = -a;
  for (int n = 2; n < 25; ++n) sum += base::nth(zeta, n) * (power *= -a) / n;
  return sum;
}

/// P(a, x) and Q(a, x); the small one is computed directly.
struct GammaParts {
  Wide lower, upper;
};
/// For large a: Temme's uniform expansion (DLMF 8.12), two coefficients in closed form.
GammaParts gamma_parts_of_large(Wide a, Wide x) {
  const Wide m = (x - a) / a;
  Wide half_square = m - std::log1p(m);
  if (std::fabs(m) < 0.01L) {
    half_square = 0;
    for (int n = 20; n >= 2; --n) half_square += (n % 2 == 0 ? 1 : -1) * std::pow(m, n) / n;
  }
  const Wide eta = std::copysign(std::sqrt(2 * half_square), m), z = eta * std::sqrt(a / 2);
  const bool near = std::fabs(m) < 0.003L;
  const Wide c0 = near ? -1 / 3.0L + eta / 12 - eta * eta * 2 / 135 + eta * eta * eta / 864 : 1 / m - 1 / eta;
  const Wide c1 = near ? -1 / 540.0L - eta / 288 : 1 / (eta * eta * eta) - 1 / (m * m * m) - 1 / (m * m) - 1 / (12 * m);
  const Wide rest = std::exp(-z * z) / std::sqrt(2 * pi * a) * (c0 + c1 / a);
  return {std::erfc(-z) / 2 - rest, std::erfc(z) / 2 + rest};
}
/// P and Q of positive and finite a and x.
GammaParts gamma_parts(Wide a, Wide x) {
  if (a >= 1e5L) return gamma_parts_of_large(a, x);
  const Wide power = a * std::log(x) - x;
  if (x < 1 && a < 0.1L) {
    // DLMF 8.7.3: alternating, for small x.
    Wide sum = 0, term = 1;
    for (int k = 1; k < 30; ++k) sum += (term *= -x / k) / (a + k);
    const Wide exponent = a * std::log(x) - log_gamma_1p(a), lower = std::exp(exponent) * (1 + a * sum);
    return {lower, -std::expm1(exponent) - a * std::exp(exponent) * sum};
  }
  if (x < a + 1 && (a >= 1 || x < 1)) {
    Wide sum = 1, term = 1;  // DLMF 8.7.1
    for (int k = 1; term > sum * 1e-21L; ++k) sum += term *= x / (a + k);
    const Wide lower = std::exp(power - std::lgamma(a + 1)) * sum;
    return {lower, 1 - lower};
  }
  Wide rest = 0;  // the continued fraction of DLMF 8.9.2, evaluated from the innermost term
  for (int k = 5000; k > 0; --k) rest = k * (a - k) / (x + 2 * k + 1 - a + rest);
  const Wide upper = a * std::exp(power - log_gamma_1p(a)) / (x + 1 - a + rest);
  return {1 - upper, upper};
}
/// SciPy's values of P at the borders: 1, 0 or nan; -1 inside.
double gamma_border(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == inf && x == inf)) return nan;
  if (a == 0 || x == inf) return 1;
  return a == inf || x == 0 ? 0 : -1;
}

/// The power series of I_n(x) / (x / 2)^n, n being 0 or 1: all terms are positive.
Wide modified_bessel(int n, Wide x) {
  const Wide y = x * x / 4;
  Wide sum = 1, term = 1;
  for (Wide k = 1; term > sum * 1e-21L; ++k) sum += term *= y / (k * (k + n));
  return sum;
}

/// (x / 2)^v times the sum of (sign x^2 / 4)^k / (k! gamma(v + k + 1)), for x where it does not cancel.
Wide bessel_series(Wide v, Wide x, Wide sign) {
  const Wide h = x / 2, y = sign * h * h;
  Wide sum = 1, term = 1;
  for (int k = 1; k <= -v || std::fabs(term) > std::fabs(sum) * 1e-21L; ++k) sum += term *= y / (k * (v + k));
  if (v < 0) return std::pow(h, v) / std::tgamma(1 + v) * sum;
  return std::exp(v * std::log(h) - std::lgamma(v + 1)) * sum;
}
/// J_v(x) of positive x. Between the series for small x and Hankel's for large x it uses the standard library's J and
/// Y.
Wide bessel_j(Wide v, Wide x) {
  if (v < 0 ? x < 2 : x * x / 4 < v + 1) return bessel_series(v, x, -1);
  if (x <= 1000) {
    const Wide a = std::fabs(v), j = std::cyl_bessel_j(a, x);
    return v < 0 ? cos_pi(a) * j - sin_pi(a) * std::cyl_neumann(a, x) : j;
  }
  Wide p = 1, q = 0, term = 1;
  for (int k = 1; k < 200 && std::fabs(term) > 1e-22L; k += 2) {
    q += term *= (4 * v * v - (2 * k - 1) * (2 * k - 1)) / (8 * x * k);
    p += term *= -(4 * v * v - (2 * k + 1) * (2 * k + 1)) / (8 * x * (k + 1));
  }
  const Wide turn = v / 2 + 0.25L, c = cos_pi(turn), s = sin_pi(turn), cosine = std::cos(x), sine = std::sin(x);
  return std::sqrt(2 / (pi * x)) * (p * (cosine * c + sine * s) - q * (sine * c - cosine * s));
}
/// Shared code of J and I; `alternates`: J_-n(x) is (-1)^n J_n(x).
double bessel_of_order(double order, double given, bool alternates) {
  if (std::isnan(order) || std::isnan(given) || (given < 0 && !is_whole(order))) return nan;
  const double v = is_whole(order) ? std::fabs(order) : order, x = std::fabs(given);
  const bool odd = std::fabs(std::fmod(order, 2)) == 1;
  Wide value = 0;
  if (x == 0) {
    value = v == 0 ? 1 : v > 0 ? 0 : inf / std::tgamma(1 + Wide{v});
  } else if (std::fabs(v) > 5000) {
    value = v > 0 && x < 0.25 * v ? 0.0 : nan;
  } else if (alternates ? x == inf : x > 800 + std::fabs(v)) {
    value = alternates ? 0.0 : inf;
  } else {
    value = alternates ? bessel_j(v, x) : bessel_series(v, x, 1);
  }
  return rounded(odd && (given < 0) != (alternates && order < 0) ? -value : value);
}

}  // namespace

double erfinv(double x) {
  const double a = std::fabs(x);
  if (a > 1) return nan;
  if (a == 1 || a == 0 || std::isnan(x)) return a == 1 ? std::copysign(inf, x) : x;
  return std::copysign(inverse(1 - Wide{a}, a), x);
}
double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return nan;
  if (x == 0 || x == 2) return x == 0 ? inf : -inf;
  if (x == 1) return 0;
  const Wide c = x > 1 ? 2 - Wide{x} : x;
  return std::copysign(inverse(c, 1 - c), 1 - x);
}
double erfcx(double x) {
  if (x > 10) {
    // The asymptotic series; its smallest term is below e^-100.
    Wide sum = 1, term = 1;
    const Wide u = 1 / (2 * Wide{x} * x);
    for (int k = 0; k < 60 && std::fabs(term) > 1e-22L; ++k) sum += term *= -(2 * k + 1) * u;
    return rounded(sum / (x * root_pi));
  }
  const Wide square = Wide{x} * x, low = std::fma(Wide{x}, Wide{x}, -square);
  if (x < -30) return inf;
  return rounded(std::exp(square) * (1 + low) * std::erfc(Wide{x}));
}

double gamma(double x) {
  if (x == 0) return std::copysign(inf, x);
  if (x < 0 && is_whole(x)) return nan;
  if (x < -200) return std::fmod(std::floor(x), 2) == 0 ? 0.0 : -0.0;
  return rounded(std::tgamma(Wide{x}));
}
double gammaln(double x) {
  if (x <= 0 && is_whole(x)) return inf;
  return rounded(std::lgamma(Wide{x}));
}
double psi(double given) {
  if (given == 0) return -1 / given;
  if (given < 0 && is_whole(given)) return nan;
  if (std::fabs(given) < 1e-18) return -1 / given;
  if (std::isinf(given)) return given;
  Wide x = given, sum = 0;
  if (x < 0) {
    sum = -pi * cos_pi(x) / sin_pi(x);
    x = 1 - x;
  }
  for (; x < 40; x += 1) sum -= 1 / x;
  const Wide u = 1 / (x * x);
  const Wide series =
      u * (1.0L / 12 - u * (1.0L / 120 - u * (1.0L / 252 - u * (1.0L / 240 - u * (1.0L / 132 - u * 691 / 32760)))));
  return rounded(sum + std::log(x) - 0.5L / x - series);
}
double tri_gamma(double given) {
  if (given <= 0 && is_whole(given)) return inf;
  if (given == inf) return 0;
  const Wide x = given;
  if (x >= 0) return rounded(hurwitz(2, x));
  const Wide turn = pi / sin_pi(x);
  return rounded(turn * turn - hurwitz(2, 1 - x));
}
double polygamma(double n, double x) {
  if (n == 0) return psi(x);
  if (!(n > 0) || n > 100 || !is_whole(n) || !(x >= -100)) return nan;
  const bool even = std::fmod(n, 2) == 0;
  if (x <= 0 && is_whole(x)) return even ? nan : inf;
  if (x == inf) return even ? -0.0 : 0.0;
  const Wide value = std::tgamma(Wide{n} + 1) * hurwitz(Wide{n} + 1, x);
  return rounded(even ? -value : value);
}

double gammainc(double a, double x) {
  const double border = gamma_border(a, x);
  return border == -1 ? rounded(gamma_parts(a, x).lower) : border;
}
double gammaincc(double a, double x) {
  const double border = gamma_border(a, x);
  return border == -1 ? rounded(gamma_parts(a, x).upper) : 1 - border;
}
double chi2sf(double x, double k) { return k > 0 ? gammaincc(k / 2, x < 0 ? 0 : x / 2) : nan; }
double gamma_pdf(double a, double x) {
  if (!(a >= 0) || std::isnan(x) || a == inf) return nan;
  if (x < 0 || x == inf || (a == 0 && x > 0)) return 0;
  if (x == 0) return a < 1 ? inf : a == 1 ? 1 : 0;
  const Wide wide = x, order = a;
  if (a < 1e4) return rounded(std::exp((order - 1) * std::log(wide) - wide - std::lgamma(order)));
  // Stirling: the exponent of x near a is small.
  const Wide m = (wide - order) / order, u = 1 / order;
  const Wide exponent =
      std::fabs(m) < 1e-3L ? -m * m * (0.5L - m * (1 / 3.0L - m * (0.25L - m * (0.2L - m / 6)))) : std::log1p(m) - m;
  const Wide stirling = u / 12 - u * u * u / 360;
  return rounded(std::exp(order * exponent - stirling) * std::sqrt(order / (2 * pi)) / wide);
}

double i0(double x) { return std::fabs(x) > 800 ? inf : rounded(modified_bessel(0, x)); }
double i1(double x) {
  if (std::fabs(x) > 800) return std::copysign(inf, x);
  return rounded(Wide{x} / 2 * modified_bessel(1, x));
}
double j0(double x) { return rounded(::j0l(Wide{x})); }
double j1(double x) { return x == 0 ? x : rounded(::j1l(Wide{x})); }

double jv(double v, double x) { return bessel_of_order(v, x, true); }
double iv(double v, double x) { return bessel_of_order(v, x, false); }

double log1mexp(double x) {
  const Wide wide = x;
  return rounded(x < -1 ? std::log1p(-std::exp(wide)) : std::log(-std::expm1(wide)));
}
double logaddexp(double x, double y) {
  if (x == y) return rounded(x + std::numbers::ln2_v<Wide>);
  if (std::isnan(x) || std::isnan(y)) return nan;
  const Wide a = x, b = y;
  return rounded(std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b))));
}
double logaddexp2(double x, double y) {
  if (x == y) return x + 1;
  if (std::isnan(x) || std::isnan(y)) return nan;
  const Wide a = x, b = y;
  return rounded(std::fmax(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / std::numbers::ln2_v<Wide>);
}
double sinc(double x) { return x == 0 ? 1 : is_whole(x) ? x - x : rounded(sin_pi(x) / (pi * x)); }
double exp10(double x) { return rounded(std::pow(Wide{10}, Wide{x})); }

}  // namespace croton::ops::reference
