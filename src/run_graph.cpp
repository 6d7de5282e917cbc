#include "run_graph.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <deque>

#include "base/index.hpp"
#include "compile.hpp"
#include "expr/evaluate.hpp"
#include "runtime/bound/bound_plan.hpp"
#include "runtime/devices.hpp"
#include "runtime/loops/loop_launch.hpp"

namespace croton::detail {

using expr::NodeId;

std::vector<Array> run_graph(expr::Graph graph, std::span<const Array> inputs, const GraphRun& how) {
  for (expr::GraphInput& input : graph.inputs) {
    input.place = base::host_place;
    input.pinned = false;
  }
  PlanOptions options;
  options.placing.scoped = how.place;
  options.placing.soft = true;
  if (!base::is_host(how.place)) options.placing.devices = runtime::places();
  options.fusing.join = how.join;
  const auto executable = plan_graph("", std::move(graph), options).executable;

  runtime::CallArrays arrays;
  std::deque<Array> values;
  std::deque<runtime::SharedCopies> copies;
  const std::vector<expr::GraphInput>& taken = executable->program.graph.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (taken[i].role == expr::Role::argument) {
      arrays.arguments.push_back(&values.emplace_back(inputs[i].contiguous()));
      continue;
    }
    arrays.shared.push_back(&values.emplace_back(inputs[i].copy()));  // a copy, because updates overwrite it
    arrays.copies.push_back(&copies.emplace_back());
    arrays.versions.push_back(0);
  }
  runtime::RunCounts counts;
  runtime::Workspace workspace;
  const runtime::BindOptions binding{.bind_loop = runtime::bind_loop,
                                     .engine = how.reference ? runtime::Engine::reference : runtime::Engine::compiled,
                                     .schedule = how.schedule};
  runtime::BoundPlan(executable, arrays, binding, counts).run(arrays, workspace, counts);
  std::vector<Array> results;
  for (const Array& output : arrays.outputs) results.push_back(output.to_host());
  for (const Array& update : arrays.updates) results.push_back(update.to_host());
  return results;
}

std::vector<Array> values_of_nodes(const expr::Graph& graph, std::span<const Array> inputs) {
  std::vector<Array> values(graph.arena.size());
  expr::evaluate(graph, inputs, [&](const expr::EvaluatedNode& at) {
    if (at.node < values.size()) values[at.node] = at.value;
  });
  return values;
}

GraphPart cut_graph(const expr::Graph& graph, std::span<const NodeId> roots, const std::function<bool(NodeId)>& ends_at,
                    std::span<const Array> values) {
  const expr::Arena& from = graph.arena;
  std::vector<bool> needed(from.size(), false);
  const auto ends = [&](NodeId id) { return from.op(id).is(expr::Core::input, expr::Core::constant) || ends_at(id); };
  for (const NodeId root : roots) needed[root] = true;
  for (NodeId id = from.size(); id-- > 0;) {
    if (!needed[id] || ends(id)) continue;
    for (const NodeId input : from.inputs(id)) needed[input] = true;
  }
  GraphPart part;
  expr::Arena& to = part.graph.arena;
  std::vector<NodeId> moved(from.size(), expr::no_node);
  std::map<std::int64_t, std::size_t> input_of;  // inputs of the graph that are inputs of the part
  for (NodeId id = 0; id < from.size(); ++id) {
    if (!needed[id] || !ends(id) || from.scalar_value(id)) continue;
    to.set_origin(to.add_origin(from.origin(id)));
    if (from.op(id).is(expr::Core::input)) input_of[from.attrs(id).integer("index")] = part.inputs.size();
    // The user's names may have any characters, but the text of the part is parsed again.
    moved[id] =
        part.graph.add_input("x" + std::to_string(part.inputs.size()), static_type(from, id), expr::Role::argument);
    part.inputs.push_back(values[id]);
  }
  for (NodeId id = 0; id < from.size(); ++id) {
    if (!needed[id] || moved[id] != expr::no_node) continue;
    to.set_origin(to.add_origin(from.origin(id)));
    if (const auto value = from.scalar_value(id)) {
      moved[id] = to.scalar(*value);
    } else if (from.op(id).is(expr::Core::size)) {
      const auto at = input_of.find(from.attrs(id).integer("input"));
      moved[id] = at != input_of.end() ? to.type(part.graph.inputs[at->second].node).shape[from.attrs(id).index("axis")]
                                       : to.integer(values[id].item<std::int64_t>());
    } else {
      std::vector<NodeId> inputs;
      for (const NodeId input : from.inputs(id)) inputs.push_back(moved[input]);
      moved[id] = to.make(from.op(id), inputs, from.attrs(id));
    }
  }
  for (const NodeId root : roots) part.graph.outputs.push_back(moved[root]);
  return part;
}

namespace {

/// The axes of inputs that have the same size, by the node of the size.
std::map<NodeId, std::vector<std::pair<std::size_t, int>>> axes_by_size(const GraphPart& part) {
  std::map<NodeId, std::vector<std::pair<std::size_t, int>>> axes;
  const expr::Arena& arena = part.graph.arena;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const auto& shape = arena.type(part.graph.inputs[i].node).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const NodeId size = arena.representative(shape[axis]);
      if (!arena.known(size)) axes[size].emplace_back(i, base::to_int(axis));
    }
  }
  return axes;
}

}  // namespace

GraphPart cut_sizes(GraphPart part, const std::function<bool(const GraphPart&)>& shows_fault) {
  const auto try_cut = [&](const std::vector<std::pair<std::size_t, int>>& axes, std::int64_t first,
                           std::int64_t last) {
    GraphPart smaller = part;
    for (const auto& [input, axis] : axes)
      smaller.inputs[input] = smaller.inputs[input].slice(axis, first, last).copy();
    try {
      if (!shows_fault(smaller)) return false;
    } catch (const Error&) {
      return false;  // inconsistent sizes
    }
    part = std::move(smaller);
    return true;
  };
  for (const auto& [size, axes] : axes_by_size(part)) {
    const auto count = [&, axis = axes[0]] { return part.inputs[axis.first].shape(axis.second); };
    if (count() > 1 && try_cut(axes, 0, 1)) continue;
    // Tries each half, then removes a quarter at either end, and so on.
    for (std::int64_t step = count() / 2; step > 0;) {
      const std::int64_t n = count();
      if (step < n && (try_cut(axes, 0, n - step) || try_cut(axes, step, n)))
        step = std::min(step, count() / 2);
      else
        step /= 2;
    }
  }
  return part;
}

}  // namespace croton::detail
