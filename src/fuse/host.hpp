// What the host knows of a graph's numbers, and from when on. Sizes and integer scalars of inputs it has at once, and
// it computes with them. An integer that a size depends on but that only a kernel can find (the number of true elements
// of a mask: a fresh size) it reads back when that kernel has run. Fresh sizes cut a program into segments.
#pragma once

#include "base/id.hpp"
#include "expr/graph.hpp"

#include <vector>

namespace croton::fuse {

using expr::NodeId;

/// A segment of a program.
using SegmentId = base::Id<struct SegmentTag>;
inline constexpr SegmentId first_segment{0};

struct HostValues {
  std::vector<bool> known;            // per node: a scalar that the host has, sooner or later
  std::vector<SegmentId> known_from;  // the segment from which on it has that
  std::vector<NodeId> fresh;          // nodes whose value is read back at the end of their segment, in order
  std::vector<SegmentId> segment;     // per node: the first segment in which it can be computed
  std::size_t segments = 1;

  bool is_fresh(NodeId id) const;
  /// Known from the start, or found from what is: no kernel needs to have run.
  bool known_at_once(NodeId id) const { return known[id] && known_from[id] == first_segment; }
};

HostValues host_values(const expr::Graph& graph);

}  // namespace croton::fuse
