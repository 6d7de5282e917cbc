// Placement: decides where each node of the rewritten graph runs, and adds a transfer wherever a node reads from
// another device. It runs once for each place of unplaced nodes, so that toggling the flag `device` compiles once per
// device.
#pragma once

#include "base/device_name.hpp"
#include "expr/graph.hpp"

#include <string>
#include <vector>

namespace croton::rewrite {

struct PlaceOptions {
  expr::Place scoped = base::unplaced;      // of unplaced nodes, by the scope of the call
  expr::Place fallback = base::host_place;  // of other unplaced nodes without pinned inputs
  std::vector<expr::Place> devices;         // available devices other than the host
  bool soft = false;                        // nodes of missing devices are unplaced, instead of an error
  expr::Place results = base::host_place;   // of the outputs
  bool keep_homes = false;                  // new values of all shared variables are sent home, not only of pinned ones
};

/// Whether copies of the node on other devices are kept after the call: those of constants and shared variables.
bool has_kept_copies(const expr::Graph& graph, expr::NodeId id);

/// One line of the placement log: a node of the placed graph, in its order.
struct Placement {
  expr::NodeId node;
  std::string reason;
};

/// The same graph with a place in every node: the place of its device scope, else of the call's scope, else of its
/// largest pinned input (by the current bytes of a shared variable, else by the stated sizes, with 1000 for unknown
/// ones), else the fallback. Scalars of sizes and constants only are computed wherever they are needed. Outputs are
/// sent to the host, new values of pinned shared variables to their home. DeviceError, with the user's line and the
/// available devices, for a node of a missing device. The log has a line for each node that computes or transfers
/// something.
expr::Graph place(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log = nullptr);

/// The place where each node of the graph would run.
std::vector<expr::Place> decide_places(const expr::Graph& graph, const PlaceOptions& options);

/// Whether any node has a device scope, or an input is not on the host: otherwise no placement is needed.
bool uses_devices(const expr::Graph& graph, const PlaceOptions& options);

}  // namespace croton::rewrite
