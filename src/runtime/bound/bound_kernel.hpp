// BoundKernel: a kernel with numbers for its sizes, its operands, and the variant of its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
  codegen::Schedule schedule = {};
  std::vector<bool> unread = {};  // per operand: a result that no other launch of the plan reads
  std::string why_alone = {};     // why it does not share a launch with the plan's next kernel
};
/// Finds the results that no other launch of the plan reads, of a kernel of a launch of several.
void find_unread(BoundKernel& kernel, const plan::Plan& plan, const plan::Launch& launch);
/// The kernel of a step, without sizes. `generated`: for a product, the index of the generated kernel; else -1.
BoundKernel kernel_of(const Executable& executable, const plan::Step& step, int generated);
/// The same with sizes.
BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory);
/// The variant and sizes of the kernel's launch, for the layouts of its buffers.
codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory);
/// The numbers of a device on which schedules depend. Simulated ones get few threads and blocks, so that tests also
/// cover loops over a grid.
codegen::Machine machine_of(const Device& device);
/// Chooses the schedules of kernels of one launch, for its machine and with overrides applied.
void schedule_kernels(std::span<BoundKernel> kernels, const codegen::Machine& machine, std::string_view overrides);
/// The kernels of a plan's launch as those launches that run them in order for these sizes, with their schedules: one,
/// unless there are reductions that cannot be in a launch with others, or a row kernel and a column kernel that are one
/// launch only on a GPU, where that is faster (codegen/inner_outer.hpp).
std::vector<std::vector<BoundKernel>> schedule_launches(std::vector<BoundKernel> kernels, codegen::Target target,
                                                        const codegen::Machine& machine, std::string_view overrides);
/// The machine for which the rows of a launch with columns are scheduled.
codegen::Machine machine_of_pass(codegen::Machine machine);
/// Whether these are a row kernel and a column kernel of one launch.
bool is_inner_outer(std::span<const BoundKernel> kernels);
/// The operands that they share.
codegen::SharedOperands shared_operands(const BoundKernel& rows, const BoundKernel& columns);
/// The text of kernels of one launch, for their schedules.
codegen::Text emit_launch(std::span<const BoundKernel> kernels, codegen::Target target);
/// The number of items and of blocks of a launch of kernels on a GPU; ValueError for more blocks than there can be.
std::int64_t gpu_items(std::span<const BoundKernel> kernels);
std::int64_t gpu_blocks(std::span<const BoundKernel> kernels);
/// The work of a launch of kernels on the CPU.
codegen::Work cpu_work(std::span<const BoundKernel> kernels);
/// Whether the kernel is an epilogue of a launch of these (codegen::is_epilogue).
bool is_epilogue(std::span<const BoundKernel> kernels, const BoundKernel& kernel);
/// Counts a text that a device has prepared: from the cache, or compiled.
void count_prepared(Prepared prepared, RunCounts& counts);

}  // namespace croton::runtime
