#include "shown_kernels.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/counted.hpp"
#include "builder/node.hpp"
#include "codegen/cost_model.hpp"
#include "codegen/occupancy.hpp"
#include "expr/print.hpp"
#include "plan/loop_form.hpp"
#include "runtime/bound/dump_kernels.hpp"
#include "runtime/bound/kernel_schedules.hpp"
#include "runtime/bound/launch_traffic.hpp"
#include "runtime/bound/product_launch.hpp"
#include "runtime/bound/routine_launch.hpp"
#include "runtime/devices.hpp"
#include "runtime/loops/native_loop.hpp"

namespace croton {

using builder::describe;

namespace {

bool is_cuda(std::string_view target) { return target == "cuda" || target.starts_with("cuda:"); }

/// Whether a target of a GPU names an architecture as NVIDIA does: sm_90, sm_100, sm_90a, sm_120f.
bool names_architecture(std::string_view target) {
  constexpr std::string_view begin = "cuda:sm_";
  if (target == "cuda") return true;
  if (!target.starts_with(begin)) return false;
  std::string_view digits = target.substr(begin.size());
  if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
  return digits.size() >= 2 && digits.size() <= 3 && digits.find_first_not_of("0123456789") == digits.npos &&
         digits[0] != '0';
}

/// The generated kernel for a product; -1 if a library computes it.
int choose_product(const runtime::Executable& executable, const plan::Step& step, const runtime::SizedPlan& sized,
                   bool cuda) {
  const expr::Arena& arena = executable.program.graph.arena;
  const DType dtype = arena.type(executable.call_of(step).as<fuse::ProductCall>().result).dtype;
  return cuda && !runtime::has_library_products(dtype)
             ? runtime::choose_generated_without_library(executable, step, sized.sizes)
             : runtime::choose_generated(executable, step, sized.sizes);
}

/// The kernels of a step with the sizes of a call: none for work that is not by generated kernels.
void show_step(const runtime::Executable& executable, const plan::Step& step, const runtime::SizedPlan& sized,
               bool cuda, std::vector<runtime::BoundKernel>& kernels) {
  const fuse::Call& call = executable.call_of(step);
  const int generated = call.is<fuse::ProductCall>() ? choose_product(executable, step, sized, cuda) : -1;
  if (call.is<fuse::KernelCall>() || generated >= 0)
    kernels.push_back(runtime::bind_kernel(executable, step, generated, sized.sizes, sized.memory));
}

/// The kernels of one launch, for the sizes of a call or for example sizes.
std::vector<runtime::BoundKernel> show_launch(const runtime::Executable& executable, const plan::Plan& plan,
                                              const plan::Launch& launch, const runtime::SizedPlan* sized, bool cuda,
                                              bool small) {
  std::vector<runtime::BoundKernel> kernels;
  for (const plan::StepId s : launch.steps()) {
    const plan::Step& step = plan.steps[s];
    if (sized != nullptr) {
      show_step(executable, step, *sized, cuda, kernels);
      continue;
    }
    const auto* kernel = std::get_if<fuse::KernelCall>(&executable.call_of(step).work);
    if (kernel == nullptr) continue;
    const codegen::Analysis& analysis = *executable.analyses[step.call].front();
    std::vector<std::int64_t> extents = codegen::default_extents(analysis, small);
    codegen::Launch sizes = codegen::default_launch(analysis, extents);
    runtime::BoundKernel& shown = kernels.emplace_back(runtime::kernel_of(executable, step, -1));
    shown.extents = std::move(extents);
    shown.launch = std::move(sizes);
  }
  for (runtime::BoundKernel& kernel : kernels) find_unread(kernel, plan, launch);
  return kernels;
}

/// Sets the numbers and the text of the launch of one text's kernels.
void describe_launch(std::span<const runtime::BoundKernel> kernels, const codegen::Text& code, KernelInfo& info) {
  const codegen::Schedule& schedule = kernels[0].schedule;
  const bool are_reductions = kernels[0].analysis->kernel.family == kernel::Family::split;
  std::string sizes;
  for (const runtime::BoundKernel& kernel : kernels) {
    if (!kernel.launch.sizes.empty())
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", fmt::join(kernel.launch.sizes, " x "));
    info.items += codegen::group_tiles(kernel.launch);
    info.cost = std::max(info.cost, codegen::cost_of_element(*kernel.analysis));
    if (are_reductions) {  // of all arrays together
      info.points = 1;
      if (!runtime::is_epilogue(kernels, kernel)) info.length += codegen::inner_length(kernel.launch);
      continue;
    }
    info.points += codegen::point_count(kernel.launch);
    info.length = std::max(info.length, codegen::inner_length(kernel.launch));
  }
  if (sizes.empty()) sizes = "one element";
  if (is_cuda(info.target)) {
    if (runtime::is_inner_outer(kernels)) info.points = codegen::point_count(kernels[0].launch);
    info.items = runtime::gpu_items(kernels);
    info.blocks = runtime::gpu_blocks(kernels);
    info.threads = schedule.threads;
    info.shared_bytes = schedule.shared_bytes;
    info.launches = code.state_bytes > 0 ? 2 : 1;
    info.launch = fmt::format("{}: {} of {} threads", sizes, base::counted(info.blocks, "block"), info.threads);
    return;
  }
  const codegen::Work work = runtime::cpu_work(kernels);
  info.items = work.items;
  info.grain = work.grain;
  info.launches = 1;
  info.launch = fmt::format("{}: {} work items, at least {} a thread", sizes, work.items, work.grain);
}

/// The schedules of shown kernels are for the usual machine, or for `gpu`, with the shared memory of the target's
/// architecture: the device may be missing.
codegen::Machine machine_of_target(const std::string& where, const codegen::MachineConstants* gpu) {
  codegen::Machine machine;
  if (gpu != nullptr) {
    machine.multiprocessors = gpu->multiprocessors;
    machine.cache_bytes = gpu->cache_bytes;
  }
  if (is_cuda(where)) {
    machine.shared_bytes = codegen::shared_bytes_of_block(where.substr(5));
    machine.limits = codegen::limits_or_usual(where.substr(5));
  }
  return machine;
}

/// `number`: that of the launch among those that run the steps.
void dump_small(const runtime::Executable& executable, const plan::Plan& plan, const plan::Launch& launch,
                std::size_t number, const std::vector<runtime::BoundKernel>& shown, const std::string& architecture,
                std::string_view overrides) {
  // Dumped programs use at most a million elements, if the text is the same for these sizes.
  const auto small =
      runtime::schedule_launches(show_launch(executable, plan, launch, nullptr, true, true), codegen::Target::cuda,
                                 machine_of_target("cuda:" + architecture, nullptr), overrides);
  const bool same =
      number < small.size() && std::ranges::equal(
                                   small[number], shown,
                                   [](const auto& a, const auto& b) {
                                     return a.launch.variant == b.launch.variant && a.schedule == b.schedule;
                                   });
  runtime::dump_kernels(same ? small[number] : shown, codegen::Target::cuda, architecture);
}

std::int64_t element_count(const codegen::Layout& layout) {
  return std::accumulate(layout.shape.begin(), layout.shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Sets the numbers and the text of the launches of a routine: the largest launch, and the memory of its operands.
void describe_routine(const runtime::Executable& executable, const plan::Step& step, const runtime::SizedPlan& sized,
                      const codegen::Schedule& schedule, KernelInfo& info) {
  const std::int64_t elements = std::max<std::int64_t>(1, element_count(sized.memory.layouts[step.writes[0]]));
  double passes = 0;
  for (const expr::RoutinePhase& phase : runtime::routine_work(executable, step, sized.memory).phases) {
    if (phase.items == 0) continue;
    ++info.launches;
    info.items = std::max(info.items, phase.items);
    info.length = std::max(info.length, phase.cost);
    const double walked = static_cast<double>(phase.items) * static_cast<double>(phase.cost);
    passes += std::min(1.0, walked / static_cast<double>(elements));
  }
  info.points = info.items;
  const bool cuda = is_cuda(info.target);
  if (cuda) {
    info.blocks = codegen::thread_blocks(info.items, schedule);
    info.threads = schedule.threads;
    info.shared_bytes = schedule.shared_bytes;
  }
  info.launch =
      fmt::format("{} launches of at most {} items{}", info.launches, info.items,
                  cuda ? fmt::format(": {} of {} threads", base::counted(info.blocks, "block"), info.threads) : "");
  const auto add = [&](plan::BufferId b, bool written) {
    const bool workspace = executable.plan.buffers[b].role == plan::Buffer::Role::workspace;
    const std::size_t size =
        workspace ? 1 : size_of(executable.program.graph.arena.type(executable.plan.buffers[b].node).dtype);
    const std::int64_t bytes = element_count(sized.memory.layouts[b]) * static_cast<std::int64_t>(size);
    info.operands.push_back({.bytes = bytes,
                             .point_bytes = bytes,
                             .passes = std::max(1, static_cast<int>(std::lround(passes))),
                             .written = written});
  };
  for (const plan::BufferId b : step.reads) add(b, false);
  add(step.writes[0], true);
  if (step.workspace != plan::no_buffer) add(step.workspace, true);
}

runtime::ScheduledFor scheduled_for(const std::string& where, const expr::Place place,
                                    const detail::ShowOptions& options) {
  return {.device = options.target.empty() ? base::DeviceName::of_place(place).to_string() : where,
          .target = is_cuda(where) ? codegen::Target::cuda : codegen::Target::cpu,
          .machine = machine_of_target(where, options.gpu),
          .overrides = options.schedule};
}

KernelInfo show_routine(const runtime::Executable& executable, const plan::Step& step, const std::string& where,
                        const detail::ShowOptions& options) {
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
  const codegen::Schedule chosen = codegen::choose_schedule(kernel::Family::pointwise, {}, options.schedule, text.name);
  info.schedule = to == codegen::Target::cuda ? codegen::print_launch(chosen) : codegen::print_grain(chosen);
  info.schedules = {runtime::describe_schedule(runtime::routine_family, kernel::Family::pointwise, text.name, text,
                                               scheduled_for(where, executable.call_of(step).place, options))};
  info.launch = "a fixed sequence of launches, which depends on its sizes";
  if (options.sized != nullptr) describe_routine(executable, step, *options.sized, chosen, info);
  return info;
}

KernelInfo show_loop(const runtime::Executable& executable, const plan::Step& step, const std::string& where,
                     const detail::ShowOptions& options) {
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
  const codegen::Schedule chosen =
      codegen::choose_schedule(kernel::Family::row, {}, options.schedule, runtime::loop_name);
  info.schedule = to == codegen::Target::cuda
                      ? fmt::format("{} meeting={}", codegen::print_launch(chosen), chosen.meeting)
                      : codegen::print_grain(chosen);
  info.schedules = {runtime::describe_schedule(runtime::loop_family, kernel::Family::row, runtime::loop_name, text,
                                               scheduled_for(where, executable.call_of(step).place, options))};
  info.launch =
      "all steps in one launch; independent rows are divided among threads or blocks; on a GPU all blocks work "
      "together if a step is long (a cooperative launch, with another text)";
  return info;
}

/// The kernels of one launch that is neither a routine nor a loop.
KernelInfo show_text(std::span<const runtime::BoundKernel> kernels, const std::string& where, expr::Place place,
                     const detail::ShowOptions& options) {
  const codegen::Target to = is_cuda(where) ? codegen::Target::cuda : codegen::Target::cpu;
  const codegen::Text text = runtime::emit_launch(kernels, to);
  KernelInfo info;
  info.name = text.name;
  info.source = text.code;
  info.unit = codegen::prelude(to) + text.code;
  info.target = where;
  info.digest = text.digest;
  if (options.sized != nullptr) info.operands = runtime::traffic_of(kernels, options.sized->memory);
  for (const runtime::BoundKernel& kernel : kernels) {
    info.expression += kernel::print(*kernel.call->kernel);
    for (const expr::Origin& origin : kernel.call->origins)
      info.lines.push_back(fmt::format("{}{}{}", describe(origin.where), origin.name.empty() ? "" : " ", origin.name));
  }
  info.schedule = to == codegen::Target::cuda ? codegen::print(kernels[0].schedule, kernels[0].analysis->kernel.family)
                                              : codegen::print_grain(kernels[0].schedule);
  info.schedules = runtime::describe_schedules(kernels, text, scheduled_for(where, place, options));
  describe_launch(kernels, text, info);
  return info;
}

/// The kernels of a launch of a plan, which may be that for a GPU.
std::vector<detail::ShownLaunches::Kernel> kernels_of(const runtime::Executable& executable, const plan::Plan& plan,
                                                      const plan::Launch& launch, const detail::ShowOptions& options) {
  const plan::Step& first = plan.steps[launch.first_step];
  const fuse::Call& call = executable.call_of(first);
  const std::string& target = options.target;
  const std::string where = target.empty()
                                ? runtime::target_of(call.place, options.gpus)
                                : (target == "cuda" ? fmt::format("cuda:{}", codegen::default_architecture) : target);
  const auto& bodies = executable.bodies[first.call];
  if (call.is<fuse::LoopCall>() && plan::why_by_steps(bodies[0]->program, bodies[0]->plan).empty())
    return {{show_loop(executable, first, where, options), {}}};
  std::vector<detail::ShownLaunches::Kernel> result;
  if (!bodies.empty()) {
    detail::ShowOptions inside = options;
    inside.sized = nullptr;
    for (const auto& body : bodies) {
      for (KernelInfo& kernel : detail::show_kernels(*body, inside)) result.push_back({std::move(kernel), {}});
    }
    return result;
  }
  if (call.is<fuse::RoutineCall>()) return {{show_routine(executable, first, where, options), {}}};
  std::vector<runtime::BoundKernel> kernels =
      show_launch(executable, plan, launch, options.sized, is_cuda(where), false);
  if (kernels.empty()) return {};
  const auto launches =
      runtime::schedule_launches(std::move(kernels), is_cuda(where) ? codegen::Target::cuda : codegen::Target::cpu,
                                 machine_of_target(where, options.gpu), options.schedule);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (is_cuda(where)) dump_small(executable, plan, launch, i, launches[i], where.substr(5), options.schedule);
    detail::ShownLaunches::Kernel& shown = result.emplace_back();
    shown.info = show_text(launches[i], where, call.place, options);
    for (const runtime::BoundKernel& kernel : launches[i]) shown.calls.push_back(kernel.call);
  }
  return result;
}

}  // namespace

detail::ShownLaunches detail::show_launches(const runtime::Executable& executable, const ShowOptions& options) {
  const std::string& target = options.target;
  if (!target.empty() && target != "cpu" && !names_architecture(target))
    throw ValueError(fmt::format("kernels(\"{}\"): targets are cpu and cuda:sm_XX, such as cuda:sm_90", target));
  // The launches of a GPU, also of a function on the host.
  ShownLaunches shown{is_cuda(target) ? plan::make_plan_for_gpu(executable.program) : executable.plan, {}};
  for (const plan::LaunchId number : shown.plan.launches.ids())
    shown.launches.push_back({number, kernels_of(executable, shown.plan, shown.plan.launches[number], options)});
  return shown;
}

std::vector<KernelInfo> detail::show_kernels(const runtime::Executable& executable, const ShowOptions& options) {
  std::vector<KernelInfo> result;
  for (ShownLaunches::Launch& launch : show_launches(executable, options).launches) {
    for (ShownLaunches::Kernel& kernel : launch.kernels) result.push_back(std::move(kernel.info));
  }
  return result;
}

}  // namespace croton
