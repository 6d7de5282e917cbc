#include "runtime/bound/kernel_schedules.hpp"

#include <fmt/format.h>

#include "base/index.hpp"
#include "codegen/inner_outer.hpp"

namespace croton::runtime {
namespace {

/// Of a kernel of a launch on a GPU: its schedule is chosen once more, with reasons this time.
codegen::Reasons cuda_reasons(std::span<const BoundKernel> kernels, const BoundKernel& kernel,
                              const ScheduledFor& chosen, const codegen::NameOf& group) {
  const bool both = is_inner_outer(kernels);
  if (both && &kernel != &kernels.front())  // its other numbers are those of the rows
    return {codegen::why_one_launch(kernels[1].launch, kernels[1].schedule)};
  codegen::Reasons reasons;
  codegen::choose_schedule(*kernel.analysis, kernel.launch, both ? machine_of_pass(chosen.machine) : chosen.machine,
                           chosen.overrides, group, &reasons);
  if (both) {
    std::erase_if(reasons, [](const std::string& reason) { return reason.starts_with("threads="); });
    reasons.push_back(codegen::why_one_launch(kernels[1].launch, kernels[1].schedule));
  }
  if (!kernel.why_alone.empty()) reasons.push_back("kernels=1, a launch for the rows alone: " + kernel.why_alone);
  return reasons;
}

}  // namespace

std::vector<KernelSchedule> describe_schedules(std::span<const BoundKernel> kernels, const codegen::Text& text,
                                               const ScheduledFor& chosen) {
  std::vector<KernelSchedule> result;
  const codegen::NameOf group = kernels.size() > 1 ? codegen::NameOf([&text] { return text.name; }) : codegen::NameOf();
  for (const BoundKernel& kernel : kernels) {
    const kernel::Family family = kernel.analysis->kernel.family;
    KernelSchedule& shown = result.emplace_back();
    shown.name = text.name;
    shown.family = kernel::name_of(family);
    shown.device = chosen.device;
    shown.sizes = kernel.launch.sizes;
    if (chosen.target == codegen::Target::cpu) {
      shown.schedule = codegen::print_grain(kernel.schedule);
      shown.reasons = codegen::cpu_reasons(kernel.schedule, cpu_work(kernels));
      continue;
    }
    shown.schedule = codegen::print(kernel.schedule, family);
    shown.blocks = gpu_blocks(kernels);
    shown.kernels = base::to_int(kernels.size());
    shown.reasons = cuda_reasons(kernels, kernel, chosen, group);
  }
  return result;
}

KernelSchedule describe_schedule(std::string_view family, kernel::Family of, std::string_view name,
                                 const codegen::Text& text, const ScheduledFor& chosen) {
  KernelSchedule shown;
  shown.name = text.name;
  shown.family = family;
  shown.device = chosen.device;
  codegen::Reasons why;
  const codegen::Schedule schedule = codegen::choose_schedule(of, chosen.machine, chosen.overrides, name, &why);
  if (chosen.target == codegen::Target::cpu) {
    shown.schedule = codegen::print_grain(schedule);
    return shown;
  }
  shown.schedule = codegen::print_launch(schedule);
  shown.reasons = std::move(why);
  return shown;
}

}  // namespace croton::runtime
