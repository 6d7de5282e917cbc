// Long reductions on a GPU: a warp a part, each reduced into the workspace; then one thread of a second launch combines
// the parts in the order of cpu/split.hpp.
namespace ct {

constexpr index part_elements = 16 * block_elements;

template <class Body>
CT_DEVICE void split_parts(const Body& body, index parts) {
  const index warps = block_size() / lanes;
  const index stride = index(block_count()) * warps;
  for (index part = index(block_index()) * warps + warp_index(); part < parts; part += stride) {
    const index first = part * part_elements, left = body.length() - first;
    body.part(WarpTeam{}, part, first, left < part_elements ? left : part_elements);
  }
}

template <class C>
CT_DEVICE auto split_total(const typename C::State* parts, index count) {
  Counter<C> counter;
  for (index part = 0; part < count; ++part) counter.push(parts[part]);
  return C::finish(counter.total());
}

}  // namespace ct
