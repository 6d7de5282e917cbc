// Several pointwise kernels in one launch, such as the updates of all parameters: a block per tile of points, in a loop
// over the grid; tiles of the first kernel come first.
namespace ct {

template <class Run>
CT_DEVICE void group(const index* ends, const index* points, index tiles, const Run& run) {
  int part = 0;
  for (index tile = block_index(); tile < tiles; tile += block_count()) group_item(ends, points, part, tile, run);
}

// The points [first, last) of one of them, a thread each.
template <class Body>
CT_DEVICE void group_points(const Body& body, index first, index last) {
  const index width = body.width();
  for (index i = first + thread_index(); i < last; i += block_size()) body.element(i / width, i % width);
}

}  // namespace ct
