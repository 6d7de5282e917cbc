// Windows that slide along axes: the ops of which convolutions and pooling are composed. The functions for users are in
// convolution.cpp and pooling.cpp.
//
// Along an axis of n elements, element k of window i is element (stride i + dilation k - before) / spread, if that is
// an integer inside the axis. `before` is how far the first window begins before the axis; a spread of s puts s - 1
// gaps between the elements. The inverse of such a relation, i for a given element and k, has the same form, so the
// gradients of these ops are the same ops with other numbers.
#include "ops/nnet/window.hpp"

#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/array_bytes.hpp"
#include "base/index.hpp"
#include "base/shape.hpp"
#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/axes.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::Arena;
using expr::Dim;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::Ints;
using expr::NodeId;

/// The steps of `attrs`, one of each per axis; TypeError unless they are valid.
template <class Fail>
Steps steps_of(const expr::Attrs& attrs, std::size_t axes, Fail fail) {
  Steps steps{attrs.ints("strides"), attrs.ints("dilations"), attrs.ints("spreads")};
  for (const Ints* list : {&steps.strides, &steps.dilations, &steps.spreads}) {
    if (list->size() != axes) fail("one stride, dilation and spread for each axis are expected");
    for (const std::int64_t step : *list) {
      if (step == 0 || step > max_step || step < -max_step) fail(fmt::format("a step of {}", step));
    }
  }
  if (std::ranges::any_of(steps.spreads, [](std::int64_t spread) { return spread < 0; })) fail("a spread below 0");
  return steps;
}
Steps steps_of(const expr::Attrs& attrs) {
  return {attrs.ints("strides"), attrs.ints("dilations"), attrs.ints("spreads")};
}

expr::Attrs with_steps(const Steps& steps, expr::Attrs attrs = {}) {
  attrs.set("strides", steps.strides);
  attrs.set("dilations", steps.dilations);
  attrs.set("spreads", steps.spreads);
  return attrs;
}

/// The element of an axis of n that is element k of window i, or nothing.
std::optional<std::int64_t> element_at(const Steps& steps, std::size_t j, std::int64_t before, std::int64_t n,
                                       std::int64_t i, std::int64_t k) {
  const std::int64_t at = steps.strides[j] * i + steps.dilations[j] * k - before, spread = steps.spreads[j];
  if (at < 0 || at % spread != 0 || at / spread >= n) return std::nullopt;
  return at / spread;
}

// ---- slide: inputs x, then for each of the axes the number of windows and `before`; attributes axes, taps (the axes
// of x for the elements of a window), strides, dilations, spreads, and `outside`: the value outside of the axis ----

InferredType infer_slide(InferContext& c) {
  const Ints &axes = c.attrs.ints("axes"), &taps = c.attrs.ints("taps");
  InferredType result = c.inputs[0];
  if (taps.size() != axes.size()) c.type_error("as many axes of elements as of windows are expected");
  if (c.inputs.size() != 1 + 2 * axes.size()) c.type_error("two numbers for each axis are expected");
  steps_of(c.attrs, axes.size(), [&](const std::string& message) { c.type_error(message); });
  if (c.attrs.text("outside") != "zero" && c.attrs.text("outside") != "lowest")
    c.type_error("zero or lowest is read outside");
  Ints all = axes;
  all.insert(all.end(), taps.begin(), taps.end());
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end()) c.type_error("an axis twice");
  if (!all.empty() && (all.front() < 0 || all.back() >= std::ssize(result.shape))) c.type_error("no such axis");
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const Dim count = c.value_of(1 + 2 * j);
    if (const auto number = c.known(count); number && *number < 0)
      c.shape_error(fmt::format("{} windows along axis {}", *number, axes[j]));
    c.value_of(2 + 2 * j);
    base::nth(result.shape, axes[j]) = count;
  }
  return result;
}

/// Whether all elements of all windows are known to be inside the axis.
bool is_inside_axis(const Steps& steps, std::size_t j, std::optional<std::int64_t> n, std::optional<std::int64_t> count,
                    std::optional<std::int64_t> taps, std::optional<std::int64_t> before) {
  if (!n || !count || !taps || !before || steps.spreads[j] != 1) return false;
  constexpr std::int64_t most = std::int64_t{1} << 30;  // with steps below 2^31, no product overflows
  if (*count > most || *taps > most || std::abs(*before) > most) return false;
  if (*count < 1 || *taps < 1) return true;
  const std::int64_t far_window = steps.strides[j] * (*count - 1), far_tap = steps.dilations[j] * (*taps - 1);
  const std::int64_t first = std::min<std::int64_t>(far_window, 0) + std::min<std::int64_t>(far_tap, 0) - *before;
  const std::int64_t last = std::max<std::int64_t>(far_window, 0) + std::max<std::int64_t>(far_tap, 0) - *before;
  return first >= 0 && last < *n;
}

expr::Scalar lowest(DType dtype) {
  if (is_float(dtype)) return expr::Scalar::of_double(-std::numeric_limits<double>::infinity(), dtype);
  if (is_bool(dtype) || is_unsigned_int(dtype)) return expr::Scalar::of_int(0, dtype);
  return expr::Scalar::of_int(std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(dtype)), dtype);
}

NodeId slide_element(ElementContext& c) {
  Arena& body = c.body;
  const Ints &axes = c.attrs.ints("axes"), &taps = c.attrs.ints("taps");
  const Steps steps = steps_of(c.attrs);
  std::vector<NodeId> at = c.index;
  NodeId inside = expr::no_node;
  const auto demand = [&](NodeId condition) {
    inside = inside == expr::no_node ? condition : body.make("and", {inside, condition});
  };
  const NodeId zero = body.integer(0);
  for (std::size_t j = 0; j < axes.size(); ++j) {
    const std::size_t axis = base::to_size(axes[j]), tap = base::to_size(taps[j]);
    const NodeId n = c.input_shapes[0][axis], before = c.read(2 + 2 * j, {});
    const auto scaled = [&](NodeId x, std::int64_t step) { return body.size_arithmetic("mul", x, body.integer(step)); };
    const NodeId window = scaled(c.index[axis], steps.strides[j]), element = scaled(c.index[tap], steps.dilations[j]);
    NodeId place = body.size_arithmetic("sub", body.size_arithmetic("add", window, element), before);
    if (!is_inside_axis(steps, j, body.known(n), body.known(c.shape[axis]), body.known(c.shape[tap]),
                        body.known(before))) {
      demand(body.make("ge", {place, zero}));
      if (const std::int64_t spread = steps.spreads[j]; spread != 1) {
        const NodeId whole = body.integer(spread);
        demand(body.make("eq", {body.size_arithmetic("mod", place, whole), zero}));
        place = body.size_arithmetic("floor_divide", place, whole);
      }
      demand(body.make("lt", {place, n}));
    }
    at[axis] = place;
  }
  if (inside == expr::no_node) return c.read(0, at);
  const NodeId value = c.read_if(inside, 0, at);
  if (c.attrs.text("outside") == "zero") return value;
  return body.make("where", {inside, value, body.scalar(lowest(c.dtype))});
}

std::int64_t number_of(const Array& value) { return value.astype(DType::int64).item<std::int64_t>(); }

Array evaluate_slide(const EvaluateContext& c) {
  const Ints &axes = c.attrs.ints("axes"), &taps = c.attrs.ints("taps");
  const Steps steps = steps_of(c.attrs);
  const Array& x = c.inputs[0];
  const std::int64_t bytes = base::element_size(c.dtype);
  const expr::Scalar outside =
      c.attrs.text("outside") == "lowest" ? lowest(c.dtype) : expr::Scalar::of_int(0, DType::int64).cast(c.dtype);
  std::vector<std::int64_t> before;
  for (std::size_t j = 0; j < axes.size(); ++j) before.push_back(number_of(c.inputs[2 + 2 * j]));
  const Array other = (is_float(c.dtype) ? Array(outside.as_double()) : Array(outside.i)).astype(c.dtype);
  Array result = Array::empty(c.dtype, c.shape);
  Sizes index(c.shape.size(), 0);
  for (std::int64_t n = 0; n < result.size(); ++n) {
    std::int64_t rest = n;
    for (std::size_t d = index.size(); d-- > 0; rest /= c.shape[d]) index[d] = rest % c.shape[d];
    Sizes at = index;
    bool inside = true;
    for (std::size_t j = 0; j < axes.size(); ++j) {
      const std::size_t axis = base::to_size(axes[j]), tap = base::to_size(taps[j]);
      const auto place = element_at(steps, j, before[j], x.shape()[axis], index[axis], index[tap]);
      inside = inside && place;
      at[axis] = place.value_or(0);
    }
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d) from = from * x.shape()[d] + at[d];
    const std::byte* source = inside ? base::bytes_of(x) + from * bytes : base::bytes_of(other);
    std::memcpy(base::writable_bytes_of(result) + n * bytes, source, size_of(c.dtype));
  }
  return result;
}

std::vector<Variable> slide_gradient(const GradientContext& c) {
  const Ints& axes = c.node.attrs.ints("axes");
  std::vector<Variable> inputs{c.gradient}, before;
  for (std::size_t j = 0; j < axes.size(); ++j) before.push_back(c.input(2 + 2 * j));
  expr::Attrs attrs = with_steps(inverse(steps_of(c.node.attrs), before), c.node.attrs);
  attrs.set("outside", "zero");
  for (std::size_t j = 0; j < axes.size(); ++j) {
    inputs.push_back(c.input(0).shape(base::to_int(axes[j])));
    inputs.push_back(before[j]);
  }
  std::vector<Variable> result(c.inputs.size());
  result[0] = builder::apply("slide", inputs, attrs, c.node.where);
  return result;
}

builder::Batched batch_slide(const builder::BatchContext& c) {
  c.require_same(1, "a number of windows");
  expr::Attrs attrs = c.node.attrs;
  for (const char* name : {"axes", "taps"}) {
    Ints list = attrs.ints(name);
    for (std::int64_t& axis : list) ++axis;
    attrs.set(name, list);
  }
  return {builder::apply("slide", c.inputs, attrs, c.node.where)};
}

// ---- convolve: inputs x (batch, groups, channels, sizes...), filters (groups, results, channels, window...), then for
// each axis of windows their number and `before`. The result is (batch, groups, results, windows...), or with
// channels_last (batch, windows..., groups, results): the sum over channels and the elements of a window ----

bool channels_last(const expr::Attrs& attrs) { return attrs.integer("channels_last") != 0; }

InferredType infer_convolve(InferContext& c) {
  const InferredType &x = c.inputs[0], &filters = c.inputs[1];
  const std::size_t rank = x.shape.size();
  if (rank < 4 || filters.shape.size() != rank)
    c.type_error("convolve takes batch, groups, channels and at least one more axis, and as many of filters");
  if (x.dtype != filters.dtype) c.type_error("both sides must have one dtype");
  const std::size_t axes = rank - 3;
  if (c.inputs.size() != 2 + 2 * axes) c.type_error("two numbers for each axis are expected");
  steps_of(c.attrs, axes, [&](const std::string& message) { c.type_error(message); });
  const Dim groups = c.require_equal(x.shape[1], filters.shape[0], "both sides must have as many groups");
  c.require_equal(x.shape[2], filters.shape[2], "filters must have as many channels as the images");
  std::vector<Dim> windows;
  for (std::size_t j = 0; j < axes; ++j) {
    windows.push_back(c.value_of(2 + 2 * j));
    c.value_of(3 + 2 * j);
    if (const auto number = c.known(windows[j]); number && *number < 0)
      c.shape_error(fmt::format("{} windows along axis {}", *number, j));
  }
  InferredType result{x.dtype, {x.shape[0], groups, filters.shape[1]}};
  result.shape.insert(result.shape.begin() + (channels_last(c.attrs) ? 1 : 3), windows.begin(), windows.end());
  return result;
}

/// Accumulates in T, tap by tap.
template <class T>
Array convolved(const EvaluateContext& c, DType wide) {
  const Array x = c.inputs[0].astype(wide).copy(), f = c.inputs[1].astype(wide).copy();
  const Steps steps = steps_of(c.attrs);
  const std::size_t axes = x.shape().size() - 3;
  const std::int64_t batch = x.shape()[0], groups = x.shape()[1], channels = x.shape()[2], results = f.shape()[1];
  const std::span<const std::int64_t> windows = std::span(c.shape).subspan(channels_last(c.attrs) ? 1 : 3, axes);
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const std::int64_t places = product(windows.begin(), windows.end());
  const std::int64_t taps = product(f.shape().begin() + 3, f.shape().end());
  const std::int64_t size = product(x.shape().begin() + 3, x.shape().end());
  Array out = Array::zeros(wide, c.shape);
  Sizes at(axes), tap(axes), before(axes);
  for (std::size_t j = 0; j < axes; ++j) before[j] = number_of(c.inputs[3 + 2 * j]);
  const auto unravel = [axes](std::int64_t n, auto extent, Sizes& index) {
    for (std::size_t j = axes; j-- > 0; n /= extent(j)) index[j] = n % extent(j);
  };
  for (std::int64_t w = 0; w < places; ++w) {
    unravel(w, [&](std::size_t j) { return windows[j]; }, at);
    for (std::int64_t t = 0; t < taps; ++t) {
      unravel(t, [&](std::size_t j) { return f.shape()[3 + j]; }, tap);
      std::int64_t from = 0;
      bool inside = true;
      for (std::size_t j = 0; j < axes; ++j) {
        const std::int64_t n = x.shape()[3 + j];
        const auto place = element_at(steps, j, before[j], n, at[j], tap[j]);
        inside = inside && place;
        from = from * n + place.value_or(0);
      }
      if (!inside) continue;
      for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t g = 0; g < groups; ++g) {
          for (std::int64_t o = 0; o < results; ++o) {
            const std::int64_t to = channels_last(c.attrs) ? ((b * places + w) * groups + g) * results + o
                                                           : ((b * groups + g) * results + o) * places + w;
            T& sum = base::nth(out.data<T>(), to);
            for (std::int64_t i = 0; i < channels; ++i) {
              sum += base::nth(x.data<T>(), ((b * groups + g) * channels + i) * size + from) *
                     base::nth(f.data<T>(), ((g * results + o) * channels + i) * taps + t);
            }
          }
        }
      }
    }
  }
  return out.astype(c.dtype);
}

Array evaluate_convolve(const EvaluateContext& c) {
  return is_discrete(c.dtype) ? convolved<std::uint64_t>(c, DType::uint64) : convolved<double>(c, DType::float64);
}

/// Appends first, first + 1, ..., first + count - 1.
void append_axes(std::vector<int>& axes, int first, int count) {
  for (int j = 0; j < count; ++j) axes.push_back(first + j);
}

std::vector<Variable> convolve_gradient(const GradientContext& c) {
  const Variable &x = c.input(0), &filters = c.input(1);
  const int axes = x.rank() - 3;
  const bool last = channels_last(c.node.attrs);
  const Steps steps = steps_of(c.node.attrs);
  Variable g = c.gradient;
  if (last) {  // (batch, groups, results, windows...)
    std::vector<int> order{0, axes + 1, axes + 2};
    append_axes(order, 1, axes);
    g = transpose(g, order);
  }
  std::vector<Variable> before, sizes, window;
  for (int j = 0; j < axes; ++j) {
    before.push_back(base::nth(c.inputs, 3 + 2 * j));
    sizes.push_back(x.shape(3 + j));
    window.push_back(filters.shape(3 + j));
  }
  std::vector<int> swapped_filters{0, 2, 1}, first_two_back{2, 1, 0}, results_first{1, 2, 0};
  append_axes(swapped_filters, 3, axes);
  append_axes(first_two_back, 3, axes);
  std::vector<Variable> back = before;
  const Steps backwards = inverse(steps, back);
  Variable by_x = convolve(g, transpose(filters, swapped_filters), backwards, sizes, back, last, c.node.where);
  if (last) {
    std::vector<int> order{0, axes + 1, axes + 2};
    append_axes(order, 1, axes);
    by_x = transpose(by_x, order);
  }
  // Here the sum is over windows, and the elements of windows remain: strides and dilations are swapped.
  const Steps along{steps.dilations, steps.strides, steps.spreads};
  std::vector<int> g_order{1, 2, 0};
  append_axes(g_order, 3, axes);
  // (channels, window..., groups, results): one matrix product, while the other order has one per channel.
  const Variable by_filters =
      convolve(transpose(x, first_two_back), transpose(g, g_order), along, window, before, true, c.node.where);
  std::vector<int> order{axes + 1, axes + 2, 0};
  append_axes(order, 1, axes);
  std::vector<Variable> result(c.inputs.size());
  result[0] = by_x;
  result[1] = transpose(by_filters, order);
  return result;
}

/// A batch of images is merged with the images. A batch of filters, each for its own images, is merged with the groups.
builder::Batched batch_convolve(const builder::BatchContext& c) {
  c.require_same(2, "a number of windows");
  std::vector<Variable> inputs = c.inputs;
  const bool last = channels_last(c.node.attrs);
  const int rank = c.node.inputs[0].rank(), axes = rank - 3;
  const auto merged = [](const Variable& x, int axis) {  // two axes as one
    std::vector<Operand> shape;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != axis) shape.emplace_back(d == axis + 1 ? size_arithmetic("mul", x.shape(axis), x.shape(d)) : x.shape(d));
    }
    return reshape(x, shape);
  };
  const auto cut = [](const Variable& x, int axis, const Variable& front, const Variable& back) {
    std::vector<Operand> shape;
    for (int d = 0; d < x.rank(); ++d) {
      if (d == axis) shape.emplace_back(front);
      shape.emplace_back(d == axis ? back : x.shape(d));
    }
    return reshape(x, shape);
  };
  const Variable &x = c.inputs[0], &filters = c.inputs[1];
  if (!c.batched[1]) {
    inputs[0] = merged(x, 0);
    return {cut(builder::apply("convolve", inputs, c.node.attrs, c.node.where), 0, c.size, x.shape(1))};
  }
  const Variable groups = filters.shape(1);
  std::vector<int> to_groups{1, 0};  // (batch, many, groups, ...)
  append_axes(to_groups, 2, rank - 1);
  inputs[0] = merged(transpose(c.repeated(0), to_groups), 1);
  inputs[1] = merged(filters, 0);
  const int at = last ? 1 + axes : 1;
  const Variable result = cut(builder::apply("convolve", inputs, c.node.attrs, c.node.where), at, c.size, groups);
  std::vector<int> back{at};
  for (int d = 0; d < result.rank(); ++d) {
    if (d != at) back.push_back(d);
  }
  return {transpose(result, back)};
}

/// The nodes of a convolution.
struct Convolution {
  Arena& arena;
  NodeId slide;    // (batch, groups, channels, windows..., taps...)
  NodeId filters;  // (groups, results, channels, taps...)
  std::int64_t axes;
  bool last;  // channels_last

  NodeId ordered(NodeId x, const Ints& pattern) const { return arena.make("dimshuffle", {x}, {{"pattern", pattern}}); }
};

/// The axis of x that is contiguous in memory, by its views.
std::int64_t fastest_axis(const Arena& arena, NodeId x) {
  std::int64_t axis = std::ssize(arena.type(x).shape) - 1;
  for (;; x = arena.input(x, 0)) {
    const expr::Op& op = arena.op(x);
    if (op.is(expr::Core::dimshuffle)) {
      const Ints& pattern = arena.attrs(x).ints("pattern");
      const std::int64_t own = std::ssize(arena.type(arena.input(x, 0)).shape) - 1;
      const auto at = std::ranges::find(pattern, own);
      if (at == pattern.end()) return axis;
      axis = at - pattern.begin();
    } else if (op.kind != expr::Kind::Map || arena.type(arena.input(x, 0)).rank() != arena.type(x).rank()) {
      return axis;
    }
  }
}

/// The sum over channels and elements of windows of products. The last axis of the result is the last axis of the
/// products too, so that kernels run along it. Among the summed axes, and among those of x, the axis that is contiguous
/// in memory is the last one.
NodeId as_sum(const Convolution& c, NodeId x) {
  // (batch, groups, results, channels, window..., windows...) or (batch, windows..., groups, channels, window...,
  // results), with -1 where a side is broadcast
  Ints of_x, of_f, summed;
  const std::int64_t fastest = fastest_axis(c.arena, x);
  const bool images_last = c.last && fastest == 0, channels_last = fastest == 2;
  Ints order;  // the axes of the convolution's result in the order of the sum
  const auto add = [&](std::int64_t in_x, std::int64_t in_f) {
    of_x.push_back(in_x);
    of_f.push_back(in_f);
  };
  const auto add_batch = [&] {
    add(0, -1);
    order.push_back(0);
  };
  const auto add_windows = [&] {
    for (std::int64_t j = 0; j < c.axes; ++j) {
      add(3 + j, -1);
      order.push_back((c.last ? 1 : 3) + j);
    }
  };
  const auto add_groups = [&] {
    add(1, 0);
    order.push_back(c.last ? 1 + c.axes : 1);
  };
  const auto add_results = [&] {
    add(-1, 1);
    order.push_back(c.last ? 2 + c.axes : 2);
  };
  const auto add_summed = [&] {
    const auto add_channels = [&] {
      summed.push_back(std::ssize(of_x));
      add(2, 2);
    };
    if (!channels_last) add_channels();
    for (std::int64_t j = 0; j < c.axes; ++j) {
      summed.push_back(std::ssize(of_x));
      add(3 + c.axes + j, 3 + j);
    }
    if (channels_last) add_channels();
  };
  if (images_last) {
    add_windows();
    add_batch();
  } else {
    add_batch();
    if (c.last) add_windows();
  }
  add_groups();
  if (!c.last) add_results();
  add_summed();
  c.last ? add_results() : add_windows();
  const NodeId product = c.arena.make("mul", {c.ordered(c.slide, of_x), c.ordered(c.filters, of_f)});
  const NodeId sum = c.arena.make("sum", {product}, {{"axes", summed}});
  const Ints back = expr::inverse_order(order);
  return std::ranges::is_sorted(back) ? sum : c.ordered(sum, back);
}

NodeId expand_convolve(Arena& arena, NodeId node) {
  const expr::Attrs attrs = arena.attrs(node);
  const std::vector<NodeId> inputs(arena.inputs(node).begin(), arena.inputs(node).end());
  const DType dtype = arena.type(node).dtype, wide = compute_dtype(dtype);
  const NodeId x = arena.cast(inputs[0], wide), filters = arena.cast(inputs[1], wide);
  const std::vector<NodeId> x_shape = arena.type(x).shape, f_shape = arena.type(filters).shape;
  const std::int64_t axes = std::ssize(x_shape) - 3;

  Ints pattern = expr::all_axes(x_shape.size());
  pattern.insert(pattern.end(), f_shape.size() - 3, -1);
  std::vector<NodeId> repeated{arena.make("dimshuffle", {x}, {{"pattern", pattern}})};
  repeated.insert(repeated.end(), x_shape.begin(), x_shape.end());
  repeated.insert(repeated.end(), f_shape.begin() + 3, f_shape.end());
  std::vector<NodeId> slid{arena.make(expr::op("alloc"), repeated)};
  slid.insert(slid.end(), inputs.begin() + 2, inputs.end());
  expr::Attrs slide_attrs = with_steps(steps_of(attrs));
  slide_attrs.set("axes", expr::axes_from<std::int64_t>(3, axes));
  slide_attrs.set("taps", expr::axes_from(3 + axes, axes));
  slide_attrs.set("outside", "zero");
  const Convolution c{arena, arena.make(expr::op("slide"), slid, slide_attrs), filters, axes, channels_last(attrs)};
  return arena.cast(as_sum(c, x), dtype);
}

}  // namespace

Steps inverse(const Steps& steps, std::vector<Variable>& before) {
  Steps result;
  for (std::size_t j = 0; j < before.size(); ++j) {
    const std::int64_t sign = steps.strides[j] < 0 ? -1 : 1;
    result.strides.push_back(sign * steps.spreads[j]);
    result.dilations.push_back(-sign * steps.dilations[j]);
    result.spreads.push_back(sign * steps.strides[j]);
    if (sign > 0) before[j] = size_arithmetic("sub", builder::scalar_constant(0, DType::int64), before[j]);
  }
  return result;
}

Variable slide(const Variable& x, const Ints& axes, const Ints& taps, const Steps& steps,
               const std::vector<Variable>& counts, const std::vector<Variable>& before, Outside outside, Where where) {
  std::vector<Variable> inputs{x};
  for (std::size_t j = 0; j < axes.size(); ++j) {
    inputs.push_back(counts[j]);
    inputs.push_back(before[j]);
  }
  expr::Attrs attrs = with_steps(steps, {{"axes", axes}, {"taps", taps}});
  attrs.set("outside", outside == Outside::zero ? "zero" : "lowest");
  return builder::apply("slide", inputs, attrs, where);
}

Variable convolve(const Variable& x, const Variable& filters, const Steps& steps, const std::vector<Variable>& counts,
                  const std::vector<Variable>& before, bool channels_last_result, Where where) {
  std::vector<Variable> inputs{x, filters};
  for (std::size_t j = 0; j < counts.size(); ++j) {
    inputs.push_back(counts[j]);
    inputs.push_back(before[j]);
  }
  return builder::apply("convolve", inputs, with_steps(steps, {{"channels_last", std::int64_t{channels_last_result}}}),
                        where);
}

void register_window(Registry& registry) {
  static const expr::Op slide_op{.name = "slide",
                                 .kind = expr::Kind::Window,
                                 .arity = -1,
                                 .doc = "the elements of windows along axes",
                                 .infer = infer_slide,
                                 .gradient = slide_gradient,
                                 .evaluate = evaluate_slide,
                                 .element = slide_element,
                                 .batch = batch_slide};
  registry.add(slide_op);
  static const expr::Op convolve_op{.name = "convolve",
                                    .kind = expr::Kind::Expand,
                                    .arity = -1,
                                    .doc = "sums of products of windows and filters",
                                    .infer = infer_convolve,
                                    .gradient = convolve_gradient,
                                    .expand = expand_convolve,
                                    .evaluate = evaluate_convolve,
                                    .batch = batch_convolve};
  registry.add(convolve_op);
}

}  // namespace croton::ops
