// Storage: the nodes that must have a buffer, and the virtual nodes, which are views that are read through or values
// that each reader computes again. The other nodes are placed into regions (region.hpp).
#pragma once

#include "fuse/decision.hpp"
#include "fuse/program.hpp"

#include <vector>

namespace croton::fuse {

/// All vectors are indexed by node.
struct Storage {
  const expr::Arena& arena;
  const HostValues& host;
  std::vector<bool> computed;   // a result depends on its elements
  std::vector<Stored> stored;   // has a buffer, for this reason
  std::vector<bool> cheap;      // costs less to compute again than to store and read back
  std::vector<bool> contracts;  // a contraction: a sum of products with its own family of kernels

  bool is_stored(NodeId id) const { return stored[id] != Stored::no; }
  /// Whether readers compute it or read through it, because it has no buffer.
  bool is_virtual(NodeId id) const {
    if (is_stored(id)) return false;
    const expr::Kind kind = arena.op(id).kind;
    return kind == expr::Kind::View || kind == expr::Kind::Generate || kind == expr::Kind::Join ||
           kind == expr::Kind::Gather || kind == expr::Kind::Window || cheap[id] || host.known[id];
  }
};

/// Finds the storage. The result refers to the graph's arena and to the host values.
Storage find_storage(const expr::Graph& graph, const HostValues& host, const Options& options);

}  // namespace croton::fuse
