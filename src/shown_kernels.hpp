// The kernels of an executable as they are shown: what Function::kernels and `croton inspect` share.
#pragma once

#include <croton/function.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/bound/executable.hpp"

namespace croton::detail {

/// For "cpu", "cuda" or "cuda:sm_90", or, for no target, for where each launch runs; ValueError for other targets.
/// `schedule`: overrides. `simulated`: where that is a GPU, it is a simulated one.
std::vector<KernelInfo> show_kernels(const runtime::Executable& executable, const std::string& target,
                                     std::string_view schedule = {}, bool simulated = false);

}  // namespace croton::detail
