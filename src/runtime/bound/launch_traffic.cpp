#include "runtime/bound/launch_traffic.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/index.hpp"
#include "codegen/schedule_row.hpp"

namespace croton::runtime {
namespace {

/// Per access, how many loops over the inner axes read it: each pass of reductions is one, and all stores together are
/// one. Only kernels in packs have several reductions in a pass; operands that are kept between passes are read once.
std::vector<int> loops_of_accesses(const BoundKernel& kernel) {
  const codegen::Analysis& analysis = *kernel.analysis;
  const codegen::Schedule& schedule = kernel.schedule;
  const expr::Arena& body = analysis.kernel.body;
  std::vector<int> loops(analysis.accesses.size(), 0);
  const auto add_loop = [&](std::vector<NodeId> pending) {
    std::vector<bool> seen(body.size(), false), read(loops.size(), false);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (seen[id] || !analysis.inner[id]) continue;
      seen[id] = true;
      if (const auto load = analysis.load_access.find(id); load != analysis.load_access.end())
        read[load->second] = true;
      pending.insert(pending.end(), body.inputs(id).begin(), body.inputs(id).end());
    }
    for (std::size_t a = 0; a < loops.size(); ++a) loops[a] += read[a] ? 1 : 0;
  };
  const bool in_packs = schedule.packs > 0 || schedule.run > 0;
  // Parts of rows that do not meet are walked once, for reductions and for results; those of columns again for results.
  const bool in_one_walk = schedule.part > 0 && schedule.packs > 0 && schedule.meets == 0;
  std::vector<NodeId> values;
  for (const kernel::StageGroup& group : kernel::stage_groups(analysis.kernel)) {
    for (std::size_t s = group.begin; s < group.end; ++s) {
      values.push_back(analysis.kernel.stages[s].value);
      if (!in_packs) add_loop(std::exchange(values, {}));
    }
    if (!in_one_walk) add_loop(std::exchange(values, {}));
  }
  for (const kernel::Store& store : analysis.kernel.stores) values.push_back(store.value);
  add_loop(values);
  if (schedule.held + schedule.staged > 0) {
    const std::vector<std::size_t> kept = codegen::operands_to_hold(analysis, kernel.launch.variant);
    for (int i = 0; i < schedule.held + schedule.staged; ++i) loops[base::nth(kept, i)] = 1;
  }
  return loops;
}

/// The number of different elements that an access touches along the merged axes from `first` on. One whose index is
/// not affine may touch another element at each point.
std::int64_t elements_of(const codegen::Analysis& analysis, const codegen::Launch& launch, std::size_t access,
                         std::size_t first) {
  std::int64_t count = 1;
  for (std::size_t m = first; m < launch.sizes.size(); ++m) {
    if (!analysis.accesses[access].affine || launch.strides[access][m] != 0) count *= launch.sizes[m];
  }
  return count;
}

/// Without the operands that `skipped` names: a flag for each access, of which all of an operand must be set.
std::vector<KernelOperand> traffic_of_kernel(const BoundKernel& kernel, const Memory& memory,
                                             const std::vector<bool>& skipped) {
  const codegen::Analysis& analysis = *kernel.analysis;
  const std::size_t inner = kernel.launch.variant.parallel.size();
  const std::vector<int> loops = loops_of_accesses(kernel);
  std::vector<KernelOperand> operands(analysis.kernel.operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) operands[i].written = analysis.kernel.operands[i].written;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    KernelOperand& to = operands[analysis.accesses[a].operand];
    to.bytes += elements_of(analysis, kernel.launch, a, 0);
    to.point_bytes += elements_of(analysis, kernel.launch, a, inner);
    to.passes = std::max(to.passes, loops[a]);
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::vector<std::int64_t>& shape = memory.layouts[kernel.operands[i]].shape;
    const std::int64_t all = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    const auto size = static_cast<std::int64_t>(size_of(analysis.kernel.operands[i].dtype));
    operands[i].bytes = std::min(operands[i].bytes, all) * size;  // several accesses may touch the same elements
    operands[i].point_bytes = std::min(operands[i].point_bytes, all) * size;
  }
  std::vector<KernelOperand> moved;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool any = skipped.empty();
    for (std::size_t a = 0; a < skipped.size(); ++a) any = any || (analysis.accesses[a].operand == i && !skipped[a]);
    if (any) moved.push_back(operands[i]);
  }
  return moved;
}

}  // namespace

std::vector<KernelOperand> traffic_of(std::span<const BoundKernel> kernels, const Memory& memory) {
  std::vector<KernelOperand> all;
  const auto add = [&](const BoundKernel& kernel, const std::vector<bool>& skipped) {
    const std::vector<KernelOperand> operands = traffic_of_kernel(kernel, memory, skipped);
    all.insert(all.end(), operands.begin(), operands.end());
  };
  if (!is_inner_outer(kernels)) {
    for (const BoundKernel& kernel : kernels) add(kernel, {});
    return all;
  }
  const codegen::SharedOperands shared = shared_operands(kernels[0], kernels[1]);
  std::vector<bool> given;
  for (const std::size_t b : shared.given) given.push_back(b != codegen::SharedOperands::own);
  add(kernels[0], shared.skipped);
  add(kernels[1], given);
  return all;
}

}  // namespace croton::runtime
