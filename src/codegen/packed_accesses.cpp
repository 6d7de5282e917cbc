#include "codegen/packed_accesses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace croton::codegen {
namespace {

/// "x (p0)": the user's name and that in the text.
std::string describe(const Analysis& analysis, std::size_t access) {
  const std::string name = fmt::format("p{}", analysis.accesses[access].operand);
  for (const auto& [node, own] : analysis.load_access) {
    const std::string& users = analysis.kernel.body.origin(node).name;
    if (own == access && !users.empty()) return fmt::format("{} ({})", users, name);
  }
  return name;
}

}  // namespace

std::vector<std::size_t> conditional_packs(const Analysis& analysis, const Variant& variant) {
  constexpr std::size_t most = 8;  // 32 registers
  std::vector<std::size_t> packs;
  if (analysis.kernel.family != kernel::Family::pointwise || variant.tiled() || variant.parallel.empty()) return packs;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (analysis.accesses[a].condition && variant.strides[a].back() == StrideClass::unit) packs.push_back(a);
  }
  if (packs.size() > most) packs.clear();
  return packs;
}

std::vector<std::size_t> PackedAccesses::packed() const {
  std::vector<std::size_t> packed;
  if (fast_ >= launch_.sizes.size()) return packed;
  const std::vector<std::size_t> conditional = conditional_packs(analysis_, launch_.variant);
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    const Access& access = analysis_.accesses[a];
    const bool by_element = analysis_.is_conditional(a) && std::ranges::find(conditional, a) == conditional.end();
    if (access.affine && by_element) continue;
    const bool moves =
        access.affine ? launch_.variant.strides[a][fast_] == StrideClass::unit : launch_.variant.reads_lines(access, a);
    if (moves) packed.push_back(a);
  }
  return packed;
}

std::int64_t PackedAccesses::item_size(std::size_t access) const {
  return static_cast<std::int64_t>(size_of(analysis_.operand_of(access).dtype));
}

std::int64_t PackedAccesses::widest() const {
  std::int64_t widest = 0;
  for (const std::size_t a : packed()) widest = std::max(widest, item_size(a));
  return widest == 0 ? 4 : widest;
}

bool PackedAccesses::is_aligned(std::size_t access, std::int64_t elements) const {
  return launch_.offsets[access] % elements == 0 && !unaligned_stride(access, elements);
}

std::optional<std::int64_t> PackedAccesses::unaligned_stride(std::size_t access, std::int64_t elements) const {
  const std::vector<std::int64_t>& strides = launch_.strides[access];
  if (!analysis_.accesses[access].affine) {  // of the dimensions; the last one is that of a line
    const auto at =
        std::find_if(strides.begin(), strides.end() - 1, [&](std::int64_t stride) { return stride % elements != 0; });
    return at == strides.end() - 1 ? std::nullopt : std::optional(*at);
  }
  for (std::size_t m = 0; m < launch_.sizes.size(); ++m) {
    if (m != fast_ && launch_.sizes[m] > 1 && strides[m] % elements != 0) return strides[m];
  }
  return std::nullopt;
}

bool PackedAccesses::is_aligned(std::int64_t elements) const {
  return std::ranges::all_of(packed(), [&](std::size_t a) { return is_aligned(a, elements); });
}

bool PackedAccesses::is_aligned_in_packs(std::int64_t elements) const {
  return std::ranges::all_of(
      packed(), [&](std::size_t a) { return is_aligned(a, std::min(elements, widest_access_bytes / item_size(a))); });
}

std::string PackedAccesses::why_not_aligned(std::size_t access, std::int64_t elements) const {
  const std::int64_t size = item_size(access);
  if (const std::int64_t rest = launch_.offsets[access] % elements; rest != 0)
    return fmt::format("{} begins {} bytes after a multiple of {}", describe(analysis_, access),
                       (rest < 0 ? rest + elements : rest) * size, elements * size);
  const auto stride = unaligned_stride(access, elements);
  if (!stride) return {};
  return fmt::format("lines of {} are {} bytes apart, no multiple of {}", describe(analysis_, access), *stride * size,
                     elements * size);
}

std::string PackedAccesses::why_not_aligned(std::int64_t elements) const {
  for (const std::size_t a : packed()) {
    if (std::string why = why_not_aligned(a, elements); !why.empty()) return why;
  }
  return {};
}

std::string PackedAccesses::alignment_reason(bool aligned, const Machine& machine, std::int64_t elements) const {
  if (aligned) return "aligned: packs of all operands begin at multiples of their size, or of 16 bytes";
  if (!machine.aligned) return "not aligned: operands may begin anywhere";
  return "not aligned: " + why_not_aligned_in_packs(elements);
}

std::string PackedAccesses::why_not_aligned_in_packs(std::int64_t elements) const {
  for (const std::size_t a : packed()) {
    std::string why = why_not_aligned(a, std::min(elements, widest_access_bytes / item_size(a)));
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace croton::codegen
