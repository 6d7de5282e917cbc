// Descriptions of an executable's kernels: shared code of Function::kernels and `croton inspect`.
#pragma once

#include <croton/function.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "codegen/machine_constants.hpp"
#include "runtime/bound/executable.hpp"
#include "runtime/bound/sized_plan.hpp"
#include "runtime/devices.hpp"

namespace croton::detail {

struct ShowOptions {
  std::string target = {};                       // "cpu", "cuda" or "cuda:sm_90"; empty: the device of each launch
  std::string_view schedule = {};                // overrides
  runtime::Gpus gpus = runtime::Gpus::of_flags;  // of launches
  const runtime::SizedPlan* sized = nullptr;     // the sizes of a call; null: example sizes
  const codegen::MachineConstants* gpu =
      nullptr;  // whose multiprocessors and cache schedules are for; null: the H200's
};

/// The launches of a plan with their kernels: none for work by libraries, those of bodies for loops and branches.
struct ShownLaunches {
  plan::Plan plan;  // with the launches of a GPU for such a target
  struct Kernel {
    KernelInfo info;
    std::vector<const fuse::KernelCall*> calls;  // that it computes; none for routines and loops
  };
  struct Launch {
    plan::LaunchId number;
    std::vector<Kernel> kernels;
  };
  std::vector<Launch> launches;
};
/// ValueError for other targets than the options name.
ShownLaunches show_launches(const runtime::Executable& executable, const ShowOptions& options);
/// The kernels of all launches.
std::vector<KernelInfo> show_kernels(const runtime::Executable& executable, const ShowOptions& options);

}  // namespace croton::detail
