// Column kernels on a GPU: reductions along an axis that is not the fast one. A block has `across` packs of neighbouring
// points; each of the `below` threads under a pack reduces `run` chunks of 16 elements, one after the other, and then
// they join pairwise in shared memory. `run` is a power of two, so each of these is a whole subtree of the tree of
// combine.cuh, and the bits are those of one thread. If the elements are `split` into parts, each part is such a block;
// the last one that finishes joins the states of all parts, in their order.
namespace ct {

template <class Body>
struct ColumnPlace {
  int x, y;                       // of the thread in the block
  typename Body::Base part, set;  // of the block: its part, and the number of its points' block
  typename Body::Offset column;   // of the pack
  int left;                       // points of the pack
};

template <class Body>
struct ColumnTeam {
  typedef typename Body::Base Base;
  typedef typename Body::Inputs Inputs;
  static constexpr int vector = Body::vector, across = Body::across, below = Body::threads / Body::across;
  static constexpr int elements = int(chunk_elements) * Body::run;  // of a thread in a part

  const Body& body;
  const typename Body::Line& line;
  ColumnPlace<Body> place;
  Base point;  // the number of the first point of the pack

  // The states of a pack of points.
  template <class C>
  using States = typename OfPack<C, vector>::State;

  // Joins the states of the first `filled` threads below each other. Every thread gets the result.
  template <class C>
  CT_MEMBER States<C> total_of_block(States<C> (&joined)[below][across], int filled) const {
    barrier();
#pragma unroll
    for (int step = 1; step < below; step *= 2) {
      if (place.y % (2 * step) == 0 && place.y + step < filled)
        joined[place.y][place.x] = OfPack<C, vector>::join(joined[place.y][place.x], joined[place.y + step][place.x]);
      barrier();
    }
    return joined[0][place.x];
  }

  // The elements [begin, end) of the thread's points, at most `run` chunks.
  template <class C, class F>
  CT_MEMBER States<C> chunks(Base begin, Base end, const F& value) const {
    if (begin >= end) return OfPack<C, vector>::identity();
    // The last chunk is not pushed, so that the counter has a level less.
    ShortCounter<OfPack<C, vector>, Body::run == 1 ? 1 : Body::run - 1> counter;
    for (;;) {
      const bool full = place.left == vector && end - begin >= Base(chunk_elements);
      const States<C> state = full ? chunk<true, C>(begin, end, value) : chunk<false, C>(begin, end, value);
      begin += Base(chunk_elements);
      if (Body::run == 1 || begin >= end) return counter.total_before(state);
      counter.push(state);
    }
  }

  // A chunk; nothing is conditional if all elements of all points are there (`full`).
  template <bool full, class C, class F>
  CT_MEMBER States<C> chunk(Base begin, Base end, const F& value) const {
    States<C> state = OfPack<C, vector>::identity();
    // Loads that are under way at once, in 16 registers.
    constexpr int loads = full ? (sizeof(Inputs) > 64 ? 1 : sizeof(Inputs) > 32 ? 2 : sizeof(Inputs) > 16 ? 4 : 8) : sizeof(Inputs) + sizeof(States<C>) > 32 ? 2 : 4;
#pragma unroll 1
    for (int some = 0; some < int(chunk_elements); some += loads) {
      Inputs in[loads];
#pragma unroll
      for (int i = 0; i < loads; ++i) {
        const Base k = begin + Base(some + i);
        in[i] = body.fetch(line, place.column, k, full ? vector : k < end ? place.left : 0);
      }
#pragma unroll
      for (int i = 0; i < loads; ++i) {
        const Base k = begin + Base(some + i);
        if (!full && k >= end) break;
#pragma unroll
        for (int e = 0; e < vector; ++e) {
          if (full || e < place.left) state[e] = C::join(state[e], C::lift(value(in[i], e, k), index(k)));
        }
      }
    }
    return state;
  }

  // The state of the block's part.
  template <class C, int stage, class F>
  CT_MEMBER States<C> part(const F& value) const {
    CT_SHARED States<C> joined[below][across];
    const Base first = place.part * Base(elements * below), end = body.length();
    const Base mine = first + Base(place.y) * Base(elements);
    const Base stop = mine + Base(elements) < end ? mine + Base(elements) : end;
    const Base threads = end - first + Base(elements - 1) < Base(elements) * Base(below) ? (end - first + Base(elements - 1)) / Base(elements) : Base(below);
    joined[place.y][place.x] = chunks<C>(mine, stop, value);
    return total_of_block<C>(joined, int(threads));
  }

  template <class C, int stage, class F>
  CT_MEMBER auto reduce(const F& value) const {
    return OfPack<C, vector>::finish(part<C, stage>(value));
  }

  // ---- of parts ----

  // Stores the state of the block's part at `states`.
  template <class C, int stage, class F>
  CT_MEMBER void store_part(typename C::State* states, const F& value) const {
    const States<C> state = part<C, stage>(value);
    if (place.y != 0) return;
#pragma unroll
    for (int e = 0; e < vector; ++e) {
      if (e < place.left) states[index(place.part) * body.points() + point + e] = state[e];
    }
  }

  // Whether all other parts of these points have been stored.
  CT_MEMBER bool is_last(unsigned int* counters) const {
    return is_last_block(counters + place.set, (unsigned int)body.parts());
  }

  template <class C, int stage>
  CT_MEMBER auto total(const typename C::State* states) const {
    CT_SHARED States<C> joined[below][across];
    const int parts = int(body.parts());
    int each = 1;
    while (each * below < parts) each *= 2;
    // One point after the other: counters of all need too many registers.
#pragma unroll 1
    for (int e = 0; e < vector; ++e) {
      ShortCounter<C, int(most_column_parts) / below + 1> counter;
      for (int part = place.y * each; e < place.left && part < parts && part < (place.y + 1) * each; ++part)
        counter.push(states[index(part) * body.points() + point + e]);
      joined[place.y][place.x][e] = counter.total();
    }
    return OfPack<C, vector>::finish(total_of_block<C>(joined, (parts + each - 1) / each));
  }

  // Calls `store` for each element along the reduced axis, or for those of the block's part. All threads have read them.
  template <class F>
  CT_MEMBER void each(const F& store) const {
    const Base first = Body::split ? place.part * Base(elements * below) : Base(0), rest = body.length() - first;
    const Base count = Body::split && rest > Base(elements * below) ? Base(elements * below) : rest;
    for (Base k = Base(place.y); k < count; k += Base(below)) store(body.fetch(line, place.column, first + k, place.left), first + k);
  }

  CT_MEMBER bool leads() const { return place.y == 0; }
};

template <class Body>
CT_DEVICE void column_packs(const Body& body, index) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int columns = Body::across * Body::vector;
  const int x = int(thread_index()) % Body::across, y = int(thread_index()) / Body::across;
  const Base block = Base(block_index()), rest = body.band(block), tile = block - rest * body.tiles_of_line();
  Base row = rest, part = 0;
  if constexpr (Body::split) {
    row = body.row_of(rest);
    part = rest - row * body.parts();
  }
  const Base first = tile * Base(columns);
  const Base begin = sizeof(Base) == sizeof(Offset) ? Base(0) : first;
  const Base left = body.width() - first - Base(x * Body::vector);
  const int here = left >= Base(Body::vector) ? Body::vector : left > 0 ? int(left) : 0;
  const Offset column = Offset(first - begin) + Offset(x * Body::vector);
  const typename Body::Line line = body.line(row, begin);
  const ColumnPlace<Body> place{x, y, part, row * body.tiles_of_line() + tile, column, here};
  body.point(ColumnTeam<Body>{body, line, place, row * body.width() + first + Base(x * Body::vector)}, line, column, here);
}

}  // namespace ct
