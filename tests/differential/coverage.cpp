#include "coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/device_name.hpp"
#include "builder/import.hpp"
#include "builder/node.hpp"
#include "fuse/program.hpp"
#include "plan/loop_form.hpp"
#include "plan/plan.hpp"
#include "rewrite/loops.hpp"
#include "rewrite/pipeline.hpp"
#include "rewrite/place.hpp"
#include "rewrite/placed_loops.hpp"

namespace differential {
namespace {

using ct::expr::Kind;
using Names = std::set<std::string>;

void note_ops(const ct::expr::Graph& graph, Names& names) {
  const std::vector<bool> needed = ct::expr::reachable(graph);
  for (ct::expr::NodeId id = 0; id < graph.arena.size(); ++id) {
    if (needed[id]) names.emplace(graph.arena.op(id).name);
  }
}

/// "row", "row: sum", "product", "group of kernels", ...
void note_kernels(const ct::fuse::Program& program, Names& names) {
  for (const ct::fuse::Call& call : program.calls) {
    if (const auto* product = std::get_if<ct::fuse::ProductCall>(&call.work)) {
      names.insert("product");
      if (product->accumulate != ct::expr::no_node) names.insert("product that adds");
      if (!product->generated.empty()) names.insert("product with generated stand-ins");
      if (product->left_transposed || product->right_transposed) names.insert("product of a transpose");
    }
    if (call.is<ct::fuse::TransferCall>()) names.insert("transfer");
    if (const auto* loop = std::get_if<ct::fuse::LoopCall>(&call.work)) {
      const ct::fuse::Program& body = *loop->body;
      const bool at_once = ct::plan::why_by_steps(body, ct::plan::make_plan(body)).empty();
      names.insert(at_once ? "loop as one launch" : "loop step by step");
    }
    if (call.is<ct::fuse::BranchCall>()) names.insert("branch");
    if (const auto* routine = std::get_if<ct::fuse::RoutineCall>(&call.work))
      names.insert(fmt::format("routine {}", program.graph.arena.op(routine->result).name));
    if (!call.is<ct::fuse::KernelCall>()) continue;
    const ct::kernel::Kernel& kernel = *call.as<ct::fuse::KernelCall>().kernel;
    const std::string family(ct::kernel::name_of(kernel.family));
    names.insert(family);
    for (const ct::kernel::Stage& stage : kernel.stages) names.insert(fmt::format("{}: {}", family, stage.op->name));
    if (!kernel.checks.empty()) names.insert(family + " with checks");
    if (kernel.stages.size() > 1) names.insert(family + " of several stages");
  }
  const ct::plan::Plan plan = ct::plan::make_plan(program);
  for (const ct::plan::Launch& launch : plan.launches) {
    if (launch.size() > 1) names.insert("group of kernels");
  }
  for (const ct::plan::Buffer& buffer : plan.buffers) {
    if (buffer.in_place_of != ct::plan::no_buffer) names.insert("in place");
  }
  if (plan.segments.size() > 1) names.insert("several segments");
}

constexpr std::array families{ct::kernel::Family::pointwise, ct::kernel::Family::row, ct::kernel::Family::column,
                              ct::kernel::Family::split};

/// Properties of a text of a family: how it reads along its fast axis, and what happens to its axes.
constexpr std::array<std::string_view, 7> variants_of_a_family{
    "reads with stride 1",         "reads with any stride", "reads one element again and again",
    "reads at computed positions", "merged axes",           "several axes",
    "an index as a number"};

Names variants_of(const ct::codegen::Part& part) {
  using ct::codegen::StrideClass;
  const ct::codegen::Analysis& analysis = *part.analysis;
  const ct::codegen::Variant& variant = *part.variant;
  const std::size_t axes = variant.parallel.size() + variant.inner.size();
  const bool along_points = analysis.kernel.family == ct::kernel::Family::column;
  const std::size_t fast = along_points ? variant.parallel.size() : axes;  // index of the fast axis plus one
  Names names;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (analysis.accesses[a].written) continue;
    if (!analysis.accesses[a].affine) names.emplace(variants_of_a_family[3]);
    if (!analysis.accesses[a].affine || fast == 0) continue;
    const StrideClass stride = variant.strides[a][fast - 1];
    names.emplace(variants_of_a_family[stride == StrideClass::unit ? 0 : stride == StrideClass::any ? 1 : 2]);
  }
  const auto is_merged = [](const ct::codegen::MergedAxis& axis) { return axis.axes.size() > 1; };
  if (std::ranges::any_of(variant.parallel, is_merged) || std::ranges::any_of(variant.inner, is_merged))
    names.emplace(variants_of_a_family[4]);
  if (axes > (along_points ? 2 : 1)) names.emplace(variants_of_a_family[5]);
  if (std::ranges::find(analysis.explicit_axes, true) != analysis.explicit_axes.end())
    names.emplace(variants_of_a_family[6]);
  if (variant.tiled()) names.emplace("tiles");
  return names;
}

std::string variant_name(ct::kernel::Family family, std::string_view what) {
  return fmt::format("{}: {}", ct::kernel::name_of(family), what);
}

}  // namespace

void Coverage::observe(const Prepared& p, bool fast_compile) {
  Names op_names, rule_names, kernel_names;
  std::size_t count = 0;
  for (const ct::builder::Node* node : ct::builder::topological_order(p.roots)) {
    op_names.emplace(node->op->name);
    count += node->op->kind != Kind::Leaf;
  }
  nodes.push_back(count);
  ct::builder::ImportRequest request;
  for (std::size_t i = 0; i < p.test.nodes.size(); ++i) {
    const Node& node = p.test.nodes[i];
    if (node.is_leaf() && node.leaf.role == Leaf::Role::argument) request.inputs.push_back(p.built.nodes[i]);
  }
  request.outputs.assign(p.roots.begin(), p.roots.begin() + static_cast<std::ptrdiff_t>(p.test.outputs.size()));
  for (const Update& update : p.test.updates) {
    request.updates.emplace_back(p.built.nodes[static_cast<std::size_t>(update.leaf)],
                                 p.built.nodes[static_cast<std::size_t>(update.value)]);
  }
  ct::expr::Graph graph = ct::builder::import(request).graph;
  const auto note_rules = [&](const ct::rewrite::GroupReport& report) {
    for (const auto& [rule, fired] : report.fired) {
      if (fired > 0) rule_names.insert(fmt::format("{}/{}", report.group, rule));
    }
  };
  const auto note = [&](const ct::rewrite::GroupReport& report, const ct::expr::Graph& now) {
    note_ops(now, op_names);
    note_rules(report);
  };
  // Rules in bodies and rules on whole loops are known only from the reports.
  std::ranges::for_each(
      ct::rewrite::run(graph, {.special_values = !p.test.special, .optimizer = ct::base::OptimizerMode::fast_run},
                       note),
      note_rules);
  ct::expr::Graph on_gpu = graph;
  const ct::expr::Place gpu = ct::base::parse_device("cuda0").place();
  std::ranges::for_each(ct::rewrite::run_where_placed(on_gpu, {.scoped = gpu, .devices = {gpu}}, {}), note_rules);
  if (fast_compile) {
    ct::expr::Graph other = ct::builder::import(request).graph;
    ct::rewrite::run(other, {.special_values = !p.test.special, .optimizer = ct::base::OptimizerMode::fast_compile},
                     note);
  }
  const ct::fuse::Program program = ct::fuse::fuse(ct::rewrite::place(graph, {}, nullptr));
  for (const ct::fuse::Call& call : program.calls) {
    const auto* product = std::get_if<ct::fuse::ProductCall>(&call.work);
    if (product != nullptr && product->accumulate != ct::expr::no_node) op_names.insert("gemm");
  }
  note_ops(program.graph, op_names);
  note_kernels(program, kernel_names);
  for (const std::string& name : op_names) ++ops[name];
  for (const std::string& name : rule_names) ++rules[name];
  for (const std::string& name : kernel_names) ++kernels[name];
}

void Coverage::observe(const ct::codegen::Part& part) {
  for (const std::string& name : variants_of(part)) ++variants[variant_name(part.analysis->kernel.family, name)];
}

std::size_t Coverage::median() const {
  if (nodes.empty()) return 0;
  std::vector<std::size_t> sorted = nodes;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  return sorted[sorted.size() / 2];
}

std::size_t Coverage::most() const { return nodes.empty() ? 0 : std::ranges::max(nodes); }

std::vector<std::string> Coverage::rare_ops(std::uint64_t least) const {
  // Ops of random bits, which are rarely operands (tests/ops/test_random.cpp), and ops that only kernels contain; no
  // row makes ordered_add (rows.cpp).
  static const std::set<std::string_view> elsewhere = {
      "fma",      "philox_low",   "philox_high",      "unit32",         "unit64",          "normal32",
      "normal64", "random_below", "sample_log_gamma", "sample_poisson", "sample_binomial", "ordered_add"};
  std::vector<std::string> rare;
  for (const ct::expr::Op* op : ct::expr::all_ops()) {
    if (op->kind == Kind::Leaf || elsewhere.contains(op->name)) continue;
    const auto at = ops.find(std::string(op->name));
    const std::uint64_t count = at == ops.end() ? 0 : at->second;
    if (count == 0 && op->expand_at_import) continue;  // removed by the import: its input replaces it
    if (count == 0)
      rare.push_back(fmt::format("no sampler for {}", op->name));
    else if (count < least)
      rare.push_back(fmt::format("{} in {} graphs only", op->name, count));
  }
  return rare;
}

std::vector<std::string> Coverage::silent_rules() const {
  std::vector<std::string> silent;
  std::set<std::string> seen;
  const auto look_at = [&](std::string_view group, std::span<const ct::rewrite::Rule> of) {
    for (const ct::rewrite::Rule& rule : of) {
      const std::string name = fmt::format("{}/{}", group, rule.name);
      if (!rules.contains(name) && seen.insert(name).second) silent.push_back(name);
    }
  };
  for (const ct::rewrite::Group& group : ct::rewrite::groups()) look_at(group.name, group.rules);
  look_at("loops", ct::rewrite::loop_rules());
  look_at("placed loops", ct::rewrite::placed_loop_rules());
  return silent;
}

std::vector<std::string> Coverage::missing_kernels() const {
  std::vector<std::string> missing;
  const auto want = [&](const std::map<std::string, std::uint64_t>& of, const std::string& name) {
    if (!of.contains(name)) missing.push_back(name);
  };
  for (const ct::kernel::Family family : families) {
    want(kernels, std::string(ct::kernel::name_of(family)));
    for (const std::string_view what : variants_of_a_family) want(variants, variant_name(family, what));
    for (const ct::expr::Op* op : ct::expr::all_ops()) {
      if (op->kind == Kind::Reduce && family != ct::kernel::Family::pointwise)
        want(kernels, variant_name(family, op->name));
    }
  }
  want(variants, variant_name(ct::kernel::Family::pointwise, "tiles"));
  for (const ct::expr::Op* op : ct::expr::all_ops()) {
    if (op->routine != nullptr) want(kernels, fmt::format("routine {}", op->name));
  }
  for (const std::string_view step :
       {"product", "product that adds", "product of a transpose", "group of kernels", "in place", "several segments",
        "loop as one launch", "loop step by step", "branch"})
    want(kernels, std::string(step));
  return missing;
}

void Coverage::merge(const Coverage& other) {
  for (const auto& [name, count] : other.ops) ops[name] += count;
  for (const auto& [name, count] : other.rules) rules[name] += count;
  for (const auto& [name, count] : other.kernels) kernels[name] += count;
  for (const auto& [name, count] : other.variants) variants[name] += count;
  nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
}

}  // namespace differential
