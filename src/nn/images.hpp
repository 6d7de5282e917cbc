// The base of image layers: the number of axes, the position of the channels, and options of each axis.
#pragma once

#include <croton/nn/layers.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace croton::nn {

using Steps = std::vector<std::int64_t>;

/// A layer of images with `axes` axes in addition to the batch and the channels.
class ImageLayer : public LayerDefinition {
 public:
  ImageLayer(const std::string& type, const std::string& name, int axes, Layout layout)
      : LayerDefinition(type, name), axes_(axes), layout_(layout) {}

 protected:
  bool last() const { return layout_ == Layout::channels_last; }

  /// One number for each axis; the option has one for all axes, or one each, or none, which means `none`. ValueError
  /// for numbers below `least`.
  Steps each(const PerAxis& per_axis, std::string_view what, std::int64_t none = 1, std::int64_t least = 1) const {
    const Steps& given = per_axis.numbers();
    const std::size_t count = axis_count();
    if (given.size() > 1 && given.size() != count)
      refuse(fmt::format("{} {} for {} axes; one is for all", given.size(), what, axes_));
    for (const std::int64_t number : given) {
      if (number < least) refuse(fmt::format("{} of {}; they are at least {}", what, number, least));
    }
    return given.size() == count ? given : Steps(count, given.empty() ? none : given[0]);
  }

  /// {before, after} of each axis; the option has one pair for all axes, or one each.
  std::vector<Margins::Pair> each(const Margins& margins) const {
    const std::size_t count = axis_count();
    std::vector<Margins::Pair> given = margins.sides();
    if (const Steps& both = margins.both_sides(); axes_ == 1 && both.size() == 2) {
      given = {{both[0], both[1]}};
    } else {
      for (const std::int64_t width : both) given.emplace_back(width, width);
    }
    if (given.size() != 1 && given.size() != count)
      refuse(fmt::format("{} widths for {} axes; one is for all", given.size(), axes_));
    for (const auto& [before, after] : given) {
      if (before < 0 || after < 0)
        refuse(fmt::format("widths of {}; they are at least 0", before < 0 ? before : after));
    }
    return given.size() == count ? given : std::vector<Margins::Pair>(count, given[0]);
  }

  /// ShapeError unless the shape has all axes and the channels.
  void check_rank(const Shape& shape) const {
    if (shape.size() == axis_count() + 1) return;
    fail(fmt::format("takes images of {} axes and channels, but {}", axes_, to_string(shape)));
  }
  std::size_t axis_count() const { return base::to_size(axes_); }
  std::size_t channel_axis() const { return last() ? axis_count() : 0; }
  std::size_t first_size() const { return last() ? 0 : 1; }

  /// The shape with each known size changed by f(axis, size), and with other channels.
  template <class F>
  Shape with_sizes(Shape shape, std::int64_t channels, F f) const {
    for (std::size_t j = 0; j < axis_count(); ++j) {
      std::int64_t& size = shape[first_size() + j];
      if (size != any_size) size = f(j, size);
    }
    shape[channel_axis()] = channels;
    return shape;
  }
  /// The number of windows of `reach` elements in n elements.
  std::int64_t windows(const std::string& padding, std::int64_t n, std::int64_t reach, std::int64_t stride,
                       const Shape& shape) const {
    if (padding == "same" || padding == "causal") return (n + stride - 1) / stride;
    if (n < reach) fail(fmt::format("a window of {} elements in {}", reach, to_string(shape)));
    return (n - reach) / stride + 1;
  }
  void check_padding(const std::string& padding, bool causal) const {
    if (padding == "valid" || padding == "same" || (causal && padding == "causal")) return;
    refuse(fmt::format("a padding \"{}\"; valid{} same{} are known", padding, causal ? "," : " and",
                       causal ? " and causal" : ""));
  }

  int axes_;
  Layout layout_;
};

}  // namespace croton::nn
