// Indexing by arrays, and new values for parts of a variable. `x[...]` itself is described at SliceSpec (variable.hpp).
// All of it follows NumPy; set_subtensor and inc_subtensor are Theano's.
#pragma once

#include <croton/ops.hpp>

#include <string_view>
#include <vector>

namespace croton {

/// What becomes of a position outside its axis.
enum class IndexMode {
  raise,  ///< negative ones count from the end; any other raises IndexError when the function is called
  wrap,   ///< position mod size
  clip,   ///< the nearest one inside: negative ones become 0
};

/// The elements at integer positions along one axis, whose place the axes of `indices` take; without `axis`: of the
/// flattened variable. An empty axis has nothing to take: IndexError. The gradient adds up over repeated positions.
Variable take(Operand x, Operand indices, IndexMode mode = IndexMode::raise);
Variable take(Operand x, Operand indices, int axis, IndexMode mode = IndexMode::raise);
/// Element i, j, ... of the result is x at indices[i, j, ...] along the axis and at i, j, ... along the others. Both
/// have one rank; along the other axes sizes are equal, or stated as 1 and repeated.
Variable take_along_axis(Operand x, Operand indices, int axis);
/// Element i of the result is choices[a[i]][i]; a and the choices are broadcast against each other.
Variable choose(Operand a, const std::vector<Variable>& choices, IndexMode mode = IndexMode::raise);

/// x with its part replaced, `part` being x[...]: set_subtensor(x[slice(1, 3)], y). x itself does not change. `y`
/// repeats to the shape of the part (a stated size of 1, or a missing axis) and is cast to x's dtype. Of positions that
/// an integer array names twice the last counts. TypeError if `part` is no indexing expression.
Variable set_subtensor(Operand part, Operand y);
/// As set_subtensor, but `y` is added; what is added to positions that are named twice adds up.
Variable inc_subtensor(Operand part, Operand y);

/// Positions in C order of an array of that shape: of (i, j, ...) each an integer array, all broadcast.
Variable ravel_multi_index(const std::vector<Variable>& indices, const std::vector<Operand>& shape,
                           IndexMode mode = IndexMode::raise, Where where = std::source_location::current());
/// The (i, j, ...) of positions in C order of an array of that shape, as int64. Raises IndexError for positions
/// outside.
std::vector<Variable> unravel_index(Operand indices, const std::vector<Operand>& shape);
/// Of a vector that is a permutation: the one with q[p[i]] = i, as int64.
Variable inverse_permutation(Operand p);

}  // namespace croton
