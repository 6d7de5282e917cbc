// Graph: an arena with its inputs, outputs and updates. The builder's expressions are imported to a graph, and
// rewriting changes it.
#pragma once

#include "expr/arena.hpp"

#include <memory>

namespace croton {
class SharedVariable;
}

namespace croton::expr {

enum class Role : std::uint8_t { argument, shared };

struct GraphInput {
  std::string name;
  NodeId node = no_node;  // a leaf `input` with attribute index
  Role role = Role::argument;
  Place place = base::host_place;  // the device where the value is
  bool pinned = false;             // the value stays on its device
  std::int64_t bytes = 0;          // size of the current value; 0: unknown
};

struct Update {
  std::size_t input;  // index of the shared input
  NodeId value;
};

struct Graph {
  Arena arena;
  std::vector<GraphInput> inputs;
  std::vector<NodeId> outputs;
  std::vector<Update> updates;
  Place results = base::host_place;  // of the outputs of a placed graph
  std::vector<Array> constants;      // of the leaves `constant`, by their attribute index

  /// Adds a leaf `input`; sizes that are `unknown_size` become leaves `size`.
  NodeId add_input(std::string name, const Type& type, Role role, Place place = base::host_place);
  /// Adds a leaf `constant`; 0-d arrays become scalars.
  NodeId add_constant(const Array& value);
  /// Outputs and update values, in that order.
  std::vector<NodeId> roots() const;
};

/// For each node, whether a root needs it (including sizes in types and requirements).
std::vector<bool> reachable(const Graph& graph);
/// For each node, the number of reachable nodes and roots that read it (as an input, not as a size).
std::vector<std::uint32_t> count_uses(const Graph& graph);

}  // namespace croton::expr
