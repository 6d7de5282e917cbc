// The incomplete gamma functions of generated kernels, built from math.cuh and special.cuh, which come before this
// text; the rules of special.cuh apply. Numbers in brackets refer to the Digital Library of Mathematical Functions
// (DLMF). Each of the two regularised functions P and Q = 1 - P is computed so that it keeps its relative accuracy
// where it is small:
//  - the series of P [8.7.1], all of whose terms are positive, where x < a + 1;
//  - the continued fraction of Q [8.9.2] where x is larger, and from x = 1 on where a < 1;
//  - the series of Q [8.7.3] where both are below 1, arranged after Gautschi (1979), so that nothing cancels;
//  - the uniform expansion of Temme [8.12] from a = 1e5 on, where series and fraction would take thousands of terms.
#ifndef CT_INCOMPLETE_GAMMA
#define CT_INCOMPLETE_GAMMA

namespace ct {

namespace internal {

// log(1 + m) - m. With r = m / (2 + m) it is 2 (atanh(r) - r) - m r: near 0 nothing cancels.
template <class T>
CT_DEVICE T log1p_less(T m) {
  const T r = m / (T(2) + m), z = r * r;
  T sum = T(0);
  for (int k = 20; k > 0; --k) sum = fma(sum, z, T(1) / T(2 * k + 1));
  return m > T(-0.6) && m < T(1) ? fma(T(2) * r * z, sum, -m * r) : log1p(m) - m;
}

// x^a e^-x / Gamma(a + 1) times a number, for positive a and x. The two halves keep its parts from leaving the range
// before it does.
template <class T>
CT_DEVICE T power_over_gamma(T a, T x, T times) {
  const bool large = a >= T(10);
  // From 10 on by Stirling: (x / a)^a e^(a - x) is one exponential of a small exponent where x is near a. The logarithm
  // of a small quotient is not that of 1 + m, which is rounded.
  const T b = large ? a : T(10), m = (x - b) / b, less = m < T(-0.6) ? log(x / b) - m : log1p_less(m);
  const T factor = large ? T(1) / (sqrt(b) * gamma_star(T(1) / b)) : pow(x, a) / gamma(T(1) + a);
  const T half = exp(T(0.5) * (large ? b * less : -x));
  return half > T(0) ? half * (factor * times) * half : T(0);
}

// P(a, x) / power_over_gamma: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... For a < 1e5 and x < a + 1 it takes less
// than 3000 terms.
template <class T>
CT_DEVICE T gamma_series(T a, T x) {
  T sum = T(1), term = T(1);
  for (int k = 1; k < 4000 && term > T(1e-17) * sum; ++k) {
    term *= x / (a + T(k));
    sum += term;
  }
  return sum;
}

// Q(a, x) / (a power_over_gamma): the continued fraction 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / ...)) from
// its top, by the quotients of successive numerators and denominators, which are positive here (Lentz 1976).
template <class T>
CT_DEVICE T gamma_fraction(T a, T x) {
  T b = x + T(1) - a, numerators = inf<T>(), denominators = T(1) / b, value = denominators, change = T(0);
  for (int k = 1; k < 4000 && abs(change - T(1)) > T(1e-16); ++k) {
    const T c = T(k) * (a - T(k));
    b += T(2);
    denominators = T(1) / fma(c, denominators, b);
    numerators = b + c / numerators;
    change = numerators * denominators;
    value *= change;
  }
  return value;
}

// Q(a, x) where both are below 1: 1 - x^a / Gamma(1 + a) by expm1, and the rest of the series.
template <class T>
CT_DEVICE T gamma_upper_of_small(T a, T x) {
  // Gamma(1 + a) itself where the polynomial of its logarithm ends: it is not near 1 there.
  const T exponent = fma(a, log(x), a < T(0.5) ? -a * log_gamma_factor(a) : -gammaln(T(1) + a));
  T sum = T(0), term = T(1);
  for (int k = 1; k < 20; ++k) {
    term *= -x / T(k);
    sum += term / (a + T(k));
  }
  const T less = expm1(exponent);
  return -fma(a * sum, T(1) + less, less);
}

// P or Q of large a: half of erfc(-z) or erfc(z) and a correction, z = eta sqrt(a / 2), eta^2 / 2 = m - log(1 + m) with
// m = x / a - 1. The polynomials are the first terms of c_0, c_1 and c_2 in powers of eta [8.12.10], from |eta| = 0.13
// on both functions are 0 or 1.
template <class T>
CT_DEVICE T gamma_uniform(T a, T x, bool upper) {
  const T m = (x - a) / a, square = T(-2) * log1p_less(m), eta = with_sign_of(sqrt(square), m), v = T(1) / a;
  const T e = abs(eta) < T(0.13) ? eta : T(0);
  const T c0 = horner(e, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
                      0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
                      -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07);
  const T c1 = horner(e, -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
                      0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06);
  const T c2 = horner(e, 0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049);
  const T root = sqrt(T(0.5) * a), z = eta * root;
  // 1 / sqrt(2 pi a) = 1 / (2 sqrt(pi) sqrt(a / 2))
  const T rest = exp(-T(0.5) * a * square) * (T(0.28209479177387814) / root) * horner(v, c0, c1, c2);
  return upper ? fma(T(0.5), erfc(z), rest) : fma(T(0.5), erfc(-z), -rest);
}

// P or Q with SciPy's special values.
template <bool upper>
CT_DEVICE double incomplete_gamma(double a, double x) {
  if (!(a >= 0.0) || !(x >= 0.0) || (a == 0.0 && x == 0.0)) return nan<double>();
  if (a == inf<double>()) return x == inf<double>() ? nan<double>() : upper ? 1.0 : 0.0;
  if (a == 0.0 || x == inf<double>()) return upper ? 0.0 : 1.0;
  if (x == 0.0) return upper ? 1.0 : 0.0;
  if (a >= 1e5) return gamma_uniform(a, x, upper);
  if (upper && a < 1.0 && x < 1.0) return gamma_upper_of_small(a, x);
  const bool fraction = upper ? x >= (a < 1.0 ? 1.0 : a + 1.0) : x >= a + 1.0;
  const double part = power_over_gamma(a, x, fraction ? a * gamma_fraction(a, x) : gamma_series(a, x));
  return fraction == upper ? part : 1.0 - part;
}

}  // namespace internal

// P(a, x) and Q(a, x).
template <class T>
CT_DEVICE T gammainc(T a, T x) {
  return T(internal::incomplete_gamma<false>(a, x));
}
template <class T>
CT_DEVICE T gammaincc(T a, T x) {
  return T(internal::incomplete_gamma<true>(a, x));
}

// The density of the gamma distribution, x^(a - 1) e^-x / Gamma(a), 0 of negative x: the derivative of P by x, so that
// it is 0 where the order is 0 and P is 1.
template <class T>
CT_DEVICE T gamma_pdf(T order, T given) {
  const double a = order, x = given;
  if (!(a >= 0.0) || x != x || a == inf<double>()) return nan<T>();
  if (a == 0.0 && x > 0.0) return T(0);
  if (!(x > 0.0) || x == inf<double>()) return x != 0.0 || a > 1.0 ? T(0) : a == 1.0 ? T(1) : inf<T>();
  return T(internal::power_over_gamma(a, x, 1.0) * a / x);
}

// The probability that a chi-square variable of k degrees of freedom is above x: Q(k / 2, x / 2).
template <class T>
CT_DEVICE T chi2sf(T x, T k) {
  const double half = 0.5 * double(x),
               tail = internal::incomplete_gamma<true>(0.5 * double(k), half < 0.0 ? 0.0 : half);
  return T(k > T(0) ? tail : nan<double>());
}

}  // namespace ct
#endif
