// BoundKernel: a kernel with numbers for its sizes, its operands, and the variant of its text.
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

/// A kernel of a launch, whose operands are buffers.
struct BoundKernel {
  const fuse::KernelCall* call = nullptr;
  const codegen::Analysis* analysis = nullptr;
  std::vector<plan::BufferId> operands;
  std::vector<std::int64_t> extents;
  codegen::Launch launch;
};
/// The kernel of a step, without sizes. `generated`: for a product, the index of the generated kernel; else -1.
BoundKernel kernel_of(const Executable& executable, const plan::Step& step, int generated);
/// The same with sizes.
BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory);
/// The variant and sizes of the kernel's launch, for the layouts of its buffers.
codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory);
/// The texts of kernels of one launch: one text, or several if there are too many parameters. Appends the number of
/// kernels of each text to `count`.
std::vector<codegen::Text> emit_launch(std::span<const BoundKernel> kernels, codegen::Target target,
                                       std::vector<std::size_t>& count);

/// The schedule of a family with overrides applied. Without overrides, simulated devices get a schedule
/// with few threads.
codegen::Schedule choose_launch_schedule(kernel::Family family, const Device& device, std::string_view overrides,
                                         std::string_view kernel_name);
/// Counts a text that a device has prepared: from the cache, or compiled.
void count_prepared(Prepared prepared, RunCounts& counts);

}  // namespace croton::runtime
