// Pooling for users: reductions over the elements of windows.
#include <croton/convolution.hpp>
#include <croton/sorting.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/nnet/image_options.hpp"
#include "ops/nnet/window.hpp"

namespace croton::nnet {
namespace {

using ops::ImageOp;
using ops::known_size;
using ops::size_arithmetic;
using ops::with_number;

Variable zero() { return ops::whole(0); }

/// The windows of an axis of n, including those that extend beyond the end: they begin within the image, and no window
/// begins if the one before it has reached the end (Theano's rule).
ops::Windows windows_over_end(const Variable& n, std::int64_t taps, std::int64_t stride) {
  Variable last_window = with_number("floor_divide", with_number("sub", n, 1), stride);
  if (stride < taps) {
    const Variable beyond = with_number("floor_divide", with_number("sub", with_number("sub", n, taps), 1), stride);
    last_window = with_number("maximum", with_number("add", beyond, 1), 0);
  }
  const Variable count =
      size_arithmetic("minimum", with_number("add", last_window, 1), n);  // no windows without elements
  const Variable reached = with_number("add", with_number("mul", last_window, stride), taps);
  return {count, zero(), with_number("maximum", size_arithmetic("sub", reached, n), 0)};
}

/// The number of elements of each window in [first, end), as a vector. (A border may be wider than a window.)
Variable elements_inside(const ops::Windows& along, std::int64_t taps, std::int64_t stride, const Variable& first,
                         const Variable& end) {
  const Variable begin = arange(along.count) * stride - along.before;
  return maximum(minimum(begin + taps, end) - maximum(begin, first), 0);
}

}  // namespace

Variable pool(Operand x, const std::vector<std::int64_t>& window, const PoolOptions& options) {
  const builder::OriginScope origin(x.where);
  const int axes = base::to_int(window.size()), rank = x.variable.rank();
  const ImageOp op{"pool", x, window.size()};
  const bool last = options.layout == Layout::channels_last;
  const int first = rank - axes - (last ? 1 : 0);
  if (axes < 1 || first < 0)
    op.type_error(fmt::format("a window of {} axes{}", axes, last ? " before the last one" : ""));
  if (is_complex(x.variable.dtype())) op.type_error("complex numbers are not accepted");
  const std::vector<std::int64_t> taps = op.steps(window, "sizes of the window");
  const std::vector<std::int64_t> strides = options.strides.empty() ? taps : op.steps(options.strides, "strides");
  const bool averages = options.mode == PoolMode::average_inc_pad || options.mode == PoolMode::average_exc_pad;
  Variable image = x.variable;
  const DType dtype = averages ? ops::in_floats(x).dtype() : image.dtype();
  // Sums of many float16 numbers may overflow although their mean does not.
  if (averages) image = cast(image, compute_dtype(dtype));
  if (!options.ignore_border && options.border.rule != Border::Rule::valid)
    op.value_error("borders need ignore_border=true");

  std::vector<Operand> shape;
  std::vector<int> pattern;
  for (int axis = 0; axis < rank; ++axis) {
    shape.emplace_back(image.shape(axis));
    pattern.push_back(axis);
  }
  expr::Ints windowed, tap_axes;
  std::vector<int> reduced;
  std::vector<ops::Windows> along;
  std::vector<Variable> counts, before;
  int image_axis = first, tap_axis = rank;
  for (std::size_t j = 0; j < taps.size(); ++j) {
    const Variable n = image.shape(image_axis), size = ops::whole(taps[j]);
    along.push_back(options.ignore_border ? ops::windows_along(op, j, n, size, strides[j], 1, options.border)
                                          : windows_over_end(n, taps[j], strides[j]));
    counts.push_back(along.back().count);
    before.push_back(along.back().before);
    windowed.push_back(image_axis++);
    tap_axes.push_back(tap_axis);
    reduced.push_back(tap_axis++);
    shape.emplace_back(size);
    pattern.push_back(broadcast_axis);
  }
  image = ops::require_room(image, first, along);
  const ops::Steps steps{strides, expr::Ints(taps.size(), 1), expr::Ints(taps.size(), 1)};
  const auto outside = options.mode == PoolMode::max ? ops::Outside::lowest : ops::Outside::zero;
  const Variable elements =
      ops::slide(alloc(dimshuffle(image, pattern), shape), windowed, tap_axes, steps, counts, before, outside, x.where);
  const ReduceOptions over(reduced);
  if (options.mode == PoolMode::max && options.ties == Ties::first) {
    // The chosen element, and zeros: only the chosen element gets the gradient.
    std::vector<int> spread_out;
    std::vector<Operand> flat;
    std::int64_t all = 1;
    for (int axis = 0; axis < rank; ++axis) spread_out.push_back(axis);
    for (std::size_t j = 0; j < taps.size(); ++j) spread_out.push_back(broadcast_axis);
    for (const std::int64_t size : taps) {
      all *= size;
      flat.emplace_back(size);
    }
    const Variable chosen = dimshuffle(argmax(elements, over), spread_out);
    const Variable is_chosen = eq(reshape(arange(Operand(all)), flat), chosen);
    return cast(sum(where(is_chosen, elements, zeros_like(elements)), over), dtype);
  }
  if (options.mode == PoolMode::max) return max(elements, over);
  const Variable total = sum(elements, over);
  if (options.mode == PoolMode::sum) return cast(total, dtype);
  Variable count;
  image_axis = first;
  for (std::size_t j = 0; j < taps.size(); ++j) {
    const Variable n = image.shape(image_axis++);
    const bool with_border = options.mode == PoolMode::average_inc_pad && options.ignore_border;
    const Variable low = with_border ? size_arithmetic("sub", zero(), along[j].before) : zero();
    const Variable high = with_border ? size_arithmetic("add", n, along[j].after) : n;
    const Variable inside =
        shape_padright(elements_inside(along[j], taps[j], strides[j], low, high), rank - image_axis);
    count = j == 0 ? inside : count * inside;
  }
  return cast(total / cast(count, image.dtype()), dtype);
}

}  // namespace croton::nnet
