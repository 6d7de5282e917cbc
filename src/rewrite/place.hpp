// Placement: where each node runs, decided once the graph has its final form, and a transfer wherever a node reads from
// another device. It runs once per default device, so that toggling the flag `device` compiles once for each.
#pragma once

#include "expr/graph.hpp"

#include <string>
#include <vector>

namespace croton::rewrite {

/// In a placed graph: the host. Other devices have the numbers of base/device_name.hpp; before placement 0 means free.
inline constexpr expr::Place host_place = 0;

struct PlaceOptions {
  expr::Place scoped = 0;    // where the scope of the call says that free nodes run; 0: it says nothing
  expr::Place fallback = 0;  // where they run if their inputs are not pinned either
};

/// One line of the placement log.
struct Placement {
  expr::NodeId node;
  std::string_view reason;  // "device_scope", "change_flags", "pinned input", "default", "transfer"
};

/// The same graph with a place in every node: that of the device scope it was built in, else of the call's scope, else of
/// the pinned inputs with the most bytes (sizes that are not stated count as 1000), else of the fallback. Integers that
/// only sizes and bounds need stay on the host; outputs come to the host, and new values of shared variables to their
/// home if that is pinned. The log has a line for each node that computes or moves something.
expr::Graph place(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log = nullptr);

/// Whether any node or input is anywhere but on the host: else there is nothing to place.
bool uses_devices(const expr::Graph& graph, const PlaceOptions& options);

}  // namespace croton::rewrite
