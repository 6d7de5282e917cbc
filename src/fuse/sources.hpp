// The sources of a node: the computed nodes that it reads, views and cheap maps between them read through, with how it
// indexes them.
#pragma once

#include "fuse/storage.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace croton::fuse {

/// Axes of an iteration space; `repeated` for one of size 1.
using Axes = std::vector<std::size_t>;
constexpr std::size_t repeated = std::numeric_limits<std::size_t>::max();

/// How an element of a source is found from the element of a node that uses it: per dimension of the source, which
/// dimension of the user's iteration space indexes it, or `repeated`.
struct Source {
  NodeId node;
  bool aligned = true;  // false: through a view that is not just a permutation
  Axes axes;
};

/// A shape without its stated sizes of 1, and where each dimension went (`repeated` for those).
struct Space {
  std::vector<NodeId> sizes;
  Axes axes;
};
Space space_of(const expr::Arena& arena, const std::vector<NodeId>& shape);

class SourceCollector {
 public:
  /// The storage stays where it is.
  explicit SourceCollector(const Storage& storage) : storage_(storage), seen_(storage.arena.size(), 0) {}

  /// Of another user.
  void begin();
  /// What the user reads that reads this node, whose dimensions are indexed by `axes`: the node, or what is below it.
  void collect(NodeId node, Axes axes, bool aligned);
  /// The same for all inputs of the node.
  void collect_inputs(NodeId node, const Axes& axes, bool aligned);
  /// This very node, with no place in the user's space.
  void add(NodeId node) { sources_.push_back({node, false, {}}); }
  /// Since `begin`.
  const std::vector<Source>& sources() const { return sources_; }

 private:
  const Storage& storage_;
  const expr::Arena& arena_ = storage_.arena;
  std::vector<std::uint32_t> seen_;  // per node: in which collection it was met last
  std::uint32_t collection_ = 0;
  std::vector<Source> sources_;
};

}  // namespace croton::fuse
