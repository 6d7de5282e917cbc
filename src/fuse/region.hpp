// Regions: which nodes of a graph go into one kernel.
//
// Every node that is computed (a map, a reduction) belongs to one region; views, generators and cheap maps belong to
// none, they are read through. A region has an iteration space S and, once it holds a reduction over axes A of S, inner
// axes A: its members have the shape S, or S without A. A node joins the region of an input if shapes and indices line
// up. Regions have levels, and what is read from another region lies on a strictly lower level; so regions can never
// need each other in a circle, and finding them is one pass over the nodes.
#pragma once

#include "fuse/sources.hpp"

#include <vector>

namespace croton::fuse {

struct Region {
  std::vector<NodeId> space;
  Axes inner;                         // in order
  SegmentId segment = first_segment;  // of all its members
  expr::Place place = 0;              // of all its members
  int level = 0;
  std::vector<NodeId> members;  // in order
  std::size_t body_nodes = 0;
};

using RegionId = base::Id<struct RegionTag>;
inline constexpr RegionId no_region;

struct Regions {
  base::IdVector<RegionId, Region> regions;
  std::vector<bool> computed;       // per node: some element of a result is made of it
  std::vector<RegionId> region_of;  // per node; no_region of others
  std::vector<bool> stored;         // per node: has a buffer of its own
  std::vector<bool> deep;           // stored because what it is made of is too deep to be computed again
  std::vector<int> level_of;        // of products and other calls, and of members their region's
};

/// Which nodes have buffers and which are computed again where they are read is found first (storage.hpp).
Regions find_regions(const expr::Graph& graph, const HostValues& host, const Options& options);

}  // namespace croton::fuse
