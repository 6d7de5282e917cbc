// The numbers of a call: sizes of a graph found from those of the arrays, and the checks of what ops assume of them.
#pragma once

#include "runtime/executable.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace croton::runtime {

/// Values of the graph's host nodes, per node; 0 where not known yet.
using SizeTable = std::vector<std::int64_t>;

/// Fills in what the host knows from this segment on and not before. Fresh sizes of earlier segments must be there.
void find_sizes(const Executable& executable, const CallArrays& arrays, int segment, SizeTable& sizes);

/// The table as if every size of an argument, and every size found by computing, were 1.
SizeTable smallest_sizes(const Executable& executable, const CallArrays& arrays);

/// "x is f32[3] (train.cpp:12), ...": what the call was given, for messages; of shared variables those that are among
/// the nodes, or of whose sizes or values the nodes are computed.
std::string describe_inputs(const Executable& executable, const CallArrays& arrays, std::span<const NodeId> of);

/// ShapeError, IndexError or ValueError for what must hold of sizes known from this segment on, and does not.
void check_requirements(const Executable& executable, const CallArrays& arrays, int segment, const SizeTable& sizes);

/// The table, of a plan of one segment, for a call whose arguments have the same sizes and other values; nothing where
/// these make sizes of something. Raises what check_requirements raises.
std::optional<SizeTable> renumbered_sizes(const Executable& executable, const CallArrays& arrays,
                                          const SizeTable& before);

}  // namespace croton::runtime
