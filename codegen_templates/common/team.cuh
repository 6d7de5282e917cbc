// The common code of teams of threads on all devices: the order in which blocks and parts of a reduction are combined.
#ifndef CT_TEAM
#define CT_TEAM

namespace ct {

// Reductions of one point, for a team that says how its lanes reduce one block (`block`), and where the states of blocks
// are (`BlockCounter`): one thread on the CPU, a warp on a GPU.
template <class Team>
struct RowTeam {
  template <class C, class F>
  CT_MEMBER typename C::State combine(index n, const F& value) const {
    // One place that calls `block`, so that the body's text is compiled once.
    typename Team::template BlockCounter<C> blocks;
    for (index k = 0;; k += block_elements) {
      const auto state = static_cast<const Team*>(this)->template block<C>(
          k, k + block_elements < n ? k + block_elements : n, value);
      if (n <= block_elements) return state;
      blocks.push(state);
      if (k + block_elements >= n) break;
    }
    return blocks.total();
  }

  template <class C, class F>
  CT_MEMBER auto reduce(index n, const F& value) const {
    return C::finish(combine<C>(n, value));
  }
};

// One part of a reduction that is split into parts of `size` elements.
template <class Team, class Body>
CT_DEVICE void split_part(const Team& team, const Body& body, index part, index size) {
  const index first = part * size, left = body.length() - first;
  body.part(team, part, first, left < size ? left : size);
}

// All parts together. A part is a whole subtree, so the result has the bits of one that is not split.
template <class C>
CT_DEVICE auto split_total(const typename C::State* parts, index count) {
  Counter<C> counter;
  for (index part = 0; part < count; ++part) counter.push(parts[part]);
  return C::finish(counter.total());
}

// One tile of a launch of several kernels. `ends`: after which tile each kernel ends; `points`: how many points each
// has; `part`: the kernel of the tile before, from which the one of this tile is found.
template <class Run>
CT_DEVICE void group_item(const index* ends, const index* points, int& part, index tile, const Run& run) {
  while (tile >= ends[part]) ++part;
  const index first = (tile - (part == 0 ? 0 : ends[part - 1])) * group_tile, left = points[part] - first;
  run(part, first, first + (left < group_tile ? left : group_tile));
}

}  // namespace ct
#endif
