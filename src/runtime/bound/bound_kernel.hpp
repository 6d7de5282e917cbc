// A kernel with numbers for its sizes: which variant of its text runs, and over what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codegen/emit.hpp"
#include "codegen/schedule.hpp"
#include "runtime/bound/memory.hpp"
#include "runtime/device/device.hpp"

namespace croton::runtime {

/// A kernel of a launch: the operands are buffers.
struct BoundKernel {
  const fuse::KernelCall* call = nullptr;
  const codegen::Analysis* analysis = nullptr;
  std::vector<plan::BufferId> operands;
  std::vector<std::int64_t> extents;
  codegen::Launch launch;
};
/// The kernel of a step, without sizes; `generated`: of a product, which of the kernels that may stand in for it.
BoundKernel kernel_of(const Executable& executable, const plan::Step& step, int generated);
/// The same with sizes.
BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory);
/// What of the kernel's text is used, and how often, for buffers that lie so.
codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory);
/// The texts of kernels that are to run as one launch: one, unless their parameters are too many for that. `count`:
/// kernels per text.
std::vector<codegen::Text> emit_launch(std::span<const BoundKernel> kernels, codegen::Target target,
                                       std::vector<std::size_t>& count);

/// The schedule of a family with overrides applied; on simulated devices, where nothing is overridden, one of few
/// threads.
codegen::Schedule choose_launch_schedule(kernel::Family family, const Device& device, std::string_view overrides,
                                         std::string_view kernel_name);
void count_prepared(Prepared prepared, RunCounts& counts);

}  // namespace croton::runtime
