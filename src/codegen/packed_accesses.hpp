// Which operands of a GPU kernel packs of neighbouring elements are loaded from or stored to, and how wide they may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/schedule.hpp"

namespace croton::codegen {

/// The widest access of a GPU, in bytes (bench/results/2026-11-28-gpu-variants-nvidia-h200.md, 3).
inline constexpr std::int64_t widest_access_bytes = 16;

/// The conditional reads of a pointwise kernel whose packs are loaded where their elements' conditions are true: by one
/// instruction where all are. None if there are so many that they would need too many registers.
std::vector<std::size_t> conditional_packs(const Analysis& analysis, const Variant& variant);

/// The accesses of a kernel along its fast axis: the axis along which the threads of a warp are neighbours. It refers
/// to the analysis and the launch.
class PackedAccesses {
 public:
  /// `fast` is an axis of the launch; at the number of its axes no access is packed.
  PackedAccesses(const Analysis& analysis, const Launch& launch, std::size_t fast)
      : analysis_(analysis), launch_(launch), fast_(fast) {}

  /// The accesses whose packs are loaded or stored as a whole.
  std::vector<std::size_t> packed() const;
  /// The bytes of an element of the access's operand.
  std::int64_t item_size(std::size_t access) const;
  /// The size of the widest element that is packed; 4 if there is none.
  std::int64_t widest() const;
  /// Whether the access's packs of so many elements begin at multiples of their size if the operand does.
  bool is_aligned(std::size_t access, std::int64_t elements) const;
  /// The same of all packed accesses.
  bool is_aligned(std::int64_t elements) const;
  /// The same of packs that consist of the widest accesses where they are wider.
  bool is_aligned_in_packs(std::int64_t elements) const;
  /// Why the access's packs are not aligned: "x (p0) begins 4 bytes after a multiple of 16"; empty if they are.
  std::string why_not_aligned(std::size_t access, std::int64_t elements) const;
  /// The same of the first packed access that is not.
  std::string why_not_aligned(std::int64_t elements) const;
  /// The same of packs that consist of the widest accesses where they are wider.
  std::string why_not_aligned_in_packs(std::int64_t elements) const;
  /// The reason why packs of so many elements are moved as a whole, or not.
  std::string alignment_reason(bool aligned, const Machine& machine, std::int64_t elements) const;

 private:
  /// A distance between lines that is no multiple of so many elements.
  std::optional<std::int64_t> unaligned_stride(std::size_t access, std::int64_t elements) const;

  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t fast_;
};

}  // namespace croton::codegen
