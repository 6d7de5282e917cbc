// The compiler: the stages from the user's expressions to an executable, which calls bind. base/stages.def lists all
// stages, including those of calls.
#pragma once

#include <croton/array.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "builder/import.hpp"
#include "expr/graph.hpp"
#include "fuse/program.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// A rewritten graph, which is the same for all devices and sizes.
struct Rewritten {
  std::shared_ptr<const expr::Graph> graph;
  std::vector<rewrite::GroupReport> reports;
  rewrite::Options options;
};

struct PlanOptions {
  rewrite::PlaceOptions placing = {};
  const rewrite::Options* rewriting = nullptr;  // for rules that depend on devices; null: no such rule runs
  fuse::Options fusing = {};
};

/// A planned function for one choice of devices; the same for all sizes.
struct Planned {
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<rewrite::Placement> log;        // empty if all nodes are on the host
  std::vector<rewrite::GroupReport> reports;  // of rules that depend on devices
};

// The first two stages, and the next three with what binding needs. Results of stages are verified, and printed with
// `name`, if the flags request it; nothing is printed without a name.

builder::Imported import_graph(const std::string& name, const std::function<builder::Imported()>& import);
Rewritten rewrite_graph(const std::string& name, expr::Graph graph, const rewrite::Options& options);
Planned plan_graph(const std::string& name, expr::Graph graph, const PlanOptions& options);

/// The options of rewriting by the flags. ConfigError for the name of a rule that does not exist.
rewrite::Options rewriting_of_flags();

}  // namespace croton::detail
