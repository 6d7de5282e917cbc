// The compiler: runs the stages of base/stages.def, up to the plan, in order. Each is timed, verified and printed here.
// Calls add the others: runtime/bound/segment.cpp, codegen/emit.cpp, the compilers of devices.
#include "compile.hpp"

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/interrupt.hpp"
#include "base/stage.hpp"
#include "expr/print.hpp"
#include "expr/requirement.hpp"
#include "expr/verify.hpp"
#include "placement_log.hpp"
#include "plan/verify.hpp"

namespace croton::detail {

using base::Stage;

namespace {

/// Ends a stage: prints its result, if the flags request it.
void finish(Stage stage, const auto& text) {
  base::check_interrupt();
  base::show(stage, text);
}

void check(const expr::Graph& graph) {
  if (base::config().verify) expr::verify(graph);
}
void check(const plan::Plan& plan, const fuse::Program& program) {
  if (base::config().verify) plan::verify(plan, program);
}

}  // namespace

builder::Imported import_graph(const std::string& name, const std::function<builder::Imported()>& import) {
  const base::NamedFunction named(name);
  builder::Imported imported;
  {
    const base::StageTimer timer(Stage::import);
    imported = import();
  }
  check(imported.graph);
  finish(Stage::import, [&] { return expr::print(imported.graph, {.origins = true}); });
  return imported;
}

Rewritten rewrite_graph(const std::string& name, expr::Graph graph, const rewrite::Options& options) {
  const base::Compilation compilation;
  const base::NamedFunction named(name);
  Rewritten result{.graph = {}, .reports = {}, .options = options};
  {
    const base::StageTimer timer(Stage::rewrite);
    result.reports = rewrite::run(graph, options, [](const rewrite::GroupReport&, const expr::Graph& g) { check(g); });
  }
  expr::check_known_requirements(graph.arena);  // rules may have folded sizes to invalid constants
  finish(Stage::rewrite, [&] { return expr::print(graph, {.origins = true}); });
  result.graph = std::make_shared<const expr::Graph>(std::move(graph));
  return result;
}

Planned plan_graph(const std::string& name, expr::Graph graph, const PlanOptions& options) {
  const base::Compilation compilation;
  const base::NamedFunction named(name);
  Planned result;
  {
    const base::StageTimer timer(Stage::place);
    const bool uses_devices = rewrite::uses_devices(graph, options.placing);
    if (options.rewriting != nullptr)
      result.reports = rewrite::run_where_placed(graph, options.placing, *options.rewriting);
    if (uses_devices) graph = rewrite::place(graph, options.placing, &result.log);
  }
  check(graph);
  finish(Stage::place, [&] { return print_placement(graph, result.log); });
  fuse::Program program;
  {
    const base::StageTimer timer(Stage::fuse);
    program = fuse::fuse(std::move(graph), options.fusing);
  }
  finish(Stage::fuse, [&] { return fuse::print(program); });
  plan::Plan plan;
  {
    const base::StageTimer timer(Stage::plan);
    plan = plan::make_plan(program);
  }
  check(plan, program);
  finish(Stage::plan, [&] { return plan::print(plan, program); });
  {
    const base::StageTimer timer(Stage::bind);  // the part that is the same for all sizes
    result.executable = runtime::make_executable(std::move(program), std::move(plan));
  }
  return result;
}

rewrite::Options rewriting_of_flags() {
  const base::Flags& flags = base::config();
  return {.special_values = flags.special_values == base::SpecialValues::theano,
          .optimizer = flags.optimizer,
          .off = rewrite::rule_names(flags.rules_off)};
}

}  // namespace croton::detail
