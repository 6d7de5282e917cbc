// Long reductions on the CPU: fixed parts of 16 blocks, each reduced into the workspace, then all parts combined
// (split_total).
namespace ct {

// The parts [begin, end).
template <class Body>
CT_DEVICE void split_parts(const Body& body, index begin, index end) {
  for (index part = begin; part < end; ++part) split_part(SerialTeam{}, body, part, part_elements);
}

}  // namespace ct
