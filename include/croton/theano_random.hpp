// The random streams of Theano, for programs and results that are to be repeated number by number. Both draw one number
// after the other, so they draw on the host, and what they give is sent to where it is used. For anything new
// `RandomStreams` (random.hpp) is the better choice: it draws in the kernels that use the numbers.
//
// What they share with it: each call of a method is one draw with a state of its own, a shared variable that functions
// update. So a draw that is used twice in a function is the same numbers twice, each call gives others,
// `FunctionOptions::no_default_updates` makes a function repeat itself, and draws may stand in the step of a scan.
// Sizes and parameters may be symbolic; a size is an integer scalar (TypeError). A dtype is that of the result.
//
// Mistakes that show when a function is called (a size below 0, a probability above 1) raise ValueError with the draw,
// its line, what was met and what is taken; nothing has changed then, states included.
#pragma once

#include <croton/random.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace croton {

/// Theano's `theano.sandbox.rng_mrg.MRG_RandomStreams`: the same numbers for the same seed and the same calls.
///
/// The generator is MRG31k3p (L'Ecuyer and Touzin 2000). Each draw has a number of streams of its own, 2^72 numbers
/// apart, the rows of its state: int32 (streams, 6). Element i, in C order, comes from stream i mod their number. A
/// method takes their number as `streams`; else it is Theano's `guess_n_streams`: of a shape of numbers alone one for
/// each six elements, but at most 15360; 15360 where a size is symbolic. It decides which numbers are drawn. A size
/// that is known when the draw is made counts as a number even where Theano would have had to look at an array.
///
/// What moves and scales numbers is never fused into one rounding, as it is in Theano where its compiler has
/// instructions for that: there the last bit of low + (high - low) u and of avg + std z depends on the processor.
///
/// Every method raises ValueError for a size that is known to be below 1, as Theano does (a symbolic one may be 0), for
/// more than 2^31 - 1 elements, and for a number of streams that is not from 1 to 2^31 - 1. Copies are the same
/// streams.
class MrgRandomStreams {
 public:  // for default arguments see RandomStreams
  /// ValueError unless the seed is from 1 to 2^31 - 21070.
  explicit MrgRandomStreams(std::int64_t seed = 12345);
  /// The last three numbers of each of the two recurrences. ValueError unless there are six, the first three from 0 to
  /// 2^31 - 2, the others from 0 to 2^31 - 21070, and neither three all 0.
  explicit MrgRandomStreams(const std::vector<std::int64_t>& seed);

  /// u (high - low) + low, u being between 0 and 1 (never either), all in `dtype`: floatX, or what low or high makes of
  /// it; float16, float32 or float64 (else TypeError). Gradients go to low and high. NotImplementedError where they
  /// would broadcast the result beyond the shape.
  Variable uniform(const DrawShape& shape, Operand low = {0.0, std::source_location::current()},
                   Operand high = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                   std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// z std + avg, z by the method of Box and Muller (1958) with the C library's log, cos and sin, as Theano's C code
  /// has it. dtype as of uniform; of float16 the numbers are computed in float32. Gradients go to avg and std.
  /// Without `streams` there are always 15360.
  Variable normal(const DrawShape& shape, Operand avg = {0.0, std::source_location::current()},
                  Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                  std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// The same with each z beyond -2 and 2 drawn again, and std divided by 0.8796..., so that it is the deviation of
  /// what is drawn. It has two states, in the order in which Theano makes them.
  Variable truncated_normal(const DrawShape& shape, Operand avg = {0.0, std::source_location::current()},
                            Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                            std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// 1 where a uniform number of floatX is below p, else 0. NotImplementedError unless n is the number 1, as in Theano.
  /// The gradient by p is 0, as that of every comparison.
  Variable binomial(const DrawShape& shape, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// How often each class, a column of pvals, came up in n draws, for each row of pvals: a matrix of floats
  /// (NotImplementedError for other ranks, TypeError for other dtypes); n is an integer scalar. Probabilities are
  /// not checked: a draw above the sum of a row counts for no class. No gradient is defined.
  Variable multinomial(Operand pvals, Operand n = {1, std::source_location::current()}, DType dtype = DType::int64,
                       std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// `size` different columns of each row of p, by their probabilities: (rows, size). Theano's choice(size, a=None,
  /// replace=False, p). NotImplementedError for p that is no matrix; when called ValueError for more than there are
  /// columns, or where a draw finds no column because what is left of the row adds up to less (Theano leaves that
  /// element undefined). No gradient is defined.
  Variable choice(Operand size, Operand p, DType dtype = DType::int64, std::optional<std::int64_t> streams = {},
                  Where where = std::source_location::current());
  /// Theano's older name of choice.
  Variable multinomial_wo_replacement(Operand pvals, Operand n = {1, std::source_location::current()},
                                      DType dtype = DType::int64, std::optional<std::int64_t> streams = {},
                                      Where where = std::source_location::current());

  /// Sets the states of all draws to what they are for a new object of this seed, in the order in which they were made;
  /// without a seed, of that of the constructor. Later draws go on from there.
  void seed();
  void seed(std::int64_t seed);
  void seed(const std::vector<std::int64_t>& seed);

  /// The states of all draws so far, one below the other: int32 (streams of all, 6); and back. ValueError if they are
  /// not those of as many streams.
  Array state() const;
  void set_state(const Array& state);
  /// Each state and its default update, as Theano's state_updates.
  std::vector<std::pair<SharedVariable, Variable>> state_updates() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  class Draw;
};

/// Theano's `theano.tensor.shared_randomstreams.RandomStreams`: the numbers of NumPy's legacy generator,
/// `numpy.random.RandomState`, in Theano's order. The n-th draw's state is that of `RandomState(k)`, k being the n-th
/// `randint(2**30)` of `RandomState(seed)`; a call of a function moves it on by what it draws.
///
/// Elements are drawn in C order. Parameters broadcast to the shape as NumPy's do when the function is called (an axis
/// of size 1 is repeated even where that is not known before), in double precision; a parameter of more dimensions than
/// the shape is a ValueError. A size may be the number -1: then it is that of the parameters. Without a shape
/// (std::nullopt) it is that of the parameters, all of them. No gradient by a parameter is defined
/// (NullTypeGradError). Results are rounded once to a float dtype, and truncated to an integer one. Copies are the same
/// streams.
///
/// The bits are those of NumPy 2.4; docs/use/random.md says where releases of NumPy differ.
class NumpyRandomStreams {
 public:
  /// Of a seed of the operating system's.
  NumpyRandomStreams();
  /// ValueError unless the seed is from 0 to 2^32 - 1.
  explicit NumpyRandomStreams(std::int64_t seed);

  /// From low to high. dtype: floatX, or what low or high makes of it. ValueError when called unless high - low is
  /// finite.
  Variable uniform(const DrawShape& shape = std::nullopt, Operand low = {0.0, std::source_location::current()},
                   Operand high = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                   Where where = std::source_location::current());
  /// By the polar method (Marsaglia 1964), in pairs: the second number of one is kept in the state for the next call.
  /// ValueError when called for a std of negative sign.
  Variable normal(const DrawShape& shape = std::nullopt, Operand avg = {0.0, std::source_location::current()},
                  Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                  Where where = std::source_location::current());
  /// How many of n trials of probability p succeed; n is an integer (TypeError). ValueError when called unless n >= 0
  /// and 0 <= p <= 1.
  Variable binomial(const DrawShape& shape = std::nullopt, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// From low to high, both included; both are integers (TypeError). ValueError when called where low is above high.
  /// Above 2^53 numbers are rounded to float64, as Theano's are.
  Variable random_integers(const DrawShape& shape = std::nullopt, Operand low = {0, std::source_location::current()},
                           Operand high = {1, std::source_location::current()}, DType dtype = DType::int64,
                           Where where = std::source_location::current());
  struct ChoiceOptions {
    Operand replace = {true, Where()};  ///< whether one may be chosen twice: a scalar, which may be symbolic
    std::optional<Operand> p = {};      ///< the probability of each, a vector; all alike without it, or if it is empty
  };
  /// Elements of the vector a, converted to `dtype`, or whole numbers below the integer a. TypeError without a shape.
  /// ValueError when called where there are too few to choose from or p is no distribution over them.
  Variable choice(const DrawShape& shape, Operand a, const ChoiceOptions& options, DType dtype = DType::int64,
                  Where where = std::source_location::current());
  Variable choice(const DrawShape& shape, Operand a = {2, std::source_location::current()}, DType dtype = DType::int64,
                  Where where = std::source_location::current());
  /// Of mean lam. TypeError without a shape; ValueError when called unless lam is from 0 to about 2^63 - 3e10.
  Variable poisson(const DrawShape& shape, Operand lam, DType dtype = DType::int64,
                   Where where = std::source_location::current());
  /// 0 to n - 1 in random order along a last axis, one such row for each element of the shape (without a shape one
  /// alone); n is an integer scalar.
  Variable permutation(const DrawShape& shape = {}, Operand n = {1, std::source_location::current()},
                       DType dtype = DType::int64, Where where = std::source_location::current());
  /// How often each of the classes along the last axis of pvals, which are floats, came up in n draws: a last axis of
  /// the result. Theano's correction is done too: a row whose sum is above 1 by less than 1e-5, or whose last
  /// probability is below 5e-5, is multiplied by 1 - 5e-5. When called, AssertionError for a negative probability or a
  /// row that adds up to more than 1, ValueError for negative n.
  Variable multinomial(const DrawShape& shape = std::nullopt, Operand n = {1, std::source_location::current()},
                       Operand pvals = {Array{0.5, 0.5}, std::source_location::current()}, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  /// What shuffle_row_elements gives; used as a variable it is the shuffled one.
  struct Shuffled {
    Variable result, permutation;
    operator const Variable&() const { return result; }
  };
  /// The elements of each row of x, along the last axis, in the order of a permutation of its own.
  Shuffled shuffle_row_elements(Operand x, Where where = std::source_location::current());

  /// Gives all draws new states, in the order in which they were made, those of a new object of this seed; without a
  /// seed, of that of the constructor. Later draws go on as if nothing had been: that is Theano's rule here.
  void seed();
  void seed(std::int64_t seed);

  /// The states of all draws so far: uint32 (draws, 628), a row being the 624 words of the generator, how many of them
  /// are used up, whether a normal number is kept, and the two halves of its 64 bits; and back. ValueError if there are
  /// not as many draws.
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
