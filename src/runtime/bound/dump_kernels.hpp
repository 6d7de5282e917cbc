// The flag dump_kernels, for the kernels of a launch.
#pragma once

#include <span>
#include <string>

#include "runtime/bound/bound_kernel.hpp"

namespace croton::runtime {

/// cuda::dump for each of the launch's CUDA texts, with a program around it that runs it with the sizes of this launch.
void dump_kernels(std::span<const BoundKernel> kernels, const std::string& architecture = "sm_90") noexcept;

}  // namespace croton::runtime
