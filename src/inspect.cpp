// Looking inside a compiled function: its graph, plan and kernels, and the texts that compilers get.
#include <fmt/format.h>

#include <unordered_map>

#include "builder/node.hpp"
#include "call.hpp"
#include "expr/print.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cuda/compile.hpp"
#include "runtime/cuda/dump.hpp"

namespace croton {

using builder::describe;

std::string Function::graph() const {
  return expr::print(impl().placed().executable->program.graph, {.origins = true});
}
std::string Function::plan() const {
  const auto executable = impl().placed().executable;
  return plan::print(executable->plan, executable->program);
}
std::size_t Function::product_count() const { return impl().placed().executable->program.product_count(); }

std::string Function::rewrites() const {
  std::string text;
  for (const rewrite::GroupReport& report : impl().reports) {
    text += fmt::format("{} ({:.2f} ms, {} nodes)\n", report.group, report.milliseconds, report.nodes);
    for (const auto& [rule, count] : report.fired) text += fmt::format("  {:24} {}\n", rule, count);
  }
  return text;
}

namespace {

bool is_cuda(std::string_view target) { return target == "cuda" || target.starts_with("cuda:"); }

expr::Place kernels_place(const runtime::Executable& executable, const plan::Launch& launch) {
  return executable.call_of(executable.plan.steps[static_cast<std::size_t>(launch.first_step)]).place;
}

}  // namespace

std::vector<KernelInfo> Function::kernels(const std::string& target) const {
  detail::apply_settings();
  if (!target.empty() && target != "cpu" && !is_cuda(target))
    throw ValueError(fmt::format("kernels(\"{}\"): targets are cpu and cuda:sm_XX, such as cuda:sm_90", target));
  std::vector<KernelInfo> result;
  const std::shared_ptr<const runtime::Executable> placed = impl().placed().executable;
  const runtime::Executable& executable = *placed;
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
    const std::string where =
        target.empty() ? runtime::target_of(kernels_place(executable, launch), impl().simulated) : target;
    const bool cuda = is_cuda(where);
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
    throw ValueError("PTX and cubin are for CUDA targets: ask for kernels(\"cuda:sm_90\")");
  return kernel.target.substr(5);
}
}  // namespace

std::string KernelInfo::ptx() const {
  const auto code = runtime::cuda::compile(unit, digest, codegen::prelude(codegen::Target::cuda), architecture(*this),
                                           runtime::cuda::Form::ptx);
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}
std::vector<std::byte> KernelInfo::cubin() const {
  return runtime::cuda::compile(unit, digest, codegen::prelude(codegen::Target::cuda), architecture(*this),
                                runtime::cuda::Form::cubin);
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
