// Long reductions on the CPU: fixed parts of 16 blocks, each reduced into the workspace, then all parts combined. A
// part is a whole subtree of the tree in combine.cuh, so the result has the bits of one that is not split.
namespace ct {

constexpr index part_elements = 16 * block_elements;

// The parts [begin, end).
template <class Body>
CT_DEVICE void split_parts(const Body& body, index begin, index end) {
  for (index part = begin; part < end; ++part) {
    const index first = part * part_elements, left = body.length() - first;
    body.part(SerialTeam{}, part, first, left < part_elements ? left : part_elements);
  }
}

template <class C>
CT_DEVICE auto split_total(const typename C::State* parts, index count) {
  Counter<C> counter;
  for (index part = 0; part < count; ++part) counter.push(parts[part]);
  return C::finish(counter.total());
}

}  // namespace ct
