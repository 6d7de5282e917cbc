// A row kernel and a column kernel over the same matrix, in one launch on a GPU that reads each operand once. A block is the
// team of one row (row_packs.cuh). It does the rows of a chunk one after the other; after each it adds the row's elements
// to the states of their columns, which are in shared memory, where each thread reads only what it has written. Elements
// that both kernels use, and results of the row kernel, are passed in registers.
//
// So a chunk is one part of the columns' reductions, in the tree of combine.cuh. The last block of each `joined_parts`
// neighbours joins their states, the last of as many such groups joins theirs, and so on: no block has to read many
// states. The one that joins the last group stores the results.
namespace ct {

template <class Row, class Column>
struct ColumnsOfRows {
  typedef typename Row::Offset Offset;
  typedef typename Column::Combiner Combiner;
  typedef typename Combiner::State State;
  static constexpr int vector = int(lane_accumulators);
  // Packs of a row, for which there are states: a point of all packs, then the next point of all.
  static constexpr int packs = Row::most_blocks == 1 ? Row::packs * Row::lanes : Row::most_blocks * int(block_elements) / vector;
  static constexpr int states = packs * vector;
  // Points of a pack whose states of all parts of a group are in registers at once.
  static constexpr int most = 32 / int(sizeof(State)), at_once = most >= vector ? vector : most >= 2 ? 2 : 1;

  const Column& columns;
  const typename Column::Line& line;  // begins at the first element of the thread
  Offset begin;                       // the number of this element in the row
  Offset rest;                        // elements of the row from there on
  State* sums;                        // of the chunk, in shared memory

  CT_MEMBER int at(Offset k, int e) const { return e * packs + int(begin + k) / vector; }

  // Adds a pack of a row.
  template <class... Given>
  CT_MEMBER void add(Offset k, int left, index row, bool is_first, const Given&... given) const {
    const typename Column::Inputs in = columns.inputs(line, k, row, left, given...);
#pragma unroll
    for (int e = 0; e < vector; ++e) {
      if (Row::full || (Row::whole ? 0 : e) < left) {
        State& sum = sums[at(k, e)];
        sum = Combiner::join(is_first ? Combiner::identity() : sum, Combiner::lift(columns.value(line, in, k, e, row), row));
      }
    }
  }

  // Calls `use` for each pack of the thread, with the number of its elements.
  template <class F>
  CT_MEMBER void each(const F& use) const {
#pragma unroll 1
    for (Offset block = 0; block < rest; block += Offset(Row::warps * int(block_elements))) {
#pragma unroll 1
      for (int j = 0; j < (Row::packs < 8 ? Row::packs : 8); ++j) {
        const Offset k = block + Offset(j * vector * Row::lanes);
        if (k < rest) use(k, in_pack<vector>(rest - k));
      }
    }
  }

  CT_MEMBER void store(State* to) const {
    each([&](Offset k, int left) CT_INLINE {
#pragma unroll
      for (int e = 0; e < vector; ++e) {
        if (e < left) to[at(k, e)] = sums[at(k, e)];
      }
    });
  }

  // Joins `count` states that are `stride` parts apart, in order, into the first.
  CT_MEMBER void join(State* parts, index stride, int count) const {
    each([&](Offset k, int left) CT_INLINE {
#pragma unroll
      for (int e = 0; e < vector; e += at_once) {
        State joined[joined_parts][at_once];
#pragma unroll
        for (int part = 0; part < joined_parts; ++part) {
#pragma unroll
          for (int i = 0; i < at_once; ++i)
            joined[part][i] = part < count && e + i < left ? parts[part * stride * states + at(k, e + i)] : Combiner::identity();
        }
#pragma unroll
        for (int step = 1; step < joined_parts; step *= 2) {
#pragma unroll
          for (int part = 0; part < joined_parts; part += 2 * step) {
#pragma unroll
            for (int i = 0; i < at_once; ++i) {
              if (part + step < count) joined[part][i] = Combiner::join(joined[part][i], joined[part + step][i]);
            }
          }
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (e + i < left) parts[at(k, e + i)] = joined[0][i];
        }
      }
    });
  }

  CT_MEMBER void finish(const State* total) const {
    each([&](Offset k, int left) CT_INLINE {
      typename OfPack<Combiner, vector>::State state;
#pragma unroll
      for (int e = 0; e < vector; ++e) state[e] = e < left ? total[at(k, e)] : Combiner::identity();
      columns.finish(line, k, left, OfPack<Combiner, vector>::finish(state));
    });
  }

  // The end of a block: its part, and those of groups of which it is the last.
  CT_MEMBER void store_part(index part) const {
    State* const all = columns.states();
    const index parts = columns.parts();
    store(all + part * states);
    unsigned int* counters = columns.counters();
#pragma unroll 1
    for (index stride = 1; stride < parts; stride *= joined_parts, ++counters) {
      const index first = part / (stride * joined_parts) * (stride * joined_parts), left = (parts - first + stride - 1) / stride;
      const int count = left < joined_parts ? int(left) : joined_parts;
      // No other group, of this or another size, has the counter: these begin at multiples of `joined_parts`, and there
      // are fewer sizes.
      if (!is_last_block(counters + first, (unsigned int)count)) return;
      join(all + first * states, stride, count);
    }
    finish(all);
  }
};

template <class Row, class Column>
CT_DEVICE void inner_outer(const Row& rows, const Column& columns) {
  typedef typename Row::Base Base;
  typedef typename Row::Offset Offset;
  typedef ColumnsOfRows<Row, Column> Columns;
  const int lane = int(lane_index()), warp = int(warp_index());
  const Offset begin = Offset(warp * int(block_elements) + 4 * lane), length = rows.length();
  auto* const sums = dynamic_shared<typename Columns::State>();
  auto* const staged = reinterpret_cast<typename Row::Staged*>(sums + Columns::states);
  const typename Column::Line line_of_columns = columns.line(0, begin);
  const Columns of_chunk{columns, line_of_columns, begin, length - begin, sums};
  const index part = index(block_index()), first = part * chunk_elements, left = columns.length() - first;
  const index end = left < chunk_elements ? first + left : first + chunk_elements;
#pragma unroll 1
  for (index row = first; row < end; ++row) {
    const typename Row::Line line = rows.line(Base(row), Base(begin));
    typename Row::Held held[Row::held ? Row::packs : 1];
    typename Row::Kept kept[Row::held ? Row::packs : 1];
    const PackTeam<Row> team{rows, line, lane, warp, length, index(begin), length - begin, true, held, staged, kept};
    team.hold();
    rows.point(team, line, [&](Offset k, int count, const auto&... given) CT_INLINE {
      of_chunk.add(k, count, row, row == first, given...);
    });
    barrier();  // the states of the row's blocks have been read
  }
  of_chunk.store_part(part);
}

}  // namespace ct
