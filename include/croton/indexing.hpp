// Indexing by arrays, and new values for parts of a variable (see SliceSpec in variable.hpp for `x[...]`). The
// semantics are NumPy's; set_subtensor and inc_subtensor are Theano's.
#pragma once

#include <croton/ops.hpp>

#include <string_view>
#include <vector>

namespace croton {

/// Treatment of a position outside its axis.
enum class IndexMode {
  raise,  ///< negative positions count from the end; others raise IndexError when the function is called
  wrap,   ///< position mod size
  clip,   ///< the nearest valid position: negative ones become 0
};

/// The elements at integer positions along one axis, which is replaced by the axes of `indices`; without `axis`, of the
/// flattened variable. IndexError for an empty axis. The gradient adds up over repeated positions.
Variable take(Operand x, Operand indices, IndexMode mode = IndexMode::raise);
Variable take(Operand x, Operand indices, int axis, IndexMode mode = IndexMode::raise);
/// Element i, j, ... of the result is x at indices[i, j, ...] along the axis and at i, j, ... along the others. Both
/// have the same rank; along the other axes sizes must be equal, and an axis of static size 1 broadcasts.
Variable take_along_axis(Operand x, Operand indices, int axis);
/// Element i of the result is choices[a[i]][i]; a and the choices are broadcast against each other.
Variable choose(Operand a, const std::vector<Variable>& choices, IndexMode mode = IndexMode::raise);

/// x with a part replaced by y, where `part` is an expression x[...]: set_subtensor(x[slice(1, 3)], y). x itself does
/// not change. `y` broadcasts to the shape of the part (a static size of 1, or a missing axis) and is cast to x's
/// dtype. If an integer array has a position twice, the last value is used. TypeError if `part` is not an indexing
/// expression.
Variable set_subtensor(Operand part, Operand y);
/// x with y added to a part, as in set_subtensor; at repeated positions the values add up.
Variable inc_subtensor(Operand part, Operand y);

/// The positions in C order of the indices (i, j, ...) in an array of that shape; the index arrays are integers and
/// broadcast.
Variable ravel_multi_index(const std::vector<Variable>& indices, const std::vector<Operand>& shape,
                           IndexMode mode = IndexMode::raise, Where where = std::source_location::current());
/// The indices (i, j, ...) of positions in C order in an array of that shape, as int64. IndexError for positions
/// outside.
std::vector<Variable> unravel_index(Operand indices, const std::vector<Operand>& shape);
/// The inverse q of a permutation p, a vector, with q[p[i]] = i; int64.
Variable inverse_permutation(Operand p);

}  // namespace croton
