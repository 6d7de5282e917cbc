// The numbers of a call: sizes of a graph found from those of the arrays, and the checks of what ops assume of them.
#pragma once

#include "runtime/bound/executable.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace croton::runtime {

/// Values of the graph's host nodes, per node; 0 where not known yet. A value may be data, which wraps, and a size,
/// which may not: the table keeps both.
class SizeTable {
 public:
  explicit SizeTable(std::size_t nodes = 0) { resize(nodes); }
  void resize(std::size_t nodes) {
    values_.resize(nodes, 0);
    too_large_.resize(nodes, false);
  }
  std::size_t size() const { return values_.size(); }
  std::int64_t operator[](NodeId id) const { return values_[id]; }
  /// Whether it is not the number that was meant: that one, or one that it was computed from, does not fit in int64.
  bool is_too_large(NodeId id) const { return too_large_[id]; }
  void set(NodeId id, std::int64_t value, bool too_large = false) {
    values_[id] = value;
    too_large_[id] = too_large;
  }

 private:
  std::vector<std::int64_t> values_;
  std::vector<bool> too_large_;
};

/// Fills in what the host knows from this segment on and not before. Fresh sizes of earlier segments must be there.
void find_sizes(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment, SizeTable& sizes);

/// The table as if every size of an argument, and every size found by computing, were 1.
SizeTable smallest_sizes(const Executable& executable, const CallArrays& arrays);

/// "x is f32[3] (train.cpp:12), ...": what the call was given, for messages; of shared variables those that are among
/// the nodes, or of whose sizes or values the nodes are computed.
std::string describe_inputs(const Executable& executable, const CallArrays& arrays, std::span<const NodeId> of);

/// ShapeError, IndexError or ValueError for what must hold of sizes known from this segment on, and does not.
void check_requirements(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                        const SizeTable& sizes);

/// The table, of a plan of one segment, for a call whose arguments have the same sizes and other values; nothing where
/// these make sizes of something. Raises what check_requirements raises.
std::optional<SizeTable> renumbered_sizes(const Executable& executable, const CallArrays& arrays,
                                          const SizeTable& before);

}  // namespace croton::runtime
