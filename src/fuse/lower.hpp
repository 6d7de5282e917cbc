// Lowering: a region becomes a kernel. One element of each stored member is computed recursively from elements of its
// inputs: views become index arithmetic, cheap maps are computed again, reductions of the region become stages, and
// nodes that are stored elsewhere are loaded.
#pragma once

#include "fuse/region.hpp"

namespace croton::fuse {

/// The kernel of a region, and the nodes that it reads and writes.
KernelCall lower(const expr::Graph& graph, const Regions& regions, const Region& region, const HostValues& host);

}  // namespace croton::fuse
