// Elementwise kernels on a GPU. A block has one tile: `threads / across` neighbouring lines along the fast axis, on each
// of which `across` threads move packs of `vector` neighbouring elements. A thread has `items` packs, one after the
// other on its line or, if the tile reaches over whole lines (`down`), on lines below each other. It loads all of them
// before it uses the first. A thread whose packs are all whole has nothing conditional; that path is left out of long
// bodies, of which a second copy would cost more to compile than it saves.
namespace ct {

// How many of the `left` elements to the end of a line the first pack has, `most` at most.
template <int most, class Offset>
CT_DEVICE int in_pack(Offset left) {
  return left >= Offset(most) ? most : left > 0 ? int(left) : 0;
}

// The packs of a thread. `left`: the elements from its first pack to the end of the line; not used if all are `whole`.
template <bool whole, class Body>
CT_DEVICE void pointwise_along(const Body& body, const typename Body::Line& line, typename Body::Offset column,
                               typename Body::Offset left) {
  typedef typename Body::Offset Offset;
  constexpr int step = Body::across * Body::vector;
  // A pack that is the only one, and not whole, has at least one element less. With several lines in a tile, packs are
  // whole, too, where the tile has fewer lines.
  constexpr bool is_less = Body::is_short && Body::items == 1 && Body::threads == Body::across;
  constexpr int most = is_less ? Body::vector - 1 : Body::vector;
  typename Body::Inputs inputs[Body::items];
#pragma unroll
  for (int i = 0; i < Body::items; ++i)
    inputs[i] = body.fetch(line, column + Offset(i * step), whole ? Body::vector : in_pack<most>(left - Offset(i * step)));
#pragma unroll
  for (int i = 0; i < Body::items; ++i)
    body.use(line, column + Offset(i * step), whole ? Body::vector : in_pack<most>(left - Offset(i * step)), inputs[i]);
}

// The same on lines below each other, from line `row` on, of which there are `rows`.
template <bool whole, class Body>
CT_DEVICE void pointwise_down(const Body& body, typename Body::Base row, typename Body::Base rows,
                              typename Body::Offset column, typename Body::Offset left) {
  typedef typename Body::Base Base;
  constexpr int step = Body::threads / Body::across;
  typename Body::Line lines[Body::items];
  typename Body::Inputs inputs[Body::items];
  int count[Body::items];
#pragma unroll
  for (int i = 0; i < Body::items; ++i) {
    count[i] = whole ? Body::vector : row + Base(i * step) < rows ? in_pack<Body::vector>(left) : 0;
    // Lines beyond the last one have the address of that.
    lines[i] = body.line(row + Base(i * step) < rows ? row + Base(i * step) : rows - 1, Base(0));
    inputs[i] = body.fetch(lines[i], column, count[i]);
  }
#pragma unroll
  for (int i = 0; i < Body::items; ++i) body.use(lines[i], column, count[i], inputs[i]);
}

template <class Body>
CT_DEVICE void pointwise_tile(const Body& body, typename Body::Base tile) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int below = Body::threads / Body::across, step = Body::across * Body::vector;
  constexpr int columns = Body::down ? step : step * Body::items, rows = Body::down ? below * Body::items : below;
  const unsigned int thread = thread_index();
  const int x = int(below == 1 ? thread : thread % Body::across) * Body::vector;
  const int y = below == 1 ? 0 : int(thread / Body::across);
  Base row = 0, first = tile;
  if constexpr (!Body::flat) {
    const Base band = body.band(tile);
    first = tile - band * body.tiles_of_line();
    row = band * Base(rows);
  }
  first *= Base(columns);
  const bool whole = first + Base(x) <= body.width() - Base((Body::down ? 0 : (Body::items - 1) * step) + Body::vector) &&
                     (Body::flat || row + Base(rows) <= body.lines());
  // Where positions have more bits than offsets, lines begin at the tile.
  const Base begin = sizeof(Base) == sizeof(Offset) ? Base(0) : first;
  const Offset column = Offset(first - begin) + Offset(x);
  if (Body::is_short && whole) {
    if constexpr (Body::down)
      pointwise_down<true>(body, row + Base(y), body.lines(), column, Offset(0));
    else
      pointwise_along<true>(body, body.line(row + Base(y), begin), column, Offset(0));
    return;
  }
  const Base left = body.width() - first;
  const Offset rest = Offset(left < Base(columns) ? left : Base(columns)) - Offset(x);
  if constexpr (Body::down)
    pointwise_down<false>(body, row + Base(y), body.lines(), column, rest);
  else if (Body::flat || row + Base(y) < body.lines())
    pointwise_along<false>(body, body.line(row + Base(y), begin), column, rest);
}

template <class Body>
CT_DEVICE void pointwise(const Body& body, index) {
  pointwise_tile(body, typename Body::Base(block_index()));
}

}  // namespace ct
