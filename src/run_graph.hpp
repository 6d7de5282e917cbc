// One call of a graph with everything that a function has around it left out: for the verifying modes, which run parts
// of graphs on the side.
#pragma once

#include <croton/array.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "expr/graph.hpp"

namespace croton::detail {

struct GraphRun {
  bool join = true;        // kernels of several ops
  bool reference = false;  // kernels run in their reference evaluator
  expr::Place place = 0;   // the device
  std::string schedule = {};
};

/// The outputs, then the updates, on the host. `inputs`: in the order of the graph, on the host; none of them changes.
std::vector<Array> run_graph(expr::Graph graph, std::span<const Array> inputs, const GraphRun& how);

/// The values of all nodes that are needed, each in its own dtype, by the reference evaluator.
std::vector<Array> values_of_nodes(const expr::Graph& graph, std::span<const Array> inputs);

/// A part of a graph with its inputs' values.
struct GraphPart {
  expr::Graph graph;
  std::vector<Array> inputs;
};

/// The part that computes `roots`, as far back as `ends_at` says; the nodes there become arguments with the values that
/// they have (`values`, by node). Sizes of inputs that are left out become numbers.
GraphPart cut_graph(const expr::Graph& graph, std::span<const expr::NodeId> roots,
                    const std::function<bool(expr::NodeId)>& ends_at, std::span<const Array> values);

/// The same with as few elements as `shows` allows: axes are cut for as long as it holds.
GraphPart cut_sizes(GraphPart part, const std::function<bool(const GraphPart&)>& shows);

}  // namespace croton::detail
