// All steps of a loop in one kernel on a GPU: a block has rows of its own and goes through the parts of a step, and
// from step to step, without waiting for other blocks.
namespace ct {

struct Crew {
  CT_MEMBER index thread() const { return thread_index(); }
  CT_MEMBER index threads() const { return block_size(); }
  // All have come here, and see what the others wrote before.
  CT_MEMBER void sync() const { barrier(); }
  CT_MEMBER bool leads() const { return thread_index() == 0; }
};

template <class Body>
CT_DEVICE void pointwise(const Crew& crew, const Body& body, index points) {
  const index width = body.width();
  for (index i = crew.thread(); i < points; i += crew.threads()) body.element(i / width, i % width);
}
template <class Body>
CT_DEVICE void row(const Crew& crew, const Body& body, index points) {
  const index warps = crew.threads() / lanes;
  for (index point = crew.thread() / lanes; point < points; point += warps) body.point(WarpTeam{}, point);
}
template <class Body>
CT_DEVICE void column(const Crew& crew, const Body& body, index points) {
  const index width = body.width();
  for (index i = crew.thread(); i < points; i += crew.threads()) body.tile(ThreadTeam{}, i / width, i % width);
}

template <class Run>
CT_DEVICE void loop(const Run& run, index shares) {
  for (index share = block_index(); share < shares; share += block_count()) {
    run.steps(Crew{}, share);
    barrier();
  }
}

}  // namespace ct
