#include "ulp/exact.hpp"

namespace croton_ulp {
namespace {

Exact operator+(const Exact& a, const Exact& b) {
  Exact r;
  mpfr_add(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
Exact operator-(const Exact& a, const Exact& b) {
  Exact r;
  mpfr_sub(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
Exact operator*(const Exact& a, const Exact& b) {
  Exact r;
  mpfr_mul(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
Exact operator/(const Exact& a, const Exact& b) {
  Exact r;
  mpfr_div(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
bool less(const Exact& a, double b) { return mpfr_cmp_d(a.get(), b) < 0; }
double rounded(const Exact& a) { return mpfr_get_d(a.get(), MPFR_RNDN); }

/// A function of MPFR as a function of Exact.
template <int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
Exact one(const Exact& x) {
  Exact r;
  f(r.get(), x.get(), MPFR_RNDN);
  return r;
}
template <int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)>
Exact two(const Exact& x, const Exact& y) {
  Exact r;
  f(r.get(), x.get(), y.get(), MPFR_RNDN);
  return r;
}
Exact exp(const Exact& x) { return one<mpfr_exp>(x); }
Exact log(const Exact& x) { return one<mpfr_log>(x); }
Exact sqrt(const Exact& x) { return one<mpfr_sqrt>(x); }
Exact abs(const Exact& x) { return one<mpfr_abs>(x); }
Exact negative(const Exact& x) { return one<mpfr_neg>(x); }
Exact pi() {
  Exact r;
  mpfr_const_pi(r.get(), MPFR_RNDN);
  return r;
}

Exact gammaln(const Exact& x) {
  Exact r;
  int sign = 0;
  mpfr_lgamma(r.get(), &sign, x.get(), MPFR_RNDN);
  return r;
}
Exact sigmoid(const Exact& x) { return Exact(1) / (Exact(1) + exp(negative(x))); }
Exact softplus(const Exact& x) {
  // For large x, 200 bits of exp(x) have no room for the added 1; the second form needs none.
  return less(x, 0) ? one<mpfr_log1p>(exp(x)) : x + one<mpfr_log1p>(exp(negative(x)));
}
Exact sin_pi(const Exact& x) {
  Exact r;
  mpfr_sinpi(r.get(), x.get(), MPFR_RNDN);
  return r;
}
Exact sinc(const Exact& x) { return mpfr_zero_p(x.get()) ? Exact(1) : sin_pi(x) / (pi() * x); }
Exact log1mexp(const Exact& x) {
  return less(x, -1) ? one<mpfr_log1p>(negative(exp(x))) : log(negative(one<mpfr_expm1>(x)));
}
Exact xlogx(const Exact& x) { return mpfr_zero_p(x.get()) ? Exact(0) : x * log(x); }
Exact deg2rad(const Exact& x) { return x * pi() / Exact(180); }
Exact rad2deg(const Exact& x) { return x * Exact(180) / pi(); }

Exact erfcx(const Exact& x) {
  if (less(x, 200)) return exp(x * x) * one<mpfr_erfc>(x);
  Exact sum(1), term(1);  // the asymptotic series
  for (int k = 0; k < 30; ++k) {
    term = negative(term * Exact(2 * k + 1) / (Exact(2) * x * x));
    sum = sum + term;
  }
  return sum / (x * sqrt(pi()));
}
/// The y > 0 with erfc(y) = c, by Newton's method on the logarithm of erfc, or on erf(y) = s for small y.
Exact inverse(const Exact& c, const Exact& s) {
  const bool by_tail = less(c, 0.5);
  Exact y = by_tail ? sqrt(negative(log(c))) : s;
  const Exact half_root_pi = sqrt(pi()) / Exact(2);
  for (int step = 0; step < 60; ++step) {
    const Exact tail = one<mpfr_erfc>(y), over_slope = half_root_pi * exp(y * y);
    const Exact change = by_tail ? (log(tail) - log(c)) * tail * over_slope : (s - one<mpfr_erf>(y)) * over_slope;
    y = y + change;
    if (less(abs(change), 1e-45 * rounded(y))) break;
  }
  return y;
}
Exact not_a_number() {
  Exact r;
  mpfr_set_nan(r.get());
  return r;
}
Exact infinite(int sign) {
  Exact r;
  mpfr_set_inf(r.get(), sign);
  return r;
}
Exact erfinv(const Exact& x) {
  const Exact a = abs(x);
  if (mpfr_cmp_d(a.get(), 1) > 0 || mpfr_nan_p(a.get())) return not_a_number();
  const int sign = mpfr_sgn(x.get());
  if (mpfr_cmp_d(a.get(), 1) == 0) return infinite(sign);
  if (sign == 0) return x;
  return inverse(Exact(1) - a, a) * Exact(sign);
}
Exact erfcinv(const Exact& x) {
  if (mpfr_nan_p(x.get()) || less(x, 0) || mpfr_cmp_d(x.get(), 2) > 0) return not_a_number();
  const Exact s = Exact(1) - x;
  if (mpfr_cmp_d(x.get(), 0) == 0 || mpfr_cmp_d(x.get(), 2) == 0) return infinite(mpfr_sgn(s.get()));
  const int sign = mpfr_sgn(s.get());
  if (sign == 0) return Exact(0);
  return inverse(sign < 0 ? Exact(2) - x : x, abs(s)) * Exact(sign);
}
/// The sum of 1 / (x + k)^2: terms up to x + k = 60, then the Euler-Maclaurin formula.
Exact hurwitz_2(Exact x) {
  Exact sum(0);
  for (; less(x, 60); x = x + Exact(1)) sum = sum + Exact(1) / (x * x);
  static constexpr double numerators[] = {1, -1, 1, -1, 5, -691, 7, -3617, 43867, -174611};
  static constexpr double denominators[] = {6, 30, 42, 30, 66, 2730, 6, 510, 798, 330};
  sum = sum + Exact(1) / x + Exact(0.5) / (x * x);
  Exact power = x * x * x;
  for (int j = 0; j < 10; ++j) {
    sum = sum + Exact(numerators[j]) / (Exact(denominators[j]) * power);
    power = power * x * x;
  }
  return sum;
}
Exact tri_gamma(const Exact& x) {
  if (mpfr_inf_p(x.get())) return mpfr_sgn(x.get()) > 0 ? Exact(0) : infinite(1);  // -inf is a pole, as in SciPy
  if (!less(x, 0)) return hurwitz_2(x);
  const Exact turn = pi() / sin_pi(x);
  return turn * turn - hurwitz_2(Exact(1) - x);
}
/// The power series of a modified Bessel function of order n, all terms positive.
Exact modified_bessel(int n, const Exact& x) {
  if (mpfr_nan_p(x.get())) return x;
  const Exact y = x * x / Exact(4);
  if (!less(abs(x), 1000)) return infinite(n == 0 ? 1 : mpfr_sgn(x.get()));
  Exact sum(1), term(1);
  for (int k = 1; k < 3000 && !less(term / sum, 1e-50); ++k) {
    term = term * y / Exact(static_cast<double>(k) * (k + n));
    sum = sum + term;
  }
  return n == 0 ? sum : sum * x / Exact(2);
}
Exact i0(const Exact& x) { return modified_bessel(0, x); }
Exact i1(const Exact& x) { return modified_bessel(1, x); }
/// Odd, also in its zero at infinity.
Exact j1(const Exact& x) { return mpfr_signbit(x.get()) ? negative(one<mpfr_j1>(negative(x))) : one<mpfr_j1>(x); }

Exact reciprocal(const Exact& x) { return Exact(1) / x; }
Exact rsqrt(const Exact& x) { return Exact(1) / sqrt(x); }

constexpr double huge = 1e300;

}  // namespace

const std::vector<Function>& functions() {
  // clang-format off
  static const std::vector<Function> table = {
      {"exp", exp, nullptr, -750, 712, 2, 1},
      {"exp2", one<mpfr_exp2>, nullptr, -1080, 1025, 2, 1},
      {"exp10", one<mpfr_exp10>, nullptr, -325, 309, 2, 1},
      {"expm1", one<mpfr_expm1>, nullptr, -40, 712, 1, 1},
      {"log", log, nullptr, 0, 10, 1, 1},
      {"log2", one<mpfr_log2>, nullptr, 0, 10, 1, 1},
      {"log10", one<mpfr_log10>, nullptr, 0, 10, 2, 1},
      {"log1p", one<mpfr_log1p>, nullptr, -1, 10, 1, 1},
      {"log1mexp", log1mexp, nullptr, -50, 0, -1, -1},
      {"xlogx", xlogx, nullptr, 0, 20, -1, -1},
      {"sqrt", sqrt, nullptr, 0, 10, 0, 0},
      {"rsqrt", rsqrt, nullptr, 0, 10, 2, 1},
      {"cbrt", one<mpfr_cbrt>, nullptr, -30, 30, 1, 1},
      {"reciprocal", reciprocal, nullptr, -10, 10, 0, 0},
      {"sin", one<mpfr_sin>, nullptr, -1e4, 1e4, 2, 2},
      {"cos", one<mpfr_cos>, nullptr, -1e4, 1e4, 2, 2},
      {"tan", one<mpfr_tan>, nullptr, -1e4, 1e4, 4, 2},
      {"arcsin", one<mpfr_asin>, nullptr, -1, 1, 2, 2},
      {"arccos", one<mpfr_acos>, nullptr, -1, 1, 2, 2},
      {"arctan", one<mpfr_atan>, nullptr, -10, 10, 2, 2},
      {"sinh", one<mpfr_sinh>, nullptr, -712, 712, 3, 2},
      {"cosh", one<mpfr_cosh>, nullptr, -712, 712, 2, 1},
      {"tanh", one<mpfr_tanh>, nullptr, -20, 20, 2, 1},
      {"arcsinh", one<mpfr_asinh>, nullptr, -1e9, 1e9, 3, 3},
      {"arccosh", one<mpfr_acosh>, nullptr, 1, 1e3, 4, 3},
      {"arctanh", one<mpfr_atanh>, nullptr, -1, 1, 3, 2},
      {"sinc", sinc, nullptr, -20, 20, -1, -1},
      {"deg2rad", deg2rad, nullptr, -360, 360, -1, -1},
      {"rad2deg", rad2deg, nullptr, -7, 7, -1, -1},
      {"sigmoid", sigmoid, nullptr, -750, 40, -1, -1},
      {"softplus", softplus, nullptr, -750, 40, -1, -1},
      {"erf", one<mpfr_erf>, nullptr, -6, 6, 2, 2},
      {"erfc", one<mpfr_erfc>, nullptr, -6, 28, 4, 5},
      {"erfcx", erfcx, nullptr, -27, 40, 4, 4},
      {"erfinv", erfinv, nullptr, -1, 1, 2, 5},
      {"erfcinv", erfcinv, nullptr, 0, 2, 4, 6},
      {"gamma", one<mpfr_gamma>, nullptr, -20, 172, 5, 10},
      {"gammaln", gammaln, nullptr, 0, 100, 6, 4, 0, -10.001, -2.264},
      {"psi", one<mpfr_digamma>, nullptr, 0, 20, -1, -1, 0, -huge, 0},
      {"tri_gamma", tri_gamma, nullptr, 0, 20, -1, -1, 0, -huge, 0},
      {"i0", i0, nullptr, -715, 715, 6, 6},
      {"i1", i1, nullptr, -715, 715, 6, 6},
      {"j0", one<mpfr_j0>, nullptr, -20, 20, 9, 7, 8},
      {"j1", j1, nullptr, -20, 20, 9, 7, 8},
      {"pow", nullptr, two<mpfr_pow>, 0, 20, 4, 2},
      {"arctan2", nullptr, two<mpfr_atan2>, -20, 20, 3, 2},
      {"hypot", nullptr, two<mpfr_hypot>, -20, 20, 3, 2},
      {"true_divide", nullptr, two<mpfr_div>, -20, 20, 0, 0},
      {"fmod", nullptr, two<mpfr_fmod>, -1e4, 1e4, 0, 0},
  };
  // clang-format on
  return table;
}

}  // namespace croton_ulp
