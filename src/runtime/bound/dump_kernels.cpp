#include "runtime/bound/dump_kernels.hpp"

#include <utility>

#include "runtime/devices.hpp"

namespace croton::runtime {

void dump_kernels(std::span<const BoundKernel> kernels, codegen::Target target,
                  const std::string& architecture) noexcept {
  std::vector<BoundKernel> scheduled(kernels.begin(), kernels.end());
  const auto emit = [&](codegen::Target language) {
    if (language != target) schedule_kernels(scheduled, {}, "");
    DumpedText dumped{emit_launch(scheduled, language), {}};
    for (const BoundKernel& kernel : scheduled)
      dumped.parts.push_back({kernel.analysis, &kernel.launch, kernel.schedule, kernel.extents});
    return std::vector<DumpedText>{std::move(dumped)};
  };
  dump_texts(emit, architecture);
}

}  // namespace croton::runtime
