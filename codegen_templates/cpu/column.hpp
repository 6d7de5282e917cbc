// Column kernels on the CPU: neighbouring points are reduced side by side, a tile of them at a time, so that memory is
// read along its fast axis. The order of each reduction: chunks of 64 elements in order, then chunks pairwise.
namespace ct {

constexpr index chunk_elements = 64;
constexpr index tile_points = 256;

// One value for each point of a tile.
template <class T>
struct Tile {
  T value[tile_points];
  CT_MEMBER const T& operator[](index t) const { return value[t]; }
};

struct TileTeam {
  index points;  // of this tile

  template <class C, class F>
  CT_MEMBER auto reduce(index n, const F& value) const {
    typedef typename C::State State;
    State levels[44][tile_points];
    unsigned long long count = 0;
    const index width = points;
    for (index begin = 0; begin < n; begin += chunk_elements) {
      const index end = begin + chunk_elements < n ? begin + chunk_elements : n;
      State state[tile_points];
      for (index t = 0; t < width; ++t) state[t] = C::identity();
      index k = begin;
      // Four elements a pass keep the states in registers for four steps; their order stays.
      for (; k + 4 <= end; k += 4) {
#pragma clang loop vectorize(assume_safety)
        for (index t = 0; t < width; ++t) {
          State s = state[t];
          for (index i = 0; i < 4; ++i) s = C::join(s, C::lift(value(t, k + i), k + i));
          state[t] = s;
        }
      }
      for (; k < end; ++k) {
#pragma clang loop vectorize(assume_safety)
        for (index t = 0; t < width; ++t) state[t] = C::join(state[t], C::lift(value(t, k), k));
      }
      int level = 0;
      for (; (count >> level) & 1; ++level) {
        for (index t = 0; t < width; ++t) state[t] = C::join(levels[level][t], state[t]);
      }
      for (index t = 0; t < width; ++t) levels[level][t] = state[t];
      ++count;
    }
    Tile<decltype(C::finish(C::identity()))> result;
    int level = 0;
    while (count != 0 && !((count >> level) & 1)) ++level;
    for (index t = 0; t < width; ++t) {
      State state = count == 0 ? C::identity() : levels[level][t];
      for (int above = level + 1; above < 44 && (count >> above); ++above) {
        if ((count >> above) & 1) state = C::join(levels[above][t], state);
      }
      result.value[t] = C::finish(state);
    }
    return result;
  }

  template <class F>
  CT_MEMBER void each(index n, const F& store) const {
    const index width = points;
    for (index k = 0; k < n; ++k) {
#pragma clang loop vectorize(assume_safety)
      for (index t = 0; t < width; ++t) store(t, k);
    }
  }

  template <class F>
  CT_MEMBER void points_do(const F& store) const {
    const index width = points;
#pragma clang loop vectorize(assume_safety)
    for (index t = 0; t < width; ++t) store(t);
  }
};

// The tiles [begin, end): tile_points neighbours along the fast axis each, the last of a line maybe fewer.
template <class Body>
CT_DEVICE void column(const Body& body, index begin, index end) {
  const index width = body.width();
  const index tiles = (width + tile_points - 1) / tile_points;
  for (index tile = begin; tile < end; ++tile) {
    const index first = tile % tiles * tile_points;
    const index points = width - first < tile_points ? width - first : tile_points;
    body.tile(TileTeam{points}, tile / tiles, first);
  }
}

}  // namespace ct
