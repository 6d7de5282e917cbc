// Pointwise kernels on the CPU that read operands along another axis than the one they write along: tiles of 64 x 64
// points. Operands along the other axis are copied first, in the order of memory, so that a cache line is read once and
// not once for each of its elements.
namespace ct {

constexpr int tile_elements = cpu_tile_side * cpu_tile_side;

// The tiles [begin, end).
template <class Body>
CT_DEVICE void pointwise_tiles(const Body& body, index begin, index end) {
  const index down = (body.height() + cpu_tile_side - 1) / cpu_tile_side,
              across = (body.width() + cpu_tile_side - 1) / cpu_tile_side;
  typename Body::Tile staged;
  for (index tile = begin; tile < end; ++tile) {
    const index outer = tile / (down * across);
    const index row = tile / across % down * cpu_tile_side, column = tile % across * cpu_tile_side;
    const int rows = body.height() - row < cpu_tile_side ? int(body.height() - row) : cpu_tile_side;
    const int columns = body.width() - column < cpu_tile_side ? int(body.width() - column) : cpu_tile_side;
    for (int c = 0; c < columns; ++c) {
      for (int r = 0; r < rows; ++r) body.fetch(staged, outer, row + r, column + c, r * cpu_tile_side + c);
    }
    for (int r = 0; r < rows; ++r) {
#pragma clang loop vectorize(assume_safety)
      for (int c = 0; c < columns; ++c) body.element(staged, outer, row + r, column + c, r * cpu_tile_side + c);
    }
  }
}

}  // namespace ct
