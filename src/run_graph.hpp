// One call of a graph, or of a part of one, without the state of a function: for the verifying modes.
#pragma once

#include <croton/array.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "expr/graph.hpp"

namespace croton::detail {

struct GraphRun {
  bool join = true;        // whether kernels may have several ops
  bool reference = false;  // whether kernels run in their reference evaluator
  expr::Place place = base::host_place;
  std::string schedule = {};
};

/// The outputs, then the updates, on the host. `inputs`: in the order of the graph, on the host; none of them changes.
std::vector<Array> run_graph(expr::Graph graph, std::span<const Array> inputs, const GraphRun& how);

/// The values of all needed nodes, each in its dtype, by the reference evaluator.
std::vector<Array> values_of_nodes(const expr::Graph& graph, std::span<const Array> inputs);

/// A part of a graph, with the values of its inputs.
struct GraphPart {
  expr::Graph graph;
  std::vector<Array> inputs;
};

/// The part that computes `roots`, up to the nodes for which `ends_at` is true, which become arguments with their
/// values (`values`, by node). Sizes of omitted inputs become numbers.
GraphPart cut_graph(const expr::Graph& graph, std::span<const expr::NodeId> roots,
                    const std::function<bool(expr::NodeId)>& ends_at, std::span<const Array> values);

/// The same part with as few elements as possible: axes are cut as long as `shows_fault` is true.
GraphPart cut_sizes(GraphPart part, const std::function<bool(const GraphPart&)>& shows_fault);

}  // namespace croton::detail
