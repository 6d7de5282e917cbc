// The sources of a node: the computed nodes that it reads, directly or through views and cheap maps, and how
// it indexes them.
#pragma once

#include "fuse/storage.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace croton::fuse {

/// Axes of an iteration space; `repeated` for an axis of size 1.
using Axes = std::vector<std::size_t>;
constexpr std::size_t repeated = std::numeric_limits<std::size_t>::max();

/// A node that another one reads, and how the reader indexes it. `axes`: for each dimension of the source, the axis of
/// the reader's iteration space that indexes it, or `repeated`.
struct Source {
  NodeId node;
  bool aligned = true;  // false: through a view that is not only a permutation
  Axes axes;
};

/// The iteration space of a shape: its dimensions without those of the stated size 1, and the axis of each dimension
/// (`repeated` for size 1).
struct Space {
  std::vector<NodeId> sizes;
  Axes axes;
};
Space space_of(const expr::Arena& arena, const std::vector<NodeId>& shape);

class SourceCollector {
 public:
  /// Keeps a reference to the storage.
  explicit SourceCollector(const Storage& storage) : storage_(storage), seen_(storage.arena.size(), 0) {}

  /// Starts a new list, for another reader.
  void begin();
  /// Adds the sources of a read of this node, whose dimensions are indexed by `axes`: the node itself, or the nodes
  /// below it if it is virtual.
  void collect(NodeId node, Axes axes, bool aligned);
  /// The same for all inputs of the node.
  void collect_inputs(NodeId node, const Axes& axes, bool aligned);
  /// Adds the node itself, without axes.
  void add(NodeId node) { sources_.push_back({node, false, {}}); }
  /// The sources since `begin`.
  const std::vector<Source>& sources() const { return sources_; }
  /// The arrays that were read since `begin`, leaves of the graph included, without scalars. One can occur twice.
  const std::vector<NodeId>& arrays() const { return arrays_; }

 private:
  const Storage& storage_;
  const expr::Arena& arena_ = storage_.arena;
  std::vector<std::uint32_t> seen_;  // per node: the number of the last collection that visited it
  std::uint32_t collection_ = 0;
  std::vector<Source> sources_;
  std::vector<NodeId> arrays_;
};

}  // namespace croton::fuse
