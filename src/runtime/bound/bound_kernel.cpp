#include "runtime/bound/bound_kernel.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "runtime/bound/user_line.hpp"

namespace croton::runtime {
namespace {

// With more elements index arithmetic could overflow.
constexpr std::int64_t max_elements = std::int64_t{1} << 62;

std::string group_name(std::span<const BoundKernel> kernels) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back({.analysis = kernel.analysis, .variant = &kernel.launch.variant});
  return codegen::group_name(parts);
}

}  // namespace

codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory) {
  std::vector<codegen::Layout> layouts;
  layouts.reserve(kernel.operands.size());
  for (const plan::BufferId b : kernel.operands) layouts.push_back(memory.layouts[b]);
  return codegen::specialise(*kernel.analysis, kernel.extents, layouts);
}

BoundKernel kernel_of(const Executable& executable, const plan::Step& step, int generated) {
  const fuse::Call& call = executable.call_of(step);
  const auto* product = std::get_if<fuse::ProductCall>(&call.work);
  const std::size_t which = product == nullptr || generated < 0 ? 0 : static_cast<std::size_t>(generated);
  BoundKernel result;
  result.call = product != nullptr ? product->generated[which].get() : &call.as<fuse::KernelCall>();
  result.analysis = executable.analyses[step.call][which].get();
  result.operands = product != nullptr ? step.generated_reads[which] : step.reads;
  result.operands.insert(result.operands.end(), step.writes.begin(), step.writes.end());
  return result;
}

BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory) {
  BoundKernel result = kernel_of(executable, step, generated);
  for (const NodeId extent : result.call->extents) result.extents.push_back(sizes[extent]);
  result.launch = specialise_kernel(result, memory);
  std::int64_t elements = 1;
  for (const std::int64_t size : result.launch.sizes) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(1, size), &elements) || elements > max_elements) {
      throw ShapeError(
          fmt::format("a kernel would walk more than {} elements ({})", max_elements, lines_of(result.call->origins)));
    }
  }
  return result;
}

codegen::Text emit_launch(std::span<const BoundKernel> kernels, codegen::Target target) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back({kernel.analysis, &kernel.launch.variant, kernel.schedule, kernel_comment(*kernel.call)});
  return parts.size() == 1 ? codegen::emit(parts[0], target) : codegen::emit_group(parts, target);
}

codegen::Machine machine_of(const Device& device) {
  const DeviceFacts& facts = device.facts();
  if (!device.runs_cuda()) return {};
  codegen::Machine machine{.multiprocessors = facts.multiprocessors,
                           .shared_bytes = static_cast<std::int64_t>(facts.shared_bytes)};
  if (facts.kind == DeviceFacts::Kind::simulated) {
    machine.pointwise_threads = machine.threads = 64;
    machine.blocks = 8;
  }
  return machine;
}

void schedule_kernels(std::span<BoundKernel> kernels, const codegen::Machine& machine, std::string_view overrides) {
  for (BoundKernel& kernel : kernels) {
    if (kernels.size() > 1) kernel.launch.variant = kernel.launch.variant.without_tiles();
  }
  std::string group;
  const auto name_of_group = [&] {
    if (group.empty()) group = group_name(kernels);
    return group;
  };
  const codegen::NameOf name = kernels.size() > 1 ? codegen::NameOf(name_of_group) : codegen::NameOf();
  for (BoundKernel& kernel : kernels)
    kernel.schedule = codegen::choose_schedule(*kernel.analysis, kernel.launch, machine, overrides, name);
}

std::int64_t gpu_items(std::span<const BoundKernel> kernels) {
  std::int64_t items = 0;
  for (const BoundKernel& kernel : kernels)
    items += codegen::gpu_items(*kernel.analysis, kernel.launch, kernel.schedule);
  return items;
}

std::int64_t gpu_blocks(std::span<const BoundKernel> kernels) {
  const BoundKernel& first = kernels.front();
  return codegen::gpu_blocks(*first.analysis, gpu_items(kernels), first.schedule);
}

void count_prepared(Prepared prepared, RunCounts& counts) {
  switch (prepared) {
    case Prepared::before:
      break;
    case Prepared::from_cache:
      ++counts.cached;
      break;
    case Prepared::compiled:
      ++counts.compiled;
      break;
  }
}

}  // namespace croton::runtime
