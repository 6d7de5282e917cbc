// Pointwise kernels on a GPU that read operands along another axis than the one they write along: a block per tile of
// 32 x 32 points, in a loop over the grid. Operands along the other axis go through shared memory, so that a warp's
// reads and writes are both coalesced. Rows of a tile have stride 33, so that its columns are in different banks.
namespace ct {

constexpr int tile_elements = gpu_tile_side * (gpu_tile_side + 1);

template <class Body>
CT_DEVICE void pointwise_tiles(const Body& body, index tiles) {
  const index down = (body.height() + gpu_tile_side - 1) / gpu_tile_side, across = (body.width() + gpu_tile_side - 1) / gpu_tile_side;
  CT_SHARED typename Body::Tile staged;
  for (index tile = block_index(); tile < tiles; tile += block_count()) {
    const index outer = tile / (down * across);
    const index row = tile / across % down * gpu_tile_side, column = tile % across * gpu_tile_side;
    for (int i = int(thread_index()); i < gpu_tile_side * gpu_tile_side; i += int(block_size())) {
      const int r = i % gpu_tile_side, c = i / gpu_tile_side;
      if (row + r < body.height() && column + c < body.width())
        body.fetch(staged, outer, row + r, column + c, r * (gpu_tile_side + 1) + c);
    }
    barrier();
    for (int i = int(thread_index()); i < gpu_tile_side * gpu_tile_side; i += int(block_size())) {
      const int r = i / gpu_tile_side, c = i % gpu_tile_side;
      if (row + r < body.height() && column + c < body.width())
        body.element(staged, outer, row + r, column + c, r * (gpu_tile_side + 1) + c);
    }
    barrier();
  }
}

}  // namespace ct
