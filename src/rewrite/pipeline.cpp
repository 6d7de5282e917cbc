#include "rewrite/pipeline.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/flag_table.hpp"
#include "rewrite/bodies.hpp"
#include "rewrite/loops.hpp"
#include "rewrite/placed_loops.hpp"
#include "rewrite/single_steps.hpp"

namespace croton::rewrite {
namespace {

using base::OptimizerMode;
using expr::NodeId;

// A group is repeated while it changes something: a rule may enable another one in its operands. Few rounds are needed.
constexpr int max_rounds = 12;

constexpr std::string_view planted = "planted";

std::vector<Group>& all_groups() {
  static std::vector<Group> all = {
      // One form for equal expressions first, so that later rules only handle that form.
      {"canonical", "size, then canonical order", canonical_rules()},
      // Stability before expansion: its rules match whole softmax and cross-entropy nodes.
      {"stability", "count of unstable forms", stability_rules(), OptimizerMode::fast_compile},
      // These rules match whole convolutions.
      {"filters", "operations on results of convolutions and products", filter_rules()},
      {"expand", "count of Expand nodes", expand_rules(), OptimizerMode::none},
      // Expansion makes work for the canonical rules and for algebra. Earlier, algebra would have hidden unstable
      // forms.
      {"canonical", "size, then canonical order", canonical_rules()},
      {"algebra", "cost of the nodes", algebra_rules()},
      // Forms that only help the generated code, and would hide forms from the rules above.
      {"specialise", "cost of the nodes", specialise_rules()},
  };
  return all;
}

}  // namespace

std::span<const Group> groups() { return all_groups(); }

void plant_rules(std::span<const Rule> rules) {
  std::erase_if(all_groups(), [](const Group& group) { return group.name == planted; });
  if (!rules.empty()) all_groups().insert(all_groups().begin(), {planted, "none", rules});
}

GroupReport run_group(expr::Graph& graph, const Group& group, const Options& options) {
  GroupReport report{.group = group.name, .fired = {}};
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < max_rounds; ++round) {
    Rewriter rewriter(graph, group, options, report.fired);
    if (!rewriter.run()) break;
  }
  report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.nodes = graph.arena.size();
  return report;
}

namespace {

void run_groups(expr::Graph& graph, const Options& options, std::vector<GroupReport>& reports,
                const AfterGroup& after) {
  for (const Group& group : groups()) {
    if (options.optimizer > group.last_mode) continue;
    reports.push_back(run_group(graph, group, options));
    if (after) after(reports.back(), graph);
  }
  graph = compact(graph);
}

/// One pass over whole loops; adds a report if it changed something.
bool run_pass(expr::Graph& graph, std::vector<GroupReport>& reports, std::string_view name,
              const std::function<bool(Fired&)>& pass) {
  GroupReport report{.group = name, .fired = {}};
  const auto start = std::chrono::steady_clock::now();
  if (!pass(report.fired)) return false;
  report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.nodes = graph.arena.size();
  reports.push_back(std::move(report));
  return true;
}

/// Runs a pass over loops, and then all groups again if it changed something.
void run_on_loops(expr::Graph& graph, const Options& options, std::vector<GroupReport>& reports,
                  const AfterGroup& after, std::string_view name, const std::function<bool(Fired&)>& pass) {
  if (run_pass(graph, reports, name, pass)) run_groups(graph, options, reports, after);
}

/// Runs first, so that the rules see the body together with the graph around the loop.
void inline_loops(expr::Graph& graph, const Options& options, std::vector<GroupReport>& reports,
                  const AfterGroup& after) {
  const bool inlined = run_pass(graph, reports, "loops", [&](Fired& fired) {
    bool any = false;
    while (inline_single_steps(graph, options, fired)) any = true;
    return any;
  });
  if (inlined && after) after(reports.back(), graph);
}

}  // namespace

std::vector<GroupReport> run(expr::Graph& graph, const Options& options, const AfterGroup& after) {
  std::vector<GroupReport> reports;
  if (options.optimizer == OptimizerMode::fast_run) inline_loops(graph, options, reports, after);
  change_bodies(graph, [&](const expr::Graph& body) {
    expr::Graph changed = body;
    for (GroupReport& report : run(changed, options)) reports.push_back(std::move(report));
    return changed;
  });
  run_groups(graph, options, reports, after);
  // The graph around the loops is canonical now; nodes that are moved out of loops are not.
  if (options.optimizer == OptimizerMode::fast_run)
    run_on_loops(graph, options, reports, after, "loops", [&](Fired& fired) {
      const bool inlined = inline_single_steps(graph, options, fired);  // loops whose step count is known only now
      return rewrite_loops(graph, options, fired) || inlined;
    });
  return reports;
}

std::vector<GroupReport> run_where_placed(expr::Graph& graph, const PlaceOptions& placing, const Options& options) {
  std::vector<GroupReport> reports;
  if (options.optimizer == OptimizerMode::fast_run)
    run_on_loops(graph, options, reports, {}, "placed loops",
                 [&](Fired& fired) { return rewrite_placed_loops(graph, placing, options, fired); });
  return reports;
}

expr::Graph compact(const expr::Graph& graph) {
  const expr::Arena& from = graph.arena;
  expr::Graph result;
  result.constants = graph.constants;
  const std::vector<bool> needed = expr::reachable(graph);
  std::vector<NodeId> to(from.size(), expr::no_node);
  std::vector<expr::OriginId> origins(from.size(), 0);
  std::vector<bool> is_input(from.size(), false);
  for (const expr::GraphInput& input : graph.inputs) is_input[input.node] = true;
  const auto move = [&](NodeId id) {
    std::vector<NodeId> inputs;
    for (const NodeId input : from.inputs(id)) inputs.push_back(to[input]);
    expr::TensorType type{from.type(id).dtype, {}};
    for (const NodeId dim : from.type(id).shape) type.shape.push_back(to[from.representative(dim)]);
    result.arena.set_origin(result.arena.add_origin(from.origin(id)));
    to[id] = result.arena.make_typed(from.op(id), inputs, from.attrs(id), result.arena.intern_type(type),
                                     from.node(id).place);
  };
  // Sizes of inputs are leaves and come first: the type of an input may contain the size of a later input.
  for (NodeId id = 0; id < from.size(); ++id) {
    if (from.op(id).is(expr::Core::size) || from.scalar_value(id)) move(id);
  }
  for (const expr::GraphInput& input : graph.inputs) {
    move(input.node);
    result.inputs.push_back(input);
    result.inputs.back().node = to[input.node];
  }
  for (NodeId id = 0; id < from.size(); ++id) {
    if (needed[id] && to[id] == expr::no_node) move(id);
  }
  for (const expr::Requirement& r : from.requirements()) {
    expr::Requirement moved = r;
    moved.left = to[r.left];
    moved.right = to[r.right];
    moved.origin = result.arena.add_origin(from.origin_of(r.origin));
    result.arena.add_requirement(std::move(moved));
  }
  for (const NodeId output : graph.outputs) result.outputs.push_back(to[output]);
  for (const expr::Update& update : graph.updates) result.updates.push_back({update.input, to[update.value]});
  return result;
}

std::vector<std::string_view> rule_names(std::string_view text) {
  std::vector<std::string_view> names = base::split_words(text, "+");
  for (std::string_view& name : names) {
    std::string_view nearest;
    std::size_t least = ~std::size_t{0};
    const auto find_nearest = [&](std::span<const Rule> rules) {
      for (const Rule& rule : rules) {
        const std::size_t distance = base::edit_distance(name.substr(0, 64), rule.name);
        if (distance < least) nearest = rule.name;
        least = std::min(least, distance);
      }
    };
    for (const Group& group : groups()) {
      if (group.last_mode != OptimizerMode::none) find_nearest(group.rules);
    }
    find_nearest(loop_rules());
    find_nearest(placed_loop_rules());
    if (nearest != name) {
      throw ConfigError(fmt::format("rules_off: there is no rewrite rule \"{}\"; the nearest is \"{}\"",
                                    base::shown_text(name), nearest));
    }
    name = nearest;
  }
  return names;
}

std::string print(std::span<const GroupReport> reports) {
  std::string text;
  for (const GroupReport& report : reports) {
    text += fmt::format("{} ({:.2f} ms, {} nodes)\n", report.group, report.milliseconds, report.nodes);
    for (const auto& [rule, count] : report.fired) text += fmt::format("  {:24} {}\n", rule, count);
  }
  return text;
}

}  // namespace croton::rewrite
