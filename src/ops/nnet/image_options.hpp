// What convolutions and pooling share: options read and checked, and how many windows an axis has.
#pragma once

#include <croton/convolution.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace croton::ops {

/// Of an operation on `axes` axes of images.
struct ImageOp {
  std::string_view name;
  const Operand& x;
  std::size_t axes;

  /// One number for each axis, of one for all or none for 1; ValueError below 1, TypeError for another count.
  std::vector<std::int64_t> steps(const std::vector<std::int64_t>& given, std::string_view what) const;
  [[noreturn]] void type_error(const std::string& message) const;
  [[noreturn]] void value_error(const std::string& message) const;
  [[noreturn]] void shape_error(const std::string& message) const;
};

/// The number of windows along an axis, how far the first one begins in front of it, and how far the last may reach
/// behind it: int64 scalars, constants where the sizes are known.
struct Windows {
  Variable count, before, after;
  Variable least = {};  // elements that the axis must have for one window; empty where any number will do
};

/// Along an axis of n elements, for windows of `taps` elements. Axis j is named in errors. ShapeError where no window
/// fits in and all numbers are known.
Windows windows_along(const ImageOp& op, std::size_t j, const Variable& n, const Variable& taps, std::int64_t stride,
                      std::int64_t dilation, const nnet::Border& border);

/// The image, whose axes from `first` on must have room for their windows: ShapeError when called where they have not.
Variable with_room(const Variable& image, int first, const std::vector<Windows>& along);

/// The number as an int64 scalar.
Variable whole(std::int64_t value);
/// a op b of sizes, b being a number.
Variable with_number(std::string_view op, const Variable& a, std::int64_t b);
/// The value of a constant size.
std::optional<std::int64_t> known_size(const Variable& size);

}  // namespace croton::ops
