// Elementwise kernels on the CPU: the points [begin, end) in C order, the last axis in a loop that vectorises. Points
// do not depend on each other (an operand that is also written is read and written at the same point), which the pragma
// states.
namespace ct {

// The end of the range from `column` on with constant conditions: `stop`, or the column where column + offset reaches
// the limit, or `behind` (1) after that.
CT_DEVICE index turn(index column, index offset, index limit, index behind, index stop) {
  index at;
  if (__builtin_sub_overflow(limit, offset, &at)) return stop;  // no column is there
  return column - behind < at && at < stop - behind ? at + behind : stop;
}

template <class Body>
CT_DEVICE void elements(const Body& body, index row, index column, index stop, long) {
#pragma clang loop vectorize(assume_safety)
  for (index i = column; i < stop; ++i) body.element(row, i);
}
template <class Body>
CT_DEVICE auto elements(const Body& body, index row, index column, index stop, int)
    -> decltype(void(body.turn(column, stop))) {
  for (index start = column, next; start < stop; start = next) {
    next = body.turn(start, stop);
#pragma clang loop vectorize(assume_safety)
    for (index i = start; i < next; ++i) body.element(row, i, start);
  }
}

template <class Body>
CT_DEVICE void pointwise(const Body& body, index begin, index end) {
  const index width = body.width();
  index row = begin / width, column = begin % width;
  for (index left = end - begin; left > 0;) {
    const index count = left < width - column ? left : width - column;
    const index stop = column + count;
    elements(body, row, column, stop, 0);
    left -= count;
    column = 0;
    ++row;
  }
}

}  // namespace ct
