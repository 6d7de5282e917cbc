// Row kernels on a GPU. The threads of a row are `lanes` lanes of a warp, or `warps` whole warps, which then are a block.
// A thread has those elements of the row whose accumulators in the tree of combine.cuh it owns, in packs of four: those of
// one lane of the tree, or of several if the row has fewer lanes. Warps take the tree's blocks of 1024 in turn. Operands
// that are `Held` are loaded once and kept in registers, with expensive values; `Staged` ones are kept in shared memory,
// where each thread reads only what it has written; the others, `Inputs`, are loaded for each reduction and for the
// results.
//
// A reduction of everything (`split_packs`), and those of few long rows (`row_parts`), are cut into parts, which are such
// rows, of one block of threads each; the last one that finishes joins the states of all parts, in their order. Where
// elements or later reductions need the results, all blocks run at the same time (`row_meetings`): the parts of a row meet
// after each reduction, and each joins the states of all.
namespace ct {

struct Nothing {};

template <class Body>
struct PackTeam {
  typedef typename Body::Offset Offset;
  typedef typename Body::Held Held;
  typedef typename Body::Staged Staged;
  typedef typename Body::Inputs Inputs;
  typedef typename Body::Kept Kept;
  static constexpr int packs = Body::packs;
  static constexpr int of_block = packs < 8 ? packs : 8;  // packs of a thread in one block of the tree
  // Packs of operands that are not held, under way at once: in 32 registers, half of them if a row is held, if results of
  // elements are made while they are reduced, or if states are large.
  static constexpr int room = (Body::held || Body::stores ? 64 : 128) / int(sizeof(Inputs));
  // Elements of long bodies are computed in a loop, unless they are in registers: their text would be too long.
  static constexpr bool unrolls = Body::held || Body::is_short;
  static constexpr int most = unrolls ? of_block : of_block < 2 ? of_block : 2, copies = unrolls ? of_block : 1;
  static constexpr int at_once = room >= most ? most : room >= 4 ? 4 : room >= 2 ? 2 : 1;
  template <class C>
  static constexpr int loads = sizeof(typename C::State) > 8 && at_once > 1 ? at_once / 2 : at_once;
  static constexpr bool is_one_block = Body::most_blocks == 1;  // of the tree
  // Lanes of the tree whose accumulators a thread has: packs next to each other are of different ones.
  static constexpr int tree_lanes = int(lanes) / Body::lanes < of_block ? int(lanes) / Body::lanes : of_block;
  static_assert(tree_lanes == 1 || unrolls, "the accumulators must be in registers");

  const Body& body;
  const typename Body::Line& line;  // begins at the first element of the thread
  int lane, warp;                   // in the row
  Offset length;
  index begin;         // the number of the thread's first element in the reduction
  Offset rest;         // elements of the row from there on
  bool is_row;         // not beyond the last row
  Held* held;
  Staged* staged;
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
  CT_MEMBER int count(Offset k) const { return Body::full ? 4 : Body::whole ? (k < rest ? 4 : 0) : in_pack<4>(rest - k); }
  CT_MEMBER Inputs load(Offset k) const { return body.fetch(line, k, count(k)); }
  // The place of pack `j` of a block in shared memory; threads of a warp are neighbours.
  CT_MEMBER int slot(int block, int j) const {
    return Body::warps == 1 && is_one_block ? j * Body::threads + int(thread_index()) : ((block * Body::warps + warp) * 8 + j) * int(lanes) + lane;
  }
  CT_MEMBER void hold() const {
    if constexpr (Body::staged) {
#pragma unroll 1
      for (int b = 0; b < blocks(); ++b) {
#pragma unroll
        for (int j = 0; j < of_block; ++j) staged[slot(b, j)] = body.stage(line, distance(b, j), count(distance(b, j)));
      }
    }
    if constexpr (Body::held) {
#pragma unroll
      for (int j = 0; j < packs; ++j) held[j] = body.hold(line, distance(j / 8, j % 8), count(distance(j / 8, j % 8)));
    }
  }

  // The state of the `number`-th block of the warp, in all lanes. Then `store` gets each pack.
  template <class C, class F, class Store>
  CT_MEMBER typename C::State block(int number, const F& value, const Store& store) const {
    typename C::State own[tree_lanes][4];
#pragma unroll
    for (int t = 0; t < tree_lanes; ++t) {
#pragma unroll
      for (int e = 0; e < 4; ++e) own[t][e] = C::identity();
    }
    Held no_held;
    Staged no_staged;
    Kept no_kept;
#pragma unroll copies
    for (int first = 0; first < of_block; first += loads<C>) {
      Inputs in[loads<C>];
#pragma unroll
      for (int i = 0; i < loads<C>; ++i) in[i] = load(distance(number, first + i));
#pragma unroll
      for (int i = 0; i < loads<C>; ++i) {
        const Offset k = distance(number, first + i);
        const int at = number * 8 + first + i, t = (first + i) % tree_lanes;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          // Rows of whole packs need one condition for each.
          if (Body::full || (Body::whole ? k : k + Offset(e)) < rest)
            own[t][e] = C::join(own[t][e], C::lift(value(Body::held ? held[at] : no_held,
                                                         Body::staged ? staged[slot(number, first + i)] : no_staged, in[i],
                                                         Body::held ? kept[at] : no_kept, e, k),
                                                   begin + index(k + Offset(e))));
        }
      }
#pragma unroll
      for (int i = 0; i < loads<C>; ++i) store(in[i], distance(number, first + i), count(distance(number, first + i)));
    }
    typename C::State of_lane[tree_lanes];
#pragma unroll
    for (int t = 0; t < tree_lanes; ++t)
      of_lane[t] = C::join(C::join(own[t][0], own[t][2]), C::join(own[t][1], own[t][3]));
#pragma unroll
    for (int half = tree_lanes / 2; half > 0; half /= 2) {
#pragma unroll
      for (int t = 0; t < half; ++t) of_lane[t] = C::join(of_lane[t], of_lane[t + half]);
    }
    typename C::State state = of_lane[0];
#pragma unroll
    for (unsigned int half = Body::lanes / 2; half > 0; half /= 2) state = C::join(state, from_lane(state, half));
    return state;
  }

  // The state of the row. `stage`: the number of the reduction; each has its own shared memory.
  template <class C, int stage, class F, class Store>
  CT_MEMBER typename C::State state(const F& value, const Store& store) const {
    if constexpr (is_one_block) {
      return block<C>(0, value, store);
    } else {
      CT_SHARED typename C::State states[Body::most_blocks];
      if constexpr (Body::held) {
#pragma unroll
        for (int b = 0; b < packs / 8; ++b) {
          const typename C::State state = block<C>(b, value, store);
          if (lane == 0) states[b * Body::warps + warp] = state;
        }
      } else {
        for (int b = 0; b < blocks(); ++b) {
          const typename C::State state = block<C>(b, value, store);
          if (lane == 0) states[b * Body::warps + warp] = state;
        }
      }
      barrier();
      return total_of_few<C, Body::most_blocks>(states, int((length + Offset(block_elements - 1)) / Offset(block_elements)));
    }
  }
  template <class C, int stage, class F>
  CT_MEMBER auto reduce(const F& value) const {
    return C::finish(state<C, stage>(value, [](const Inputs&, Offset, int) {}));
  }

  // Calls `store` for each pack, with the number of its elements.
  template <class F>
  CT_MEMBER void each(const F& store) const {
    Staged no_staged;
    if constexpr (Body::held) {
#pragma unroll
      for (int j = 0; j < packs; ++j) {
        const Offset k = distance(j / 8, j % 8);
        if (Body::staged && count(k) == 0) continue;  // there is no such block in shared memory
        store(held[j], Body::staged ? staged[slot(j / 8, j % 8)] : no_staged, load(k), kept[j], k, count(k));
      }
    } else {
      Held no_held;
      Kept no_kept;
      for (int b = 0; b < blocks(); ++b) {
#pragma unroll copies
        for (int first = 0; first < of_block; first += at_once) {
          Inputs in[at_once];
#pragma unroll
          for (int i = 0; i < at_once; ++i) in[i] = load(distance(b, first + i));
#pragma unroll
          for (int i = 0; i < at_once; ++i) {
            const Offset k = distance(b, first + i);
            store(no_held, Body::staged ? staged[slot(b, first + i)] : no_staged, in[i], no_kept, k, count(k));
          }
        }
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
  typename Body::Held held[Body::held ? Body::packs : 1];
  typename Body::Kept kept[Body::held ? Body::packs : 1];
  typename Body::Staged* const staged = Body::staged ? dynamic_shared<typename Body::Staged>() : nullptr;
  const PackTeam<Body> team_of_row{body, line, lane, warp, length, index(begin), length - begin, is_row, held, staged, kept};
  team_of_row.hold();
  body.point(team_of_row, line);
}

// Joins the states of parts; all warps of the block get the result. Each warp joins a subtree.
template <class C, int warps, int stage>
CT_DEVICE typename C::State total_of_parts(const typename C::State* states, int parts, int warp, int lane) {
  CT_SHARED typename C::State joined[warps];
  int each = int(lanes);
  while (each * warps < parts) each *= 2;
  const int first = warp * each, left = parts - first;
  const typename C::State own = total_of_few<C, int(most_split_parts) / warps>(states + first, left < each ? left : each);
  if (lane == 0) joined[warp] = own;
  barrier();
  return total_of_few<C, warps>(joined, (parts + each - 1) / each);
}

// A part of a reduction of everything, or of that of a row.
template <class Body>
struct PartTeam {
  typedef typename Body::Offset Offset;
  const Body& body;
  const PackTeam<Body>& row;
  index number, part;  // of the row; in it
  bool& stores;        // whether this block is the last one of the row

  // Stores the state of the part among those of all rows; `store` gets each pack.
  template <class C, class F, class Store>
  CT_MEMBER void store_part(typename C::State* states, const F& value, const Store& store) const {
    const typename C::State state = row.template state<C, 0>(value, store);
    if (leads()) states[number * body.parts() + part] = state;
  }

  // `counters`: one for each row.
  CT_MEMBER bool is_last(unsigned int* counters) const {
    return stores = is_last_block(counters + number, (unsigned int)body.parts());
  }

  template <class C>
  CT_MEMBER auto total(const typename C::State* states) const {
    return C::finish(total_of_parts<C, Body::warps, 0>(states + number * body.parts(), int(body.parts()), row.warp, row.lane));
  }

  CT_MEMBER bool leads() const { return thread_index() == 0; }
};

// Returns whether this block is the last one, which has stored the results.
template <class Body>
CT_DEVICE bool split_block(const Body& body, index part, index number = 0) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int part_size = Body::most_blocks * int(block_elements);
  const int lane = int(lane_index()), warp = int(warp_index());
  const Offset begin = Offset(warp * int(block_elements) + 4 * lane);
  const Base first = Base(part) * Base(part_size), left = body.length() - first;
  const Offset length = Offset(left < Base(part_size) ? left : Base(part_size));
  const typename Body::Line line = body.line(Base(number), first + Base(begin));
  typename Body::Held held[1];
  typename Body::Kept kept[1];
  const PackTeam<Body> row{body, line, lane, warp, length, index(first) + index(begin), length - begin, true, held, nullptr, kept};
  bool stores = false;
  body.part(PartTeam<Body>{body, row, number, part, stores}, line);
  return stores;
}

template <class Body>
CT_DEVICE void split_packs(const Body& body, index) {
  split_block(body, index(block_index()));
}

template <class Body>
CT_DEVICE void row_parts(const Body& body, index) {
  const index block = index(block_index()), row = index(body.row_of(typename Body::Base(block)));
  split_block(body, block - row * body.parts(), row);
}

// A part of a row that meets the others.
template <class Body>
struct MeetingTeam : PackTeam<Body> {
  int number, part;              // of the row; in it: all run at the same time, so they are few
  mutable unsigned int met = 0;  // meetings

  // Of the row: it counts the arrivals of all meetings, and is 0 between launches.
  CT_MEMBER unsigned int* counter() const { return this->body.p.counters + number; }

  // `slot`: where the reduction's states are among those of the row, in units of 16 bytes for each part.
  template <class C, int slot, class F>
  CT_MEMBER auto reduce(const F& value) const {
    const Body& b = this->body;
    const typename C::State own = this->template state<C, slot>(value, [](const typename Body::Inputs&, typename Body::Offset, int) {});
    typename C::State* const states =
        reinterpret_cast<typename C::State*>(b.p.workspace + index(number * Body::slots + slot) * b.parts() * 16);
    if (thread_index() == 0) states[part] = own;
    meet();
    return C::finish(total_of_parts<C, Body::warps, slot>(states, int(b.parts()), this->warp, this->lane));
  }

  // Waits for all parts of the row, whose states can be read afterwards.
  CT_MEMBER void meet() const {
    const unsigned int all = ++met * (unsigned int)this->body.parts();
    if (thread_index() == 0) {
      memory_fence();
      atomic_add(counter(), 1u);
      const volatile unsigned int* const arrived = counter();
      while (*arrived < all) {
      }
      memory_fence();
    }
    barrier();
  }
  // The last part to leave sets the counter to 0: by an atomic operation, as all others that change it.
  CT_MEMBER void leave() const {
    const unsigned int all = (met + 1u) * (unsigned int)this->body.parts();
    if (thread_index() == 0 && atomic_add(counter(), 1u) == all - 1u) atomic_add(counter(), 0u - all);
  }
  CT_MEMBER bool leads() const { return part == 0 && thread_index() == 0; }
};

// All blocks run at the same time.
template <class Body>
CT_DEVICE void row_meetings(const Body& body, index) {
  typedef typename Body::Base Base;
  typedef typename Body::Offset Offset;
  constexpr int part_size = Body::most_blocks * int(block_elements);
  const int block = int(block_index()), number = int(body.row_of(Base(block))), part = block - number * int(body.parts());
  const int lane = int(lane_index()), warp = int(warp_index());
  const Offset begin = Offset(warp * int(block_elements) + 4 * lane);
  const Base first = Base(part) * Base(part_size), left = body.length() - first;
  const Offset length = Offset(left < Base(part_size) ? left : Base(part_size));
  const typename Body::Line line = body.line(Base(number), first + Base(begin));
  typename Body::Held held[Body::held ? Body::packs : 1];
  typename Body::Kept kept[Body::held ? Body::packs : 1];
  typename Body::Staged* const staged = Body::staged ? dynamic_shared<typename Body::Staged>() : nullptr;
  const MeetingTeam<Body> team{
      {body, line, lane, warp, length, index(first) + index(begin), length - begin, true, held, staged, kept}, number, part};
  team.hold();
  body.point(team, line);
  team.leave();
}

}  // namespace ct
