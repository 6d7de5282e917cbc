// Host values: the numbers of a graph that the host knows, and since which segment. The host knows sizes and integer
// scalars of inputs from the start, and computes with them. A fresh size is an integer that a size depends on but that
// only a kernel can compute (the number of true elements of a mask): the host reads it back after that kernel. Fresh
// sizes cut a program into segments.
#pragma once

#include "base/id.hpp"
#include "expr/graph.hpp"

#include <vector>

namespace croton::fuse {

using expr::NodeId;

/// The index of a segment of a program.
using SegmentId = base::Id<struct SegmentTag>;
inline constexpr SegmentId first_segment{0};

struct HostValues {
  std::vector<bool> known;            // per node: a scalar that the host knows in some segment
  std::vector<SegmentId> known_from;  // per node: the first segment in which the host knows it
  std::vector<NodeId> fresh;          // nodes whose values are read back at the end of their segment, sorted
  std::vector<SegmentId> segment;     // per node: the first segment in which it can be computed
  std::size_t segments = 1;

  bool is_fresh(NodeId id) const;
  /// Whether the host knows the node from the start, before any kernel has run.
  bool known_at_once(NodeId id) const { return known[id] && known_from[id] == first_segment; }
};

/// Finds the host values of a graph.
HostValues host_values(const expr::Graph& graph);

}  // namespace croton::fuse
