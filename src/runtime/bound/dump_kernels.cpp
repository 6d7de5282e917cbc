#include "runtime/bound/dump_kernels.hpp"

#include <utility>

#include "runtime/devices.hpp"

namespace croton::runtime {

void dump_kernels(std::span<const BoundKernel> kernels, codegen::Target target,
                  const std::string& architecture) noexcept {
  std::vector<BoundKernel> scheduled(kernels.begin(), kernels.end());
  const auto emit = [&](codegen::Target language) {
    if (language != target) schedule_kernels(scheduled, {}, "");
    std::vector<std::size_t> count;
    std::vector<DumpedText> dumped;
    auto next = scheduled.cbegin();
    for (codegen::Text& text : emit_launch(scheduled, language, count)) {
      DumpedText& made = dumped.emplace_back(std::move(text));
      const auto end = next + static_cast<std::ptrdiff_t>(count[dumped.size() - 1]);
      for (; next != end; ++next) made.parts.push_back({next->analysis, &next->launch, next->schedule, next->extents});
    }
    return dumped;
  };
  dump_texts(emit, architecture);
}

}  // namespace croton::runtime
