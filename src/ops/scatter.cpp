// Writing at computed positions, by looking for each row of the result through all positions: n m comparisons, no
// kernel of its own.
#include "ops/scatter.hpp"

#include <croton/indexing.hpp>
#include <croton/views.hpp>

#include "builder/node.hpp"

namespace croton::ops {

Variable scatter(const Variable& x, const Variable& positions, const Variable& y, bool inc) {
  // hits[r, i]: position i is row r.
  const Variable rows = arange(x.shape(0));
  const Variable hits = eq(shape_padright(rows), shape_padleft(positions));
  if (inc) {
    const Variable each = shape_padright(hits, y.rank() - 1);
    const Variable zero = builder::scalar_constant(0, y.dtype());
    return cast(x + sum(where(each, shape_padleft(y), zero), ReduceOptions(1)), x.dtype());
  }
  // The last hit of each row; a column of -1 stands for no hit, and for no positions at all.
  const Variable numbers = where(hits, shape_padleft(arange(positions.shape(0))), -1);
  const Variable none = alloc(builder::scalar_constant(-1, DType::int64), {x.shape(0), 1});
  const Variable last = max(concatenate({none, numbers}, 1), 1);
  const Variable found = shape_padright(last >= 0, y.rank() - 1);
  // One more row, so that there is something to take where nothing is written.
  const Variable with_end = concatenate({zeros_like(take(x, zeros({1}, DType::int64), 0, IndexMode::clip)), y}, 0);
  return where(found, take(with_end, last + 1, 0, IndexMode::clip), x);
}

}  // namespace croton::ops
