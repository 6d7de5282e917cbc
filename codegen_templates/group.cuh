// Several pointwise kernels in one launch, such as the updates of all parameters: a block per tile; tiles of the first
// kernel come first. Several reductions of everything (row_packs.cuh) likewise: a block per part. Then one thread runs
// the kernels of one point that use their results.
namespace ct {

// The kernel of a tile: the first one that ends after it, by bisection.
CT_DEVICE int part_of(const index* ends, int parts, index tile) {
  int first = 0;
  for (int count = parts; count > 1;) {
    const int half = count / 2;
    if (tile >= ends[first + half - 1]) first += half;
    count -= half;
  }
  return first;
}

// The same where `ends` is in memory: each lane of a warp looks at one end, at first far from each other. Bisection would
// wait for one load after another.
CT_DEVICE int part_of_table(const index* ends, int parts, index tile) {
  int first = 0, step = 1;
  while (step * int(lanes) < parts) step *= int(lanes);
  for (; step > 0; step /= int(lanes)) {
    const int last = first + (int(lane_index()) + 1) * step - 1;
    first += count_bits(ballot(last < parts && ends[last] <= tile)) * step;
  }
  return first;
}

// Runs the tile of this block, with its number in its kernel. `in_memory`: where `ends` is.
template <bool in_memory, class Run>
CT_DEVICE void group(const index* ends, int parts, const Run& run) {
  const index tile = index(block_index());
  const int part = in_memory ? part_of_table(ends, parts, tile) : part_of(ends, parts, tile);
  run(part, part == 0 ? tile : tile - ends[part - 1]);
}

// A pointwise kernel of one point, by one thread. Nothing in it is conditional, so that values need no registers before
// they are used.
template <class Body>
CT_DEVICE void one_point(const Body& body) {
  const typename Body::Line line = body.line(0, 0);
  body.use(line, 0, 1, body.fetch(line, 0, 1));
}

}  // namespace ct
