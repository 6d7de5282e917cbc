// The stages of the compiler, in order.
#include "compile.hpp"

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/index.hpp"
#include "base/interrupt.hpp"
#include "expr/print.hpp"
#include "expr/requirement.hpp"
#include "expr/verify.hpp"
#include "placement_log.hpp"

namespace croton::detail {

using base::Stage;

std::span<const StageInfo> stages() {
  static constexpr StageInfo list[] = {
      // When a function is made:
      {Stage::import, "expressions of the user become a graph in which sizes are nodes", "graph", "builder/import.cpp"},
      {Stage::rewrite, "canonical form, stability, expansion, algebra", "rewrites", "rewrite/pipeline.cpp"},
      // Once for each choice of devices:
      {Stage::place, "nodes get devices, and transfers are put between them", "place", "rewrite/place.cpp"},
      {Stage::fuse, "regions of the graph become kernels, products, routines", "kernels", "fuse/fuse.cpp"},
      {Stage::plan, "steps in order, buffers, in-place work, the commit point", "plan", "plan/plan.cpp"},
      // When a call has new sizes:
      {Stage::bind, "sizes, layouts and memory become numbers", "launches", "runtime/bound/segment.cpp"},
      {Stage::emit, "kernels become text", "texts", "codegen/emit.cpp"},
      {Stage::compile, "texts become machine code, by Clang and LLVM or NVRTC", "compiled", "runtime/cpu/kernels.cpp"},
  };
  return list;
}

namespace {

/// Prints the result of a stage, if the flags request it.
template <class Text>
void show(Stage stage, Text text) {
  base::check_interrupt();
  const std::string_view word = stages()[base::ordinal(stage)].prints;
  if (base::shows(word)) base::show(word, text());
}

void check(const expr::Graph& graph) {
  if (base::config().verify) expr::verify(graph);
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
  show(Stage::import, [&] { return expr::print(imported.graph, {.origins = true}); });
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
  show(Stage::rewrite, [&] { return expr::print(graph, {.origins = true}); });
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
  fuse::Program program;
  {
    const base::StageTimer timer(Stage::fuse);
    program = fuse::fuse(std::move(graph), options.fusing);
  }
  show(Stage::fuse, [&] { return fuse::print(program); });
  {
    const base::StageTimer timer(Stage::plan);
    result.executable = runtime::make_executable(std::move(program));
  }
  const runtime::Executable& executable = *result.executable;
  show(Stage::plan, [&] { return plan::print(executable.plan, executable.program); });
  show(Stage::place, [&] { return print_placement(result); });  // in the order of the steps
  return result;
}

rewrite::Options rewriting_of_flags() {
  const base::Flags& flags = base::config();
  return {.special_values = flags.special_values == base::SpecialValues::theano,
          .optimizer = flags.optimizer,
          .off = rewrite::rule_names(flags.rules_off)};
}

}  // namespace croton::detail
