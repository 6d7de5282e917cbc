// A convolution in the terms of a library for networks. Convolution (runtime/device/convolution.hpp) has one form for
// all; oneDNN has three routines, each with its own numbers. This finds the routine of a description and its numbers,
// without the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/convolution.hpp"

namespace croton::runtime::cpu::dnn {

enum class Task {
  forward,     ///< results of images and filters
  by_image,    ///< the gradient by images, of that by results, and filters
  by_filters,  ///< the gradient by filters, of images and the gradient by results
};

/// Steps in memory from one index to the next, along the dimensions of an array before its axes: images are (images,
/// groups, channels, ...), filters (groups, results, channels, ...), results (images, groups, results, ...).
using Steps = std::array<std::int64_t, 3>;

/// One of the three, always in the terms of the forward convolution: result[n, g, o, w...] is the sum over channels c
/// and taps t... of image[n, g, c, stride w + dilation t - before] filters[g, o, c, t...], and the task says which of
/// the arrays is computed. No stride, dilation or border is negative.
struct Problem {
  struct Axis {
    std::int64_t in = 1, out = 1, taps = 1;  // of images, results, filters
    std::int64_t stride = 1, dilation = 1, before = 0;
    std::int64_t image_step = 0, filter_step = 0, result_step = 0;
    bool operator==(const Axis&) const = default;

    /// The padding after the axis that a library needs so that all windows find their elements.
    std::int64_t after() const;
  };
  Task task = Task::forward;
  std::size_t axes = 1;  // in use, of the three below
  std::array<Axis, 3> axis{};
  std::int64_t images = 1, groups = 1, channels = 1, results = 1;
  Steps image{}, filter{}, result{};
  std::int64_t image_at = 0, filter_at = 0, result_at = 0;  // the first elements, relative to the caller's pointers
  bool swapped = false;  // of a gradient by filters: images are the filters of the description, results are its x
  bool operator==(const Problem&) const = default;

  std::int64_t taps() const;     // of all axes
  std::int64_t windows() const;  // of all axes
  double work() const;           // multiplications, with those by the padding
  /// Whether groups and channels of images, and groups and results of results, have steps as if they were one axis.
  bool groups_are_one_axis() const;
  /// Whether the filters are reversed in memory along an axis.
  bool flipped() const;
  std::span<Axis> used_axes() { return std::span(axis).first(axes); }
  std::span<const Axis> used_axes() const { return std::span(axis).first(axes); }
};

/// The problem of a description; nothing if it is none of the three, and then `why` gets the reason. If two are
/// possible, it is the one for which the library is probably faster: a gradient by filters has few windows, many taps,
/// and images as channels.
std::optional<Problem> recognise(const Convolution& description, std::string* why = nullptr);

/// The same for images [first, first + count) only. The gradient by filters is then a part of a sum.
Problem images_of(const Problem& problem, std::int64_t first, std::int64_t count);

/// The same for a part of the first axis: [first, first + count) of results, or of images in a gradient by images. A
/// gradient by images needs at least `min_rows`.
Problem rows_of(const Problem& problem, std::int64_t first, std::int64_t count);
std::int64_t min_rows(const Problem& problem);

/// One group of several.
Problem group_of(const Problem& problem, std::int64_t group);

/// The pieces in which a problem is computed, one after another or at the same time. They depend on the problem alone.
/// The pieces of a gradient by filters of one group are to be added up in their order.
std::vector<Problem> pieces_of(const Problem& problem);

}  // namespace croton::runtime::cpu::dnn
