// Convolutions for users: conversion of layouts to the form of the op `convolve`, and back.
#include <croton/convolution.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/nnet/image_options.hpp"
#include "ops/nnet/window.hpp"

namespace croton::nnet {
namespace {

using builder::describe;
using ops::ImageOp;
using ops::known_size;
using ops::size_arithmetic;
using ops::Steps;
using ops::with_number;

/// first, first + 1, ...
void append(std::vector<int>& axes, int first, int count) {
  for (int j = 0; j < count; ++j) axes.push_back(first + j);
}

/// The axes of one convolution, by its options.
struct Form {
  ImageOp op;
  const ConvOptions& options;
  int axes;
  std::vector<std::int64_t> strides, dilations;

  Form(std::string_view name, const Operand& x, const ConvOptions& o)
      : op{name, x, base::to_size(std::max(x.variable.rank() - 2, 0))}, options(o), axes(x.variable.rank() - 2) {
    if (axes < 1) op.type_error("images have a batch, channels and at least one more axis");
    strides = op.steps(o.strides, "strides");
    dilations = op.steps(o.dilations, "dilations");
    if (o.groups < 1) op.value_error(fmt::format("{} groups; there is at least 1", o.groups));
  }

  bool last() const { return options.layout == Layout::channels_last; }
  /// The axes of the channels and of the first size, for images and filters.
  int channel_axis() const { return last() ? axes + 1 : 1; }
  int first_size() const { return last() ? 1 : 2; }
  int filter_results() const { return last() ? axes + 1 : 0; }
  int filter_channels() const { return last() ? axes : 1; }
  int first_window() const { return last() ? 0 : 2; }

  void demand_rank(const Variable& v, std::string_view what) const {
    if (v.rank() == axes + 2) return;
    op.type_error(fmt::format("{} of {} axes are expected, but {}", what, axes + 2, describe(v)));
  }

  /// The size of an axis divided by the number of groups.
  Variable size_per_group(const Variable& v, int axis, std::string_view what) const {
    const Variable size = v.shape(axis);
    if (const auto number = known_size(size); number && *number % options.groups != 0)
      op.shape_error(fmt::format("{} {} do not divide into {} groups", *number, what, options.groups));
    return with_number("floor_divide", size, options.groups);
  }

  /// Splits an axis into (groups, size per group); adds an axis of size 1 before it if there is one group.
  Variable with_groups(const Variable& v, int axis, std::string_view what) const {
    if (options.groups == 1) return expand_dims(v, axis);
    std::vector<Operand> shape;
    for (int d = 0; d < v.rank(); ++d) {
      if (d == axis) shape.emplace_back(options.groups);
      shape.emplace_back(d == axis ? size_per_group(v, axis, what) : v.shape(d));
    }
    return reshape(v, shape);
  }
  /// Merges the two axes from `axis` on.
  Variable without_groups(const Variable& v, int axis) const {
    if (options.groups == 1) return squeeze(v, {axis});
    std::vector<Operand> shape;
    for (int d = 0; d < v.rank(); ++d) {
      if (d == axis) continue;
      shape.emplace_back(d == axis + 1 ? size_arithmetic("mul", v.shape(axis), v.shape(d)) : v.shape(d));
    }
    return reshape(v, shape);
  }

  /// (batch, groups, channels, sizes...) of images.
  Variable images(const Variable& v) const {
    const Variable grouped = with_groups(v, channel_axis(), "channels");
    std::vector<int> order{0, channel_axis(), channel_axis() + 1};
    append(order, last() ? 1 : 3, axes);
    return transpose(grouped, order);
  }
  /// Images of a result of `convolve`, which has the layout's order already.
  Variable from_result(const Variable& v) const { return without_groups(v, last() ? axes + 1 : 1); }

  /// (groups, results, channels, window...) of filters; with `swapped` (groups, channels, results, window...).
  Variable filters(const Variable& v, bool swapped) const {
    const int results = filter_results();
    const Variable grouped = with_groups(v, results, "filters");
    // Axes after the split one have moved by one.
    const auto moved = [&](int axis) { return axis > results ? axis + 1 : axis; };
    std::vector<int> order{results, results + 1, moved(filter_channels())};
    if (swapped) std::swap(order[1], order[2]);
    append(order, moved(first_window()), axes);
    return transpose(grouped, order);
  }

  /// The windows along each axis of an image of these sizes, for filters of these window sizes.
  struct WindowCounts {
    std::vector<Variable> counts, before;
    Steps steps;
    std::vector<ops::Windows> along;
  };
  WindowCounts windows(const std::vector<Variable>& sizes, const std::vector<Variable>& window) const {
    WindowCounts result{{}, {}, {strides, dilations, expr::Ints(op.axes, 1)}, {}};
    for (std::size_t j = 0; j < op.axes; ++j) {
      const ops::Windows& along = result.along.emplace_back(
          ops::windows_along(op, j, sizes[j], window[j], strides[j], dilations[j], options.border));
      Variable before = along.before;
      if (options.flip) {
        // From the last element of the window to the first.
        const Variable far = with_number("mul", with_number("sub", window[j], 1), dilations[j]);
        before = size_arithmetic("sub", before, far);
        result.steps.dilations[j] = -dilations[j];
      }
      result.counts.push_back(along.count);
      result.before.push_back(before);
    }
    return result;
  }
  /// A result of the convolution, required to have an element per window.
  Variable with_windows(const Variable& v, const std::vector<Variable>& counts) const {
    std::vector<std::optional<Operand>> shape(op.axes + 2);
    for (int axis = first_size(); const Variable& count : counts) base::nth(shape, axis++) = count;
    return ops::require_shape(v, shape, "there must be one for each window of the image");
  }
  std::vector<Variable> sizes_of(const Variable& v, int first) const {
    std::vector<Variable> sizes;
    for (int j = 0; j < axes; ++j) sizes.push_back(v.shape(first + j));
    return sizes;
  }
};

/// Both operands in their common dtype.
std::pair<Variable, Variable> promoted(const ImageOp& op, const Operand& x, const Operand& y) {
  const DType dtype = promote(x.variable.dtype(), y.variable.dtype());
  if (is_bool(dtype)) op.type_error("bool is not accepted; cast it to a number");
  return {cast(x, dtype), cast(y, dtype)};
}

void demand_channels(const Form& form, const Variable& x, const Variable& filters) {
  const auto channels = known_size(x.shape(form.channel_axis()));
  const auto taken = known_size(filters.shape(form.filter_channels()));
  if (!channels || !taken || *channels == *taken * form.options.groups) return;
  form.op.shape_error(fmt::format("{} channels in {} group(s), but the filters take {}: {}", *channels,
                                  form.options.groups, *taken, describe(filters)));
}

Variable checked_rank(std::string_view name, int axes, Operand x, Operand filters, const ConvOptions& options) {
  if (x.variable.rank() != axes + 2)
    ImageOp{name, x, 0}.type_error(
        fmt::format("images of {} axes are expected: batch, channels and {} of sizes", axes + 2, axes));
  return conv(x, filters, options);
}

}  // namespace

Variable conv(Operand x, Operand filters, const ConvOptions& options) {
  const builder::OriginScope origin(x.where);
  const Form form("conv", x, options);
  form.demand_rank(filters.variable, "filters");
  const auto [images, cast_filters] = promoted(form.op, x, filters);
  demand_channels(form, images, cast_filters);
  const Form::WindowCounts along =
      form.windows(form.sizes_of(images, form.first_size()), form.sizes_of(cast_filters, form.first_window()));
  const Variable checked_images = ops::require_room(images, form.first_size(), along.along);
  return form.from_result(ops::convolve(form.images(checked_images), form.filters(cast_filters, false), along.steps,
                                        along.counts, along.before, form.last(), x.where));
}

Variable conv1d(Operand x, Operand filters, const ConvOptions& options) {
  return checked_rank("conv1d", 1, std::move(x), std::move(filters), options);
}
Variable conv2d(Operand x, Operand filters, const ConvOptions& options) {
  return checked_rank("conv2d", 2, std::move(x), std::move(filters), options);
}
Variable conv3d(Operand x, Operand filters, const ConvOptions& options) {
  return checked_rank("conv3d", 3, std::move(x), std::move(filters), options);
}

Variable conv_transpose(Operand g, Operand filters, const ConvOptions& options, const std::vector<Operand>& sizes) {
  const builder::OriginScope origin(g.where);
  const Form form("conv_transpose", g, options);
  form.demand_rank(filters.variable, "filters");
  const auto [results, cast_filters] = promoted(form.op, g, filters);
  if (!sizes.empty() && sizes.size() != form.op.axes)
    form.op.type_error(fmt::format("{} sizes for {} axes", sizes.size(), form.axes));
  const std::vector<Variable> window = form.sizes_of(cast_filters, form.first_window());
  const std::vector<Variable> counts = form.sizes_of(results, form.first_size());
  std::vector<Variable> wanted;
  for (std::size_t j = 0; j < form.op.axes; ++j) {
    if (!sizes.empty()) {
      ops::demand_whole(form.op.name, g, "a size", sizes[j]);
      wanted.push_back(with_number("add", sizes[j].variable, 0));  // a constant stays a constant
    } else if (options.border.rule == Border::Rule::same) {
      wanted.push_back(with_number("mul", counts[j], form.strides[j]));
    } else {
      // The border, which depends on the image's size only for `same`.
      const ops::Windows any = ops::windows_along(form.op, j, window[j] * form.dilations[j], window[j], form.strides[j],
                                                  form.dilations[j], options.border);
      const Variable steps = with_number("mul", with_number("sub", counts[j], 1), form.strides[j]);
      const Variable far = with_number("mul", with_number("sub", window[j], 1), form.dilations[j]);
      const Variable reached = with_number("add", size_arithmetic("add", steps, far), 1);
      wanted.push_back(size_arithmetic("sub", size_arithmetic("sub", reached, any.before), any.after));
    }
  }
  Form::WindowCounts along = form.windows(wanted, window);
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    const auto had = known_size(counts[j]), made = known_size(along.counts[j]);
    if (had && made && *had != *made) {
      form.op.shape_error(fmt::format("axis {} has {} windows, where an image of {} elements has {}", j, *had,
                                      *known_size(wanted[j]), *made));
    }
  }
  const Variable as_many = form.with_windows(results, along.counts);
  const Steps back = ops::inverse(along.steps, along.before);
  // The outputs of the filters are the channels here.
  const Variable channels_first = form.filters(cast_filters, true);
  return form.from_result(
      ops::convolve(form.images(as_many), channels_first, back, wanted, along.before, form.last(), g.where));
}

Variable conv_filter_gradient(Operand x, Operand g, const std::vector<Operand>& window, const ConvOptions& options) {
  const builder::OriginScope origin(x.where);
  const Form form("conv_filter_gradient", x, options);
  form.demand_rank(g.variable, "results");
  const auto [images, results] = promoted(form.op, x, g);
  if (window.size() != form.op.axes)
    form.op.type_error(fmt::format("{} sizes of the window for {} axes", window.size(), form.axes));
  std::vector<Variable> taps;
  for (const Operand& size : window) {
    ops::demand_whole(form.op.name, x, "a size of the window", size);
    taps.push_back(with_number("add", size.variable, 0));
  }
  const Form::WindowCounts along = form.windows(form.sizes_of(images, form.first_size()), taps);
  const Steps across{along.steps.dilations, along.steps.strides, along.steps.spreads};
  const int axes = form.axes;
  std::vector<int> channels_batch{2, 1, 0}, results_batch{1, 2, 0};
  append(channels_batch, 3, axes);
  append(results_batch, 3, axes);
  // (channels, window..., groups, results)
  const Variable sums = ops::convolve(transpose(form.images(images), channels_batch),
                                      transpose(form.images(form.with_windows(results, along.counts)), results_batch),
                                      across, taps, along.before, true, x.where);
  std::vector<int> order;
  if (form.last()) {
    append(order, 1, axes);
    order.insert(order.end(), {0, axes + 1, axes + 2});
    return form.without_groups(transpose(sums, order), axes + 1);
  }
  order = {axes + 1, axes + 2, 0};
  append(order, 1, axes);
  return form.without_groups(transpose(sums, order), 0);
}

}  // namespace croton::nnet
