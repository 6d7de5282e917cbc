// The schedules of launches as Function::schedule and Function::kernels show them, with reasons.
#pragma once

#include <croton/function.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bound/bound_kernel.hpp"

namespace croton::runtime {

/// The families of texts that are no kernels.
inline constexpr std::string_view routine_family = "routine", loop_family = "loop";

/// The device and the overrides for which schedules were chosen.
struct ScheduledFor {
  std::string device;  // "cpu", "cuda0", or a target
  codegen::Target target = codegen::Target::cpu;
  codegen::Machine machine = {};
  std::string_view overrides = {};
};

/// The schedules of the kernels of one text.
std::vector<KernelSchedule> describe_schedules(std::span<const BoundKernel> kernels, const codegen::Text& text,
                                               const ScheduledFor& chosen);
/// The schedule of a routine or a loop, with the reasons that do not depend on sizes. `of`: the family of kernels whose
/// numbers it has. `name`: by which overrides find it.
KernelSchedule describe_schedule(std::string_view family, kernel::Family of, std::string_view name,
                                 const codegen::Text& text, const ScheduledFor& chosen);

}  // namespace croton::runtime
