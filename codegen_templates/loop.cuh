// All steps of a loop in one kernel on a GPU. Either a block has its own rows and runs all parts of all steps without
// waiting for other blocks (BlockGroup); or all blocks work on each part, with a grid barrier before the next one
// (GridGroup).
namespace ct {

// The threads of one block.
struct BlockGroup {
  CT_MEMBER index thread() const { return thread_index(); }
  CT_MEMBER index threads() const { return block_size(); }
  // A barrier: afterwards all see the earlier writes of each other.
  CT_MEMBER void sync() const { barrier(); }
  CT_MEMBER bool leads() const { return thread_index() == 0; }
};

// All blocks of a cooperative launch. Neighbouring warps of work go to different blocks, so that little work is done by
// many multiprocessors.
struct GridGroup {
  // The number of blocks that have arrived and, in another cache line, the number of finished barriers. Both begin as 0.
  unsigned int* grid_barrier;

  CT_MEMBER index thread() const {
    return (index(warp_index()) * block_count() + block_index()) * lanes + lane_index();
  }
  CT_MEMBER index threads() const { return index(block_count()) * block_size(); }
  CT_MEMBER bool leads() const { return block_index() == 0 && thread_index() == 0; }
  // A grid barrier: afterwards all threads of all blocks see the earlier writes of each other. The fence before the
  // arrival publishes this block's writes, the fence after it prevents later reads from using stale cached values.
  CT_MEMBER void sync() const {
    barrier();
    if (thread_index() == 0) {
      volatile unsigned int *const arrived = grid_barrier,
                            *const finished = grid_barrier + grid_barrier_stride / sizeof(unsigned int);
      const unsigned int before = *finished;
      memory_fence();
      if (atomic_add(grid_barrier, 1u) == block_count() - 1u) {
        *arrived = 0u;
        memory_fence();
        *finished = before + 1u;
      } else {
        while (*finished == before) {
        }
      }
      memory_fence();
    }
    barrier();
  }
};

template <class ThreadGroup, class Body>
CT_DEVICE void pointwise(const ThreadGroup& group, const Body& body, index points) {
  typedef typename Body::Base Base;
#pragma unroll 1
  for (index i = group.thread(); i < points; i += group.threads()) {
    const Base row = body.row_of(Base(i)), column = Base(i) - row * body.width();
    const typename Body::Line line = body.line(row, Base(0));
    body.use(line, column, 1, body.fetch(line, column, 1));
  }
}
template <class ThreadGroup, class Body>
CT_DEVICE void row(const ThreadGroup& group, const Body& body, index points) {
  const index warps = group.threads() / lanes;
#pragma unroll 1
  for (index point = group.thread() / lanes; point < points; point += warps)
    body.point(WarpTeam{}, typename Body::Base(point));
}
template <class ThreadGroup, class Body>
CT_DEVICE void column(const ThreadGroup& group, const Body& body, index points) {
#pragma unroll 1
  for (index i = group.thread(); i < points; i += group.threads()) column_point(body, typename Body::Base(i));
}

// A long reduction by all blocks: each warp reduces blocks of elements, then one warp combines their results.
template <class Body>
CT_DEVICE void split_parts(const GridGroup& group, const Body& body) {
  const index warps = group.threads() / lanes;
#pragma unroll 1
  for (index part = group.thread() / lanes; part < body.parts(); part += warps)
    split_part(WarpTeam{}, body, part, block_elements);
}
template <class Body>
CT_DEVICE void split_finish(const GridGroup& group, const Body& body) {
  if (group.thread() < lanes) body.finish(WarpTeam{});
}

// Of any number of blocks.
template <class C>
CT_DEVICE auto total_of_blocks(const typename C::State* states, index count) {
  return C::finish(total_of_states<C, Counter<C>>(states, count));
}

template <class Run>
CT_DEVICE void loop_of_grid(const Run& run, unsigned int* grid_barrier) {
  run.steps(GridGroup{grid_barrier}, 0);
}

template <class Run>
CT_DEVICE void loop(const Run& run, index shares) {
  // Each step ends with a barrier: no thread is still in the share before.
#pragma unroll 1
  for (index share = block_index(); share < shares; share += block_count()) run.steps(BlockGroup{}, share);
}

}  // namespace ct
