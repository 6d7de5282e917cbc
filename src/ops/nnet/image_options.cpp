#include "ops/nnet/image_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/nnet/window.hpp"

namespace croton::ops {
namespace {

using nnet::Border;

/// d (taps - 1): the distance from the first to the last element of a window.
Variable reach(const Variable& taps, std::int64_t dilation) {
  return with_number("mul", with_number("sub", taps, 1), dilation);
}

Variable zero() { return whole(0); }

/// {before, after}
std::pair<Variable, Variable> widths(const ImageOp& op, std::size_t j, const Variable& n, const Variable& taps,
                                     std::int64_t stride, std::int64_t dilation, const Border& border) {
  const Variable far = reach(taps, dilation);
  switch (border.rule) {
    case Border::Rule::valid:
      return {zero(), zero()};
    case Border::Rule::full:
      return {far, far};
    case Border::Rule::half: {
      const Variable half = with_number("floor_divide", with_number("add", far, 1), 2);
      return {half, half};
    }
    case Border::Rule::causal:
      return {far, zero()};
    case Border::Rule::same: {
      // ceil(n / stride) windows span (ceil(n / stride) - 1) stride + far + 1 elements.
      const Variable count = with_number("floor_divide", with_number("add", n, stride - 1), stride);
      const Variable reached = size_arithmetic("add", with_number("mul", with_number("sub", count, 1), stride), far);
      const Variable missing = with_number("maximum", with_number("add", size_arithmetic("sub", reached, n), 1), 0);
      const Variable before = with_number("floor_divide", missing, 2);
      return {before, size_arithmetic("sub", missing, before)};
    }
    case Border::Rule::widths:
      break;
  }
  if (border.widths.size() != 1 && border.widths.size() != op.axes)
    op.type_error(fmt::format("borders for {} axes, where there are {}", border.widths.size(), op.axes));
  const auto& [before, after] = border.widths[border.widths.size() == 1 ? 0 : j];
  for (const Operand& width : {before, after}) {
    demand_whole(op.name, op.x, "the width of a border", width);
    replace_line(width, op.x.where);
    if (const auto number = known_size(width.variable); number && *number < 0)
      op.value_error(fmt::format("a border of {}; widths are at least 0", *number));
  }
  return {before.variable, after.variable};
}

}  // namespace

Variable whole(std::int64_t value) { return constant(Array(value)); }

Variable with_number(std::string_view op, const Variable& a, std::int64_t b) {
  return size_arithmetic(op, a, whole(b));
}

std::optional<std::int64_t> known_size(const Variable& size) {
  if (!size.is_constant()) return std::nullopt;
  return size.node()->value.astype(DType::int64).item<std::int64_t>();
}

void ImageOp::type_error(const std::string& message) const {
  throw TypeError(
      fmt::format("{} ({}): {}: {}", name, builder::describe(x.where), builder::describe(x.variable), message));
}
void ImageOp::value_error(const std::string& message) const {
  throw ValueError(
      fmt::format("{} ({}): {}: {}", name, builder::describe(x.where), builder::describe(x.variable), message));
}
void ImageOp::shape_error(const std::string& message) const {
  throw ShapeError(
      fmt::format("{} ({}): {}: {}", name, builder::describe(x.where), builder::describe(x.variable), message));
}

std::vector<std::int64_t> ImageOp::steps(const std::vector<std::int64_t>& given, std::string_view what) const {
  if (given.empty()) return std::vector<std::int64_t>(axes, 1);
  if (given.size() != 1 && given.size() != axes)
    type_error(fmt::format("{} {} for {} axes; one is for all, else there is one for each", given.size(), what, axes));
  for (const std::int64_t step : given) {
    if (step < 1 || step > max_step) value_error(fmt::format("{} among the {}, which are at least 1", step, what));
  }
  return given.size() == axes ? given : std::vector<std::int64_t>(axes, given[0]);
}

Windows windows_along(const ImageOp& op, std::size_t j, const Variable& n, const Variable& taps, std::int64_t stride,
                      std::int64_t dilation, const Border& border) {
  const auto [before, after] = widths(op, j, n, taps, stride, dilation, border);
  const Variable whole = size_arithmetic("add", size_arithmetic("add", n, before), after);
  const Variable room = with_number("sub", size_arithmetic("sub", whole, reach(taps, dilation)), 1);
  if (const auto left = known_size(room); left && *left < 0) {
    op.shape_error(
        fmt::format("a window of {} elements reaches over {}, where axis {} of the image has {} with its borders",
                    *known_size(taps), *known_size(reach(taps, dilation)) + 1, j, *known_size(whole)));
  }
  Windows result{with_number("add", with_number("floor_divide", room, stride), 1), before, after};
  if (border.rule != Border::Rule::same) {
    const Variable borders = size_arithmetic("add", before, after);
    result.least = size_arithmetic("sub", with_number("add", reach(taps, dilation), 1), borders);
  }
  return result;
}

Variable require_room(const Variable& image, int first, const std::vector<Windows>& along) {
  std::vector<std::optional<Operand>> shape(image.type().rank());
  int axis = first - 1;
  for (const Windows& windows : along) {
    const Variable n = image.shape(++axis), &least = windows.least;
    if (!least.defined() || known_size(least).value_or(1) < 1 || (known_size(n) && known_size(least))) continue;
    base::nth(shape, axis) = size_arithmetic("maximum", n, least);
  }
  return require_shape(image, shape, "the image with its borders must have room for a window");
}

}  // namespace croton::ops

namespace croton::nnet {

Border::Border(std::string_view name) {
  static constexpr std::pair<std::string_view, Rule> rules[] = {{"valid", Rule::valid},
                                                                {"full", Rule::full},
                                                                {"half", Rule::half},
                                                                {"same", Rule::same},
                                                                {"causal", Rule::causal}};
  const auto* found = std::ranges::find(rules, name, &std::pair<std::string_view, Rule>::first);
  if (found == std::end(rules))
    throw ValueError(fmt::format("a border \"{}\"; valid, full, half, same and causal are known, or widths", name));
  rule = found->second;
}
Border::Border(Operand width) : rule(Rule::widths), widths{{width, width}} {}
Border::Border(const std::vector<Operand>& both_sides) : rule(Rule::widths) {
  for (const Operand& width : both_sides) widths.emplace_back(width, width);
}

}  // namespace croton::nnet
