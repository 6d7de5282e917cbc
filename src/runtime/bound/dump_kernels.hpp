// dump_kernels: implements the flag of that name for the kernels of a launch.
#pragma once

#include <span>
#include <string>

#include "runtime/bound/bound_kernel.hpp"

namespace croton::runtime {

/// Dumps each text of the launch, with a standalone program that runs it with the sizes of this launch. Their schedules
/// are for `target`; a text in the other language gets a default one.
void dump_kernels(std::span<const BoundKernel> kernels, codegen::Target target,
                  const std::string& architecture) noexcept;

}  // namespace croton::runtime
