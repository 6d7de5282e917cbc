// Column kernels on the CPU: neighbouring points are reduced in parallel, a tile of them at a time, so that memory is
// read along its fast axis. The order of each reduction is that of combine.cuh.
namespace ct {

// The number of neighbouring points whose states stay in registers for a chunk: a tile of a chunk stays in the
// first-level cache. Points that are fewer are processed in halves of that number, in quarters, and so on.
template <class State>
constexpr index block_points = sizeof(State) == 1 ? 64 : 32;

// As one vector; of two, scalars are faster.
template <index size, class F>
CT_DEVICE void for_points(const F& f) {
  if constexpr (size <= 2) {
    for (index t = 0; t < size; ++t) f(t);
  } else {
#pragma clang loop vectorize(assume_safety) vectorize_width(size) interleave_count(1) unroll(disable)
    for (index t = 0; t < size; ++t) f(t);
  }
}

// One value for each point of a tile.
template <class T>
struct Tile {
  T value[tile_points];
  CT_MEMBER const T& operator[](index t) const { return value[t]; }
};

// The states of a tile between its chunks: a Counter for each point.
template <class C>
struct TileStates {
  typedef typename C::State State;
  State levels[44][tile_points];
  unsigned long long count = 0;

  // The states of `size` points within a chunk, from `first` on.
  template <index size>
  struct Block {
    State state[size];
    CT_MEMBER Block(const TileStates&, index) {
      for_points<size>([&](index t) CT_INLINE { state[t] = C::identity(); });
    }
    template <class T>
    CT_MEMBER void add(index t, T value, index k) {
      state[t] = C::join(state[t], C::lift(value, k));
    }
  };

  CT_MEMBER explicit TileStates(index) {}
  // Pushes the states of a whole chunk while they are in registers.
  template <index size>
  CT_MEMBER void push(Block<size>& block, index first) {
    int level = 0;
#pragma clang loop unroll(disable)
    for (; (count >> level) & 1; ++level) {
      const State* const earlier = levels[level] + first;
      for_points<size>([&](index t) CT_INLINE { block.state[t] = C::join(earlier[t], block.state[t]); });
    }
    for_points<size>([&](index t) CT_INLINE { levels[level][first + t] = block.state[t]; });
  }
  CT_MEMBER void end_chunk(index) { ++count; }

  // The states of all chunks together.
  CT_MEMBER const State* totals(index points) {
    int level = 0;
    while (count != 0 && !((count >> level) & 1)) ++level;
    State* const total = levels[level];
    for (index t = 0; t < points && count == 0; ++t) total[t] = C::identity();
    for (++level; level < 44 && (count >> level); ++level) {
      if (!((count >> level) & 1)) continue;
      const State* const earlier = levels[level];
#pragma clang loop vectorize(assume_safety)
      for (index t = 0; t < points; ++t) total[t] = C::join(earlier[t], total[t]);
    }
    return total;
  }
};

// The first extremes of a tile. Positions count from the beginning of a run of chunks, which is as long as they can be
// represented.
template <class C, class T, bool largest>
struct ExtremeTileStates {
  typedef Placed<T> State;
  typedef ExtremeLane<T, largest> Lane;
  typedef decltype(Lane::at) At;
  static constexpr index most = (1ll << (8 * (sizeof(At) < 4 ? sizeof(At) : 4) - 1)) - chunk_elements;
  T best[tile_points];
  At at[tile_points];
  State total[tile_points];  // of the earlier runs
  index begin = 0, end = 0;  // of this run

  template <index size>
  struct Block {
    T best[size];
    At at[size];
    index begin;
    CT_MEMBER Block(const ExtremeTileStates& tile, index first) : begin(tile.begin) {
      for_points<size>([&](index t) CT_INLINE { best[t] = tile.best[first + t], at[t] = tile.at[first + t]; });
    }
    CT_MEMBER void add(index t, T value, index k) {
      const Lane lane = Lane{best[t], at[t]}.with(value, At(k - begin));
      best[t] = lane.best;
      at[t] = lane.at;
    }
  };

  CT_MEMBER explicit ExtremeTileStates(index points) { clear(points); }
  CT_MEMBER void clear(index points) {
    for (index t = 0; t < points; ++t) best[t] = Lane::worst().best, at[t] = 0;
  }
  template <index size>
  CT_MEMBER void push(const Block<size>& block, index first) {
    for_points<size>([&](index t) CT_INLINE { best[first + t] = block.best[t], at[first + t] = block.at[t]; });
  }
  CT_MEMBER void end_chunk(index points) {
    end += chunk_elements;
    if (end - begin <= most) return;
    end_run(points);
    clear(points);
    begin = end;
  }
  CT_MEMBER void end_run(index points) {
    for (index t = 0; t < points; ++t) {
      const State of_run = {best[t], begin + at[t]};
      total[t] = begin == 0 ? of_run : C::join(total[t], of_run);
    }
  }
  CT_MEMBER const State* totals(index points) {
    if (end > begin) end_run(points);
    for (index t = 0; t < points && end == 0; ++t) total[t] = C::identity();
    return total;
  }
};
template <class T>
struct TileStates<ArgMax<T>> : ExtremeTileStates<ArgMax<T>, T, true> {
  using ExtremeTileStates<ArgMax<T>, T, true>::ExtremeTileStates;
};
template <class T>
struct TileStates<ArgMin<T>> : ExtremeTileStates<ArgMin<T>, T, false> {
  using ExtremeTileStates<ArgMin<T>, T, false>::ExtremeTileStates;
};

struct TileTeam {
  index points;  // of this tile

  template <class C, class F>
  CT_MEMBER auto reduce(index n, const F& value) const {
    TileStates<C> states(points);
#pragma clang loop unroll(disable) vectorize(disable)
    for (index begin = 0; begin < n; begin += chunk_elements) {
      const index end = begin + chunk_elements < n ? begin + chunk_elements : n;
      add_points<C, block_points<typename C::State>>(states, 0, begin, end, value);
      states.end_chunk(points);
    }
    const auto* const total = states.totals(points);
    Tile<decltype(C::finish(C::identity()))> result;
    const index width = points;
#pragma clang loop vectorize(assume_safety)
    for (index t = 0; t < width; ++t) result.value[t] = C::finish(total[t]);
    return result;
  }

  // Adds the chunk [begin, end) to the states of the points from `first` on, in blocks of `size` and then of half as
  // many.
  template <class C, index size, class F>
  CT_MEMBER void add_points(TileStates<C>& states, index first, index begin, index end, const F& value) const {
#pragma clang loop unroll(disable) vectorize(disable)
    for (; first + size <= points; first += size) {
      typename TileStates<C>::template Block<size> block(states, first);
#pragma clang loop unroll(disable)
      for (index k = begin; k < end; ++k) {
        for_points<size>([&](index t) CT_INLINE { block.add(t, value(first + t, k), k); });
      }
      states.push(block, first);
    }
    if constexpr (size > 1) add_points<C, size / 2>(states, first, begin, end, value);
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
