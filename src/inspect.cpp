// Inspection of kernels: how they are launched; trees of the user's graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "base/index.hpp"
#include "builder/node.hpp"
#include "expr/print.hpp"
#include "plan/loop_form.hpp"
#include "runtime/bound/dump_kernels.hpp"
#include "runtime/bound/routine_launch.hpp"
#include "runtime/devices.hpp"
#include "runtime/loops/native_loop.hpp"
#include "shown_kernels.hpp"

namespace croton {

using builder::describe;

namespace {

bool is_cuda(std::string_view target) { return target == "cuda" || target.starts_with("cuda:"); }

/// The kernels of one launch, for default sizes.
std::vector<runtime::BoundKernel> show_launch(const runtime::Executable& executable, const plan::Launch& launch,
                                              bool small) {
  std::vector<runtime::BoundKernel> kernels;
  for (const plan::StepId s : launch.steps()) {
    const plan::Step& step = executable.plan.steps[s];
    const fuse::Call& call = executable.call_of(step);
    const auto* kernel = std::get_if<fuse::KernelCall>(&call.work);
    if (kernel == nullptr) continue;
    const codegen::Analysis& analysis = *executable.analyses[step.call].front();
    std::vector<std::int64_t> extents = codegen::default_extents(analysis, small);
    codegen::Launch sizes = codegen::default_launch(analysis, extents);
    kernels.push_back({kernel, &analysis, {}, std::move(extents), std::move(sizes)});
  }
  return kernels;
}

/// The text of the launch of one text's kernels with these sizes.
std::string print_launch(std::span<const runtime::BoundKernel> kernels, const codegen::Schedule& schedule, bool cuda) {
  std::string sizes;
  std::int64_t items = 0;
  for (const runtime::BoundKernel& kernel : kernels) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", fmt::join(kernel.launch.sizes, " x "));
    items +=
        kernels.size() > 1 ? codegen::group_tiles(kernel.launch) : codegen::gpu_items(*kernel.analysis, kernel.launch);
  }
  if (sizes.empty()) sizes = "one element";
  if (cuda) {
    const int blocks = kernels.size() > 1
                           ? codegen::tile_blocks(items, schedule)
                           : codegen::gpu_blocks(*kernels[0].analysis, kernels[0].launch.variant, items, schedule);
    return fmt::format("{}: {} blocks of {} threads", sizes, blocks, schedule.threads);
  }
  const codegen::Work work = kernels.size() > 1 ? codegen::group_work(items, schedule)
                                                : codegen::cpu_work(*kernels[0].analysis, kernels[0].launch, schedule);
  return fmt::format("{}: {} work items, at least {} a thread", sizes, work.items, work.grain);
}

void dump_small(const runtime::Executable& executable, const plan::Launch& launch,
                const std::vector<runtime::BoundKernel>& shown, const std::string& architecture) {
  // Dumped programs use at most a million elements, if the text is the same for these sizes.
  std::vector<runtime::BoundKernel> small = show_launch(executable, launch, true);
  const bool same = std::ranges::equal(
      small, shown, {}, [](const auto& k) { return k.launch.variant; }, [](const auto& k) { return k.launch.variant; });
  runtime::dump_kernels(same ? small : shown, architecture);
}

expr::Place place_of(const runtime::Executable& executable, const plan::Launch& launch) {
  return executable.call_of(executable.plan.steps[launch.first_step]).place;
}

KernelInfo show_routine(const runtime::Executable& executable, const plan::Step& step, const std::string& where,
                        std::string_view schedule) {
  const codegen::Target to = is_cuda(where) ? codegen::Target::cuda : codegen::Target::cpu;
  const codegen::RoutinePart part = runtime::routine_part(executable, step);
  const auto emit = [&](codegen::Target language) { return codegen::emit_routine(part, language); };
  const codegen::Text text = emit(to);
  if (is_cuda(where)) runtime::dump_text(emit, where.substr(5));
  const expr::Origin& origin = executable.call_of(step).as<fuse::RoutineCall>().origin;
  KernelInfo info;
  info.name = text.name;
  info.source = text.code;
  info.unit = codegen::prelude(to) + text.code;
  info.expression = part.comment.front() + "\n";
  info.lines = {fmt::format("{}{}{}", describe(origin.where), origin.name.empty() ? "" : " ", origin.name)};
  info.target = where;
  info.digest = text.digest;
  info.schedule = codegen::print(codegen::choose_schedule(kernel::Family::pointwise, schedule, text.name));
  info.launch = "a fixed sequence of launches, which depends on its sizes";
  return info;
}

KernelInfo show_loop(const runtime::Executable& executable, const plan::Step& step, const std::string& where,
                     std::string_view schedule) {
  const codegen::Target to = is_cuda(where) ? codegen::Target::cuda : codegen::Target::cpu;
  const fuse::LoopCall& call = executable.call_of(step).as<fuse::LoopCall>();
  const auto& body = executable.bodies[step.call].front();
  const auto emit = [&](codegen::Target language) { return runtime::NativeLoop::show(body, call, language); };
  const codegen::Text text = emit(to);
  if (is_cuda(where)) runtime::dump_text(emit, where.substr(5));
  KernelInfo info;
  info.name = text.name;
  info.source = text.code;
  info.unit = codegen::prelude(to) + text.code;
  info.expression = expr::print(body->program.graph);
  info.lines = {
      fmt::format("{}{}{}", describe(call.origin.where), call.origin.name.empty() ? "" : " ", call.origin.name)};
  info.target = where;
  info.digest = text.digest;
  const codegen::Schedule chosen = codegen::choose_schedule(kernel::Family::row, schedule, text.name);
  info.schedule = fmt::format("{} meeting={}", codegen::print(chosen), chosen.meeting);
  info.launch =
      "all steps in one launch; independent rows are divided among threads or blocks; on a GPU all blocks work "
      "together if a step is long (a cooperative launch, with another text)";
  return info;
}

}  // namespace

std::vector<KernelInfo> detail::show_kernels(const runtime::Executable& executable, const std::string& target,
                                             std::string_view schedule, runtime::Gpus gpus) {
  if (!target.empty() && target != "cpu" && !is_cuda(target))
    throw ValueError(fmt::format("kernels(\"{}\"): targets are cpu and cuda:sm_XX, such as cuda:sm_90", target));
  std::vector<KernelInfo> result;
  for (const plan::Launch& launch : executable.plan.launches) {
    const std::string where = target.empty()
                                  ? runtime::target_of(place_of(executable, launch), gpus)
                                  : (target == "cuda" ? fmt::format("cuda:{}", codegen::default_architecture) : target);
    const bool cuda = is_cuda(where);
    const codegen::Target to = cuda ? codegen::Target::cuda : codegen::Target::cpu;
    const plan::Step& first = executable.plan.steps[launch.first_step];
    const auto& bodies = executable.bodies[first.call];
    if (executable.call_of(first).is<fuse::LoopCall>() &&
        plan::why_by_steps(bodies[0]->program, bodies[0]->plan).empty()) {
      result.push_back(show_loop(executable, first, where, schedule));
      continue;
    }
    if (!bodies.empty()) {
      for (const auto& body : bodies) {
        for (KernelInfo& kernel : show_kernels(*body, target, schedule, gpus)) result.push_back(std::move(kernel));
      }
      continue;
    }
    if (executable.call_of(first).is<fuse::RoutineCall>()) {
      result.push_back(show_routine(executable, first, where, schedule));
      continue;
    }
    const std::vector<runtime::BoundKernel> kernels = show_launch(executable, launch, false);
    if (kernels.empty()) continue;
    if (cuda) dump_small(executable, launch, kernels, where.substr(5));
    std::vector<std::size_t> count;
    std::size_t next = 0;
    std::span<const runtime::BoundKernel> rest(kernels);
    for (const codegen::Text& text : runtime::emit_launch(kernels, to, count)) {
      const std::span<const runtime::BoundKernel> own = rest.first(count[next++]);
      rest = rest.subspan(own.size());
      KernelInfo info;
      info.name = text.name;
      info.source = text.code;
      info.unit = codegen::prelude(to) + text.code;
      for (const runtime::BoundKernel& kernel : own) {
        info.expression += kernel::print(*kernel.call->kernel);
        for (const expr::Origin& origin : kernel.call->origins) {
          info.lines.push_back(
              fmt::format("{}{}{}", describe(origin.where), origin.name.empty() ? "" : " ", origin.name));
        }
      }
      info.target = where;
      info.digest = text.digest;
      const codegen::Schedule chosen = codegen::choose_schedule(own[0].analysis->kernel.family, schedule, text.name);
      info.schedule = codegen::print(chosen);
      info.launch = print_launch(own, chosen, cuda);
      result.push_back(std::move(info));
    }
  }
  return result;
}

namespace {

void print_tree(const Variable& v, int depth, std::unordered_map<const builder::Node*, int>& ids, std::string& text) {
  const auto [at, fresh] = ids.try_emplace(v.node(), base::to_int(ids.size()));
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
  constexpr int max_depth = 200;  // this recursive printout omits deeper nodes
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

}  // namespace croton
