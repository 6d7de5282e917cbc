// Elementwise kernels on a GPU: one point per thread, in a loop over the grid.
namespace ct {

template <class Body>
CT_DEVICE void pointwise(const Body& body, index points) {
  const index width = body.width();
  const index stride = index(block_count()) * block_size();
  for (index i = index(block_index()) * block_size() + thread_index(); i < points; i += stride)
    body.element(i / width, i % width);
}

}  // namespace ct
