// Convolutions (runtime/device/convolution.hpp) for tests: the layouts of their arrays, their results by definition,
// and their gradients as ops/nnet/window.cpp builds them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device/convolution.hpp"

namespace croton::test {

using runtime::Convolution;

enum class Part { x, filters, result };

/// An index of an array: its extent, and its step in memory. b: images, g: groups, c: channels, o: results; 0, 1, 2:
/// axes.
struct Index {
  std::int64_t extent;
  std::int64_t* step;
};
inline Index index_of(Convolution& c, Part part, char letter) {
  const bool x = part == Part::x, filters = part == Part::filters;
  switch (letter) {
    case 'b':
      return {c.batch, x ? &c.x_batch_step : &c.result_batch_step};
    case 'g':
      return {c.groups, x ? &c.x_group_step : filters ? &c.filter_group_step : &c.result_group_step};
    case 'c':
      return {c.channels, x ? &c.x_channel_step : &c.filter_channel_step};
    case 'o':
      return {c.results, filters ? &c.filter_result_step : &c.result_result_step};
    default: {
      Convolution::Axis& axis = c.axis[static_cast<std::size_t>(letter - '0')];
      return x         ? Index{axis.size, &axis.x_step}
             : filters ? Index{axis.taps, &axis.filter_step}
                       : Index{axis.windows, &axis.result_step};
    }
  }
}

/// Indices from the outermost to the innermost, such as "bgc012"; missing axes are omitted. There are `gap` elements
/// between rows of the innermost axis.
inline void lay(Convolution& c, Part part, std::string_view order, std::int64_t gap = 0) {
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (order[i] >= '0' && order[i] <= '2' && std::cmp_greater_equal(order[i] - '0', c.axes)) continue;
    const Index index = index_of(c, part, order[i]);
    *index.step = step;
    step *= index.extent;
    if (step == index.extent) step += gap;
  }
}

inline std::size_t elements(const Convolution& given, Part part) {
  Convolution c = given;
  std::int64_t last = 0;
  for (const char letter : std::string_view(part == Part::x ? "bgc" : part == Part::filters ? "goc" : "bgo")) {
    const Index index = index_of(c, part, letter);
    last += (index.extent - 1) * *index.step;
  }
  for (const char letter : std::string_view("012").substr(0, c.axes)) {
    const Index index = index_of(c, part, letter);
    last += (index.extent - 1) * *index.step;
  }
  return static_cast<std::size_t>(last) + 1;
}

/// The definition. Elements between those of the result are not changed.
template <class T>
void convolve_by_definition(const Convolution& c, const T* x, const T* filters, T* result) {
  using Three = std::array<std::int64_t, 3>;
  const auto each = [&](const auto& extent, const auto& body) {
    Three n{1, 1, 1};
    for (std::size_t j = 0; j < c.axes; ++j) n[j] = extent(c.axis[j]);
    for (std::int64_t i = 0; i < n[0] * n[1] * n[2]; ++i) body(Three{i / n[2] / n[1], i / n[2] % n[1], i % n[2]});
  };
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t g = 0; g < c.groups; ++g) {
      for (std::int64_t o = 0; o < c.results; ++o) {
        each([](const auto& axis) { return axis.windows; },
             [&](const Three& w) {
               T sum = 0;
               std::int64_t to = b * c.result_batch_step + g * c.result_group_step + o * c.result_result_step;
               for (std::size_t j = 0; j < 3; ++j) to += w[j] * c.axis[j].result_step;
               each([](const auto& axis) { return axis.taps; },
                    [&](const Three& t) {
                      std::int64_t from = b * c.x_batch_step + g * c.x_group_step;
                      std::int64_t tap = g * c.filter_group_step + o * c.filter_result_step;
                      for (std::size_t j = 0; j < c.axes; ++j) {
                        const Convolution::Axis& axis = c.axis[j];
                        const std::int64_t at = axis.stride * w[j] + axis.dilation * t[j] - axis.before;
                        if (at < 0 || at % axis.spread != 0 || at / axis.spread >= axis.size) return;
                        from += at / axis.spread * axis.x_step;
                        tap += t[j] * axis.filter_step;
                      }
                      for (std::int64_t i = 0; i < c.channels; ++i)
                        sum += x[from + i * c.x_channel_step] * filters[tap + i * c.filter_channel_step];
                    });
               result[to] = sum;
             });
      }
    }
  }
}

/// The gradient with respect to x, from that of the result; the layouts of x and the filters do not change.
inline Convolution gradient_by_x(const Convolution& c) {
  Convolution g = c;
  std::swap(g.channels, g.results);
  std::swap(g.filter_result_step, g.filter_channel_step);
  g.x_batch_step = c.result_batch_step, g.x_group_step = c.result_group_step, g.x_channel_step = c.result_result_step;
  g.result_batch_step = c.x_batch_step, g.result_group_step = c.x_group_step, g.result_result_step = c.x_channel_step;
  for (Convolution::Axis& axis : g.axis) {
    std::swap(axis.size, axis.windows);
    std::swap(axis.x_step, axis.result_step);
    const std::int64_t sign = axis.stride < 0 ? -1 : 1, spread = axis.spread;
    axis.spread = sign * axis.stride;
    axis.stride = sign * spread;
    axis.dilation *= -sign;
    if (sign > 0) axis.before = -axis.before;
  }
  return g;
}

/// The gradient with respect to the filters, in the layout "c012go" or in the given order.
inline Convolution gradient_by_filters(const Convolution& c, std::string_view order = "b012go") {
  Convolution g = c;
  std::swap(g.batch, g.channels);
  std::swap(g.x_batch_step, g.x_channel_step);
  g.filter_group_step = c.result_group_step;
  g.filter_result_step = c.result_result_step;
  g.filter_channel_step = c.result_batch_step;
  for (Convolution::Axis& axis : g.axis) {
    std::swap(axis.windows, axis.taps);
    std::swap(axis.stride, axis.dilation);
    axis.filter_step = axis.result_step;
  }
  lay(g, Part::result, order);
  return g;
}

}  // namespace croton::test
