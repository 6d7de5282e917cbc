// Descriptions of an executable's kernels: shared code of Function::kernels and `croton inspect`.
#pragma once

#include <croton/function.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/bound/executable.hpp"
#include "runtime/bound/sized_plan.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {

struct ShowOptions {
  std::string target = {};                       // "cpu", "cuda" or "cuda:sm_90"; empty: the device of each launch
  std::string_view schedule = {};                // overrides
  runtime::Gpus gpus = runtime::Gpus::of_flags;  // of launches
  const runtime::SizedPlan* sized = nullptr;     // the sizes of a call; null: example sizes
};
/// The kernels for a target; ValueError for other targets.
std::vector<KernelInfo> show_kernels(const runtime::Executable& executable, const ShowOptions& options);

}  // namespace croton::detail
