// Running sums, sorting, searching and counting; and results whose size is found by computing them, after which a call
// binds the rest of its plan to that size. Orders are stable and the same on every device. NumPy's functions of the
// same names, with Theano's arguments; where these differ it is said.
#pragma once

#include <croton/variable.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace croton {

// ---- running sums ----
/// y[i] = x[0] + ... + x[i] along an axis (negative: from the end), or of the flattened x. The dtype stays (int8 wraps
/// as int8), but bool is counted in int64; 16-bit floats are added in float32. Parts of 1024 elements are added in
/// order and then to what lies in front of them, so that the error of element i is at most about (1024 + i / 1024) half
/// units in the last place of the sum of magnitudes. `dtype` is that of the result, `acc_dtype` the one in which it is
/// added up: without it, the one that holds x's and the result's. ValueError for an axis that is not there.
Variable cumsum(Operand x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                std::optional<DType> acc_dtype = {});
/// y[i] = x[0] ... x[i], as cumsum. The gradient is exact where x holds zeros.
Variable cumprod(Operand x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                 std::optional<DType> acc_dtype = {});

// ---- sorting: nan is the last, -0 equals 0, equal ones keep their order ----
/// The elements in rising order along an axis, or of the flattened x. The gradient goes back to where each came from.
Variable sort(Operand x, std::optional<int> axis = -1);
/// The positions (int64) along the axis that sort x.
Variable argsort(Operand x, std::optional<int> axis = -1);
/// The k largest along an axis, the largest first (nan before all), for k < 0 the -k smallest, the smallest first; of
/// equal ones the first. k is a number or an integer scalar variable (then both orders are computed, and k = 0 gives
/// nothing). ValueError for 0 or a stated size that is too small, ShapeError when called with one; TypeError for a k
/// that is no integer.
Variable topk(Operand x, Operand k, std::optional<int> axis = -1);
/// Where they are (int64, or `dtype`).
Variable argtopk(Operand x, Operand k, std::optional<int> axis = -1, std::optional<DType> dtype = {});
std::pair<Variable, Variable> topk_and_argtopk(Operand x, Operand k, std::optional<int> axis = -1,
                                               std::optional<DType> dtype = {});

// ---- searching ----
enum class Side { left, right };
/// For each v the position (int64, of v's shape) in the rising vector x before which it belongs: left: x[i-1] < v <=
/// x[i]; right: x[i-1] <= v < x[i]; nan counts as the largest. `sorter`: positions that sort x, such as argsort(x);
/// IndexError when called for one outside.
Variable searchsorted(Operand x, Operand v, Side side = Side::left, std::optional<Operand> sorter = {});

// ---- results whose size is computed ----
/// The positions (int64) in the flattened x of elements that are not 0. TypeError for a scalar.
Variable flatnonzero(Operand x);
/// Their indices, a vector for each axis; in C order.
std::vector<Variable> nonzero(Operand x);
/// The same as a matrix with a row for each axis.
Variable nonzero_matrix(Operand x);
/// The elements of x that are not 0, in C order.
Variable nonzero_values(Operand x);
/// The slices of x along the axis (of the flattened x without one) where `condition`, a vector, is not 0. IndexError
/// when called with one beyond the end.
Variable compress(Operand condition, Operand x, std::optional<int> axis = {});
/// The elements of the flattened x where the flattened `condition` is not 0.
Variable extract(Operand condition, Operand x);
/// Each slice along the axis (each element of the flattened x without one) as often as `repeats` says: an integer
/// scalar, or an integer vector of the axis' size. Counts below 0 raise: ValueError where known, ShapeError or
/// IndexError when called.
Variable repeat(Operand x, Operand repeats, std::optional<int> axis = {});

/// What `unique` finds; what is not used is not computed.
struct Unique {
  Variable values;   ///< the different elements, rising; all nan count as one
  Variable index;    ///< where each is first, in the flattened x or along the axis (int64)
  Variable inverse;  ///< for each element of the flattened x, or slice, its position in `values` (int64, a vector)
  Variable counts;   ///< how often each occurs (int64)
};
/// The different elements of the flattened x; with an axis, the different slices along it, in the order of their first
/// elements that differ. The gradient goes to the first of equal ones. ValueError for an axis that is not there.
Unique unique(Operand x, std::optional<int> axis = {});

/// How often each of 0, 1, ..., max(x) occurs in the integer vector x (int64, as NumPy; Theano has the dtype of x);
/// with `weights`, the sums of these, in their order and dtype. At least `minlength` long. IndexError when called with
/// a number below 0; TypeError for uint64, floats and other ranks.
Variable bincount(Operand x, std::optional<Operand> weights = {}, std::int64_t minlength = 0);

}  // namespace croton
