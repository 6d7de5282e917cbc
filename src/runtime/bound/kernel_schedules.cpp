#include "runtime/bound/kernel_schedules.hpp"

#include <fmt/format.h>

namespace croton::runtime {
namespace {

// On the CPU, where the other numbers have no meaning.
std::string print_grain(const codegen::Schedule& schedule) { return fmt::format("grain={}", schedule.grain); }

codegen::Work cpu_work(std::span<const BoundKernel> kernels) {
  const BoundKernel& first = kernels.front();
  if (kernels.size() == 1) return codegen::cpu_work(*first.analysis, first.launch, first.schedule);
  std::int64_t tiles = 0;
  for (const BoundKernel& kernel : kernels) tiles += codegen::group_tiles(kernel.launch);
  return codegen::group_work(tiles, first.schedule);
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
      shown.schedule = print_grain(kernel.schedule);
      shown.reasons = codegen::cpu_reasons(kernel.schedule, cpu_work(kernels));
      continue;
    }
    shown.schedule = codegen::print(kernel.schedule, family);
    shown.blocks = gpu_blocks(kernels);
    // Chosen once more, with reasons this time.
    codegen::choose_schedule(*kernel.analysis, kernel.launch, chosen.machine, chosen.overrides, group, &shown.reasons);
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
    shown.schedule = print_grain(schedule);
    return shown;
  }
  shown.schedule = codegen::print(schedule, kernel::Family::split);
  shown.reasons = std::move(why);
  return shown;
}

}  // namespace croton::runtime
