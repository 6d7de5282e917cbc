// Random numbers as symbolic variables. Every draw has a state of its own, a shared variable of a key and a count,
// which functions update: so a function gives new numbers at each call, and a draw that is used twice in one is the
// same numbers twice. An element's bits follow from key, count and position alone (Philox4x32-10; Salmon et al. 2011):
// they are the same on every device and for any number of threads, and kernels draw them where they use them, so that a
// dropout writes no mask.
#pragma once

#include <croton/shared.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace croton {

/// The sizes of what is drawn, which may be symbolic: `{n, 3}`, `x.shape()`, `{}` for one number. std::nullopt: the
/// shape of the parameters, broadcast.
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

/// 64 random bits for each element, from a state as draws have it: a vector of uint64, {key, count of draws}. The same
/// state gives the same bits. TypeError for another state, or for sizes that are no integer scalars.
Variable random_bits(Operand state, const DrawShape& shape, Where where = std::source_location::current());

/// Streams of random numbers. Each call of a method makes one draw, the n-th from the n-th key that follows from the
/// seed; a draw's state has a default update (`FunctionOptions::no_default_updates` leaves it out: the function then
/// repeats itself). Copies are the same streams.
///
/// Parameters are numbers or variables that broadcast to the shape (TypeError for one of more dimensions, or wider than
/// a stated size of 1). `dtype` of the result: floatX where numbers are real, else int64. What is drawn is
/// differentiable by the parameters that move and scale it, which may be negative; by others it has no gradient
/// (NullTypeGradError), or 0 where it is a comparison. A shape of gamma or beta, a mean of Poisson, an n or p of
/// binomial outside its range gives nan, which as an integer is 0. Probabilities of bernoulli (and of binomial, n being
/// the number 1) beyond 0 and 1 are taken for these, nan for 0; those of choice and multinomial that are negative or
/// nan for 0.
class RandomStreams {
  // Numbers among default arguments are given the caller's line: GCC takes for that of a conversion, in a member
  // function, the line of the declaration.
 public:
  /// Of a seed of the operating system's.
  RandomStreams(Where where = std::source_location::current());
  explicit RandomStreams(std::uint64_t seed, Where where = std::source_location::current());

  /// low + (high - low) u, u being between 0 and 1: an odd multiple of 2^-24 (float64: 2^-53; float16: 2^-11; bfloat16:
  /// 2^-8), so that 0 and 1 are never drawn. Between other bounds the result is rounded, which may make it one of them,
  /// as in NumPy; of float16 and bfloat16 u is then a multiple of 2^-10 and 2^-7, 0 among them, so that from 1 to 2 low
  /// is drawn and high is not.
  Variable uniform(const DrawShape& shape, Operand low = {0, std::source_location::current()},
                   Operand high = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                   Where where = std::source_location::current());
  /// mean + deviation z, z by the method of Box and Muller (1958); |z| is at most 6.6 (float64: 8.6).
  Variable normal(const DrawShape& shape, Operand mean = {0, std::source_location::current()},
                  Operand deviation = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                  Where where = std::source_location::current());
  /// The same, z being between -2 and 2: the quantile function of a uniform number.
  Variable truncated_normal(const DrawShape& shape, Operand mean = {0, std::source_location::current()},
                            Operand deviation = {1, std::source_location::current()}, std::optional<DType> dtype = {},
                            Where where = std::source_location::current());
  /// scale times a number of density exp(-x).
  Variable exponential(const DrawShape& shape, Operand scale = {1, std::source_location::current()},
                       std::optional<DType> dtype = {}, Where where = std::source_location::current());
  /// scale times a number of density x^(alpha - 1) exp(-x) / gamma(alpha), by Marsaglia and Tsang's method (2000).
  Variable gamma(const DrawShape& shape, Operand alpha, Operand scale = {1, std::source_location::current()},
                 std::optional<DType> dtype = {}, Where where = std::source_location::current());
  /// A number of density proportional to x^(a - 1) (1 - x)^(b - 1), from two of the gamma distribution.
  Variable beta(const DrawShape& shape, Operand a, Operand b, std::optional<DType> dtype = {},
                Where where = std::source_location::current());

  /// Whole numbers, each from low to high - 1 alike (but for 2^-24 of its share); low where high is not above it
  /// (ValueError where that is known, or that the dtype does not hold a bound). Bounds are taken as int64, or as uint64
  /// where high is one and low is one too, or a number that is not negative.
  Variable integers(const DrawShape& shape, Operand low, Operand high, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// The same with high among them, as Theano and NumPy's older functions have it.
  Variable random_integers(const DrawShape& shape, Operand low, Operand high, DType dtype = DType::int64,
                           Where where = std::source_location::current());
  /// 1 with probability p, else 0: where a uniform number of p's dtype is below p, so that p counts in steps of 2^-23
  /// (float64: 2^-52).
  Variable bernoulli(const DrawShape& shape, Operand p = {0.5, std::source_location::current()},
                     DType dtype = DType::bool_, Where where = std::source_location::current());
  /// How many of n trials of probability p succeed: inverted where n min(p, 1 - p) < 10, else by transformed rejection
  /// (Hoermann 1993).
  Variable binomial(const DrawShape& shape, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// Of mean lambda: inverted below 10, else by transformed rejection (Hoermann 1993).
  Variable poisson(const DrawShape& shape, Operand lambda = {1, std::source_location::current()},
                   DType dtype = DType::int64, Where where = std::source_location::current());

  /// How often each of the classes along the last axis of pvals comes up in n draws, which is the last axis of the
  /// result; n is an integer scalar. Probabilities are divided by their sum. Without a shape one result for each row of
  /// pvals, else pvals must broadcast to the shape.
  Variable multinomial(const DrawShape& shape, Operand n, Operand pvals, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  struct ChoiceOptions {
    bool replace = true;
    std::optional<Operand> p = {};  ///< of each, a vector, divided by its sum; without it all alike
  };
  /// Elements of the vector a, or whole numbers below the integer a (0 if there are none; ValueError where that is
  /// known); without replacement no position twice (ShapeError when called if there are not enough, of probabilities
  /// above 0). The dtype of whole numbers is int64.
  Variable choice(const DrawShape& shape, Operand a, const ChoiceOptions& options,
                  Where where = std::source_location::current());
  Variable choice(const DrawShape& shape, Operand a, Where where = std::source_location::current());
  /// 0 to n - 1 in random order along the last axis, one such row for each element of the shape.
  Variable permutation(Operand n, const DrawShape& shape = {}, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  /// The elements of each row (along the last axis) of x in random order, each row in one of its own.
  Variable shuffle_row_elements(Operand x, Where where = std::source_location::current());

  /// Sets all states to those of the seed: functions give again what they gave after the streams were made.
  void seed(std::uint64_t seed);
  /// Streams that share nothing with these or with those of another number: for devices and replicas.
  RandomStreams independent(std::uint64_t number, Where where = std::source_location::current()) const;
  /// The states of all draws so far as a matrix of uint64 with a row for each, and back. ValueError if there are not as
  /// many draws.
  Array state() const;
  void set_state(const Array& state);
  /// Each state and its default update, as Theano's state_updates.
  std::vector<std::pair<SharedVariable, Variable>> state_updates() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  class Draw;
};

}  // namespace croton
