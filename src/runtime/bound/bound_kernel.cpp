#include "runtime/bound/bound_kernel.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "runtime/bound/user_line.hpp"

namespace croton::runtime {
namespace {

// Simulated devices get few threads and blocks, so that tests also cover the grid-stride loops of kernels.
constexpr codegen::Schedule simulated_schedule{.threads = 64, .blocks = 8};

// With more elements index arithmetic could overflow.
constexpr std::int64_t max_elements = std::int64_t{1} << 62;

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

std::vector<codegen::Text> emit_launch(std::span<const BoundKernel> kernels, codegen::Target target,
                                       std::vector<std::size_t>& count) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back({kernel.analysis, &kernel.launch.variant, kernel_comment(*kernel.call)});
  if (parts.size() == 1) {
    count.push_back(1);
    return {codegen::emit(parts[0], target)};
  }
  codegen::Text text = codegen::emit_group(parts, target);  // its entry also gets the number of tiles
  if ((text.parameters.size() + 1) * sizeof(std::uint64_t) <= codegen::max_parameter_bytes) {
    count.push_back(kernels.size());
    return {std::move(text)};
  }
  std::vector<codegen::Text> texts = emit_launch(kernels.first(kernels.size() / 2), target, count);
  for (codegen::Text& half : emit_launch(kernels.subspan(kernels.size() / 2), target, count))
    texts.push_back(std::move(half));
  return texts;
}

codegen::Schedule choose_launch_schedule(kernel::Family family, const Device& device, std::string_view overrides,
                                         std::string_view kernel_name) {
  const bool simulated = device.facts().kind == DeviceFacts::Kind::simulated;
  return simulated && overrides.empty() ? simulated_schedule : codegen::choose_schedule(family, overrides, kernel_name);
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
