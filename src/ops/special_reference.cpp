#include "ops/special_reference.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace croton::ops::reference {
namespace {

using Wide = long double;

constexpr Wide pi = std::numbers::pi_v<Wide>, root_pi = 1.772453850905516027298167483341145183L;
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

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
  return static_cast<double>(y);
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

/// The power series of I_n(x) / (x / 2)^n, n being 0 or 1: all terms are positive.
Wide modified_bessel(int n, Wide x) {
  const Wide y = x * x / 4;
  Wide sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-21L; ++k) sum += term *= y / (static_cast<Wide>(k) * (k + n));
  return sum;
}

}  // namespace

double erfinv(double x) {
  const double a = std::fabs(x);
  if (a > 1) return nan;
  if (a == 1 || a == 0 || std::isnan(x)) return a == 1 ? std::copysign(inf, x) : x;
  return std::copysign(inverse(1 - static_cast<Wide>(a), a), x);
}
double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return nan;
  if (x == 0 || x == 2) return x == 0 ? inf : -inf;
  if (x == 1) return 0;
  const Wide c = x > 1 ? 2 - static_cast<Wide>(x) : x;
  return std::copysign(inverse(c, 1 - c), 1 - x);
}
double erfcx(double x) {
  if (x > 10) {
    // The asymptotic series; its smallest term is below e^-100.
    Wide sum = 1, term = 1;
    const Wide u = 1 / (2 * static_cast<Wide>(x) * x);
    for (int k = 0; k < 60 && std::fabs(term) > 1e-22L; ++k) sum += term *= -(2 * k + 1) * u;
    return static_cast<double>(sum / (x * root_pi));
  }
  const Wide square = static_cast<Wide>(x) * x, low = std::fma(static_cast<Wide>(x), static_cast<Wide>(x), -square);
  if (x < -30) return inf;
  return static_cast<double>(std::exp(square) * (1 + low) * std::erfc(static_cast<Wide>(x)));
}

double gamma(double x) {
  if (x == 0) return std::copysign(inf, x);
  if (x < 0 && is_whole(x)) return nan;
  if (x < -200) return std::fmod(std::floor(x), 2) == 0 ? 0.0 : -0.0;
  return static_cast<double>(std::tgamma(static_cast<Wide>(x)));
}
double gammaln(double x) {
  if (x <= 0 && is_whole(x)) return inf;
  return static_cast<double>(std::lgamma(static_cast<Wide>(x)));
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
  return static_cast<double>(sum + std::log(x) - 0.5L / x - series);
}
double tri_gamma(double given) {
  if (given <= 0 && is_whole(given)) return inf;
  if (given == inf) return 0;
  const Wide x = given;
  if (x >= 0) return static_cast<double>(hurwitz(2, x));
  const Wide turn = pi / sin_pi(x);
  return static_cast<double>(turn * turn - hurwitz(2, 1 - x));
}
double polygamma(double n, double x) {
  if (n == 0) return psi(x);
  if (!(n > 0) || n > 100 || !is_whole(n) || !(x >= -100)) return nan;
  const bool even = std::fmod(n, 2) == 0;
  if (x <= 0 && is_whole(x)) return even ? nan : inf;
  if (x == inf) return even ? -0.0 : 0.0;
  const Wide value = std::tgamma(static_cast<Wide>(n) + 1) * hurwitz(static_cast<Wide>(n) + 1, x);
  return static_cast<double>(even ? -value : value);
}

double i0(double x) { return std::fabs(x) > 800 ? inf : static_cast<double>(modified_bessel(0, x)); }
double i1(double x) {
  if (std::fabs(x) > 800) return std::copysign(inf, x);
  return static_cast<double>(static_cast<Wide>(x) / 2 * modified_bessel(1, x));
}
double j0(double x) { return static_cast<double>(::j0l(static_cast<Wide>(x))); }
double j1(double x) { return x == 0 ? x : static_cast<double>(::j1l(static_cast<Wide>(x))); }

double log1mexp(double x) {
  const Wide wide = x;
  return static_cast<double>(x < -1 ? std::log1p(-std::exp(wide)) : std::log(-std::expm1(wide)));
}
double logaddexp(double x, double y) {
  if (x == y) return static_cast<double>(x + std::numbers::ln2_v<Wide>);
  if (std::isnan(x) || std::isnan(y)) return nan;
  const Wide a = x, b = y;
  return static_cast<double>(std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b))));
}
double logaddexp2(double x, double y) {
  if (x == y) return x + 1;
  if (std::isnan(x) || std::isnan(y)) return nan;
  const Wide a = x, b = y;
  return static_cast<double>(std::fmax(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / std::numbers::ln2_v<Wide>);
}
double sinc(double x) { return x == 0 ? 1 : is_whole(x) ? x - x : static_cast<double>(sin_pi(x) / (pi * x)); }
double exp10(double x) { return static_cast<double>(std::pow(Wide{10}, static_cast<Wide>(x))); }

}  // namespace croton::ops::reference
