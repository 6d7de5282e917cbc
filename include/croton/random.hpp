// Random numbers as symbolic variables. Every draw has its own state, a shared variable with a key and a count, which
// functions update: so each call of a function gives new numbers, and a draw that is used twice in a function has the
// same numbers in both uses. The bits of an element depend only on key, count and position (Philox4x32-10; Salmon et
// al. 2011): they are the same on every device and for any number of threads, and kernels draw them where they use
// them, so that dropout stores no mask.
#pragma once

#include <croton/shared.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace croton {

/// The shape of a draw, whose sizes may be symbolic: `{n, 3}`, `x.shape()`, `{}` for one number. std::nullopt: the
/// broadcast shape of the parameters.
class DrawShape {
 public:
  DrawShape(std::initializer_list<Operand> sizes) : sizes_(std::vector<Operand>(sizes)) {}
  DrawShape(std::vector<Operand> sizes) : sizes_(std::move(sizes)) {}
  DrawShape(const std::vector<Variable>& sizes) : sizes_(std::vector<Operand>(sizes.begin(), sizes.end())) {}
  DrawShape(std::nullopt_t) {}
  const std::optional<std::vector<Operand>>& sizes() const { return sizes_; }

 private:
  std::optional<std::vector<Operand>> sizes_;
};

/// 64 random bits for each element, from the state of a draw: a vector of uint64, {key, count of draws}. The same state
/// gives the same bits. TypeError for another state, or for sizes that are not integer scalars.
Variable random_bits(Operand state, const DrawShape& shape, Where where = std::source_location::current());

/// Streams of random numbers. Each call of a method makes one draw, the n-th from the n-th key that follows from the
/// seed; a draw's state has a default update (with `FunctionOptions::no_default_updates` it is omitted: the function
/// then gives the same numbers in each call). Copies are the same streams.
///
/// Parameters are numbers or variables that broadcast to the shape (TypeError for a higher rank, or for a size larger
/// than a static size of 1). `dtype` of the result: by default floatX for real numbers, else int64. A draw has
/// gradients with respect to its location and scale parameters, which may be negative; with respect to other parameters
/// the gradient is undefined (NullTypeGradError), or 0 if the draw is a comparison. A shape parameter of gamma or beta,
/// a mean of Poisson, or an n or p of binomial outside its range gives nan, which as an integer is 0. Probabilities of
/// bernoulli (and of binomial with n = 1) are clipped to 0 and 1, and nan counts as 0; negative or nan probabilities of
/// choice and multinomial count as 0.
class RandomStreams {
  // Numbers as default arguments get the caller's line explicitly: in a member function GCC uses the line of the
  // declaration for an implicit conversion.
 public:
  /// Streams with a seed from the operating system.
  RandomStreams(Where where = std::source_location::current());
  explicit RandomStreams(std::uint64_t seed, Where where = std::source_location::current());

  /// Uniform numbers low + (high - low) u, where u is between 0 and 1: an odd multiple of 2^-24 (float64: 2^-53;
  /// float16: 2^-11; bfloat16: 2^-8), so that 0 and 1 are never drawn. With other bounds the result is rounded and may
  /// be a bound, as in NumPy; for float16 and bfloat16 u is then a multiple of 2^-10 and 2^-7, including 0, so that
  /// from 1 to 2 low may be drawn but not high.
  Variable uniform(const DrawShape& shape, Operand low = {0, std::source_location::current()},
                   Operand high = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                   Where where = std::source_location::current());
  /// Normal numbers mean + deviation z, where z is drawn by the method of Box and Muller (1958); |z| is at most 6.6
  /// (float64: 8.6).
  Variable normal(const DrawShape& shape, Operand mean = {0, std::source_location::current()},
                  Operand deviation = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                  Where where = std::source_location::current());
  /// The same with z between -2 and 2: the quantile function of a uniform number.
  Variable truncated_normal(const DrawShape& shape, Operand mean = {0, std::source_location::current()},
                            Operand deviation = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                            Where where = std::source_location::current());
  /// Exponential numbers: scale times a number of density exp(-x).
  Variable exponential(const DrawShape& shape, Operand scale = {1, std::source_location::current()},
                       std::optional<DType> dtype = {}, Where where = std::source_location::current());
  /// Gamma-distributed numbers: scale times a number of density x^(alpha - 1) exp(-x) / gamma(alpha), by Marsaglia and
  /// Tsang's method (2000).
  Variable gamma(const DrawShape& shape, Operand alpha, Operand scale = {1, std::source_location::current()},
                 std::optional<DType> dtype = {}, Where where = std::source_location::current());
  /// Beta-distributed numbers, of density proportional to x^(a - 1) (1 - x)^(b - 1), from two gamma-distributed
  /// numbers.
  Variable beta(const DrawShape& shape, Operand a, Operand b, std::optional<DType> dtype = {},
                Where where = std::source_location::current());

  /// Integers from low to high - 1 with equal probability (up to a relative error of 2^-24); low if high is not above
  /// it (ValueError if that is known, or if the dtype does not hold a bound). Bounds are converted to int64, or to
  /// uint64 if high is uint64 and low is uint64 or a nonnegative number.
  Variable integers(const DrawShape& shape, Operand low, Operand high, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// The same including high, as in Theano and NumPy's older functions.
  Variable random_integers(const DrawShape& shape, Operand low, Operand high, DType dtype = DType::int64,
                           Where where = std::source_location::current());
  /// 1 with probability p, else 0: 1 if a uniform number of p's dtype is below p, so that p is effectively rounded to
  /// steps of 2^-23 (float64: 2^-52).
  Variable bernoulli(const DrawShape& shape, Operand p = {0.5, std::source_location::current()},
                     DType dtype = DType::bool_, Where where = std::source_location::current());
  /// The number of successes in n trials of probability p: by inversion if n min(p, 1 - p) < 10, else by transformed
  /// rejection (Hoermann 1993).
  Variable binomial(const DrawShape& shape, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// Poisson-distributed numbers of mean lambda: by inversion below 10, else by transformed rejection (Hoermann 1993).
  Variable poisson(const DrawShape& shape, Operand lambda = {1, std::source_location::current()},
                   DType dtype = DType::int64, Where where = std::source_location::current());

  /// The counts of the classes along the last axis of pvals in n draws, along the last axis of the result; n is an
  /// integer scalar. Probabilities are divided by their sum. Without a shape there is one result for each row of pvals,
  /// else pvals must broadcast to the shape.
  Variable multinomial(const DrawShape& shape, Operand n, Operand pvals, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  struct ChoiceOptions {
    bool replace = true;
    std::optional<Operand> p = {};  ///< probabilities, a vector, divided by its sum; by default all equal
  };
  /// Random elements of the vector a, or integers below the integer a (0 if there are none; ValueError if that is
  /// known); without replacement no position is drawn twice (ShapeError when called if there are not enough with
  /// probability above 0). The dtype of integers is int64.
  Variable choice(const DrawShape& shape, Operand a, const ChoiceOptions& options,
                  Where where = std::source_location::current());
  Variable choice(const DrawShape& shape, Operand a, Where where = std::source_location::current());
  /// Random permutations of 0 to n - 1 along the last axis, one for each element of the shape.
  Variable permutation(Operand n, const DrawShape& shape = {}, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  /// The elements of each row (along the last axis) of x in random order, independently for each row.
  Variable shuffle_row_elements(Operand x, Where where = std::source_location::current());

  /// Resets all states to those of the seed: functions give the same numbers again as after the construction of the
  /// streams.
  void seed(std::uint64_t seed);
  /// Streams that are independent of these and of those of another number: for devices and replicas.
  RandomStreams independent(std::uint64_t number, Where where = std::source_location::current()) const;
  /// The states of all draws so far as a matrix of uint64 with a row for each, and the reverse. ValueError for a wrong
  /// number of draws.
  Array state() const;
  void set_state(const Array& state);
  /// Each state and its default update, like Theano's state_updates.
  std::vector<std::pair<SharedVariable, Variable>> state_updates() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  class Draw;
};

}  // namespace croton
