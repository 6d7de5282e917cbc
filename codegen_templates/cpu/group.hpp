// Several pointwise kernels in one launch, such as the updates of all parameters: items are tiles of points, those of
// the first kernel first.
namespace ct {

// The tiles [begin, end).
template <class Run>
CT_DEVICE void group(const index* ends, const index* points, index begin, index end, const Run& run) {
  int part = 0;
  for (index tile = begin; tile < end; ++tile) group_item(ends, points, part, tile, run);
}

// The points [first, last) of one of them.
template <class Body>
CT_DEVICE void group_points(const Body& body, index first, index last) {
  pointwise(body, first, last);
}

}  // namespace ct
