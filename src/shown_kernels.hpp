// The kernels of an executable as they are shown: what Function::kernels and `croton inspect` share.
#pragma once

#include <croton/function.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/executable.hpp"

namespace croton::detail {

/// For "cpu" (or nothing), "cuda" or "cuda:sm_90"; ValueError for other targets. `schedule`: overrides.
std::vector<KernelInfo> show_kernels(const runtime::Executable& executable, const std::string& target,
                                     std::string_view schedule = {});

}  // namespace croton::detail
