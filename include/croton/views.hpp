// Arrays put together, cut, repeated, padded and turned; axes added and moved; matrices made of numbers alone. None of
// it computes anything of its own: kernels that use the results read through them. Unless said otherwise the dtype is
// that of the first argument, gradients flow back to where elements came from, and everything follows NumPy.
#pragma once

#include <croton/ops.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace croton {

// ---- joining and cutting ----

/// The variables one after the other along an axis that they have; other sizes are equal, dtypes are promoted.
Variable concatenate(const std::vector<Variable>& parts, int axis = 0, Where where = std::source_location::current());
/// Theano's name, with the axis first.
Variable join(int axis, const std::vector<Variable>& parts, Where where = std::source_location::current());
/// Variables of one shape along a new axis at that position of the result.
Variable stack(const std::vector<Variable>& parts, int axis = 0, Where where = std::source_location::current());
/// x cut along an axis into parts of these sizes, which must add up to the whole (ShapeError).
std::vector<Variable> split(Operand x, const std::vector<Operand>& sizes, int axis = 0);
/// The same with the sizes in an integer vector of `count` elements.
std::vector<Variable> split(Operand x, const Variable& sizes, int count, int axis = 0);
/// Parts of equal size; the axis must divide (ShapeError).
std::vector<Variable> split_evenly(Operand x, int count, int axis = 0);

// ---- repeating, turning, padding ----

/// x repeated as a whole, repeats[i] times along axis i; missing axes are added on the left of the shorter one.
Variable tile(Operand x, const std::vector<Operand>& repeats);
/// Elements moved by `shift` (any integer) along the axis, round its end; without axis: of the flattened variable.
Variable roll(Operand x, Operand shift, std::optional<int> axis = {});
/// By shifts[i] along axes[i], one of either serving for all of the other; an axis that is named twice is moved twice.
/// TypeError where there are as many of neither.
Variable roll(Operand x, const std::vector<Operand>& shifts, const std::vector<int>& axes);
/// The order along these axes reversed (all axes if absent).
Variable flip(Operand x, std::optional<std::vector<int>> axes = {});

enum class PadMode {
  constant,   ///< the value
  edge,       ///< the nearest element
  reflect,    ///< mirrored at the elements of the edge: c b | a b c | b a
  symmetric,  ///< mirrored between elements: b a | a b c | c b
  wrap,       ///< from the other end: b c | a b c | a b
};
/// x with widths[i] = {before, after} elements added to axis i (the last axes, where there are fewer widths). An empty
/// axis can be padded with a constant only (IndexError).
Variable pad(Operand x, const std::vector<std::pair<Operand, Operand>>& widths, PadMode mode = PadMode::constant,
             Operand value = 0);

// ---- axes ----

/// New axes of size 1 at these positions of the result.
Variable expand_dims(Operand x, const std::vector<int>& axes);
/// Without these axes, which must have the stated size 1; without `axes`: without all that have it.
Variable squeeze(Operand x, const std::vector<int>& axes);
Variable squeeze(Operand x);
/// New axes of size 1 in front, so that there are at least so many.
Variable atleast_1d(Operand x);
Variable atleast_2d(Operand x);
Variable atleast_3d(Operand x);
/// At least n axes; new ones on the left, or on the right.
Variable atleast_Nd(Operand x, int n, bool left = true);
/// The axes at `from` put to the positions `to`; the others keep their order.
Variable moveaxis(Operand x, const std::vector<int>& from, const std::vector<int>& to);
Variable swapaxes(Operand x, int a, int b);
/// n new axes of size 1 on the left; on the right; one at that position.
Variable shape_padleft(Operand x, int n = 1);
Variable shape_padright(Operand x, int n = 1);
Variable shape_padaxis(Operand x, int axis);
/// x repeated to the shape; a size that is not stated as 1 must be equal.
Variable broadcast_to(Operand x, const std::vector<Operand>& shape);
/// x with its sizes stated: ShapeError when called with others. No variable (std::nullopt): any size.
Variable specify_shape(Operand x, const std::vector<std::optional<Operand>>& shape);
/// These axes are stated to have size 1, so that they broadcast.
Variable addbroadcast(Operand x, const std::vector<int>& axes);
/// These axes, if they are stated to have size 1, are so no longer: x then does not broadcast along them, and may be the
/// initial value of a state of a loop that does not.
Variable unbroadcast(Operand x, const std::vector<int>& axes);
/// addbroadcast of the axes that are true, unbroadcast of the others.
Variable patternbroadcast(Operand x, const std::vector<bool>& broadcastable);

// ---- filled arrays ----

/// `value` repeated to the shape; its dtype, unless one is given.
Variable full(const std::vector<Operand>& shape, Operand value, std::optional<DType> dtype = {});
/// `value` in the shape and (unless given) the dtype of x.
Variable full_like(Operand x, Operand value, std::optional<DType> dtype = {});
/// Zeros: nothing is read before it is written.
Variable empty(const std::vector<Operand>& shape, std::optional<DType> dtype = {},
               Where where = std::source_location::current());
Variable empty_like(Operand x);

// ---- ranges ----

/// `count` numbers from start to stop, which is the last one (or, without endpoint, the one after): floats, floatX for
/// integers. A count of 0 gives none, of 1 start.
Variable linspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true,
                  std::optional<DType> dtype = {});
/// base to the power of linspace.
Variable logspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true, Operand base = 10.0);
/// A geometric sequence from start to stop, which have one sign: start (stop / start)^linspace(0, 1).
Variable geomspace(Operand start, Operand stop, Operand count = 50, bool endpoint = true);
/// For vectors a, b, ...: their values along axis 0, 1, ... of arrays of all sizes together. `matrix_indexing` false
/// swaps the first two axes ("xy").
std::vector<Variable> meshgrid(const std::vector<Variable>& vectors, bool matrix_indexing = true);
/// As NumPy's mgrid of slices that all have a start and a stop: one array a range, all of one shape.
std::vector<Variable> mgrid(const std::vector<SliceSpec>& ranges, Where where = std::source_location::current());
/// As mgrid, but each array has size 1 along the axes of the others.
std::vector<Variable> ogrid(const std::vector<SliceSpec>& ranges, Where where = std::source_location::current());

// ---- diagonals and triangles ----

/// n x m (n if absent) with ones where column - row = k; floatX unless a dtype is given.
Variable eye(Operand n, std::optional<Operand> m = {}, Operand k = 0, std::optional<DType> dtype = {});
Variable identity(Operand n, std::optional<DType> dtype = {});
/// n x m with ones where column - row <= k.
Variable tri(Operand n, std::optional<Operand> m = {}, Operand k = 0, std::optional<DType> dtype = {});
/// x with zeros above (below) diagonal k of the matrices of its last two axes.
Variable tril(Operand x, Operand k = 0);
Variable triu(Operand x, Operand k = 0);
/// Of a vector: the matrix with it on diagonal k. Of anything else: diagonal(x, k).
Variable diag(Operand x, Operand k = 0);
/// The elements with index along axis2 - index along axis1 = offset, as the last axis.
Variable diagonal(Operand x, Operand offset = 0, int axis1 = 0, int axis2 = 1);
/// Their sum, as `sum`.
Variable trace(Operand x, Operand offset = 0, int axis1 = 0, int axis2 = 1);
/// x with the value where all indices are equal (of a matrix: column - row = offset).
Variable fill_diagonal(Operand x, Operand value);
Variable fill_diagonal_offset(Operand x, Operand value, Operand offset);
/// For integers from 0 to count - 1 (negative ones count from the end; IndexError outside): 1 at that position of a new
/// last axis of `count`, 0 elsewhere; floatX unless a dtype is given. Theano's to_one_hot.
Variable one_hot(Operand x, Operand count, std::optional<DType> dtype = {});

/// x[i + 1] - x[i] along the axis, n times; of bool: whether they differ.
Variable diff(Operand x, int n = 1, int axis = -1);

}  // namespace croton
