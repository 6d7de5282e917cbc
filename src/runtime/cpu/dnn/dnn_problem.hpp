// What a library for networks calls a convolution. Convolution (runtime/device/convolution.hpp) says all in one form;
// oneDNN has three routines, of which each takes numbers of its own: which of them a description is, and with what
// numbers. Nothing here needs the library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/convolution.hpp"

namespace croton::runtime::cpu::dnn {

enum class Task {
  forward,     ///< results of images and filters
  by_image,    ///< the gradient by images, of that by results, and filters
  by_filters,  ///< the gradient by filters, of images and the gradient by results
};

/// Steps in memory from one index to the next, along what an array has beside its axes: images are (images, groups,
/// channels, ...), filters (groups, results, channels, ...), results (images, groups, results, ...).
using Steps = std::array<std::int64_t, 3>;

/// One of the three, in the terms of the forward convolution whichever it is: result[n, g, o, w...] is the sum over
/// channels c and taps t... of image[n, g, c, stride w + dilation t - before] filters[g, o, c, t...], and the task says
/// which of the arrays is asked for. No stride, dilation or border is negative.
struct Problem {
  struct Axis {
    std::int64_t in = 1, out = 1, taps = 1;  // of images, results, filters
    std::int64_t stride = 1, dilation = 1, before = 0;
    std::int64_t image_step = 0, filter_step = 0, result_step = 0;
    bool operator==(const Axis&) const = default;

    /// What a library has to add behind the axis so that all windows find their elements.
    std::int64_t after() const;
  };
  Task task = Task::forward;
  int axes = 1;
  std::array<Axis, 3> axis{};
  std::int64_t images = 1, groups = 1, channels = 1, results = 1;
  Steps image{}, filter{}, result{};
  std::int64_t image_at = 0, filter_at = 0, result_at = 0;  // where they begin, in elements behind the given pointers
  bool swapped = false;  // of a gradient by filters: images are what the description calls filters, results its x
  bool operator==(const Problem&) const = default;

  std::int64_t taps() const;     // of all axes
  std::int64_t windows() const;  // of all axes
  double work() const;           // multiplications, those by what lies outside included
  /// Whether groups and channels lie in images, and groups and results in results, as one axis would.
  bool groups_are_one_axis() const;
  /// Whether filters lie backwards in memory along an axis.
  bool flipped() const;
};

/// Which problem a description is; nothing where it is none of the three, and then `why` says what is in the way.
/// Where two are right the one is taken that the library is likely to be fast at: a gradient by filters has few
/// windows, many taps, and images in the place of channels.
std::optional<Problem> recognise(const Convolution& description, std::string* why = nullptr);

/// The same for images [first, first + count) only. The gradient by filters is then a part of a sum.
Problem images_of(const Problem& problem, std::int64_t first, std::int64_t count);

/// The same for a part of the first axis: of results, [first, first + count), or in a gradient by images of those. A
/// gradient by images must have as many as `least_rows`.
Problem rows_of(const Problem& problem, std::int64_t first, std::int64_t count);
std::int64_t least_rows(const Problem& problem);

/// One group of several.
Problem group_of(const Problem& problem, std::int64_t group);

/// The pieces that a problem is computed in, one after another or side by side. They depend on the problem alone.
/// Pieces of a gradient by filters are to be added up in their order, but for those of different groups.
std::vector<Problem> pieces_of(const Problem& problem);

}  // namespace croton::runtime::cpu::dnn
