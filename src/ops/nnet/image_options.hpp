// Shared code of convolutions and pooling: checks of options, and the number of windows along an axis.
#pragma once

#include <croton/convolution.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace croton::ops {

/// An operation on `axes` axes of images, for its options and errors.
struct ImageOp {
  std::string_view name;
  const Operand& x;
  std::size_t axes;

  /// One number per axis, from a list of one per axis, one for all axes, or none for 1; ValueError below 1, TypeError
  /// for another count.
  std::vector<std::int64_t> steps(const std::vector<std::int64_t>& given, std::string_view what) const;
  [[noreturn]] void type_error(const std::string& message) const;
  [[noreturn]] void value_error(const std::string& message) const;
  [[noreturn]] void shape_error(const std::string& message) const;
};

/// The number of windows along an axis, how far the first one begins before it, and how far the last one may extend
/// after it: int64 scalars, constants if the sizes are known.
struct Windows {
  Variable count, before, after;
  Variable least = {};  // elements that the axis must have for one window; empty if any number is valid
};

/// The windows of `taps` elements along an axis of n elements. Errors name axis j. ShapeError if all numbers are known
/// and no window fits.
Windows windows_along(const ImageOp& op, std::size_t j, const Variable& n, const Variable& taps, std::int64_t stride,
                      std::int64_t dilation, const nnet::Border& border);

/// The image, whose axes from `first` on must have room for their windows: otherwise ShapeError at the call.
Variable require_room(const Variable& image, int first, const std::vector<Windows>& along);

/// The number as an int64 scalar.
Variable whole(std::int64_t value);
/// a op b of sizes, b being a number.
Variable with_number(std::string_view op, const Variable& a, std::int64_t b);
/// The value of a constant size.
std::optional<std::int64_t> known_size(const Variable& size);

}  // namespace croton::ops
