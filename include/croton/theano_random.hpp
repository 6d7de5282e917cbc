// The random streams of Theano, for programs and results that must be reproduced number by number. Both generators are
// sequential, so they draw on the host, and the numbers are sent to where they are used. For new programs use
// `RandomStreams` (random.hpp), which draws in the kernels that use the numbers.
//
// As in RandomStreams, each call of a method is one draw with its own state, a shared variable that functions update.
// So a draw that is used twice in a function has the same numbers in both uses, each call gives new numbers, with
// `FunctionOptions::no_default_updates` each call gives the same numbers, and draws may be in the step of a scan. Sizes
// and parameters may be symbolic; a size is an integer scalar (TypeError). `dtype` is that of the result.
//
// Errors found in a call of a function (a size below 0, a probability above 1) raise ValueError with the draw, its
// line, the value and the accepted values; nothing is changed then, including states.
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
/// The generator is MRG31k3p (L'Ecuyer and Touzin 2000). Each draw has its own streams, 2^72 numbers apart, the rows of
/// its state: int32 (streams, 6). Element i, in C order, comes from stream i mod the stream count. The argument
/// `streams` gives the count; by default it is Theano's `guess_n_streams`: for a shape of numbers one for each six
/// elements, but at most 15360; 15360 if a size is symbolic. The numbers depend on the count. A size that is known when
/// the draw is made counts as a number, even if Theano would have to evaluate an array to know it.
///
/// Location and scale are never applied by a fused multiply-add, as Theano does if its compiler has the instruction:
/// there the last bit of low + (high - low) u and of avg + std z depends on the processor.
///
/// Every method raises ValueError for a size that is known to be below 1, as in Theano (a symbolic one may be 0), for
/// more than 2^31 - 1 elements, and for a stream count outside 1 to 2^31 - 1. Copies are the same streams.
class MrgRandomStreams {
 public:  // for default arguments see RandomStreams
  /// Streams with this seed. ValueError unless it is from 1 to 2^31 - 21070.
  explicit MrgRandomStreams(std::int64_t seed = 12345);
  /// Streams from the last three numbers of each of the two recurrences. ValueError unless there are six, the first
  /// three from 0 to 2^31 - 2, the others from 0 to 2^31 - 21070, and neither three all 0.
  explicit MrgRandomStreams(const std::vector<std::int64_t>& seed);

  /// Uniform numbers u (high - low) + low, where u is between 0 and 1 (never either), all in `dtype`: by default the
  /// promoted dtype of floatX, low and high; float16, float32 or float64 (else TypeError). It has gradients with
  /// respect to low and high. NotImplementedError if they would broadcast the result beyond the shape.
  Variable uniform(const DrawShape& shape, Operand low = {0.0, std::source_location::current()},
                   Operand high = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                   std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// Normal numbers z std + avg, where z is drawn by the method of Box and Muller (1958) with the C library's log, cos
  /// and sin, as in Theano's C code. dtype as in uniform; float16 numbers are computed in float32. It has gradients
  /// with respect to avg and std. The default of `streams` is always 15360.
  Variable normal(const DrawShape& shape, Operand avg = {0.0, std::source_location::current()},
                  Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                  std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// The same with each z beyond -2 and 2 drawn again, and std divided by 0.8796..., so that it is the deviation of the
  /// result. It has two states, in the order in which Theano makes them.
  Variable truncated_normal(const DrawShape& shape, Operand avg = {0.0, std::source_location::current()},
                            Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                            std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// 1 where a uniform number of floatX is below p, else 0. NotImplementedError unless n is the number 1, as in Theano.
  /// The gradient with respect to p is 0, like that of every comparison.
  Variable binomial(const DrawShape& shape, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// The counts of the classes, the columns of pvals, in n draws, for each row of pvals: a matrix of floats
  /// (NotImplementedError for other ranks, TypeError for other dtypes); n is an integer scalar. Probabilities are not
  /// checked: a draw above the sum of a row counts for no class. The gradient is undefined.
  Variable multinomial(Operand pvals, Operand n = {1, std::source_location::current()}, DType dtype = DType::int64,
                       std::optional<std::int64_t> streams = {}, Where where = std::source_location::current());
  /// `size` different columns for each row of p, with these probabilities: (rows, size). Theano's choice(size, a=None,
  /// replace=False, p). NotImplementedError if p is not a matrix; when called, ValueError for more draws than columns,
  /// or if a draw finds no column because the rest of the row adds up to less (Theano leaves that element undefined).
  /// The gradient is undefined.
  Variable choice(Operand size, Operand p, DType dtype = DType::int64, std::optional<std::int64_t> streams = {},
                  Where where = std::source_location::current());
  /// Theano's older name for choice.
  Variable multinomial_wo_replacement(Operand pvals, Operand n = {1, std::source_location::current()},
                                      DType dtype = DType::int64, std::optional<std::int64_t> streams = {},
                                      Where where = std::source_location::current());

  /// Sets the states of all draws to those of a new object with this seed, in the order in which they were made; by
  /// default the seed of the constructor. Later draws continue from there.
  void seed();
  void seed(std::int64_t seed);
  void seed(const std::vector<std::int64_t>& seed);

  /// The states of all draws so far, one below another: int32 (streams of all, 6); and the reverse. ValueError for a
  /// wrong number of streams.
  Array state() const;
  void set_state(const Array& state);
  /// Each state and its default update, like Theano's state_updates.
  std::vector<std::pair<SharedVariable, Variable>> state_updates() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  class Draw;
};

/// Theano's `theano.tensor.shared_randomstreams.RandomStreams`: the numbers of NumPy's legacy generator,
/// `numpy.random.RandomState`, in Theano's order. The n-th draw's state is that of `RandomState(k)`, where k is the
/// n-th `randint(2**30)` of `RandomState(seed)`; a call of a function advances it by the numbers drawn.
///
/// Elements are drawn in C order. Parameters broadcast to the shape when the function is called, as in NumPy (an axis
/// of size 1 is repeated even if the size is not static), in double precision; a parameter with a higher rank than the
/// shape is a ValueError. A size may be the number -1: then it is that of the parameters. Without a shape
/// (std::nullopt) all sizes are those of the parameters. Gradients with respect to parameters are undefined
/// (NullTypeGradError). Results are rounded once to a float dtype, and truncated to an integer one. Copies are the same
/// streams.
///
/// The bits are those of NumPy 2.4; docs/use/random.md lists differences between releases of NumPy.
class NumpyRandomStreams {
 public:
  /// Streams with a seed from the operating system.
  NumpyRandomStreams();
  /// Streams with this seed. ValueError unless it is from 0 to 2^32 - 1.
  explicit NumpyRandomStreams(std::int64_t seed);

  /// Uniform numbers from low to high. dtype: by default the promoted dtype of floatX, low and high. ValueError when
  /// called unless high - low is finite.
  Variable uniform(const DrawShape& shape = std::nullopt, Operand low = {0.0, std::source_location::current()},
                   Operand high = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                   Where where = std::source_location::current());
  /// Normal numbers by the polar method (Marsaglia 1964), in pairs: the second number of a pair is kept in the state
  /// for the next call. ValueError when called for a std of negative sign.
  Variable normal(const DrawShape& shape = std::nullopt, Operand avg = {0.0, std::source_location::current()},
                  Operand std = {1.0, std::source_location::current()}, std::optional<DType> dtype = {},
                  Where where = std::source_location::current());
  /// The number of successes in n trials of probability p; n is an integer (TypeError). ValueError when called unless n
  /// >= 0 and 0 <= p <= 1.
  Variable binomial(const DrawShape& shape = std::nullopt, Operand n = {1, std::source_location::current()},
                    Operand p = {0.5, std::source_location::current()}, DType dtype = DType::int64,
                    Where where = std::source_location::current());
  /// Integers from low to high, both included; both bounds are integers (TypeError). ValueError when called if low is
  /// above high. Above 2^53 numbers are rounded to float64, as in Theano.
  Variable random_integers(const DrawShape& shape = std::nullopt, Operand low = {0, std::source_location::current()},
                           Operand high = {1, std::source_location::current()}, DType dtype = DType::int64,
                           Where where = std::source_location::current());
  struct ChoiceOptions {
    Operand replace = {true, Where()};  ///< whether an element may be chosen twice: a scalar, which may be symbolic
    std::optional<Operand> p = {};      ///< the probabilities, a vector; all equal by default, or if it is empty
  };
  /// Random elements of the vector a, converted to `dtype`, or integers below the integer a. TypeError without a shape.
  /// ValueError when called if there are too few elements or p is not a distribution over them.
  Variable choice(const DrawShape& shape, Operand a, const ChoiceOptions& options, DType dtype = DType::int64,
                  Where where = std::source_location::current());
  Variable choice(const DrawShape& shape, Operand a = {2, std::source_location::current()}, DType dtype = DType::int64,
                  Where where = std::source_location::current());
  /// Poisson-distributed numbers of mean lam. TypeError without a shape; ValueError when called unless lam is from 0 to
  /// about 2^63 - 3e10.
  Variable poisson(const DrawShape& shape, Operand lam, DType dtype = DType::int64,
                   Where where = std::source_location::current());
  /// Random permutations of 0 to n - 1 along a last axis, one for each element of the shape (without a shape only one);
  /// n is an integer scalar.
  Variable permutation(const DrawShape& shape = {}, Operand n = {1, std::source_location::current()},
                       DType dtype = DType::int64, Where where = std::source_location::current());
  /// The counts of the classes along the last axis of pvals, which are floats, in n draws, along a last axis of the
  /// result. Theano's correction is applied, too: a row whose sum is above 1 by less than 1e-5, or whose last
  /// probability is below 5e-5, is multiplied by 1 - 5e-5. When called, AssertionError for a negative probability or a
  /// row that adds up to more than 1, ValueError for negative n.
  Variable multinomial(const DrawShape& shape = std::nullopt, Operand n = {1, std::source_location::current()},
                       Operand pvals = {Array{0.5, 0.5}, std::source_location::current()}, DType dtype = DType::int64,
                       Where where = std::source_location::current());
  /// The results of shuffle_row_elements; it converts to the shuffled variable.
  struct Shuffled {
    Variable result, permutation;
    operator const Variable&() const { return result; }
  };
  /// The elements of each row of x, along the last axis, in random order, with an independent permutation for each row.
  Shuffled shuffle_row_elements(Operand x, Where where = std::source_location::current());

  /// Sets the states of all draws to those of a new object with this seed, in the order in which they were made; by
  /// default the seed of the constructor. Later draws continue as without this call: that is Theano's rule here.
  void seed();
  void seed(std::int64_t seed);

  /// The states of all draws so far: uint32 (draws, 628), where a row has the 624 words of the generator, the number of
  /// used words, whether a normal number is kept, and the two halves of its 64 bits; and the reverse. ValueError for a
  /// wrong number of draws.
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
