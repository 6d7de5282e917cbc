// Placement: where each node runs, decided once the graph has its final form, and a transfer wherever a node reads from
// another device. It runs once per answer to "where does free work run", so that toggling the flag `device` compiles
// once for each.
#pragma once

#include "expr/graph.hpp"

#include <string>
#include <vector>

namespace croton::rewrite {

/// In a placed graph: the host. Other devices have the numbers of base/device_name.hpp; before placement 0 means free.
inline constexpr expr::Place host_place = 0;

struct PlaceOptions {
  expr::Place scoped = 0;            // where the scope of the call says that free nodes run; 0: it says nothing
  expr::Place fallback = 0;          // where they run if their inputs are not pinned either
  std::vector<expr::Place> devices;  // those that there are besides the host
  bool soft = false;                 // what is asked for on others is free, instead of an error
  expr::Place results = 0;           // where outputs are wanted: on the host
  bool homes_stay = false;           // new values of all shared variables are sent home, not of pinned ones alone
};

/// One line of the placement log: a node of the placed graph, in its order.
struct Placement {
  expr::NodeId node;
  std::string reason;
};

/// The same graph with a place in every node: that of the device scope it was built in, else of the call's scope, else
/// of the pinned inputs with the most bytes (those of shared variables as they are now, else by the stated sizes,
/// others counting as 1000), else of the fallback. Scalars made of sizes and numbers alone are made again wherever they
/// are needed. Outputs come to the host, new values of pinned shared variables to their home. DeviceError, with the
/// user's line and the devices that there are, for a node that was asked for on another one. The log has a line for
/// each node that computes or moves something.
expr::Graph place(const expr::Graph& graph, const PlaceOptions& options, std::vector<Placement>* log = nullptr);

/// Where each node of the graph would run.
std::vector<expr::Place> decide_places(const expr::Graph& graph, const PlaceOptions& options);

/// Whether any node was asked for somewhere, or an input is not on the host: else there is nothing to place.
bool uses_devices(const expr::Graph& graph, const PlaceOptions& options);

}  // namespace croton::rewrite
