#include "inspect.hpp"

#include <croton/croton.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>

#include "base/config.hpp"
#include "compile.hpp"
#include "examples.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "plan/plan.hpp"
#include "rewrite/pipeline.hpp"
#include "settings.hpp"
#include "shown_kernels.hpp"

namespace croton::tool {
namespace {

// ---- output ----

std::string heading(std::string_view name) { return fmt::format("==== {}\n", name); }

std::string show(const std::vector<KernelInfo>& kernels, const InspectRequest& request) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    text += heading(fmt::format("kernel {} for {}", kernel.name, kernel.target));
    text += fmt::format("schedule {}\nlaunch {}\n", kernel.schedule, kernel.launch);
    if (request.schedule) {
      for (const KernelSchedule& schedule : kernel.schedules) text += to_string(schedule);
    }
    if (request.kernels) text += kernel.source;
    if (request.facts) {
      for (const KernelFacts& facts : kernel.facts()) text += to_string(facts) + "\n";
    }
    if (request.ptx) text += heading("ptx of " + kernel.name) + kernel.ptx();
    if (request.sass) text += heading("sass of " + kernel.name) + kernel.annotated_sass();
  }
  return text;
}

bool shows_kernels(const InspectRequest& request) {
  return request.kernels || request.schedule || request.ptx || request.facts || request.sass;
}

std::string show(const Function& f, const InspectRequest& request) {
  std::string text;
  if (request.graph) text += heading("graph") + f.graph();
  if (request.rewrites) text += heading("rewrites") + f.rewrites();
  if (request.plan) text += heading("plan") + f.plan();
  if (shows_kernels(request)) text += show(f.kernels(request.target, {.shapes = request.shapes}), request);
  return text;
}

// ---- the command line ----

constexpr const char* help_text =
    "usage: croton inspect EXAMPLE_OR_FILE [--target cuda:sm_90] [--shapes SHAPES] [--graph] [--rewrites] [--plan] "
    "[--kernels] [--schedule] [--ptx] [--facts] [--sass]\n"
    "FILE is a graph as f.graph() or --graph prints it; no pickle.\n"
    "  --list               the examples\n"
    "  --target TARGET      cpu, or cuda:sm_XX of any architecture that NVRTC knows; no device is needed\n"
    "  --shapes SHAPES      those of the arguments of a call, such as 4096x1024,1024: its kernels and launches\n"
    "  --graph              the graph after rewriting\n"
    "  --rewrites           the rules that fired\n"
    "  --plan               steps, buffers, lifetimes\n"
    "  --kernels            the generated text of each kernel\n"
    "  --schedule           the schedule of each kernel, and why it was chosen\n"
    "  --ptx, --facts       by NVRTC: PTX; registers, memory, spills\n"
    "  --sass               by nvdisasm: the lines of each kernel with their instructions\n"
    "Without any of these: graph, plan and kernels.\n";

int refuse(const std::string& message) {
  std::cerr << "croton: inspect: " << message << "\n" << help_text;
  return 2;
}

}  // namespace

std::string inspect_text(const std::string& source, const InspectRequest& request) {
  const std::string_view graph = graph_part(source);
  builder::Imported imported =
      detail::import_graph("", [&] { return builder::Imported{expr::parse_graph(graph), {}, {}}; });
  expr::verify(imported.graph);
  const detail::Rewritten rewritten = detail::rewrite_graph("", std::move(imported.graph), {});
  std::string text;
  if (request.graph) text += heading("graph") + expr::print(*rewritten.graph);
  if (request.rewrites) text += heading("rewrites") + rewrite::print(rewritten.reports);
  const auto executable = detail::plan_graph("", *rewritten.graph, {}).executable;
  if (request.plan) text += heading("plan") + plan::print(executable->plan, executable->program);
  if (shows_kernels(request))
    text +=
        show(request.shapes.empty()
                 ? detail::show_kernels(*executable, {.target = request.target, .schedule = base::config().schedule})
                 : function_of_graph(std::string(graph)).kernels(request.target, {.shapes = request.shapes}),
             request);
  return text;
}

int inspect(const std::vector<std::string>& arguments) {
  InspectRequest request;
  bool any = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    struct Part {
      const char* name;
      bool InspectRequest::* member;
    };
    static constexpr Part parts[]{{"--graph", &InspectRequest::graph},       {"--rewrites", &InspectRequest::rewrites},
                                  {"--plan", &InspectRequest::plan},         {"--kernels", &InspectRequest::kernels},
                                  {"--schedule", &InspectRequest::schedule}, {"--ptx", &InspectRequest::ptx},
                                  {"--facts", &InspectRequest::facts},       {"--sass", &InspectRequest::sass}};
    const auto* part = std::ranges::find_if(parts, [&](const Part& p) { return word == p.name; });
    if (part != std::end(parts)) {
      request.*part->member = any = true;
    } else if (word == "--help") {
      std::cout << help_text;
      return 0;
    } else if (word == "--list") {
      std::cout << list_of_examples();
      return 0;
    } else if (word == "--target") {
      if (++i == arguments.size()) return refuse("--target needs a target, such as cuda:sm_90");
      request.target = arguments[i];
    } else if (word == "--shapes") {
      const auto shapes = ++i < arguments.size() ? parse_shapes(arguments[i]) : std::nullopt;
      if (!shapes) return refuse("--shapes needs a shape for each argument, such as 4096x1024,1024");
      request.shapes = *shapes;
    } else if (word.starts_with("-") || !request.what.empty()) {
      return refuse(fmt::format("'{}' is not understood", word));
    } else {
      request.what = word;
    }
  }
  if (request.what.empty()) return refuse("an example or a file is missing");
  if (!any) request.graph = request.plan = request.kernels = true;
  detail::apply_settings();
  const Function example = make_example(request.what);
  std::cout << (example.defined() ? show(example, request) : inspect_text(read_graph(request.what), request));
  return 0;
}

}  // namespace croton::tool
