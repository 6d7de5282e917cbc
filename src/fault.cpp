// The search for the fault if a verified call differs: first among the rewrite rules, which are tested without compiled
// code; then among the steps of the program, each of which runs alone on the correct values. The result is written as a
// small program.
#include <croton/config.hpp>
#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "base/file.hpp"
#include "base/flag_table.hpp"
#include "base/hash.hpp"
#include "compile.hpp"
#include "expr/evaluate.hpp"
#include "expr/print.hpp"
#include "runtime/support/cache.hpp"
#include "verification.hpp"

namespace croton::detail {
namespace {

using expr::NodeId;

constexpr std::size_t max_candidates = 300;  // nodes that are searched for the first one that a rule changes

// ---- rules

std::vector<std::string_view> fired_rules(const expr::Graph& graph, const rewrite::Options& options) {
  std::vector<std::string_view> names;
  const Rewritten rewritten = rewrite_graph("", graph, options);
  for (const rewrite::GroupReport& report : rewritten.reports) {
    if (report.group == "expand") continue;  // kernels need its rules
    for (const auto& [name, count] : report.fired) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Whether the rewritten graph has the expected results, except for infinities, which rules may remove.
bool preserves_results(const expr::Graph& imported, std::span<const Array> inputs, const rewrite::Options& options,
                       const Expected& expected) {
  return expected.agrees(expr::evaluate(*rewrite_graph("", imported, options).graph, inputs), true);
}

/// The smallest set of rules without which the results are right; empty if they are right with all rules, or wrong
/// without any.
std::vector<std::string_view> wrong_rules(const expr::Graph& imported, std::span<const Array> inputs,
                                          rewrite::Options options, const Expected& expected) {
  if (preserves_results(imported, inputs, options, expected)) return {};
  const std::vector<std::string_view> before = options.off, fired = fired_rules(imported, options);
  const auto without = [&](std::vector<std::string_view> off) {
    off.insert(off.end(), before.begin(), before.end());
    options.off = std::move(off);
    return preserves_results(imported, inputs, options, expected);
  };
  // Usually one rule is the cause; otherwise rules are switched on again one by one.
  for (const std::string_view rule : fired) {
    if (without({rule})) return {rule};
  }
  std::vector<std::string_view> off = fired;
  if (!without(off)) return {};
  for (const std::string_view rule : fired) {
    std::vector<std::string_view> fewer = off;
    std::erase(fewer, rule);
    if (without(fewer)) off = fewer;
  }
  return off;
}

std::string text_of_rule(std::string_view name) {
  for (const rewrite::Group& group : rewrite::groups()) {
    for (const rewrite::Rule& rule : group.rules) {
      if (rule.name == name) return fmt::format("\"{}\" ({}; group {})", name, rule.text, group.name);
    }
  }
  return fmt::format("\"{}\"", name);
}

/// The smallest part of the graph in which the rules change results: the first node with a wrong value, with as few of
/// the nodes before it as the fault needs.
GraphPart smallest_part(const CallToVerify& call) {
  const auto shows_fault = [&](const GraphPart& part) {
    return !preserves_results(part.graph, part.inputs, call.rewriting, Expected(part.graph, part.inputs));
  };
  const std::vector<bool> needed = expr::reachable(call.imported);
  const std::vector<Array> values = values_of_nodes(call.imported, call.inputs);
  const expr::Arena& arena = call.imported.arena;
  const std::vector<NodeId> roots = call.imported.roots();
  std::vector<NodeId> candidates;
  for (NodeId id = 0; id < arena.size() && candidates.size() < max_candidates; ++id) {
    if (needed[id] && arena.op(id).kind != expr::Kind::Leaf) candidates.push_back(id);
  }
  GraphPart best = cut_graph(call.imported, roots, [](NodeId) { return false; }, values);
  for (const NodeId id : candidates) {
    const std::vector<NodeId> root{id};
    GraphPart cone = cut_graph(call.imported, root, [](NodeId) { return false; }, values);
    if (!shows_fault(cone)) continue;
    best = std::move(cone);
    // Ids decrease with the distance from the root: nodes before `from` become inputs, for smaller and smaller `from`.
    for (NodeId from = id; from > 0; --from) {
      GraphPart nearer = cut_graph(call.imported, root, [&](NodeId n) { return n < from; }, values);
      if (!shows_fault(nearer)) continue;
      best = std::move(nearer);
      break;
    }
    break;
  }
  return cut_sizes(std::move(best), shows_fault);
}

// ---- kernels

struct FaultyStep {
  GraphPart part;
  std::string text;
  bool expression = false;  // the expression is wrong, not only its code
};

/// The first step of the program whose results differ from those of its part of the graph.
std::optional<FaultyStep> wrong_step(const expr::Graph& rewritten, std::span<const Array> inputs, const GraphRun& how) {
  PlanOptions options;
  options.placing.soft = true;
  options.fusing.join = how.join;
  const auto executable = plan_graph("", rewritten, options).executable;
  const fuse::Program& program = executable->program;
  const expr::Graph& graph = program.graph;
  const std::vector<Array> values = values_of_nodes(graph, inputs);
  const auto differs = [](const GraphPart& part, const GraphRun& run) {
    return !Expected(part.graph, part.inputs).agrees(run_graph(part.graph, part.inputs, run), false);
  };
  for (const fuse::Call& call : program.calls) {
    const auto* kernel = std::get_if<fuse::KernelCall>(&call.work);
    if (kernel == nullptr && !call.is<fuse::ProductCall>() && !call.is<fuse::RoutineCall>())
      continue;  // callbacks of the user are assumed to be correct
    std::vector<NodeId> roots, reads;
    if (kernel != nullptr) {
      roots = kernel->writes;
      reads = kernel->reads;
    } else {
      roots = {call.members.front()};
      const auto operands = graph.arena.inputs(roots[0]);
      reads.assign(operands.begin(), operands.end());
    }
    const auto is_read = [&](NodeId id) { return std::ranges::find(reads, id) != reads.end(); };
    FaultyStep step{cut_graph(graph, roots, is_read, values), {}};
    if (!differs(step.part, how)) continue;
    GraphRun by_reference = how;
    by_reference.reference = true;
    by_reference.place = base::host_place;
    step.expression = kernel != nullptr && differs(step.part, by_reference);
    step.part = cut_sizes(std::move(step.part), [&](const GraphPart& part) { return differs(part, how); });
    if (kernel != nullptr) {
      for (const std::string& line : runtime::kernel_comment(*kernel)) step.text += "  " + line + "\n";
    } else {
      step.text =
          fmt::format("  {} ({})\n", graph.arena.op(roots[0]).name, runtime::line_of(graph.arena.origin(roots[0])));
    }
    return step;
  }
  return std::nullopt;
}

// ---- the minimal program

std::string number_text(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  return fmt::format("{:.17g}", value);
}

std::string array_text(const Array& array) {
  const DType dtype = array.dtype();
  const std::string_view element = is_complex(dtype)    ? "std::complex<double>"
                                   : is_discrete(dtype) ? (dtype == DType::uint64 ? "std::uint64_t" : "std::int64_t")
                                                        : "double";
  std::string values;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    values += values.empty() ? "" : ", ";
    if (is_complex(dtype))
      values +=
          fmt::format("{{{}, {}}}", number_text(array.as_complex(i).real()), number_text(array.as_complex(i).imag()));
    else if (dtype == DType::uint64)
      values += fmt::format("{}u", expr::element_of(array, i).as_unsigned());
    else if (is_discrete(dtype))
      values += fmt::format("{}", expr::element_of(array, i).i);
    else
      values += number_text(array.as_double(i));
  }
  return fmt::format("croton::Array(std::vector<{}>{{{}}}).astype(croton::DType::{}).reshape({{{}}})", element, values,
                     is_bool(dtype) ? "bool_" : name_of(dtype), fmt::join(array.shape(), ", "));
}

std::string program_text(const GraphPart& part, const std::string& title, const std::string& flags) {
  std::string arrays, arguments;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    arrays += fmt::format("  const croton::Array a{} = {};\n", i, array_text(part.inputs[i]));
    arguments += fmt::format("{}a{}", i == 0 ? "" : ", ", i);
  }
  std::string comment = "// ";
  for (const char c : title) comment += c == '\n' ? std::string("\n// ") : std::string(1, c);
  return fmt::format(
      "{}\n#include <croton/croton.hpp>\n\n#include <cmath>\n#include <complex>\n#include <cstdint>\n#include "
      "<iostream>\n"
      "#include <vector>\n\n"
      "int main() {{\n  const croton::change_flags flags{{\"{}\"}};\n"
      "  const auto f = croton::function_of_graph(R\"graph(\n{})graph\");\n{}"
      "  try {{\n    std::cout << f({}) << \"\\n\" << f.verification().to_string();\n"
      "  }} catch (const croton::VerificationError& error) {{\n    std::cout << error.what() << \"\\n\";\n    return "
      "1;\n  }}\n}}\n",
      comment, flags, expr::print(part.graph), arrays, arguments);
}

/// "minimal program: PATH", or the reason why there is none.
std::string write_program(const GraphPart& part, const std::string& title, const CallToVerify& call) {
  try {
    const base::Flags& flags = base::config();
    const std::filesystem::path folder = !flags.dump_kernels.empty() ? std::filesystem::path(flags.dump_kernels)
                                         : !flags.cache_dir.empty()  ? std::filesystem::path(flags.cache_dir) / "faults"
                                                                    : runtime::KernelCache::default_folder() / "faults";
    std::string settings = fmt::format("mode=verify,optimizer={},special_values={}",
                                       base::choice_text("optimizer", call.rewriting.optimizer),
                                       call.rewriting.special_values ? "theano" : "ieee");
    if (!base::is_host(call.how.place))
      settings += fmt::format(",device={},cuda_simulator={}", flag("device"), flag("cuda_simulator"));
    const std::string text = program_text(part, title, settings);
    const std::string file = fmt::format("fault_{}.cpp", base::to_hex(base::hash128(text)).substr(0, 12));
    base::Folder::open_private(folder).publish(file, std::as_bytes(std::span(text)));
    return "minimal program: " + (folder / file).string();
  } catch (const std::exception& error) {
    return fmt::format("a minimal program could not be written: {}", error.what());
  }
}

}  // namespace

std::string describe_fault(const CallToVerify& call, const Expected& expected, bool fused) {
  rewrite::Options options = call.rewriting;
  if (!fused) options.optimizer = base::OptimizerMode::none;
  try {
    const std::vector<std::string_view> rules = wrong_rules(call.imported, call.inputs, options, expected);
    if (!rules.empty()) {
      std::string title = rules.size() == 1 ? "at fault: the rewrite rule " : "at fault: together, the rewrite rules ";
      for (const std::string_view rule : rules) title += (rule == rules[0] ? "" : ", ") + text_of_rule(rule);
      return title + "\n" + write_program(smallest_part(call), title, call);
    }
    const Rewritten rewritten = rewrite_graph("", call.imported, options);
    if (!expected.agrees(expr::evaluate(*rewritten.graph, call.inputs), true)) {
      const GraphPart whole = cut_graph(
          call.imported, call.imported.roots(), [](NodeId) { return false; },
          values_of_nodes(call.imported, call.inputs));
      const std::string title = "at fault: the rewriting, but no rule that can be switched off";
      return title + "\n" + write_program(whole, title, call);
    }
    GraphRun how = call.how;
    how.join = fused && how.join;
    if (const auto step = wrong_step(*rewritten.graph, call.inputs, how)) {
      const std::string title = fmt::format("at fault: the {} of the kernel\n{}",
                                            step->expression ? "expression" : "compiled code", step->text);
      return title + write_program(step->part, title, call);
    }
  } catch (const Error& error) {
    return fmt::format("the search for the fault failed: {}", error.what());
  }
  return "no single rule or kernel is at fault; the fault may be in the order of the steps or in the memory that they "
         "share";
}

}  // namespace croton::detail
