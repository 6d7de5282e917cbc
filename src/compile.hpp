// The compiler: the stages from the user's expressions to an executable, which calls bind. compile.cpp lists all
// stages, including those of calls.
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
  std::string_view prints;  // the word of the flag `print` that shows its result; empty: Function::kernels shows it
  std::string_view in;      // the file of src/ where the stage begins
};
std::span<const StageInfo> stages();

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

// The first two stages, and the next three. Their results are verified and printed with `name`, if the flags request
// it; nothing is printed without a name.

builder::Imported import_graph(const std::string& name, const std::function<builder::Imported()>& import);
Rewritten rewrite_graph(const std::string& name, expr::Graph graph, const rewrite::Options& options);
Planned plan_graph(const std::string& name, expr::Graph graph, const PlanOptions& options);

/// The options of rewriting by the flags. ConfigError for the name of a rule that does not exist.
rewrite::Options rewriting_of_flags();

}  // namespace croton::detail
