// Views and generators: joining, splitting, repeating, padding and reversing arrays; adding and moving axes; matrices
// without operands. They need no kernels of their own: kernels that use the results read through them. Unless stated
// otherwise the dtype is that of the first argument, gradients go to the original elements, and the semantics are
// NumPy's.
#pragma once

#include <croton/ops.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace croton {

// ---- joining and splitting ----

/// The variables joined along an existing axis; other sizes must be equal, dtypes are promoted.
Variable concatenate(const std::vector<Variable>& parts, int axis = 0, Where where = std::source_location::current());
/// concatenate under Theano's name, with the axis first.
Variable join(int axis, const std::vector<Variable>& parts, Where where = std::source_location::current());
/// Variables of one shape joined along a new axis at that position of the result.
Variable stack(const std::vector<Variable>& parts, int axis = 0, Where where = std::source_location::current());
/// x split along an axis into parts of these sizes, which must add up to the whole (ShapeError).
std::vector<Variable> split(Operand x, const std::vector<Operand>& sizes, int axis = 0);
/// The same with the sizes in an integer vector of `count` elements.
std::vector<Variable> split(Operand x, const Variable& sizes, int count, int axis = 0);
/// x split into parts of equal size; the size of the axis must be divisible (ShapeError).
std::vector<Variable> split_evenly(Operand x, int count, int axis = 0);

// ---- repeating, rolling, padding ----

/// x repeated as a whole, repeats[i] times along axis i; missing axes are added on the left of the shorter list.
Variable tile(Operand x, const std::vector<Operand>& repeats);
/// x with elements moved cyclically by `shift` (any integer) along the axis; without an axis, along the flattened
/// variable.
Variable roll(Operand x, Operand shift, std::optional<int> axis = {});
/// x rolled by shifts[i] along axes[i]; a single shift or axis is used for all entries of the other list; an axis that
/// occurs twice is rolled twice. TypeError if the lengths do not match.
Variable roll(Operand x, const std::vector<Operand>& shifts, const std::vector<int>& axes);
/// x with the order reversed along these axes (all axes if absent).
Variable flip(Operand x, std::optional<std::vector<int>> axes = {});

enum class PadMode {
  constant,   ///< the value
  edge,       ///< the nearest element
  reflect,    ///< mirrored at the edge elements: c b | a b c | b a
  symmetric,  ///< mirrored between elements: b a | a b c | c b
  wrap,       ///< from the other end: b c | a b c | a b
};
/// x with widths[i] = {before, after} elements added to axis i (with fewer widths: to the last axes). An empty axis can
/// only be padded with a constant (IndexError).
Variable pad(Operand x, const std::vector<std::pair<Operand, Operand>>& widths, PadMode mode = PadMode::constant,
             Operand value = 0);

// ---- axes ----

/// x with new axes of size 1 at these positions of the result.
Variable expand_dims(Operand x, const std::vector<int>& axes);
/// x without these axes, which must have static size 1; by default without all such axes.
Variable squeeze(Operand x, const std::vector<int>& axes);
Variable squeeze(Operand x);
/// x with new first axes of size 1, so that its rank is at least 1, 2, 3.
Variable atleast_1d(Operand x);
Variable atleast_2d(Operand x);
Variable atleast_3d(Operand x);
/// x with a rank of at least n; new axes are added on the left, or on the right.
Variable atleast_Nd(Operand x, int n, bool left = true);
/// x with the axes at `from` moved to the positions `to`; the others keep their order.
Variable moveaxis(Operand x, const std::vector<int>& from, const std::vector<int>& to);
Variable swapaxes(Operand x, int a, int b);
/// x with n new axes of size 1 on the left; on the right; with one at that position.
Variable shape_padleft(Operand x, int n = 1);
Variable shape_padright(Operand x, int n = 1);
Variable shape_padaxis(Operand x, int axis);
/// x broadcast to the shape; a size that is not statically 1 must be equal.
Variable broadcast_to(Operand x, const std::vector<Operand>& shape);
/// x with static sizes: ShapeError when called with other sizes. std::nullopt: any size.
Variable specify_shape(Operand x, const std::vector<std::optional<Operand>>& shape);
/// x with static size 1 along these axes, so that they broadcast.
Variable addbroadcast(Operand x, const std::vector<int>& axes);
/// x without static size 1 along these axes: x does not broadcast along them, and may be the initial value of a loop's
/// state that does not broadcast.
Variable unbroadcast(Operand x, const std::vector<int>& axes);
/// addbroadcast for the axes that are true, unbroadcast for the others.
Variable patternbroadcast(Operand x, const std::vector<bool>& broadcastable);

// ---- filled arrays ----

/// `value` broadcast to the shape; with its dtype, unless one is given.
Variable full(const std::vector<Operand>& shape, Operand value, std::optional<DType> dtype = {});
/// `value` broadcast to the shape of x, with the dtype of x unless one is given.
Variable full_like(Operand x, Operand value, std::optional<DType> dtype = {});
/// An array of zeros (there is no uninitialised memory).
Variable empty(const std::vector<Operand>& shape, std::optional<DType> dtype = {},
               Where where = std::source_location::current());
Variable empty_like(Operand x);

// ---- ranges ----

/// `count` numbers from start to stop, which is the last number (without endpoint, the one after the last): floats,
/// floatX for integers. A count of 0 gives no numbers, a count of 1 gives start.
Variable linspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true,
                  std::optional<DType> dtype = {});
/// base to the power of linspace.
Variable logspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true, Operand base = 10.0);
/// A geometric sequence from start to stop, which have the same sign: start (stop / start)^linspace(0, 1).
Variable geomspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true);
/// For vectors a, b, ...: arrays of the combined shape with their values along axis 0, 1, .... `matrix_indexing` false
/// swaps the first two axes ("xy").
std::vector<Variable> meshgrid(const std::vector<Variable>& vectors, bool matrix_indexing = true);
/// Like NumPy's mgrid of slices that all have a start and a stop: one array per range, all of one shape.
std::vector<Variable> mgrid(const std::vector<SliceSpec>& ranges, Where where = std::source_location::current());
/// Like mgrid, but each array has size 1 along the axes of the others.
std::vector<Variable> ogrid(const std::vector<SliceSpec>& ranges, Where where = std::source_location::current());

// ---- diagonals and triangles ----

/// An n x m matrix (m = n if absent) with ones where column - row = k; floatX unless a dtype is given.
Variable eye(Operand n, std::optional<Operand> m = {}, Operand k = 0, std::optional<DType> dtype = {});
Variable identity(Operand n, std::optional<DType> dtype = {});
/// An n x m matrix with ones where column - row <= k.
Variable tri(Operand n, std::optional<Operand> m = {}, Operand k = 0, std::optional<DType> dtype = {});
/// x with zeros above (below) diagonal k of the matrices in its last two axes.
Variable tril(Operand x, Operand k = 0);
Variable triu(Operand x, Operand k = 0);
/// For a vector, the matrix with x on diagonal k; otherwise diagonal(x, k).
Variable diag(Operand x, Operand k = 0);
/// The elements with index along axis2 - index along axis1 = offset, as the last axis.
Variable diagonal(Operand x, Operand offset = 0, int axis1 = 0, int axis2 = 1);
/// The sum of the diagonal, by `sum`.
Variable trace(Operand x, Operand offset = 0, int axis1 = 0, int axis2 = 1);
/// x with the value where all indices are equal (second function, for matrices: where column - row = offset).
Variable fill_diagonal(Operand x, Operand value);
Variable fill_diagonal_offset(Operand x, Operand value, Operand offset);
/// The one-hot encoding of integers from 0 to count - 1 (negative ones count from the end; IndexError outside): 1 at
/// that position of a new last axis of size `count`, 0 elsewhere; floatX unless a dtype is given. Theano's to_one_hot.
Variable one_hot(Operand x, Operand count, std::optional<DType> dtype = {});

/// The differences x[i + 1] - x[i] along the axis, applied n times; for bool: whether they differ.
Variable diff(Operand x, int n = 1, int axis = -1);

}  // namespace croton
