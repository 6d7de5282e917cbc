#include "runtime/bound/dump_kernels.hpp"

#include <utility>

#include "runtime/devices.hpp"

namespace croton::runtime {

void dump_kernels(std::span<const BoundKernel> kernels, const std::string& architecture) noexcept {
  const auto emit = [kernels](codegen::Target language) {
    std::vector<std::size_t> count;
    std::vector<DumpedText> dumped;
    auto next = kernels.begin();
    for (codegen::Text& text : emit_launch(kernels, language, count)) {
      DumpedText& made = dumped.emplace_back(std::move(text));
      const auto end = next + static_cast<std::ptrdiff_t>(count[dumped.size() - 1]);
      for (; next != end; ++next) made.parts.push_back({next->analysis, &next->launch, next->extents});
    }
    return dumped;
  };
  dump_texts(emit, architecture);
}

}  // namespace croton::runtime
