// The numbers of a call: the sizes of a graph, computed from those of its arrays, and the checks of requirements.
#pragma once

#include "runtime/bound/executable.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace croton::runtime {

/// The values of the graph's host nodes, per node; 0 if not known yet. A value can be used as data, whose arithmetic
/// wraps, and as a size, which must not overflow, so the table has the wrapped value and a flag for overflow.
class SizeTable {
 public:
  explicit SizeTable(std::size_t nodes = 0) { resize(nodes); }
  void resize(std::size_t nodes) {
    values_.resize(nodes, 0);
    too_large_.resize(nodes, false);
  }
  std::size_t size() const { return values_.size(); }
  std::int64_t operator[](NodeId id) const { return values_[id]; }
  /// Whether the exact number, or one from which it was computed, does not fit in int64.
  bool is_too_large(NodeId id) const { return too_large_[id]; }
  void set(NodeId id, std::int64_t value, bool too_large = false) {
    values_[id] = value;
    too_large_[id] = too_large;
  }

 private:
  std::vector<std::int64_t> values_;
  std::vector<bool> too_large_;
};

/// Computes the numbers that the host knows since this segment. The fresh sizes of earlier segments must be
/// in the table.
void find_sizes(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment, SizeTable& sizes);

/// The table for arguments whose sizes are all 1, with fresh sizes of 1.
SizeTable smallest_sizes(const Executable& executable, const CallArrays& arrays);

/// "x is f32[3] (train.cpp:12), ...": the arguments of the call, for messages, and those shared variables that are
/// among the nodes, or whose sizes or values the nodes depend on.
std::string describe_inputs(const Executable& executable, const CallArrays& arrays, std::span<const NodeId> of);

/// Raises ShapeError, IndexError or ValueError for violated requirements on the sizes that are known
/// since this segment.
void check_requirements(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                        const SizeTable& sizes);

/// The table for a call whose arguments have the same sizes but other values, for plans of one segment. Nothing if the
/// values change the size of some node. Raises the errors of check_requirements.
std::optional<SizeTable> renumbered_sizes(const Executable& executable, const CallArrays& arrays,
                                          const SizeTable& before);

}  // namespace croton::runtime
