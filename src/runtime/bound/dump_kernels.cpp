#include "runtime/bound/dump_kernels.hpp"

#include <utility>

#include "runtime/devices.hpp"

namespace croton::runtime {

void dump_kernels(std::span<const BoundKernel> kernels, codegen::Target target,
                  const std::string& architecture) noexcept {
  std::vector<std::vector<BoundKernel>> launches;
  const auto emit = [&](codegen::Target language) {
    launches = {{kernels.begin(), kernels.end()}};
    if (language != target) launches = schedule_launches(std::move(launches.front()), language, {}, "");
    std::vector<DumpedText> all;
    for (const std::vector<BoundKernel>& launch : launches) {
      DumpedText& dumped = all.emplace_back(DumpedText{emit_launch(launch, language), {}});
      for (const BoundKernel& kernel : launch)
        dumped.parts.push_back({kernel.analysis, &kernel.launch, kernel.schedule, kernel.extents});
    }
    return all;
  };
  dump_texts(emit, architecture);
}

}  // namespace croton::runtime
