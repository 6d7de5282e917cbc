// Random numbers of generated kernels, by a generator without a state: Philox4x32-10 (Salmon, Moraes, Dror and Shaw
// 2011, Parallel random numbers: as easy as 1, 2, 3) maps a key, the count of earlier draws and the position of an
// element to 128 bits for that element. So an element may be drawn anywhere, in any order, and repeatedly if that costs
// less than storing it. math.cuh and special.cuh come before this text; their rules apply.
//
// Rejection methods put the number of the attempt into the highest bits of the position, which no array reaches, and
// compute in double on every device, so that rounding cannot change a decision.
#ifndef CT_RANDOM
#define CT_RANDOM

namespace ct {

struct RandomBits {
  u64 low, high;
};

CT_DEVICE RandomBits philox(u64 key, u64 count, u64 index) {
  const u64 low = 0xffffffffull;
  word32 a = word32(index & low), b = word32(index >> 32), c = word32(count & low), d = word32(count >> 32);
  word32 k = word32(key & low), l = word32(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    word32 p, q;
    const word32 r = multiply_words(a, 0xd2511f53u, p), s = multiply_words(c, 0xcd9e8d57u, q);
    a = q ^ b ^ k;
    b = s;
    c = p ^ d ^ l;
    d = r;
    k = word32((k + 0x9e3779b9u) & low);
    l = word32((l + 0xbb67ae85u) & low);
  }
  return {u64(a) | (u64(b) << 32), u64(c) | (u64(d) << 32)};
}
CT_DEVICE u64 philox_low(u64 key, u64 count, u64 index) { return philox(key, count, index).low; }
CT_DEVICE u64 philox_high(u64 key, u64 count, u64 index) { return philox(key, count, index).high; }

// (k + 1/2) 2^-23 and (k + 1/2) 2^-52 for the highest bits k: between 0 and 1, neither of which is drawn, and
// symmetric.
CT_DEVICE float unit32(u64 bits) {
  return (float_from_bits(0x3f800000u | u32(bits >> 41)) - 1.0f) + 5.9604644775390625e-08f;
}
CT_DEVICE double unit64(u64 bits) {
  return (double_from_bits(0x3ff0000000000000ull | (bits >> 12)) - 1.0) + 1.1102230246251565e-16;
}

// Standard normal numbers by the method of Box and Muller (1958). The radius of the first is made of the lowest 31
// bits, so that it reaches 6.6, the angle of the highest 23.
CT_DEVICE float normal32(u64 bits) {
  const float u = (float(int(u32(bits) & 0x7fffffffu)) + 0.5f) * 4.656612873077393e-10f;
  return sqrt(-2.0f * log(u)) * internal::cos_pi(2.0f * unit32(bits));
}
CT_DEVICE double normal64(u64 low, u64 high) {
  return sqrt(-2.0 * log(unit64(low))) * internal::cos_pi(2.0 * unit64(high));
}

// A whole number below n, each of them 2^64 / n times but for one more or less.
CT_DEVICE u64 random_below(u64 bits, u64 n) { return multiply_high(bits, n); }

namespace internal {

CT_DEVICE RandomBits attempt(u64 key, u64 count, u64 index, int number) {
  return philox(key, count, index ^ (u64(number) << 48));
}
constexpr int most_attempts = 1000;  // never reached: each succeeds with more than 0.6

}  // namespace internal

// The logarithm of a number of the gamma distribution of that shape and scale 1 (Marsaglia and Tsang 2000). Of small
// shapes the number itself is often below all doubles.
CT_DEVICE double sample_log_gamma(u64 key, u64 count, u64 index, u64 shape_bits) {
  const double shape = double_from_bits(shape_bits);
  if (!(shape > 0.0) || shape == inf<double>())
    return shape == 0.0 ? -inf<double>() : shape > 0.0 ? shape : nan<double>();
  const bool small = shape < 1.0;
  const double d = (small ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  double value = nan<double>();
  for (int i = 0; i < internal::most_attempts; ++i) {
    const RandomBits first = internal::attempt(key, count, index, 2 * i);
    const RandomBits second = internal::attempt(key, count, index, 2 * i + 1);
    const double x = normal64(first.low, first.high), t = 1.0 + c * x, v = t * t * t;
    if (!(v > 0.0) || !(log(unit64(second.low)) < 0.5 * x * x + d * (1.0 - v + log(v)))) continue;
    value = log(d) + log(v);
    if (small) value += log(unit64(second.high)) / shape;
    break;
  }
  return value;
}

// A number of the Poisson distribution. Below a mean of 10 the first whose summed probability exceeds a uniform number;
// above that by transformed rejection (Hoermann 1993, The transformed rejection method for generating Poisson random
// variables: PTRS).
CT_DEVICE double sample_poisson(u64 key, u64 count, u64 index, u64 mean_bits) {
  const double mean = double_from_bits(mean_bits);
  if (!(mean >= 0.0) || mean == inf<double>()) return mean >= 0.0 ? mean : nan<double>();
  if (mean < 10.0) {
    const double u = unit64(philox(key, count, index).low);
    double term = exp(-mean), sum = term, k = 0.0;
    while (u > sum && term > 1e-18) {  // the sum may end an ulp below 1
      k += 1.0;
      term *= mean / k;
      sum += term;
    }
    return k;
  }
  const double log_mean = log(mean), b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), inside = 0.9277 - 3.6224 / (b - 2.0);
  for (int i = 0; i < internal::most_attempts; ++i) {
    const RandomBits bits = internal::attempt(key, count, index, i);
    const double u = unit64(bits.low) - 0.5, v = unit64(bits.high), near = 0.5 - abs(u);
    const double k = floor((2.0 * a / near + b) * u + mean + 0.43);
    if (near >= 0.07 && v <= inside) return k;
    if (k < 0.0 || (near < 0.013 && v > near)) continue;
    if (log(v * inverse_alpha / (a / (near * near) + b)) <= k * log_mean - mean - gammaln(k + 1.0)) return k;
  }
  return nan<double>();
}

// How many of n trials of probability p succeed: as above, the first by summed probabilities, the second by Hoermann's
// transformed rejection for binomial numbers (1993, The generation of binomial random variates: BTRS).
CT_DEVICE double sample_binomial(u64 key, u64 count, u64 index, u64 n_bits, u64 p_bits) {
  const double n = floor(double_from_bits(n_bits)), given = double_from_bits(p_bits);
  if (!(n >= 0.0) || n == inf<double>() || !(given >= 0.0) || given > 1.0) return nan<double>();
  const bool mirrored = given > 0.5;
  const double p = mirrored ? 1.0 - given : given, odds = p / (1.0 - p);
  double k = 0.0;
  if (n * p < 10.0) {
    const double u = unit64(philox(key, count, index).low);
    double term = exp(n * log1p(-p)), sum = term;
    while (u > sum && term > 1e-18) {
      k += 1.0;
      term *= odds * (n - k + 1.0) / k;
      sum += term;
    }
  } else {
    const double deviation = sqrt(n * p * (1.0 - p)), b = 1.15 + 2.53 * deviation;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, centre = n * p + 0.5, inside = 0.92 - 4.2 / b;
    const double alpha = (2.83 + 5.1 / b) * deviation, mode = floor((n + 1.0) * p);
    const double at_mode = gammaln(mode + 1.0) + gammaln(n - mode + 1.0), log_odds = log(odds);
    k = nan<double>();
    for (int i = 0; i < internal::most_attempts; ++i) {
      const RandomBits bits = internal::attempt(key, count, index, i);
      const double u = unit64(bits.low) - 0.5, v = unit64(bits.high), near = 0.5 - abs(u);
      const double at = floor((2.0 * a / near + b) * u + centre);
      const bool surely = near >= 0.07 && v <= inside;
      if (!surely && (at < 0.0 || at > n)) continue;
      if (surely || log(v * alpha / (a / (near * near) + b)) <=
                        at_mode - gammaln(at + 1.0) - gammaln(n - at + 1.0) + (at - mode) * log_odds) {
        k = at;
        break;
      }
    }
  }
  return mirrored ? n - k : k;
}

}  // namespace ct

#endif
