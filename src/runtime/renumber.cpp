// A bound plan for other numbers: programs take the batches of a data set by number, x[i * n:(i + 1) * n], and each
// number would be a plan with memory of its own, though all that differs is where kernels and loops begin to read.
#include "runtime/bind.hpp"
#include "runtime/branch.hpp"
#include "runtime/loop.hpp"

namespace croton::runtime {

bool BoundSegment::renumber(const CallArrays& arrays) {
  std::optional<SizeTable> sizes = renumbered_sizes(*executable_, arrays, sizes_);
  if (!sizes) return false;
  std::vector<std::pair<KernelLaunch*, std::map<std::size_t, BoundKernel>>> kernels;
  for (const BoundLaunch& launch : launches_) {
    if (std::holds_alternative<std::unique_ptr<BranchLaunch>>(launch.what)) return false;
    if (const auto* loop = std::get_if<std::unique_ptr<LoopLaunch>>(&launch.what)) {
      if (!(*loop)->can_renumber(*sizes, memory_)) return false;
    } else if (const auto* kernel = std::get_if<std::unique_ptr<KernelLaunch>>(&launch.what)) {
      auto renumbered = (*kernel)->renumbered(*sizes, memory_);
      if (!renumbered) return false;
      if (!renumbered->empty()) kernels.emplace_back(kernel->get(), *std::move(renumbered));
    }
  }

  for (auto& [launch, renumbered] : kernels) launch->renumber(std::move(renumbered));
  for (BoundLaunch& launch : launches_) {
    if (auto* loop = std::get_if<std::unique_ptr<LoopLaunch>>(&launch.what)) (*loop)->renumber(sizes_, *sizes, memory_);
    if (auto* host = std::get_if<std::unique_ptr<HostLaunch>>(&launch.what)) (*host)->renumber(*sizes);
  }
  sizes_ = *std::move(sizes);
  return true;
}

bool BoundPlan::renumber(const CallArrays& arrays) {
  return executable_->plan.segments.size() == 1 && first_.renumber(arrays);
}

}  // namespace croton::runtime
