// Reductions of everything on a GPU for which there are no packs (fit_split of src/codegen/schedule_split.cpp says when): a
// warp per part, each reduced into the workspace; then one warp of a second launch joins the parts. Others are split_packs
// (row_packs.cuh).
namespace ct {

template <class Body>
CT_DEVICE void split_parts(const Body& body, index parts) {
  const index warps = block_size() / lanes;
  const index stride = index(block_count()) * warps;
#pragma unroll 1
  for (index part = index(block_index()) * warps + warp_index(); part < parts; part += stride)
    split_part(WarpTeam{}, body, part, part_elements);
}

}  // namespace ct
