// Pointwise kernels on a GPU that read operands along another axis than the one they write along: a block for each tile
// of `side` x `side` points. Operands along the other axis are staged: packs of `turned` neighbouring elements of a
// column of the tile are loaded, and their elements are put into rows in shared memory. From there on a tile is
// pointwise.cuh's packs of `vector` elements, on lines below each other. A thread loads several packs of all operands
// before it uses the first. Tiles within the matrix have nothing conditional.
namespace ct {

// Where a point of a tile is in shared memory. A pack of a row is contiguous. The packs of a row are exchanged, in each
// row in another way, so that the elements that a warp puts below each other are in different banks.
template <class Body>
CT_DEVICE int tile_swap(int row) {
  constexpr int together = Body::turned < Body::vector ? Body::turned : Body::vector;
  return int((unsigned int)row / together * Body::vector) & (Body::side - 1);
}
template <class Body>
CT_DEVICE int tile_place(int row, int column) {
  return row * Body::side + (column ^ tile_swap<Body>(row));
}
// The place `e` rows below one that begins a pack of a column.
template <class Body>
CT_DEVICE int place_below(int place, int e) {
  return (place ^ tile_swap<Body>(e)) + e * Body::side;
}

// Copies the staged operands of a tile, of which `rows` and `columns` are within the matrix, to shared memory. `line`
// begins at the first point of the tile.
template <bool whole, class Body>
CT_DEVICE void stage_tile(const Body& body, typename Body::Tile& tile, const typename Body::Line& line, int rows,
                          int columns) {
  // A sweep is `along` packs of each column; a warp loads whole lines of memory in a sweep.
  constexpr int packs = Body::side * Body::side / Body::turned, sweep = Body::along * Body::side;
  constexpr int step = Body::threads < sweep ? Body::threads / Body::along : 0;  // columns to a thread's next pack
  constexpr int turns = Body::threads < sweep ? sweep / Body::threads : 1;       // packs of a thread in a sweep
  constexpr int sweeps = Body::threads > sweep ? Body::threads / sweep : 1;      // at the same time
  const unsigned int thread = thread_index();
  const int top = int(thread / sweep * Body::along + thread % Body::along) * Body::turned;
  const int left = int(thread % sweep / Body::along);
  // Elements that are loaded one by one have a register each.
  constexpr int most = 16 / Body::turned, loads = whole || Body::loads < most ? Body::loads : most;
  for (int first = 0; first < packs / Body::threads; first += loads) {
    typename Body::Staged staged[loads];
    int row[loads], column[loads], count[loads];
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      row[i] = top + (first + i) / turns * (sweeps * Body::along * Body::turned);
      column[i] = left + (first + i) % turns * step;
      count[i] = whole ? Body::turned : column[i] < columns ? in_pack<Body::turned>(rows - row[i]) : 0;
      staged[i] = body.load(line, row[i], column[i], count[i]);
    }
#pragma unroll
    for (int i = 0; i < loads; ++i) body.put(tile, row[i], column[i], count[i], staged[i]);
  }
}

// The tile whose first point is (row, first).
template <bool whole, class Body>
CT_DEVICE void points_of_tile(const Body& body, typename Body::Tile& tile, typename Body::Base outer,
                              typename Body::Base row, typename Body::Base first, int rows, int columns) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int across = Body::side / Body::vector, below = Body::threads / across;
  const unsigned int thread = thread_index();
  const int x = int(thread % across) * Body::vector, y = int(thread / across);
  for (int top = 0; top < Body::side; top += Body::items * below) {
    typename Body::Line lines[Body::items];
    typename Body::Inputs inputs[Body::items];
    int left[Body::items];
#pragma unroll
    for (int i = 0; i < Body::items; ++i) {
      const int r = top + y + i * below;
      left[i] = whole ? Body::vector : r < rows ? in_pack<Body::vector>(columns - x) : 0;
      lines[i] = body.line(outer, row + Base(r), first);
      inputs[i] = body.fetch(lines[i], Offset(x), left[i]);
    }
    if (top == 0) {
      stage_tile<whole>(body, tile, body.line(outer, row, first), rows, columns);
      barrier();
    }
#pragma unroll
    for (int i = 0; i < Body::items; ++i)
      body.use(lines[i], Offset(x), left[i], inputs[i], tile, tile_place<Body>(top + y + i * below, x));
  }
}

template <class Body>
CT_DEVICE void pointwise_tiles(const Body& body, index) {
  typedef typename Body::Base Base;
  CT_SHARED typename Body::Tile tile;
  const Base block = Base(block_index()), band = body.band(block), outer = body.outer(band);
  const Base first = (block - band * body.tiles_of_line()) * Base(Body::side);
  const Base row = (band - outer * body.bands()) * Base(Body::side);
  const Base right = body.width() - first, below = body.height() - row;
  const int columns = right < Base(Body::side) ? int(right) : Body::side;
  const int rows = below < Base(Body::side) ? int(below) : Body::side;
  if (Body::is_short && rows == Body::side && columns == Body::side)
    points_of_tile<true>(body, tile, outer, row, first, rows, columns);
  else
    points_of_tile<false>(body, tile, outer, row, first, rows, columns);
}

}  // namespace ct
