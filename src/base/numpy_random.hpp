// The random numbers of NumPy's RandomState (numpy.random.seed and the functions that use it), bit for bit, so that
// programs written for it, or for Theano's RandomStreams, which use it, draw the same numbers. Every draw advances one
// state, so it is sequential and for the host.
//
// The bits are those of NumPy 2.4 on x86-64. NumPy keeps them from release to release (NEP 19), with one exception: in
// multinomial, a class of probability 0, or n = 0, takes no number of the stream from 1.17 to 2.4; it takes one in
// other releases. Normal, binomial and Poisson numbers depend on the C library's log and exp, as NumPy's do.
//
// Sources: M. Matsumoto and T. Nishimura, Mersenne Twister (1998), with their seeding of 2002; 53-bit numbers by Isaku
// Wada's combination of two draws; G. Marsaglia's polar method (1964); V. Kachitvichyanukul and B. Schmeiser, Binomial
// random variate generation (1988); W. Hoermann, The transformed rejection method for generating Poisson random
// variables (1993); R. Durstenfeld's shuffle (1964).
#pragma once

#include <croton/array.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace croton::base {

class NumpyRandom {
 public:
  /// RandomState(seed). ValueError unless it is from 0 to 2^32 - 1.
  explicit NumpyRandom(std::int64_t seed);
  /// RandomState([...]); a list of one seed does not give the same generator as the number. ValueError for an
  /// empty list.
  explicit NumpyRandom(std::span<const std::uint32_t> seeds);

  /// The size of state(): the 624 words of the generator, the number of used words (0 to 624), 1 if a normal number is
  /// kept for the next call and 0 if not, and that number as the lower and the upper half of its 64 bits.
  static constexpr std::int64_t state_size = 628;
  Array state() const;  ///< uint32 (628)
  /// A generator that continues from a state. ValueError, which describes valid states, unless state() may have
  /// returned it.
  static NumpyRandom from_state(const Array& state);

  /// Uniform in [0, 1), a multiple of 2^-53.
  double random_sample();
  /// low + (high - low) random_sample(). ValueError unless the difference is finite.
  double uniform(double low = 0, double high = 1);
  /// Numbers come in pairs: the second is kept for the next call, even if other numbers are drawn in between.
  double standard_normal();
  /// mean + deviation standard_normal(). ValueError for a deviation of negative sign (-0 too).
  double normal(double mean = 0, double deviation = 1);
  /// ValueError unless n >= 0 and 0 <= p <= 1.
  std::int64_t binomial(std::int64_t n, double p);
  /// ValueError unless lambda is from 0 to about 2^63 - 3e10.
  std::int64_t poisson(double lambda = 1);
  /// From low to high - 1; takes nothing from the stream if there is only one such number. ValueError if there is none.
  std::int64_t randint(std::int64_t low, std::int64_t high);
  /// From low to high. ValueError if there is no such number.
  std::int64_t random_integers(std::int64_t low, std::int64_t high);

  /// The number of draws of each class in n draws: int64, one for each probability. ValueError unless n >= 0, each is
  /// from 0 to 1, and the sum of all but the last is at most 1 (the last class has the remaining probability).
  Array multinomial(std::int64_t n, std::span<const double> probabilities);
  /// `count` of the numbers 0 to population - 1 as int64: by their probabilities (a vector of `population`, of any real
  /// dtype) or uniformly; without `replace` no number twice. ValueError if that is impossible, or if the sum of the
  /// probabilities differs from 1 by more than the square root of their dtype's precision.
  Array choice(std::int64_t population, std::int64_t count, bool replace = true,
               const std::optional<Array>& probabilities = {});
  /// The numbers 0 to n - 1 in random order, int64. ShapeError if n is negative.
  Array permutation(std::int64_t n);
  /// Permutes the elements randomly.
  template <class T>
  void shuffle(std::span<T> elements) {
    for (std::size_t i = elements.size(); i-- > 1;) std::swap(elements[i], elements[bounded(i)]);
  }

 private:
  static constexpr std::size_t word_count = 624;

  /// The numbers that inversion needs of a binomial distribution with a small mean.
  struct SmallBinomial {
    SmallBinomial(std::int64_t n, double p, double log_q);
    std::int64_t n;
    double p, log_q;
    double q, none;      ///< 1 - p, and the probability that no trial succeeds
    std::int64_t bound;  ///< numbers above it are drawn again
  };
  /// The numbers that algorithm BTPE needs of one with a large mean. Its hat function has a triangle, parallelograms
  /// next to it, and an exponential tail on each side; the last four numbers are their cumulated areas.
  struct LargeBinomial {
    LargeBinomial(std::int64_t n, double p);
    bool accepts(std::int64_t successes, double v) const;
    double ratio(std::int64_t successes) const;
    std::int64_t n;
    double p, q, variance;
    std::int64_t mode;
    double half_width, middle, left, right, c, left_rate, right_rate;
    double triangle, parallelograms, left_tail, right_tail;
  };

  NumpyRandom() = default;
  void seed_words(std::uint32_t seed);
  void refill();
  std::uint32_t next32();
  std::uint64_t next64();
  std::uint64_t bounded(std::uint64_t largest);  ///< from 0 to it
  std::int64_t small_binomial(std::int64_t n, double p, double log_q);
  std::int64_t large_binomial(std::int64_t n, double p);
  std::int64_t binomial_of_class(std::int64_t n, double p);
  std::int64_t poisson_by_products(double lambda);
  std::int64_t poisson_by_rejection(double lambda);
  void draw_by_weights(std::span<const double> weights, std::span<std::int64_t> to);
  void draw_different(std::span<double> weights, std::span<std::int64_t> to);

  std::array<std::uint32_t, word_count> words_{};
  std::size_t used_ = word_count;
  std::optional<double> spare_normal_;           // the second number of a normal pair
  std::optional<SmallBinomial> small_binomial_;  // of the last call: arrays often have the same parameters
  std::optional<LargeBinomial> large_binomial_;
};

}  // namespace croton::base
