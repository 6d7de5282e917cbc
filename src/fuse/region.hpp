// Regions: the sets of nodes of a graph that become one kernel each.
//
// Every node that is computed (a map, a reduction) belongs to one region; views, generators and cheap maps belong to
// none, because readers read through them. A region has an iteration space S and, after a reduction over axes A of S
// has joined it, the inner axes A: its members have the shape S, or S without A. A node joins the region of an input if
// shapes and indices match. Regions have levels: a region reads other regions only on strictly lower levels. Therefore
// regions cannot depend on each other in a cycle, and one pass over the nodes finds them. A node that shares elements
// with a region and also reads a value of a higher level raises the region above that value, if no reader of the region
// is on a level between.
#pragma once

#include "fuse/decision.hpp"
#include "fuse/sources.hpp"

#include <vector>

namespace croton::fuse {

struct Region {
  std::vector<NodeId> space;
  Axes inner;                            // sorted
  SegmentId segment = first_segment;     // of all members
  expr::Place place = base::host_place;  // of all members
  int level = 0;
  std::vector<NodeId> members;  // in topological order
  std::size_t body_nodes = 0;
  std::vector<Separation> apart;  // why its first member joined no region that it reads
};

using RegionId = base::Id<struct RegionTag>;
inline constexpr RegionId no_region;

struct Regions {
  base::IdVector<RegionId, Region> regions;
  std::vector<bool> computed;       // per node: a result depends on its elements
  std::vector<RegionId> region_of;  // per node; no_region if it is in no region
  std::vector<Stored> stored;       // per node: why it has a buffer
  std::vector<int> level_of;        // per node: the level of a call, or of the node's region

  bool is_stored(NodeId id) const { return stored[id] != Stored::no; }
};

/// Finds the storage of the nodes (storage.hpp), then the regions.
Regions find_regions(const expr::Graph& graph, const HostValues& host, const Options& options);

}  // namespace croton::fuse
