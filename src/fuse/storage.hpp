// Which nodes have a buffer of their own, whoever reads them, and which are virtual: read through, or computed again
// where they are used. The others are placed into regions (region.hpp).
#pragma once

#include "fuse/program.hpp"

#include <vector>

namespace croton::fuse {

/// All per node.
struct Storage {
  const expr::Arena& arena;
  const HostValues& host;
  std::vector<bool> computed;    // some element of a result is made of it
  std::vector<bool> must_store;  // has a buffer
  std::vector<bool> cheap;       // costs less to compute again than to store and read back
  std::vector<bool> contracts;   // a sum of products that is a kernel of its own kind
  std::vector<bool> deep;        // stored because what it is made of is too deep to be computed again

  /// Read through where it is used, unless it must be stored.
  bool is_virtual(NodeId id) const {
    if (must_store[id]) return false;
    const expr::Kind kind = arena.op(id).kind;
    return kind == expr::Kind::View || kind == expr::Kind::Generate || kind == expr::Kind::Join ||
           kind == expr::Kind::Gather || kind == expr::Kind::Window || cheap[id] || host.known[id];
  }
};

/// For a graph and host values that stay where they are.
Storage find_storage(const expr::Graph& graph, const HostValues& host, const Options& options);

}  // namespace croton::fuse
