// Functions of layers, composed of other operations.
#include <croton/indexing.hpp>
#include <croton/nnet_layers.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/nnet/image_options.hpp"
#include "ops/registry.hpp"

namespace croton::nnet {
namespace {

using builder::describe;
using ops::ImageOp;
using ops::known_size;

/// x in floats; TypeError for complex numbers.
Variable floats(std::string_view name, const Operand& x) {
  ops::demand_real(x, name);
  return ops::in_floats(x);
}

/// The axes over which the statistics of a batch are computed, in order.
std::vector<int> normalised_axes(const ImageOp& op, const BatchNormOptions& options) {
  const int rank = op.x.variable.rank();
  if (rank < 1) op.type_error("a batch has at least one axis");
  if (options.axes) {
    const std::vector<int> axes = ops::normal_axes(*options.axes, rank, op.name, op.x);
    if (axes.empty()) op.type_error("no axes to take statistics over");
    return axes;
  }
  std::vector<int> axes{0};
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

/// A parameter in floats, so that it broadcasts against x.
Variable broadcast_parameter(const ImageOp& op, const Operand& parameter, const std::vector<int>& axes,
                             std::string_view what) {
  const Variable values = floats(op.name, parameter);
  const int rank = op.x.variable.rank(), given = parameter.variable.rank(), left = rank - base::to_int(axes.size());
  if (given != rank && given != left) {
    op.type_error(fmt::format("{} has either {} axes, or the {} that statistics are not taken over, but {}", what, rank,
                              left, describe(parameter.variable)));
  }
  std::vector<int> pattern;
  int next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const bool summed = std::ranges::binary_search(axes, axis);
    // A parameter with all axes must have size 1 along the axes of statistics, stated or not, so that it broadcasts.
    const int own = given == rank ? axis : next;
    if (!summed) ++next;
    pattern.push_back(summed ? broadcast_axis : own);
  }
  if (given != rank) return dimshuffle(values, pattern);
  std::vector<std::optional<Operand>> ones(op.x.variable.type().rank());
  for (const int axis : axes) base::nth(ones, axis) = Operand(1);
  return ops::require_shape(values, ones, fmt::format("{} has size 1 where statistics are taken", what));
}

/// A statistic with all axes, in the shape of a parameter.
Variable shaped_as(const Variable& parameter, const Variable& kept, const std::vector<int>& axes) {
  return parameter.rank() == kept.rank() ? kept : squeeze(kept, axes);
}

/// (x - mean) / sqrt(variance + epsilon) over these axes.
Variable normalised(const Variable& x, const std::vector<int>& axes, double epsilon) {
  const ReduceOptions over(axes, true);
  // The squares of float16 overflow from 256 on.
  const Variable wide = ops::widened(x), centred = wide - mean(wide, over);
  return cast(centred / sqrt(mean(sqr(centred), over) + builder::number(epsilon, wide)), x.dtype());
}

/// The axis of channels of images with a batch and at least `axes` more.
int channel_axis(const ImageOp& op, Layout layout, int axes) {
  const int rank = op.x.variable.rank();
  if (rank < axes + 1)
    op.type_error(fmt::format("images have a batch, channels{}", axes > 1 ? " and at least one more axis" : ""));
  return layout == Layout::channels_last ? rank - 1 : 1;
}

/// gamma x + beta, with a number per channel each.
Variable scaled(const ImageOp& op, Variable x, int channels, const std::optional<Operand>& gamma,
                const std::optional<Operand>& beta) {
  const auto each_channel = [&](const Operand& parameter, std::string_view what) {
    if (parameter.variable.rank() != 1)
      op.type_error(fmt::format("{} has one number for each channel, but {}", what, describe(parameter.variable)));
    return ops::along_axis(floats(op.name, parameter), channels, x.rank());
  };
  if (gamma) x = x * each_channel(*gamma, "gamma");
  if (beta) x = x + each_channel(*beta, "beta");
  return x;
}

}  // namespace

BatchNormed batch_norm_train(Operand x, Operand gamma, Operand beta, const BatchNormOptions& options,
                             std::optional<Operand> running_mean, std::optional<Operand> running_variance) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"batch_norm_train", x, 0};
  const DType dtype = floats(op.name, x).dtype();
  const Variable values = ops::widened(floats(op.name, x));
  const std::vector<int> axes = normalised_axes(op, options);
  const ReduceOptions over(axes, true);
  const Variable average = mean(values, over), centred = values - average, variance = mean(sqr(centred), over);
  const Variable inverse = 1 / sqrt(variance + builder::number(options.epsilon, variance));
  BatchNormed result;
  const Variable scale = broadcast_parameter(op, gamma, axes, "gamma"),
                 shift = broadcast_parameter(op, beta, axes, "beta");
  result.out = cast(centred * (inverse * scale) + shift, promote(promote(dtype, scale.dtype()), shift.dtype()));
  result.mean = cast(shaped_as(gamma.variable, average, axes), dtype);
  result.inverse_deviation = cast(shaped_as(gamma.variable, inverse, axes), dtype);
  const double factor = options.running_average_factor;
  const auto renewed = [&](const Operand& old, const Variable& now, std::string_view what) {
    broadcast_parameter(op, old, axes, what);  // for its errors only
    const Variable before = floats(op.name, old);
    const Variable kept = before * builder::number(1 - factor, before);
    return cast(kept + shaped_as(before, now, axes) * builder::number(factor, now), promote(before.dtype(), dtype));
  };
  if (running_mean) result.new_running_mean = renewed(*running_mean, average, "the running mean");
  if (running_variance) {
    Variable count = ops::whole(1);
    for (const int axis : axes) count = ops::size_arithmetic("mul", count, x.variable.shape(axis));
    const Variable others = ops::with_number("maximum", ops::with_number("sub", count, 1), 1);
    const Variable unbiased = variance * (cast(count, variance.dtype()) / cast(others, variance.dtype()));
    result.new_running_variance = renewed(*running_variance, unbiased, "the running variance");
  }
  return result;
}

Variable batch_norm_test(Operand x, Operand gamma, Operand beta, Operand mean, Operand variance,
                         const BatchNormOptions& options) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"batch_norm_test", x, 0};
  const Variable values = floats(op.name, x);
  const std::vector<int> axes = normalised_axes(op, options);
  const Variable spread = broadcast_parameter(op, variance, axes, "the variance");
  const Variable scale =
      broadcast_parameter(op, gamma, axes, "gamma") / sqrt(spread + builder::number(options.epsilon, spread));
  return (values - broadcast_parameter(op, mean, axes, "the mean")) * scale +
         broadcast_parameter(op, beta, axes, "beta");
}

Variable group_norm(Operand x, std::int64_t groups, std::optional<Operand> gamma, std::optional<Operand> beta,
                    const NormOptions& options) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"group_norm", x, 0};
  const Variable values = floats(op.name, x);
  const int channels = channel_axis(op, options.layout, 1);
  if (groups < 1) op.value_error(fmt::format("{} groups; there is at least 1", groups));
  if (const auto number = known_size(values.shape(channels)); number && *number % groups != 0)
    op.shape_error(fmt::format("{} channels do not divide into {} groups", *number, groups));
  std::vector<Operand> whole, cut;
  std::vector<int> over;
  for (int axis = 0; axis < values.rank(); ++axis) {
    const Variable size = values.shape(axis);
    whole.emplace_back(size);
    if (axis == channels) cut.emplace_back(groups);
    if (axis != 0) over.push_back(base::to_int(cut.size()));
    cut.emplace_back(axis == channels ? ops::with_number("floor_divide", size, groups) : size);
  }
  return scaled(op, reshape(normalised(reshape(values, cut), over, options.epsilon), whole), channels, gamma, beta);
}

Variable instance_norm(Operand x, std::optional<Operand> gamma, std::optional<Operand> beta,
                       const NormOptions& options) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"instance_norm", x, 0};
  const Variable values = floats(op.name, x);
  const int channels = channel_axis(op, options.layout, 2);
  std::vector<int> over;
  for (int axis = 1; axis < values.rank(); ++axis) {
    if (axis != channels) over.push_back(axis);
  }
  return scaled(op, normalised(values, over, options.epsilon), channels, gamma, beta);
}

Variable local_response_norm(Operand x, const LocalResponseOptions& options) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"local_response_norm", x, 0};
  const DType dtype = floats(op.name, x).dtype();
  const Variable values = ops::widened(floats(op.name, x));
  const int last = values.rank() - 1, channels = channel_axis(op, options.layout, 1);
  if (options.size < 1) op.value_error(fmt::format("a window of {} channels", options.size));
  PoolOptions sums;
  sums.strides = {1};
  sums.mode = PoolMode::sum;
  sums.border = Border({{Operand(options.size / 2), Operand(options.size - 1 - options.size / 2)}});
  const Variable squares =
      moveaxis(pool(moveaxis(sqr(values), {channels}, {last}), {options.size}, sums), {last}, {channels});
  const Variable scale = builder::number(options.bias, values) + builder::number(options.alpha, values) * squares;
  return cast(values * pow(scale, builder::number(-options.beta, values)), dtype);
}

Variable dropout(Operand x, double rate, RandomStreams& streams) {
  const builder::OriginScope origin(x.where);
  const ImageOp op{"dropout", x, 0};
  const Variable values = floats(op.name, x);
  if (!(rate >= 0 && rate < 1)) op.value_error(fmt::format("a rate of {}; it is at least 0 and below 1", rate));
  if (rate == 0) return values;
  const Variable kept = streams.bernoulli(values.shape(), 1 - rate, DType::bool_, x.where);
  return where(kept, values * builder::number(1 / (1 - rate), values), zeros_like(values));
}

Variable embedding(Operand table, Operand positions) {
  const builder::OriginScope origin(table.where);
  const ImageOp op{"embedding", table, 0};
  if (table.variable.rank() < 1) op.type_error("a table has rows");
  if (!is_integer(positions.variable.dtype()))
    op.type_error(fmt::format("positions are integers, but {}", describe(positions.variable)));
  return take(table, positions, 0);
}

Variable upsample(Operand x, const std::vector<std::int64_t>& factors, Interpolation interpolation, Layout layout) {
  const builder::OriginScope origin(x.where);
  const int rank = x.variable.rank(), axes = rank - 2, first = layout == Layout::channels_last ? 1 : 2;
  const ImageOp op{"upsample", x, base::to_size(std::max(axes, 0))};
  if (axes < 1) op.type_error("images have a batch, channels and at least one more axis");
  const std::vector<std::int64_t> times = op.steps(factors, "factors");
  Variable result = interpolation == Interpolation::linear ? floats(op.name, x) : x.variable;
  int axis = first - 1;
  for (const std::int64_t factor : times) {
    ++axis;
    if (factor == 1) continue;
    if (interpolation == Interpolation::nearest) {
      result = ops::repeat_each(result, ops::whole(factor), axis);
      continue;
    }
    // Element i is at (i + 1/2) / factor - 1/2, between two elements, or beyond the centre of the last one. Computed in
    // integers, because narrow floats do not have all positions of a long axis.
    const Variable n = result.shape(axis), last = n - 1;
    const Variable place = 2 * arange(ops::with_number("mul", n, factor)) + (1 - factor);
    const Variable below = floor_divide(place, 2 * factor), rest = cast(place - below * (2 * factor), result.dtype());
    const Variable share =
        shape_padright(rest / builder::number(static_cast<double>(2 * factor), result), rank - 1 - axis);
    const auto at = [&](const Variable& position) {
      return take(result, maximum(minimum(position, last), 0), axis, IndexMode::clip);
    };
    result = at(below) * (1 - share) + at(below + 1) * share;
  }
  return result;
}

}  // namespace croton::nnet
