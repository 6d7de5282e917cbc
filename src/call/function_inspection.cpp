// Inspection of a function: its graph, plan, kernels and devices.
#include <croton/device.hpp>
#include <croton/function.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "base/counted.hpp"
#include "call/callable.hpp"
#include "codegen/schedule_overrides.hpp"
#include "expr/print.hpp"
#include "placement_log.hpp"
#include "plan/plan.hpp"
#include "runtime/bound/kernel_schedules.hpp"
#include "runtime/cuda/libraries/nvrtc.hpp"
#include "settings.hpp"
#include "shown_kernels.hpp"

namespace croton {

std::string Function::graph() const {
  return expr::print(impl().placed().executable->program.graph, {.origins = true});
}
std::string Function::plan() const {
  const auto executable = impl().placed().executable;
  const std::string loops = impl().loops_of_last_call(*executable);
  return plan::print(executable->plan, executable->program) +
         (loops.empty() ? "" : "loops, as the last call ran them\n" + loops);
}
std::size_t Function::product_count() const { return impl().placed().executable->program.product_count(); }

std::string Function::rewrites() const {
  return rewrite::print(impl().function().rewritten.reports) + rewrite::print(impl().placed().reports);
}

std::vector<TransferInfo> Function::transfers() const { return impl().transfers(); }
std::vector<std::string> Function::devices() const { return detail::devices_of(*impl().placed().executable); }
std::string Function::placement() const { return detail::print_placement(impl().placed()); }

std::vector<KernelInfo> Function::kernels(const std::string& target, const KernelOptions& options) const {
  detail::apply_settings();
  const std::string schedule = codegen::joined_overrides(impl().function().schedule, options.schedule);
  detail::ShowOptions show{.target = target, .schedule = schedule, .gpus = impl().function().gpus()};
  if (options.shapes.empty()) {
    // Without inputs the sizes are known, unless some are computed.
    const auto executable = impl().placed().executable;
    if (!impl().function().inputs.empty() || executable->plan.segments.size() > 1)
      return detail::show_kernels(*executable, show);
  }
  std::vector<KernelInfo> kernels;
  impl().with_shapes(options.shapes, [&](const detail::Placed& where, const runtime::CallArrays& arrays) {
    const runtime::SizedPlan sized = runtime::size_plan(*where.executable, arrays);
    show.sized = &sized;
    kernels = detail::show_kernels(*where.executable, show);
  });
  return kernels;
}

std::vector<KernelSchedule> Function::schedule(const std::string& target, const KernelOptions& options) const {
  if (target.empty() && options.schedule.empty() && options.shapes.empty()) {
    if (auto schedules = impl().schedules_of_last_call()) return *std::move(schedules);
  }
  std::vector<KernelSchedule> schedules;
  for (KernelInfo& kernel : kernels(target, options))
    std::ranges::move(kernel.schedules, std::back_inserter(schedules));
  return schedules;
}

std::string to_string(const KernelSchedule& schedule) {
  std::string text = fmt::format("{}: {} on {}", schedule.name, schedule.family, schedule.device);
  if (!schedule.sizes.empty()) text += fmt::format(", {}", fmt::join(schedule.sizes, " x "));
  if (schedule.kernels > 1) text += fmt::format(", one of {} kernels of a launch", schedule.kernels);
  if (schedule.blocks > 0)
    text += fmt::format("{}{}", schedule.kernels > 1 ? " of " : ", ", base::counted(schedule.blocks, "block"));
  text += fmt::format("\n  {}\n", schedule.schedule);
  for (const std::string& reason : schedule.reasons) text += fmt::format("    {}\n", reason);
  return text;
}

Function Function::with_schedule(const std::string& kernel, const std::string& schedule) const {
  const std::string more = codegen::overrides_for(kernel, schedule);
  std::vector<std::string> names;
  const auto add_names = [&](const std::vector<KernelSchedule>& of) {
    for (const KernelSchedule& known : of) {
      const bool listed = std::ranges::find(names, known.name) != names.end();
      if (known.family != runtime::loop_family && !listed) names.push_back(known.name);
    }
  };
  if (!codegen::selects_one(kernel, {})) {  // a family, or all, needs no names
    if (const auto last = impl().schedules_of_last_call()) add_names(*last);
    for (const KernelInfo& shown : kernels()) add_names(shown.schedules);
  }
  if (!codegen::selects_one(kernel, names)) {
    throw ValueError(fmt::format(
        "{}: with_schedule(\"{}\", \"{}\"): no kernel has a name or digest that begins so, in the last call or for "
        "example sizes; the kernels are {}; a family (pointwise, row, column, split, contract) or \"\" for all also "
        "selects them",
        name(), kernel, schedule, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return Function(impl().with_schedule(codegen::joined_overrides(impl().function().schedule, more)));
}

std::string Function::schedule_difference(const std::string& target, const std::string& schedule) const {
  const std::vector<KernelInfo> before = kernels(target), after = kernels(target, {.schedule = schedule});
  const bool facts = !before.empty() && before[0].target.starts_with("cuda:") && runtime::cuda::Nvrtc::available();
  std::string text;
  if (before.size() != after.size()) {  // kernels that share a launch under one of both
    for (const KernelInfo& kernel : before) text += fmt::format("- {}\n- {}\n", kernel.name, kernel.launch);
    for (const KernelInfo& kernel : after) text += fmt::format("+ {}\n+ {}\n", kernel.name, kernel.launch);
    return text;
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto line = [&](const std::string& from, const std::string& to) {
      text += from == to ? fmt::format("  {} (unchanged)\n", from) : fmt::format("- {}\n+ {}\n", from, to);
    };
    text += before[i].name + "\n";
    line(before[i].schedule, after[i].schedule);
    line(before[i].launch, after[i].launch);
    if (!facts) continue;
    const std::vector<KernelFacts> old_facts = before[i].facts(), new_facts = after[i].facts();
    for (std::size_t e = 0; e < old_facts.size(); ++e) line(to_string(old_facts[e]), to_string(new_facts[e]));
  }
  return text;
}

std::string Function::source(const std::string& target) const {
  const bool cuda = target.starts_with("cuda");
  std::string text = codegen::prelude(cuda ? codegen::Target::cuda : codegen::Target::cpu);
  for (const KernelInfo& kernel : kernels(target)) text += kernel.source + "\n";
  return text;
}

std::string debugprint(const Function& function) { return function.graph(); }

std::ostream& operator<<(std::ostream& out, const Outputs& outputs) {
  if (!outputs.is_list()) return out << outputs.only();
  out << "[";
  for (std::size_t i = 0; i < outputs.size(); ++i) out << (i > 0 ? ", " : "") << outputs[i];
  return out << "]";
}

}  // namespace croton
