// Looking inside a compiled function: its graph, plan and kernels, and the texts that compilers get.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "builder/node.hpp"
#include "call.hpp"
#include "expr/print.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cuda/compile.hpp"
#include "runtime/cuda/dump.hpp"
#include "runtime/cuda/facts.hpp"
#include "runtime/cuda/nvdisasm.hpp"
#include "runtime/cuda/sass.hpp"

namespace croton {

using builder::describe;
using runtime::cuda::Form;

std::string Function::graph() const { return expr::print(impl().executable->program.graph, {.origins = true}); }
std::string Function::plan() const { return plan::print(impl().executable->plan, impl().executable->program); }
std::size_t Function::product_count() const { return impl().executable->program.product_count(); }

std::string Function::rewrites() const {
  std::string text;
  for (const rewrite::GroupReport& report : impl().reports) {
    text += fmt::format("{} ({:.2f} ms, {} nodes)\n", report.group, report.milliseconds, report.nodes);
    for (const auto& [rule, count] : report.fired) text += fmt::format("  {:24} {}\n", rule, count);
  }
  return text;
}

std::vector<KernelInfo> Function::kernels(const std::string& target) const {
  const std::string where = target.empty() ? "cpu" : target;
  const bool cuda = where == "cuda" || where.starts_with("cuda:");
  detail::apply_settings();
  if (where != "cpu" && !cuda)
    throw ValueError(fmt::format("kernels(\"{}\"): targets are cpu and cuda:sm_XX, such as cuda:sm_90", target));
  std::vector<KernelInfo> result;
  const runtime::Executable& executable = *impl().executable;
  for (const plan::Launch& launch : executable.plan.launches) {
    std::vector<runtime::BoundKernel> kernels;
    for (int step = launch.first_step; step < launch.end_step; ++step) {
      const plan::Step& s = executable.plan.steps[static_cast<std::size_t>(step)];
      const fuse::Call& call = executable.call_of(s);
      if (!call.kernel) continue;
      const codegen::Analysis& analysis = *executable.analyses[static_cast<std::size_t>(s.call)].front();
      kernels.push_back({.call = call.kernel.get(),
                         .analysis = &analysis,
                         .operands = {},
                         .extents = {},
                         .launch = codegen::default_launch(analysis)});
    }
    if (kernels.empty()) continue;
    const codegen::Target to = cuda ? codegen::Target::cuda : codegen::Target::cpu;
    std::vector<std::size_t> count;
    std::size_t next = 0;
    const std::vector<codegen::Text> texts = runtime::emit_launch(kernels, to, count);
    for (std::size_t t = 0; t < texts.size(); ++t) {
      if (cuda) runtime::cuda::dump(texts[t]);
      KernelInfo info;
      info.name = texts[t].name;
      info.source = texts[t].code;
      info.unit = codegen::prelude(to) + texts[t].code;
      for (std::size_t end = next + count[t]; next < end; ++next) {
        info.expression += kernel::print(*kernels[next].call->kernel);
        for (const expr::Origin& origin : kernels[next].call->origins) {
          info.lines.push_back(
              fmt::format("{}{}{}", describe(origin.where), origin.name.empty() ? "" : " ", origin.name));
        }
      }
      info.target = where == "cuda" ? "cuda:sm_90" : where;
      info.digest = texts[t].digest;
      info.schedule =
          codegen::print(codegen::choose_schedule(kernels[next - 1].analysis->kernel.family, impl().schedule));
      result.push_back(std::move(info));
    }
  }
  return result;
}

std::string Function::source(const std::string& target) const {
  const bool cuda = target.starts_with("cuda");
  std::string text = codegen::prelude(cuda ? codegen::Target::cuda : codegen::Target::cpu);
  for (const KernelInfo& kernel : kernels(target)) text += kernel.source + "\n";
  return text;
}

namespace {
std::string architecture(const KernelInfo& kernel) {
  if (!kernel.target.starts_with("cuda:"))
    throw ValueError("PTX, cubin, facts and SASS are for CUDA targets: ask for kernels(\"cuda:sm_90\")");
  return kernel.target.substr(5);
}
}  // namespace

namespace {

std::vector<std::byte> compiled(const KernelInfo& kernel, runtime::cuda::Form form) {
  return runtime::cuda::compile(kernel.unit, kernel.digest, codegen::prelude(codegen::Target::cuda),
                                architecture(kernel), form, kernel.name);
}
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string KernelInfo::ptx() const { return text_of(compiled(*this, Form::ptx)); }
std::vector<std::byte> KernelInfo::cubin() const { return compiled(*this, Form::cubin); }
std::vector<KernelFacts> KernelInfo::facts() const {
  return runtime::cuda::read_facts(text_of(compiled(*this, Form::facts)));
}
std::string KernelInfo::sass() const {
  namespace cuda = runtime::cuda;
  return cuda::print_sass(cuda::parse_sass(cuda::disassemble(compiled(*this, Form::cubin), false)));
}
std::string KernelInfo::annotated_sass() const {
  namespace cuda = runtime::cuda;
  const std::string_view prelude = std::string_view(unit).substr(0, unit.size() - source.size());
  const auto prelude_lines = static_cast<int>(std::ranges::count(prelude, '\n'));
  const std::string listing = cuda::disassemble(compiled(*this, Form::lined_cubin), true);
  return cuda::annotate(cuda::parse_sass(listing), source, prelude_lines);
}
std::string KernelInfo::assembly() const {
  if (target != "cpu") throw ValueError("assembly is for the cpu target; CUDA kernels have ptx()");
  return runtime::cpu::Compiler::instance().assembly(unit);
}

std::ostream& operator<<(std::ostream& out, const Outputs& outputs) {
  if (!outputs.is_list()) return out << outputs.only();
  out << "[";
  for (std::size_t i = 0; i < outputs.size(); ++i) out << (i > 0 ? ", " : "") << outputs[i];
  return out << "]";
}

namespace {

void print_tree(const Variable& v, int depth, std::unordered_map<const builder::Node*, int>& ids, std::string& text) {
  const auto [at, fresh] = ids.try_emplace(v.node(), static_cast<int>(ids.size()));
  const builder::Node& node = *v.node();
  std::string label = node.name.empty() ? std::string(node.op->name) : node.name;
  if (v.is_constant() && v.rank() == 0) label = node.value.to_string();
  std::string attrs;
  for (const auto& [key, value] : node.attrs.items())
    attrs += fmt::format("{}{}={}", attrs.empty() ? "{" : ", ", key, expr::to_string(value));
  if (!attrs.empty()) attrs += "}";
  text += fmt::format("{:{}}{}{} [id {}] {}\n", "", depth * 2, label, attrs, at->second, v.type().to_string());
  if (!fresh && !node.inputs.empty()) {
    text += fmt::format("{:{}}...\n", "", depth * 2 + 2);
    return;
  }
  constexpr int max_depth = 200;  // a printout, not a traversal: deep graphs are cut
  if (depth >= max_depth && !node.inputs.empty()) {
    text += fmt::format("{:{}}... (deeper)\n", "", depth * 2 + 2);
    return;
  }
  for (const Variable& input : node.inputs) print_tree(input, depth + 1, ids, text);
}

}  // namespace

std::string debugprint(const Variable& variable) {
  std::unordered_map<const builder::Node*, int> ids;
  std::string text;
  print_tree(variable, 0, ids, text);
  return text;
}

std::string debugprint(const Function& function) { return function.graph(); }

}  // namespace croton
