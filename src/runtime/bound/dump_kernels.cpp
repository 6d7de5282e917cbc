#include "runtime/bound/dump_kernels.hpp"

#include "base/config.hpp"
#include "runtime/cuda/inspect/dump.hpp"

namespace croton::runtime {

void dump_kernels(std::span<const BoundKernel> kernels, const std::string& architecture) noexcept {
  if (base::config().dump_kernels.empty()) return;
  cuda::attempt_dump([&] {
    std::vector<std::size_t> count;
    const std::vector<codegen::Text> texts = emit_launch(kernels, codegen::Target::cuda, count);
    for (std::size_t t = 0; t < texts.size(); kernels = kernels.subspan(count[t++])) {
      std::vector<codegen::StandalonePart> parts;
      for (const BoundKernel& kernel : kernels.first(count[t]))
        parts.push_back({kernel.analysis, &kernel.launch, kernel.extents});
      cuda::dump(texts[t], architecture, parts);
    }
  });
}

}  // namespace croton::runtime
