// Long reductions on a GPU: a warp per part, each reduced into the workspace; then one thread of a second launch
// combines the parts (split_total).
namespace ct {

template <class Body>
CT_DEVICE void split_parts(const Body& body, index parts) {
  const index warps = block_size() / lanes;
  const index stride = index(block_count()) * warps;
  for (index part = index(block_index()) * warps + warp_index(); part < parts; part += stride)
    split_part(WarpTeam{}, body, part, part_elements);
}

}  // namespace ct
