// Descriptions of an executable's kernels: shared code of Function::kernels and `croton inspect`.
#pragma once

#include <croton/function.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/bound/executable.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {

/// The kernels for the target "cpu", "cuda" or "cuda:sm_90" or, if the target is empty, for the device of each launch;
/// ValueError for other targets. `schedule`: overrides. `gpus`: the GPUs of launches.
std::vector<KernelInfo> show_kernels(const runtime::Executable& executable, const std::string& target,
                                     std::string_view schedule = {}, runtime::Gpus gpus = runtime::Gpus::of_flags);

}  // namespace croton::detail
