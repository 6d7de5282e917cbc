#include "codegen/packed_accesses.hpp"

#include <algorithm>

namespace croton::codegen {

std::vector<std::size_t> PackedAccesses::packed() const {
  std::vector<std::size_t> packed;
  if (fast_ >= launch_.sizes.size()) return packed;
  for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
    if (analysis_.accesses[a].affine && launch_.variant.strides[a][fast_] == StrideClass::unit) packed.push_back(a);
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
  if (launch_.offsets[access] % elements != 0) return false;
  for (std::size_t m = 0; m < launch_.sizes.size(); ++m) {
    if (m != fast_ && launch_.sizes[m] > 1 && launch_.strides[access][m] % elements != 0) return false;
  }
  return true;
}

bool PackedAccesses::is_aligned(std::int64_t elements) const {
  return std::ranges::all_of(packed(), [&](std::size_t a) { return is_aligned(a, elements); });
}

}  // namespace croton::codegen
