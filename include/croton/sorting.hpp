// Running sums, sorting, searching and counting; and results with data-dependent sizes, after which a call binds the
// rest of its plan to the size. Orders are stable and the same on every device. The functions are NumPy's of the same
// names, with Theano's arguments; differences are stated.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace croton {

// ---- running sums ----
/// y[i] = x[0] + ... + x[i] along an axis (negative: from the end), or of the flattened x. The dtype does not change
/// (int8 wraps as int8), except that bool is counted in int64; 16-bit floats are added in float32. Parts of 1024
/// elements are added in order and then to the sum of the parts before them, so that the error of element i is at most
/// about (1024 + i / 1024) half units in the last place of the sum of magnitudes. `dtype` is that of the result,
/// `acc_dtype` that of the computation: by default the promoted dtype of x and the result. ValueError for an invalid
/// axis.
Variable cumsum(Operand x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                std::optional<DType> acc_dtype = {});
/// y[i] = x[0] ... x[i], with the options of cumsum. The gradient is exact also if x has zeros.
Variable cumprod(Operand x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                 std::optional<DType> acc_dtype = {});

// ---- sorting: nan comes last, -0 equals 0, equal elements keep their order ----
/// The elements in ascending order along an axis, or of the flattened x. The gradient of each element goes to its
/// original position.
Variable sort(Operand x, std::optional<int> axis = -1);
/// The positions (int64) along the axis that sort x.
Variable argsort(Operand x, std::optional<int> axis = -1);
/// The k largest elements along an axis, the largest first (nan before all), for k < 0 the -k smallest, the smallest
/// first; of equal elements the first ones. k is a number or an integer scalar variable (then both orders are computed,
/// and k = 0 gives no elements). ValueError for 0 or a static size that is too small, ShapeError when called with such
/// a size; TypeError for a k that is not an integer.
Variable topk(Operand x, Operand k, std::optional<int> axis = -1);
/// The positions of the elements of topk (int64, or `dtype`).
Variable argtopk(Operand x, Operand k, std::optional<int> axis = -1, std::optional<DType> dtype = {});
std::pair<Variable, Variable> topk_and_argtopk(Operand x, Operand k, std::optional<int> axis = -1,
                                               std::optional<DType> dtype = {});

// ---- searching ----
enum class Side { left, right };
/// For each v the insertion position (int64, of v's shape) in the ascending vector x: left: x[i-1] < v <= x[i]; right:
/// x[i-1] <= v < x[i]; nan counts as the largest. `sorter`: positions that sort x, such as argsort(x); IndexError when
/// called for one outside.
Variable searchsorted(Operand x, Operand v, Side side = Side::left, std::optional<Operand> sorter = {});

// ---- results with data-dependent sizes ----
/// The positions (int64) of nonzero elements in the flattened x. TypeError for a scalar.
Variable flatnonzero(Operand x);
/// The indices of nonzero elements, a vector for each axis; in C order.
std::vector<Variable> nonzero(Operand x);
/// The same as a matrix with a row for each axis.
Variable nonzero_matrix(Operand x);
/// The nonzero elements of x, in C order.
Variable nonzero_values(Operand x);
/// The slices of x along the axis (without one: the elements of the flattened x) where `condition`, a vector, is not 0.
/// IndexError when called with a true condition beyond the end.
Variable compress(Operand condition, Operand x, std::optional<int> axis = {});
/// The elements of the flattened x where the flattened `condition` is not 0.
Variable extract(Operand condition, Operand x);
/// Each slice along the axis (without one: each element of the flattened x) repeated `repeats` times: an integer
/// scalar, or an integer vector of the axis' size. Negative counts raise: ValueError if they are known, ShapeError or
/// IndexError when called.
Variable repeat(Operand x, Operand repeats, std::optional<int> axis = {});

/// The results of `unique`; unused ones are not computed.
struct Unique {
  Variable values;   ///< the different elements, ascending; all nan count as one
  Variable index;    ///< the first position of each, in the flattened x or along the axis (int64)
  Variable inverse;  ///< for each element of the flattened x, or slice, its position in `values` (int64, a vector)
  Variable counts;   ///< the number of occurrences of each (int64)
};
/// The different elements of the flattened x; with an axis, the different slices along it, in lexicographic order. The
/// gradient goes to the first of equal ones. ValueError for an invalid axis.
Unique unique(Operand x, std::optional<int> axis = {});

/// The counts of 0, 1, ..., max(x) in the integer vector x (int64, as in NumPy; Theano has the dtype of x); with
/// `weights`, their sums, in their order and dtype. The length is at least `minlength`. IndexError when called with a
/// number below 0; TypeError for uint64, floats and other ranks.
Variable bincount(Operand x, std::optional<Operand> weights = {}, std::int64_t minlength = 0);

}  // namespace croton
