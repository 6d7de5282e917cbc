// The rewriting stage: runs groups of rules in order, from the imported graph to the one that is split into kernels.
#pragma once

#include "rewrite/place.hpp"
#include "rewrite/rewriter.hpp"

#include <functional>
#include <string>

namespace croton::rewrite {

struct GroupReport {
  std::string_view group;
  Fired fired;
  double milliseconds = 0;
  std::size_t nodes = 0;
};

using AfterGroup = std::function<void(const GroupReport&, const expr::Graph&)>;

/// Runs all groups; `after` is called after each one.
std::vector<GroupReport> run(expr::Graph& graph, const Options& options, const AfterGroup& after = {});
/// Runs the rewrites that depend on where nodes will run.
std::vector<GroupReport> run_where_placed(expr::Graph& graph, const PlaceOptions& placing, const Options& options);
/// Runs one group until nothing changes.
GroupReport run_group(expr::Graph& graph, const Group& group, const Options& options);
std::span<const Group> groups();
/// For tests: these rules run before all others, until the next call. Not thread-safe: no other thread may compile.
void plant_rules(std::span<const Rule> rules);
/// The names of rules in a text ("log1p+expm1"). ConfigError, with the nearest name, for an unknown rule.
std::vector<std::string_view> rule_names(std::string_view text);
/// The rules that fired, by group, with counts.
std::string print(std::span<const GroupReport> reports);

/// The graph with only its reachable nodes, in a new arena.
expr::Graph compact(const expr::Graph& graph);

}  // namespace croton::rewrite
