// Bessel functions of real order, built from math.cuh, special.cuh and incomplete_gamma.cuh, which come before this
// text; the rules of special.cuh apply. Numbers in brackets refer to the Digital Library of Mathematical Functions
// (DLMF).
//  - J_v(x) by its power series [10.2.2] where x^2 / 4 < v + 1, so that its terms alternate and decrease;
//  - below x = 25 from two such values of a higher order, downwards by the recurrence in the order [10.6.1];
//  - beyond from Hankel's expansion [10.17.3] of two orders below 2, upwards to orders below x, downwards to negative
//    ones; orders above x by Miller's backward recurrence, scaled by one of the two.
//  - I_v(x) by its power series [10.25.2], whose terms are positive where v is.
#ifndef CT_BESSEL
#define CT_BESSEL

namespace ct {

namespace internal {

// (x / 2)^v times the sum of (sign x^2 / 4)^k / (k! Gamma(v + k + 1)) over k >= 0, for positive x; of v no negative
// whole number. At orders below 0 terms may grow again until k is -v.
template <class T>
CT_DEVICE T bessel_series(T v, T x, T sign) {
  const T h = T(0.5) * x, y = sign * h * h;
  T sum = T(1), term = T(1);
  for (int k = 1; k < 12000 && (T(k) <= -v || abs(term) > T(1e-17) * abs(sum)); ++k) {
    term *= y / (T(k) * (v + T(k)));
    sum += term;
  }
  // (x / 2)^v / Gamma(v + 1), from |v| = 10 on by Stirling, reflected below 0; in two halves, as it may leave the range
  // where its product with the sum does not.
  const bool large = abs(v) >= T(10);
  const T b = large ? abs(v) : T(10), half = large ? exp(T(0.5) * v * (log(h / b) + T(1))) : T(1);
  const T power = x < T(1e-300) ? pow(x, v) * exp2(-v) : pow(h, v);  // half of the least number is 0
  const T star = gamma_star(T(1) / b), root = sqrt(b);
  const T stirling = v > T(0) ? T(1) / (root * star) : sin_pi(v) * star / (T(-3.141592653589793) * root);
  const T factor = large ? stirling : power / gamma(T(1) + v);
  return half > T(0) ? half * (factor * sum) * half : abs(sum) < inf<T>() ? T(0) : sum;
}

// J_v(x) for 0 <= v < 2 and x >= 25: sqrt(2 / (pi x)) (p cos(w) - q sin(w)), w = x - (v / 2 + 1 / 4) pi.
template <class T>
CT_DEVICE T bessel_far(T v, T x) {
  T term = T(1), p = T(1), q = T(0);
  const T square = T(4) * v * v, over = T(0.125) / x;
  for (int k = 1; k < 30; k += 2) {
    term *= (square - T((2 * k - 1) * (2 * k - 1))) * over / T(k);
    q += term;
    term *= -(square - T((2 * k + 1) * (2 * k + 1))) * over / T(k + 1);
    p += term;
  }
  const T turn = fma(T(0.5), v, T(0.25)), c = cos_pi(turn), s = sin_pi(turn), cosine = cos(x), sine = sin(x);
  return T(0.7978845608028654) / sqrt(x) * (p * fma(cosine, c, sine * s) - q * fma(sine, c, -cosine * s));
}

// Values of two orders, v and v + 1.
template <class T>
struct BesselPair {
  T v, low, high;
  // One order down; at negative orders the values may overflow, with alternating signs.
  CT_MEMBER void descend(T x) {
    const T step = T(2) * v / x, next = abs(low) < inf<T>() ? fma(step, low, -high) : step * low;
    high = low;
    low = next;
    v -= T(1);
  }
};

// J_v(x) for x > 25 and v in (x, x^2 / 4 - 1): from far enough above v, where the neglected terms are negligible, down
// to the orders f and f + 1, which are known.
template <class T>
CT_DEVICE T bessel_above(T v, T x, BesselPair<T> known) {
  const int n = int(floor(v)), above = 10 + int(T(10) * cbrt(v));
  BesselPair<T> u{v + T(above), T(1e-300), T(0)};
  T at_v = T(0);
  for (int k = n + above; k > 0; --k) {
    u.descend(x);
    at_v = k - 1 == n ? u.low : at_v;
    const T down = abs(u.low) > T(1e100) ? T(1e-200) : T(1);
    u.low *= down;
    u.high *= down;
    at_v *= down;
  }
  return abs(u.low) > abs(u.high) ? at_v * (known.low / u.low) : at_v * (known.high / u.high);
}

// J_v(x) for positive x, v no negative whole number and of a magnitude up to 5000.
template <class T>
CT_DEVICE T bessel_j(T v, T x) {
  const T quarter = T(0.25) * x * x;
  if (v < T(0) ? x < T(2) : quarter < v + T(1)) return bessel_series(v, x, T(-1));
  const int n = int(floor(v));
  const T f = v - T(n);
  if (x < T(25)) {
    const int m = int(quarter) + 1;
    BesselPair<T> pair{f + T(m), bessel_series(f + T(m), x, T(-1)), bessel_series(f + T(m + 1), x, T(-1))};
    for (int k = m; k > n; --k) pair.descend(x);
    return pair.low;
  }
  BesselPair<T> pair{f, bessel_far(f, x), bessel_far(f + T(1), x)};
  if (v > x) return bessel_above(v, x, pair);
  for (int k = 0; k > n; --k) pair.descend(x);
  for (int k = 0; k < n; ++k) {
    const T next = fma(T(2) * (f + T(k + 1)) / x, pair.high, -pair.low);
    pair.low = pair.high;
    pair.high = next;
  }
  return pair.low;
}

// The common part of both functions: nan for negative x and non-integer orders; negative integer orders and negative x
// by parity, where `alternates` means that J_-n is (-1)^n J_n; values at 0 and infinity; no orders above 5000, unless
// the result is 0.
template <bool alternates>
CT_DEVICE double bessel_of_order(double order, double given) {
  const double x = abs(given);
  const bool whole = floor(order) == order, odd = order - 2.0 * floor(0.5 * order) == 1.0;
  if (order != order || given != given || (given < 0.0 && !whole)) return nan<double>();
  const double v = whole ? abs(order) : order;
  const bool negated = odd && (given < 0.0) != (alternates && order < 0.0);
  double value;
  if (x == 0.0) {
    value = v == 0.0 ? 1.0 : v > 0.0 ? 0.0 : inf<double>() / gamma(1.0 + v);
  } else if (abs(v) > 5000.0) {
    value = v > 0.0 && x < 0.25 * v ? 0.0 : nan<double>();
  } else if (alternates ? x == inf<double>() : x > 800.0 + abs(v)) {
    value = alternates ? 0.0 : inf<double>();
  } else {
    value = alternates ? bessel_j(v, x) : bessel_series(v, x, 1.0);
  }
  return negated ? -value : value;
}

}  // namespace internal

// J_v(x) and I_v(x).
template <class T>
CT_DEVICE T jv(T v, T x) {
  return T(internal::bessel_of_order<true>(v, x));
}
template <class T>
CT_DEVICE T iv(T v, T x) {
  return T(internal::bessel_of_order<false>(v, x));
}

}  // namespace ct
#endif
