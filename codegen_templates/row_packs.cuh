// Row kernels on a GPU. The threads of a row are `lanes` lanes of a warp, or `warps` whole warps, which then are a block.
// A thread has those elements of the row whose four accumulators in the tree of combine.cuh it owns, in packs of four;
// warps take the tree's blocks of 1024 in turn. If the row is `held`, each thread loads all its packs first and keeps them
// in registers, with expensive values; else it loads them again for each reduction and for the results.
namespace ct {

// Joins the states of a row's blocks in the order of Counter; every lane of the warp gets the result. `most` is a bound
// of the count.
template <class C, int most>
CT_DEVICE typename C::State total_of_row(const typename C::State* states, int count) {
  const unsigned int lane = lane_index();
  ShortCounter<C, most / int(lanes) + 1> groups;
  typename C::State rest = C::identity();  // of the last ones, which are fewer than 32
  bool any = false;
  for (int first = 0; first < count; first += int(lanes)) {
    const unsigned int here = (unsigned int)(count - first < int(lanes) ? count - first : int(lanes));
    typename C::State state = lane < here ? states[first + int(lane)] : C::identity();
#pragma unroll
    for (unsigned int bit = 1; bit < lanes && bit <= (unsigned int)most; bit *= 2) {
      if (here < lanes && (here & bit) != 0) {
        const auto part = from_lane(state, lane ^ (here & ~(2 * bit - 1)));
        rest = any ? C::join(part, rest) : part;
        any = true;
      }
      const auto other = from_lane(state, bit);
      state = (lane & bit) != 0 ? C::join(other, state) : C::join(state, other);
    }
    if (here == lanes) groups.push(state);
  }
  return any ? groups.total_before(rest) : groups.total();
}

template <class Body>
struct PackTeam {
  typedef typename Body::Offset Offset;
  typedef typename Body::Inputs Inputs;
  typedef typename Body::Kept Kept;
  static constexpr int packs = Body::packs;
  static constexpr int of_block = packs < 8 ? packs : 8;  // packs of a thread in one block of the tree
  static constexpr bool is_one_warp = Body::warps == 1;

  const Body& body;
  const typename Body::Line& line;  // begins at the first element of the thread
  int lane, warp;                   // in the row
  Offset length;
  Offset begin, rest;  // the number of the thread's first element, and how many elements come from there on
  bool is_row;         // not beyond the last row
  Inputs* in;          // held
  Kept* kept;

  // The distance of pack `j` of the thread in its `block`-th block from its first pack: a constant where both are, which
  // becomes part of the instruction.
  CT_MEMBER static Offset distance(int block, int j) {
    return Offset(block) * Offset(Body::warps * int(block_elements)) + Offset(j * 4 * Body::lanes);
  }
  // The number of blocks of the warp.
  CT_MEMBER int blocks() const {
    const Offset whole = Offset(Body::warps * int(block_elements)), first = Offset(warp * int(block_elements));
    return length > first ? int((length - first + whole - 1) / whole) : 0;
  }
  // The number of elements of a pack.
  CT_MEMBER int count(Offset k) const { return Body::whole ? (k < rest ? 4 : 0) : in_pack<4>(rest - k); }
  CT_MEMBER Inputs load(Offset k) const { return body.fetch(line, k, count(k)); }
  CT_MEMBER void hold() const {
    if constexpr (Body::held) {
#pragma unroll
      for (int j = 0; j < packs; ++j) in[j] = load(distance(j / 8, j % 8));
    }
  }

  // The state of the `number`-th block of the warp, in all lanes.
  template <class C, class F>
  CT_MEMBER typename C::State block(int number, const F& value) const {
    typename C::State own[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) own[e] = C::identity();
    Inputs again[of_block];
    Kept none;
    if constexpr (!Body::held) {
#pragma unroll
      for (int j = 0; j < of_block; ++j) again[j] = load(distance(number, j));
    }
#pragma unroll
    for (int j = 0; j < of_block; ++j) {
      const Offset k = distance(number, j);
      const int at = number * 8 + j;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        // Rows of whole packs need one condition for each.
        if ((Body::whole ? k : k + Offset(e)) < rest)
          own[e] = C::join(own[e], C::lift(value(Body::held ? in[at] : again[j], Body::held ? kept[at] : none, e, k),
                                           index(begin) + index(k + Offset(e))));
      }
    }
    typename C::State state = C::join(C::join(own[0], own[2]), C::join(own[1], own[3]));
#pragma unroll
    for (unsigned int half = Body::lanes / 2; half > 0; half /= 2) state = C::join(state, from_lane(state, half));
    return state;
  }

  // `stage`: the number of the reduction; each has its own shared memory.
  template <class C, int stage, class F>
  CT_MEMBER auto reduce(const F& value) const {
    if constexpr (is_one_warp) {
      return C::finish(block<C>(0, value));
    } else {
      CT_SHARED typename C::State states[Body::most_blocks];
      if constexpr (Body::held) {
#pragma unroll
        for (int b = 0; b < packs / 8; ++b) {
          const typename C::State state = block<C>(b, value);
          if (lane == 0) states[b * Body::warps + warp] = state;
        }
      } else {
        for (int b = 0; b < blocks(); ++b) {
          const typename C::State state = block<C>(b, value);
          if (lane == 0) states[b * Body::warps + warp] = state;
        }
      }
      barrier();
      return C::finish(total_of_row<C, Body::most_blocks>(states, int((length + Offset(block_elements - 1)) / Offset(block_elements))));
    }
  }

  // Calls `store` for each pack, with the number of its elements.
  template <class F>
  CT_MEMBER void each(const F& store) const {
    Kept none;
    if constexpr (Body::held) {
#pragma unroll
      for (int j = 0; j < packs; ++j) store(in[j], kept[j], distance(j / 8, j % 8), count(distance(j / 8, j % 8)));
    } else {
      for (int b = 0; b < blocks(); ++b) {
        Inputs again[of_block];
#pragma unroll
        for (int j = 0; j < of_block; ++j) again[j] = load(distance(b, j));
#pragma unroll
        for (int j = 0; j < of_block; ++j) store(again[j], none, distance(b, j), count(distance(b, j)));
      }
    }
  }

  // Of rows of one warp: the reductions of several warps have barriers.
  CT_MEMBER void sync() const { warp_barrier(); }
  CT_MEMBER bool leads() const { return is_row && lane == 0 && warp == 0; }
};

template <class Body>
CT_DEVICE void row_packs(const Body& body, index rows) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int team = Body::lanes * Body::warps, of_block = Body::threads / team;
  const unsigned int thread = thread_index();
  const int me = int(thread % team), lane = me % Body::lanes, warp = me / Body::lanes;
  const Base row = Base(block_index()) * Base(of_block) + Base(thread / team);
  // Warps beyond the last row have nothing to do, and must not read what others write. Other lanes beyond it take part
  // in shuffles, with an empty row.
  if (Body::warps == 1 && Base(block_index()) * Base(of_block) + Base(thread / lanes * lanes / team) >= Base(rows)) return;
  const bool is_row = row < Base(rows);
  const Offset begin = Offset(warp * int(block_elements) + 4 * lane), length = is_row ? body.length() : Offset(0);
  const typename Body::Line line = body.line(is_row ? row : Base(rows - 1), Base(begin));
  typename Body::Inputs in[Body::held ? Body::packs : 1];
  typename Body::Kept kept[Body::held ? Body::packs : 1];
  const PackTeam<Body> team_of_row{body, line, lane, warp, length, begin, length - begin, is_row, in, kept};
  team_of_row.hold();
  body.point(team_of_row, line);
}

}  // namespace ct
