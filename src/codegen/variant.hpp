// Variant: the part of a kernel's text that depends on the strides of its operands. Neighbouring axes that every access
// can iterate over as one axis are merged, the fast axis may be known to have stride 1, and operands whose stride is 1
// along another axis may be read by tiles. A variant for these strides is correct for all sizes; the sizes only decide
// whether tiles are faster.
#pragma once

#include "codegen/analysis.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>

namespace croton::codegen {

enum class StrideClass : std::uint8_t { none, unit, any };

/// An axis of the generated text: one or more neighbouring axes of the kernel.
struct MergedAxis {
  std::vector<std::size_t> axes;
  auto operator<=>(const MergedAxis&) const = default;
};

struct Variant {
  std::vector<MergedAxis> parallel, inner;
  /// [access][merged axis, parallel ones first]. Of an access that is not affine: one `unit` if it reads lines along
  /// the fast axis (Access::line_axis) whose elements are neighbours in memory, else nothing.
  std::vector<std::vector<StrideClass>> strides;
  /// Whether an affine access depends on an inner axis.
  bool moves_inside(std::size_t a) const {
    return std::any_of(strides[a].begin() + static_cast<std::ptrdiff_t>(parallel.size()), strides[a].end(),
                       [](StrideClass stride) { return stride != StrideClass::none; });
  }
  bool reads_lines(const Access& access, std::size_t a) const { return !access.affine && !strides[a].empty(); }
  /// Of pointwise kernels: the merged axis along which some reads have stride 1, while along the fast axis each read
  /// touches another line of memory. These reads are staged: a tile over both axes is copied along this axis before it
  /// is used.
  std::optional<std::size_t> tile_axis;
  std::vector<bool> staged;  // [access]; empty without tiles
  bool tiled() const { return tile_axis.has_value(); }
  /// Of contractions: whether the elements of a factor are packed along its rows or columns, or else along the inner
  /// axes: along the axis on which they are contiguous in memory.
  bool left_by_rows = false, right_by_columns = true;
  Variant without_tiles() const;
  auto operator<=>(const Variant&) const = default;
};

/// The layout of an operand in memory; strides count elements.
struct Layout {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  static Layout contiguous(std::vector<std::int64_t> shape);
};

/// A variant with the numbers that a launch passes to it.
struct Launch {
  Variant variant;
  std::vector<std::int64_t> sizes;                 // of the merged axes
  std::vector<std::int64_t> offsets;               // per access, in elements (0 if not affine)
  std::vector<std::vector<std::int64_t>> strides;  // per access: of the merged axes, or of the dimensions if not affine
};

/// The merged axes of one side of a contraction, numbered as in `strides`.
std::vector<std::size_t> axes_of_side(const Analysis& analysis, const Variant& variant, kernel::Side side);

/// Merges axes and classifies strides for the given sizes and layouts (one per operand).
Launch specialise(const Analysis& analysis, std::span<const std::int64_t> extents, std::span<const Layout> operands);
/// Sizes for a text without a call: primes, so that no two products of them are equal by chance. With `small`, operands
/// have about a million elements.
std::vector<std::int64_t> default_extents(const Analysis& analysis, bool small = false);
/// The launch for contiguous operands of these sizes: the one that is shown before a call.
Launch default_launch(const Analysis& analysis);
Launch default_launch(const Analysis& analysis, std::span<const std::int64_t> extents);

}  // namespace croton::codegen
