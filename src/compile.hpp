// The compiler: the stages from a user's expressions to what calls are bound from. compile.cpp lists all stages, also
// those that a call goes through.
#pragma once

#include <croton/array.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stage.hpp"
#include "builder/import.hpp"
#include "expr/graph.hpp"
#include "fuse/program.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"
#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// One line of the list of stages.
struct StageInfo {
  base::Stage stage;
  std::string_view does;
  std::string_view prints;  // the word of the flag `print` that shows its result; empty: Function::kernels does
  std::string_view in;      // the file of src/ where it begins
};
std::span<const StageInfo> stages();

/// The same for all devices and sizes.
struct Rewritten {
  std::shared_ptr<const expr::Graph> graph;
  std::vector<rewrite::GroupReport> reports;
  rewrite::Options options;
};

struct PlanOptions {
  rewrite::PlaceOptions placing = {};
  const rewrite::Options* rewriting = nullptr;  // for rules that depend on where nodes run; null: none runs
  fuse::Options fusing = {};
};

/// For one answer to where everything runs; the same for all sizes.
struct Planned {
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<rewrite::Placement> log;        // empty where all is on the host
  std::vector<rewrite::GroupReport> reports;  // of rules that depend on where nodes run
};

// The first two stages, and the next three. What they make is verified, and printed under `name`, as the flags ask;
// without a name nothing is printed.

builder::Imported import_graph(const std::string& name, const std::function<builder::Imported()>& import);
Rewritten rewrite_graph(const std::string& name, expr::Graph graph, const rewrite::Options& options);
Planned plan_graph(const std::string& name, expr::Graph graph, const PlanOptions& options);

/// The options of rewriting that the flags ask for. ConfigError for the name of a rule that there is not.
rewrite::Options rewriting_of_flags();

}  // namespace croton::detail
