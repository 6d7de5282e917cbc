// Column kernels on the CPU: neighbouring points are reduced in parallel, a tile of them at a time, so that memory is
// read along its fast axis. The order of each reduction: chunks of 64 elements in order, then chunks pairwise.
namespace ct {

// The number of points whose states stay in registers, and the number of elements that are processed before the next
// points: a tile of these sizes stays in the first-level cache.
constexpr index block_points = 32;
constexpr index pass_elements = 16;

// One value for each point of a tile.
template <class T>
struct Tile {
  T value[tile_points];
  CT_MEMBER const T& operator[](index t) const { return value[t]; }
};

// The states of `size` points within a chunk, in the order of its elements.
template <class C, index size>
struct ChunkStates {
  typedef typename C::State Lane;
  static constexpr index most = chunk_elements;
  Lane state[size];
  CT_MEMBER void clear(index t) { state[t] = C::identity(); }
  CT_MEMBER Lane lane(index t) const { return state[t]; }
  CT_MEMBER void keep(index t, Lane lane) { state[t] = lane; }
  static CT_MEMBER index offset(index k) { return k; }
  template <class T>
  static CT_MEMBER Lane add(Lane lane, T value, index begin, index offset) {
    return C::join(lane, C::lift(value, begin + offset));
  }
  CT_MEMBER typename C::State whole(index t, index) const { return state[t]; }
};

// A position within a chunk fits into a lane as wide as the value's, so that both are compared and chosen together.
template <int bytes>
struct Offset {
  typedef signed char Type;
};
template <>
struct Offset<2> {
  typedef short Type;
};
template <>
struct Offset<4> {
  typedef int Type;
};
template <>
struct Offset<8> {
  typedef long long Type;
};
template <class T>
struct ExtremeLane {
  typedef typename Offset<int(sizeof(T))>::Type At;
  T best;
  At at;
};
template <class T, bool largest, index size>
struct ExtremeChunkStates {
  typedef ExtremeLane<T> Lane;
  typedef typename Lane::At At;
  // The first extreme is the same for every order of combination, so a chunk may be as long as positions can be
  // represented.
  static constexpr index most = sizeof(At) == 1 ? chunk_elements : (1ll << (8 * (sizeof(At) < 4 ? 2 : 4) - 1)) - 1;
  T best[size];
  At at[size];
  // The first element is replaced by better ones; the initial value is the worst one.
  CT_MEMBER void clear(index t) {
    if constexpr (largest)
      best[t] = Max<T>::identity();
    else
      best[t] = Min<T>::identity();
    at[t] = 0;
  }
  CT_MEMBER Lane lane(index t) const { return Lane{best[t], at[t]}; }
  CT_MEMBER void keep(index t, Lane lane) {
    best[t] = lane.best;
    at[t] = lane.at;
  }
  // Elements come in order: a later one has to be better. A nan is, unless there is one.
  static CT_MEMBER At offset(index k) { return At(k); }
  static CT_MEMBER Lane add(Lane lane, T value, index, At offset) {
    const bool no_better = largest ? value <= lane.best : value >= lane.best;
    const bool better = !no_better & (lane.best == lane.best);
    return Lane{better ? value : lane.best, better ? offset : lane.at};
  }
  CT_MEMBER Placed<T> whole(index t, index begin) const { return Placed<T>{best[t], begin + at[t]}; }
};
template <class T, index size>
struct ChunkStates<ArgMax<T>, size> : ExtremeChunkStates<T, true, size> {};
template <class T, index size>
struct ChunkStates<ArgMin<T>, size> : ExtremeChunkStates<T, false, size> {};

struct TileTeam {
  index points;  // of this tile

  template <class C, class F>
  CT_MEMBER auto reduce(index n, const F& value) const {
    typedef typename C::State State;
    State levels[44][tile_points];
    unsigned long long count = 0;
    const index width = points;
    constexpr index most = ChunkStates<C, tile_points>::most;
    for (index begin = 0; begin < n; begin += most) {
      const index end = begin + most < n ? begin + most : n;
      ChunkStates<C, tile_points> states;
      for (index t = 0; t < width; ++t) states.clear(t);
      const index blocks = width / block_points * block_points;
      for (index k = begin; k < end && blocks != 0; k += pass_elements) {
        const index stop = k + pass_elements < end ? k + pass_elements : end;
        for (index t = 0; t < blocks; t += block_points) add_block<C>(states, t, begin, k, stop, value);
      }
      add_rest<C>(states, blocks, begin, end, value);
      State state[tile_points];
      for (index t = 0; t < width; ++t) state[t] = states.whole(t, begin);
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

  // Adds the elements [k, stop) of the chunk at `begin` to the states of the `block_points` from `first` on.
  template <class C, class F>
  static CT_MEMBER void add_block(ChunkStates<C, tile_points>& states, index first, index begin, index k, index stop,
                                  const F& value) {
    ChunkStates<C, block_points> block;
    for (index t = 0; t < block_points; ++t) block.keep(t, states.lane(first + t));
    for (auto at = block.offset(k - begin); k < stop; ++k, ++at) {
#pragma clang loop vectorize(assume_safety)
      for (index t = 0; t < block_points; ++t) block.keep(t, block.add(block.lane(t), value(first + t, k), begin, at));
    }
    for (index t = 0; t < block_points; ++t) states.keep(first + t, block.lane(t));
  }

  // Adds the chunk [begin, end) to the states of the points from `first` on, fewer than a block. Four elements a pass
  // keep the states in registers for four steps.
  template <class C, class F>
  CT_MEMBER void add_rest(ChunkStates<C, tile_points>& states, index first, index begin, index end,
                          const F& value) const {
    const index width = points;
    index k = begin;
    for (; k + 4 <= end && first < width; k += 4) {
#pragma clang loop vectorize(assume_safety)
      for (index t = first; t < width; ++t) {
        auto lane = states.lane(t);
        for (index i = 0; i < 4; ++i) lane = states.add(lane, value(t, k + i), begin, states.offset(k + i - begin));
        states.keep(t, lane);
      }
    }
    for (; k < end && first < width; ++k) {
#pragma clang loop vectorize(assume_safety)
      for (index t = first; t < width; ++t)
        states.keep(t, states.add(states.lane(t), value(t, k), begin, states.offset(k - begin)));
    }
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
