// Elementwise kernels on the CPU: the points [begin, end) in C order, the last axis in a loop that vectorises. Points
// do not depend on each other (an operand that is also written is read and written at the same point), which the pragma
// states.
namespace ct {

template <class Body>
CT_DEVICE void pointwise(const Body& body, index begin, index end) {
  const index width = body.width();
  index row = begin / width, column = begin % width;
  for (index left = end - begin; left > 0;) {
    const index count = left < width - column ? left : width - column;
    const index stop = column + count;
#pragma clang loop vectorize(assume_safety)
    for (index i = column; i < stop; ++i) body.element(row, i);
    left -= count;
    column = 0;
    ++row;
  }
}

}  // namespace ct
