// The order of additions and the digits of constants are NumPy's, because the last bit of a product decides whether a
// candidate is accepted.
#include "base/numpy_random.hpp"

#include "base/checked.hpp"
#include "base/index.hpp"
#include "base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace croton::base {
namespace {

constexpr std::size_t position_place = 624, has_spare_place = 625, spare_place = 626;

double real(std::int64_t n) { return static_cast<double>(n); }

/// The largest whole number not above x, if it fits in int64 (so x is not NaN).
std::optional<std::int64_t> floor_of(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(x));
}

/// A mask of ones with as many bits as `largest`.
std::uint64_t ones_of(std::uint64_t largest) {
  return largest == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() >> std::countl_zero(largest);
}

/// W. Kahan's compensated sum (1965).
double compensated_sum(std::span<const double> values) {
  double sum = 0, lost = 0;
  for (const double value : values) {
    const double term = value - lost;
    const double next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

/// The logarithm of gamma(x) for whole x >= 1: Stirling's series for x >= 7, and the recurrence for smaller x. Its
/// coefficients B(2k) / (2k (2k - 1)) have NumPy's digits, which are not always the nearest ones.
double log_gamma(double x) {
  static constexpr double coefficients[] = {8.333333333333333e-02,  -2.777777777777778e-03, 7.936507936507937e-04,
                                            -5.952380952380952e-04, 8.417508417508418e-04,  -1.917526917526918e-03,
                                            6.410256410256410e-03,  -2.955065359477124e-02, 1.796443723688307e-01,
                                            -1.39243221690590e+00};
  constexpr double log_of_two_pi = 1.8378770664093453;
  if (x == 1 || x == 2) return 0;
  const int steps = x < 7 ? static_cast<int>(7 - x) : 0;
  double at = x + steps;
  const double inverse_square = (1 / at) * (1 / at);
  double series = 0;
  for (std::size_t i = std::size(coefficients); i-- > 0;) series = series * inverse_square + coefficients[i];
  double result = series / at + 0.5 * log_of_two_pi + (at - 0.5) * std::log(at) - at;
  for (int i = 0; i < steps; ++i) {
    result -= std::log(at - 1);
    at -= 1;
  }
  return result;
}

/// The error of Stirling's formula for log((x - 1)!).
double stirling_error(double x) {
  const double square = x * x;
  return (13680. - (462. - (132. - (99. - 140. / square) / square) / square) / square) / x / 166320.;
}

/// The difference from 1 that NumPy allows for the sum of probabilities.
double sum_tolerance(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return std::sqrt(0x1p-23);
    case DType::float16:
      return std::sqrt(0x1p-10);
    case DType::bfloat16:
      return std::sqrt(0x1p-7);
    default:
      return 0x1p-26;
  }
}

/// The probabilities of a choice among `population` numbers, as float64, after checks.
Array checked_probabilities(const Array& given, std::int64_t population) {
  if (given.rank() != 1 || given.size() != population) {
    throw ValueError(fmt::format("the probabilities of a choice among {} must have shape ({},), not {}", population,
                                 population, shape_text(given.shape())));
  }
  Array probabilities = given.astype(DType::float64);
  const std::span<const double> values = std::as_const(probabilities).data<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0)) {
      throw ValueError(fmt::format("probability {} of a choice is {}; none may be negative or nan", i, values[i]));
    }
  }
  const double sum = compensated_sum(values);
  if (std::abs(sum - 1) > sum_tolerance(given.dtype())) {
    throw ValueError(fmt::format("the probabilities of a choice add up to {}, not to 1", sum));
  }
  return probabilities;
}

}  // namespace

NumpyRandom::NumpyRandom(std::int64_t seed) {
  if (seed < 0 || seed > std::numeric_limits<std::uint32_t>::max()) {
    throw ValueError(fmt::format("a seed of NumPy's generator is from 0 to 4294967295, not {}", seed));
  }
  seed_words(static_cast<std::uint32_t>(seed));
}

void NumpyRandom::seed_words(std::uint32_t seed) {
  words_[0] = seed;
  for (std::uint32_t i = 1; i < word_count; ++i) {
    words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
}

NumpyRandom::NumpyRandom(std::span<const std::uint32_t> seeds) {
  if (seeds.empty()) throw ValueError("a list of seeds of NumPy's generator must not be empty");
  seed_words(19650218);
  std::uint32_t i = 1;
  const auto mix = [&](std::uint32_t factor) { return words_[i] ^ ((words_[i - 1] ^ (words_[i - 1] >> 30)) * factor); };
  const auto put = [&](std::uint32_t word) {
    words_[i] = word;
    if (++i < word_count) return;
    words_[0] = words_[word_count - 1];
    i = 1;
  };
  for (std::size_t step = 0; step < std::max(word_count, seeds.size()); ++step) {
    const std::size_t seed = step % seeds.size();
    put(mix(1664525) + seeds[seed] + static_cast<std::uint32_t>(seed));
  }
  for (std::size_t step = 1; step < word_count; ++step) put(mix(1566083941) - i);
  words_[0] = 0x80000000;  // for any seeds, some word is not 0
}

Array NumpyRandom::state() const {
  Array state = Array::empty(DType::uint32, {state_size});
  const std::span<std::uint32_t> to = state.data<std::uint32_t>();
  std::ranges::copy(words_, to.begin());
  const auto kept = std::bit_cast<std::uint64_t>(spare_normal_.value_or(0));
  to[position_place] = static_cast<std::uint32_t>(used_);
  to[has_spare_place] = spare_normal_ ? 1 : 0;
  to[spare_place] = static_cast<std::uint32_t>(kept);
  to[spare_place + 1] = static_cast<std::uint32_t>(kept >> 32);
  return state;
}

NumpyRandom NumpyRandom::from_state(const Array& state) {
  const auto refuse = [](const std::string& met) {
    throw ValueError(
        fmt::format("a state of NumPy's generator is uint32 ({},): 624 words that are not all 0, a position of at most "
                    "624, 0 or 1, and two halves of a finite float64; this one {}",
                    state_size, met));
  };
  if (state.dtype() != DType::uint32 || state.shape() != Sizes{state_size}) {
    refuse(fmt::format("is {} {}", name_of(state.dtype()), shape_text(state.shape())));
  }
  const Array host = state.to_host().contiguous();
  const std::span<const std::uint32_t> from = host.data<std::uint32_t>();
  if (from[position_place] > word_count) refuse(fmt::format("has position {}", from[position_place]));
  if (from[has_spare_place] > 1) refuse(fmt::format("has {} where 0 or 1 is expected", from[has_spare_place]));
  const auto kept = std::bit_cast<double>(std::uint64_t{from[spare_place + 1]} << 32 | from[spare_place]);
  if (from[has_spare_place] == 1 && !std::isfinite(kept)) refuse(fmt::format("keeps the normal number {}", kept));
  // The recurrence uses one bit of the first word. From zeros it gives only zeros, and rejection would not end.
  const auto words = from.first(word_count);
  if ((words[0] & 0x80000000) == 0 && std::ranges::all_of(words.subspan(1), [](std::uint32_t w) { return w == 0; })) {
    refuse("has no word that is not 0");
  }
  NumpyRandom random;
  std::ranges::copy(words, random.words_.begin());
  random.used_ = from[position_place];
  if (from[has_spare_place] == 1) random.spare_normal_ = kept;
  return random;
}

void NumpyRandom::refill() {
  constexpr std::size_t distance = 397;
  for (std::size_t i = 0; i < word_count; ++i) {
    const std::uint32_t bits = (words_[i] & 0x80000000) | (words_[(i + 1) % word_count] & 0x7FFFFFFF);
    words_[i] = words_[(i + distance) % word_count] ^ (bits >> 1) ^ ((bits & 1) != 0 ? 0x9908B0DF : 0);
  }
  used_ = 0;
}

std::uint32_t NumpyRandom::next32() {
  if (used_ == word_count) refill();
  std::uint32_t word = words_[used_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9D2C5680;
  word ^= (word << 15) & 0xEFC60000;
  return word ^ (word >> 18);
}

std::uint64_t NumpyRandom::next64() {
  const std::uint64_t upper = next32();
  return upper << 32 | next32();
}

std::uint64_t NumpyRandom::bounded(std::uint64_t largest) {
  if (largest == 0) return 0;
  const std::uint64_t mask = ones_of(largest);
  const bool narrow = largest <= std::numeric_limits<std::uint32_t>::max();
  while (true) {
    const std::uint64_t value = (narrow ? next32() : next64()) & mask;
    if (value <= largest) return value;
  }
}

double NumpyRandom::random_sample() {
  const std::uint32_t upper = next32() >> 5, lower = next32() >> 6;
  return (upper * 0x1p26 + lower) * 0x1p-53;
}

double NumpyRandom::uniform(double low, double high) {
  const double range = high - low;
  if (!std::isfinite(range)) throw ValueError(fmt::format("uniform: the range from {} to {} is not finite", low, high));
  return low + range * random_sample();
}

double NumpyRandom::standard_normal() {
  if (spare_normal_) return *std::exchange(spare_normal_, std::nullopt);
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * random_sample() - 1;
    y = 2 * random_sample() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_normal_ = factor * x;
  return factor * y;
}

double NumpyRandom::normal(double mean, double deviation) {
  if (std::signbit(deviation) && !std::isnan(deviation)) {
    throw ValueError(fmt::format("normal: the standard deviation must not be negative, it is {}", deviation));
  }
  return mean + deviation * standard_normal();
}

NumpyRandom::SmallBinomial::SmallBinomial(std::int64_t trials, double probability, double log_of_q)
    : n(trials), p(probability), log_q(log_of_q), q(1 - p) {
  const double count = real(n);
  none = std::exp(count * log_q);
  const double mean = count * p;
  const double far = mean + 10 * std::sqrt(mean * q + 1);
  bound = count < far ? n : floor_of(far).value_or(std::numeric_limits<std::int64_t>::min());
}

std::int64_t NumpyRandom::small_binomial(std::int64_t n, double p, double log_q) {
  if (!small_binomial_ || small_binomial_->n != n || small_binomial_->p != p || small_binomial_->log_q != log_q) {
    small_binomial_.emplace(n, p, log_q);
  }
  const SmallBinomial& binomial = *small_binomial_;
  std::int64_t successes = 0;
  double probability = binomial.none, rest = random_sample();
  while (rest > probability) {
    if (++successes > binomial.bound) {
      successes = 0;
      probability = binomial.none;
      rest = random_sample();
    } else {
      rest -= probability;
      probability = real(n - successes + 1) * p * probability / (real(successes) * binomial.q);
    }
  }
  return successes;
}

NumpyRandom::LargeBinomial::LargeBinomial(std::int64_t trials, double probability)
    : n(trials), p(probability), q(1 - p) {
  const double mean = real(n) * p;
  variance = mean * q;
  const double peak = mean + p;
  mode = floor_of(peak).value_or(n);
  half_width = std::floor(2.195 * std::sqrt(variance) - 4.6 * q) + 0.5;
  middle = real(mode) + 0.5;
  left = middle - half_width;
  right = middle + half_width;
  c = 0.134 + 20.5 / (15.3 + real(mode));
  const auto rate = [](double a) { return a * (1 + a / 2); };
  left_rate = rate((peak - left) / (peak - left * p));
  right_rate = rate((right - peak) / (right * q));
  triangle = half_width;
  parallelograms = triangle * (1 + 2 * c);
  left_tail = parallelograms + c / left_rate;
  right_tail = left_tail + c / right_rate;
}

/// The probability of `successes` divided by that of the mode, term by term.
double NumpyRandom::LargeBinomial::ratio(std::int64_t successes) const {
  const double s = p / q;
  const double a = s * real(wrapped_add<std::int64_t>(n, 1));
  double ratio = 1;
  for (std::int64_t i = mode + 1; i <= successes; ++i) ratio *= a / real(i) - s;
  for (std::int64_t i = successes + 1; i <= mode; ++i) ratio /= a / real(i) - s;
  return ratio;
}

bool NumpyRandom::LargeBinomial::accepts(std::int64_t successes, double v) const {
  const std::int64_t distance = std::abs(successes - mode);
  const double k = real(distance);
  if (distance <= 20 || k >= variance / 2 - 1) return !(v > ratio(successes));

  // A normal density decides most cases: the logarithm of the ratio is within rho of t.
  const double rho = k / variance * ((k * (k / 3 + 0.625) + 0.16666666666666666) / variance + 0.5);
  const double t = real(wrapped_sub<std::int64_t>(0, wrapped_mul(distance, distance))) / (2 * variance);
  const double log_v = std::log(v);
  if (log_v < t - rho) return true;
  if (log_v > t + rho) return false;

  const double x = real(successes) + 1, f = real(mode) + 1;
  const double z = real(n) + 1 - real(mode);
  const double w = real(n) - real(successes) + 1;
  // The paper subtracts the last two errors; NumPy's frozen stream adds them.
  return !(log_v > middle * std::log(f / x) + (real(n - mode) + 0.5) * std::log(z / w) +
                       real(successes - mode) * std::log(w * p / (x * q)) + stirling_error(f) + stirling_error(z) +
                       stirling_error(x) + stirling_error(w));
}

std::int64_t NumpyRandom::large_binomial(std::int64_t n, double p) {
  if (!large_binomial_ || large_binomial_->n != n || large_binomial_->p != p) large_binomial_.emplace(n, p);
  const LargeBinomial& binomial = *large_binomial_;
  while (true) {
    const double u = random_sample() * binomial.right_tail;
    double v = random_sample();
    std::optional<std::int64_t> successes;
    if (u <= binomial.triangle) {  // the triangle is wholly below the density
      return floor_of(binomial.middle - binomial.half_width * v + u).value_or(binomial.mode);
    }
    if (u <= binomial.parallelograms) {
      const double x = binomial.left + (u - binomial.triangle) / binomial.c;
      v = v * binomial.c + 1 - std::abs(real(binomial.mode) - x + 0.5) / binomial.half_width;
      if (v > 1) continue;
      successes = floor_of(x);
    } else if (u <= binomial.left_tail) {
      successes = floor_of(binomial.left + std::log(v) / binomial.left_rate);
      v = v * (u - binomial.parallelograms) * binomial.left_rate;
    } else {
      successes = floor_of(binomial.right - std::log(v) / binomial.right_rate);
      v = v * (u - binomial.left_tail) * binomial.right_rate;
    }
    // If v was 0, a tail gives an infinity, and there is no number.
    if (!successes || *successes < 0 || *successes > n) continue;
    if (binomial.accepts(*successes, v)) return *successes;
  }
}

std::int64_t NumpyRandom::binomial(std::int64_t n, double p) {
  if (n < 0 || !(p >= 0 && p <= 1)) {
    throw ValueError(fmt::format("binomial takes n >= 0 and p from 0 to 1, not n = {}, p = {}", n, p));
  }
  const bool rare = p <= 0.5;
  const double small = rare ? p : 1 - p;
  const bool few = small * real(n) <= 30;
  const std::int64_t drawn = few ? small_binomial(n, small, std::log(1 - small)) : large_binomial(n, small);
  return rare ? drawn : n - drawn;
}

/// As binomial, but a draw that is certainly 0 takes no number of the stream, the logarithm is exact for small p, and p
/// may be above 1 by rounding.
std::int64_t NumpyRandom::binomial_of_class(std::int64_t n, double p) {
  if (n == 0 || p == 0) return 0;
  const bool rare = p <= 0.5;
  const double small = rare ? p : 1 - p;
  const bool few = small * real(n) <= 30;
  const std::int64_t drawn = few ? small_binomial(n, small, std::log1p(-small)) : large_binomial(n, small);
  return rare ? drawn : n - drawn;
}

std::int64_t NumpyRandom::poisson_by_products(double lambda) {
  const double least = std::exp(-lambda);
  double product = random_sample();
  std::int64_t events = 0;
  for (; product > least; ++events) product *= random_sample();
  return events;
}

std::int64_t NumpyRandom::poisson_by_rejection(double lambda) {
  const double log_lambda = std::log(lambda);
  const double b = 0.931 + 2.53 * std::sqrt(lambda);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double always = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = random_sample() - 0.5;
    const double v = random_sample();
    const double s = 0.5 - std::abs(u);
    const std::optional<std::int64_t> events = floor_of((2 * a / s + b) * u + lambda + 0.43);
    if (!events) continue;
    if (s >= 0.07 && v <= always) return *events;
    if (*events < 0 || (s < 0.013 && v > s)) continue;
    const double k = real(*events);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (s * s) + b) <=
        -lambda + k * log_lambda - log_gamma(k + 1)) {
      return *events;
    }
  }
}

std::int64_t NumpyRandom::poisson(double lambda) {
  constexpr double largest = 0x1p63 - 10 * 3037000499.97605;  // ten deviations below the largest int64
  if (!(lambda >= 0 && lambda <= largest)) {
    throw ValueError(fmt::format("poisson takes lambda from 0 to {}, not {}", largest, lambda));
  }
  if (lambda == 0) return 0;
  return lambda < 10 ? poisson_by_products(lambda) : poisson_by_rejection(lambda);
}

std::int64_t NumpyRandom::randint(std::int64_t low, std::int64_t high) {
  if (low >= high) throw ValueError(fmt::format("randint: low must be less than high, they are {} and {}", low, high));
  return random_integers(low, high - 1);
}

std::int64_t NumpyRandom::random_integers(std::int64_t low, std::int64_t high) {
  if (low > high) {
    throw ValueError(fmt::format("random_integers: low must not be above high, they are {} and {}", low, high));
  }
  const auto first = static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(first + bounded(static_cast<std::uint64_t>(high) - first));
}

Array NumpyRandom::multinomial(std::int64_t n, std::span<const double> probabilities) {
  if (n < 0) throw ValueError(fmt::format("multinomial takes n >= 0, not {}", n));
  for (const double p : probabilities) {
    if (!(p >= 0 && p <= 1)) throw ValueError(fmt::format("multinomial takes probabilities from 0 to 1, not {}", p));
  }
  Array result = Array::zeros(DType::int64, {std::ssize(probabilities)});
  if (probabilities.empty()) return result;
  const std::span<const double> drawn = probabilities.first(probabilities.size() - 1);
  if (const double sum = compensated_sum(drawn); sum > 1.0 + 1e-12) {
    throw ValueError(fmt::format("multinomial: the probabilities but the last add up to {}, more than 1", sum));
  }
  const std::span<std::int64_t> counts = result.data<std::int64_t>();
  double remaining = 1;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    counts[i] = binomial_of_class(n, drawn[i] / remaining);
    n -= counts[i];
    if (n <= 0) return result;
    remaining -= drawn[i];
  }
  counts.back() = n;
  return result;
}

void NumpyRandom::draw_by_weights(std::span<const double> weights, std::span<std::int64_t> to) {
  std::vector<double> cumulated(weights.size());
  std::partial_sum(weights.begin(), weights.end(), cumulated.begin());
  const double sum = cumulated.back();
  for (double& value : cumulated) value /= sum;
  for (std::int64_t& number : to) number = std::ranges::upper_bound(cumulated, random_sample()) - cumulated.begin();
}

/// Each round draws all missing numbers at once and keeps the first of equal numbers; the numbers that were drawn have
/// weight 0 in the next round.
void NumpyRandom::draw_different(std::span<double> weights, std::span<std::int64_t> to) {
  std::vector<bool> taken(weights.size());
  while (!to.empty()) {
    std::vector<std::int64_t> numbers(to.size());
    draw_by_weights(weights, numbers);
    std::size_t found = 0;
    for (const std::int64_t number : numbers) {
      const std::size_t place = to_size(number);
      if (taken[place]) continue;
      taken[place] = true;
      weights[place] = 0;
      to[found++] = number;
    }
    to = to.subspan(found);
  }
}

Array NumpyRandom::choice(std::int64_t population, std::int64_t count, bool replace,
                          const std::optional<Array>& probabilities) {
  if (population < 0 || (population == 0 && count != 0)) {
    throw ValueError(fmt::format("a choice of {} among {} numbers", count, population));
  }
  if (!replace && count > population) {
    throw ValueError(fmt::format("a choice of {} among {} numbers needs replacement", count, population));
  }
  Array result = Array::empty(DType::int64, {count});
  const std::span<std::int64_t> to = result.data<std::int64_t>();
  if (probabilities) {
    Array weights = checked_probabilities(*probabilities, population);
    const std::span<double> values = weights.data<double>();
    const auto possible = std::ranges::count_if(values, [](double p) { return p > 0; });
    if (!replace && possible < count) {
      throw ValueError(
          fmt::format("a choice of {} different numbers, but only {} have a probability above 0", count, possible));
    }
    if (replace) {
      draw_by_weights(values, to);
    } else {
      draw_different(values, to);
    }
  } else if (replace) {
    for (std::int64_t& number : to) number = randint(0, population);
  } else {
    result.copy_from(permutation(population).slice(0, 0, count));
  }
  return result;
}

Array NumpyRandom::permutation(std::int64_t n) {
  Array numbers = Array::empty(DType::int64, {n});
  const std::span<std::int64_t> values = numbers.data<std::int64_t>();
  std::iota(values.begin(), values.end(), std::int64_t{0});
  shuffle(values);
  return numbers;
}

}  // namespace croton::base
