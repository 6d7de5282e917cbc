// Variant: what of a kernel's text depends on the strides of its operands. Neighbouring axes that every access walks as
// one are merged, the fast axis may be known to have stride 1, and what lies along another axis may be read by tiles.
// Any variant for these strides serves every size; the sizes only tell whether tiles are worth it.
#pragma once

#include "codegen/analysis.hpp"

#include <compare>
#include <optional>
#include <string>

namespace croton::codegen {

enum class StrideClass : std::uint8_t { none, unit, any };

/// An axis of the text: one or more neighbouring axes of the kernel.
struct MergedAxis {
  std::vector<std::size_t> axes;
  auto operator<=>(const MergedAxis&) const = default;
};

struct Variant {
  std::vector<MergedAxis> parallel, inner;
  std::vector<std::vector<StrideClass>>
      strides;  // [access][merged axis, parallel ones first]; empty for other than affine ones
  /// Pointwise kernels: the merged axis along which some reads have stride 1, while the fast axis takes them from one
  /// line of memory to another. They are staged: a tile of both axes is copied along this one before it is used.
  std::optional<std::size_t> tile_axis;
  std::vector<bool> staged;  // [access]; empty without tiles
  bool tiled() const { return tile_axis.has_value(); }
  /// Contractions: whether the elements of a factor are brought together along its rows or columns rather than along
  /// the inner axes, whichever has them side by side in memory.
  bool left_by_rows = false, right_by_columns = true;
  Variant without_tiles() const;
  auto operator<=>(const Variant&) const = default;
};

/// An operand as it lies in memory: strides count elements.
struct Layout {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  static Layout contiguous(std::vector<std::int64_t> shape);
};

/// What a launch passes for one variant.
struct Launch {
  Variant variant;
  std::vector<std::int64_t> sizes;    // of the merged axes
  std::vector<std::int64_t> offsets;  // per access, in elements (0 where not affine)
  std::vector<std::vector<std::int64_t>>
      strides;  // per access: of the merged axes, or of the dimensions where not affine
};

/// The merged axes of that side of a contraction, as they are numbered in `strides`.
std::vector<std::size_t> axes_of_side(const Analysis& analysis, const Variant& variant, kernel::Side side);

/// Merges axes and classifies strides for the given sizes and layouts (one per operand).
Launch specialise(const Analysis& analysis, std::span<const std::int64_t> extents, std::span<const Layout> operands);
/// Sizes that stand for any: no two products of them are equal by chance. `small` ones make operands of about a million
/// elements.
std::vector<std::int64_t> default_extents(const Analysis& analysis, bool small = false);
/// The variant for contiguous operands of such sizes: what is shown before a call.
Launch default_launch(const Analysis& analysis);
Launch default_launch(const Analysis& analysis, std::span<const std::int64_t> extents);

}  // namespace croton::codegen
