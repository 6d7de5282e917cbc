// Lowering: a region becomes a kernel. Each stored member is asked for one element, and asks its inputs for theirs:
// views become index arithmetic, cheap maps are computed again, reductions of the region become stages, what is stored
// elsewhere is loaded.
#pragma once

#include "fuse/region.hpp"

namespace croton::fuse {

KernelCall lower(const expr::Graph& graph, const Regions& regions, const Region& region, const HostValues& host);

}  // namespace croton::fuse
