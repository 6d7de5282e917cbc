#include "runtime/cpu/dnn/dnn_problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "base/rounding.hpp"
#include "runtime/device/elements.hpp"

namespace croton::runtime::cpu::dnn {
namespace {

using Axis = Problem::Axis;

// With sizes and steps below this, no product of two overflows, and the library can compute with its own integers.
constexpr std::int64_t max_size = std::numeric_limits<std::int32_t>::max() / 4;

std::int64_t reach(const Axis& axis) { return (axis.taps - 1) * axis.dilation + 1; }

/// The description with default values for numbers that have no effect.
Convolution normalized(Convolution c) {
  for (Convolution::Axis& axis : c.used_axes()) {
    if (axis.windows == 1) axis.stride = 1;
    if (axis.taps == 1) axis.dilation = 1;
    if (axis.size == 1) axis.spread = 1;  // only its element 0 counts, which is at 0 with any spread
  }
  return c;
}

template <class Condition>
bool all_axes(const Convolution& c, Condition condition) {
  return std::ranges::all_of(c.used_axes(), condition);
}

std::string fault_of(const Convolution& c) {
  if (c.dtype != DType::float32) return std::string(name_of(c.dtype)) + " where float32 is expected";
  if (c.axes < 1 || c.axes > 3) return fmt::format("{} axes where 1 to 3 are expected", c.axes);
  for (const std::int64_t size : {c.batch, c.groups, c.channels, c.results}) {
    if (size < 1 || size > max_size) return fmt::format("a size of {}", size);
  }
  for (std::size_t j = 0; j < c.axes; ++j) {
    const Convolution::Axis& axis = c.axis[j];
    for (const std::int64_t size : {axis.size, axis.windows, axis.taps}) {
      if (size < 1 || size > max_size) return fmt::format("a size of {} along axis {}", size, j);
    }
    for (const std::int64_t step : {axis.stride, axis.dilation, axis.spread, axis.before}) {
      if (step > max_size || step < -max_size) return fmt::format("a step of {} along axis {}", step, j);
    }
    if (axis.stride == 0 || axis.dilation == 0) return fmt::format("a step of 0 along axis {}", j);
    if (axis.spread < 1) return fmt::format("a spread of {} along axis {}", axis.spread, j);
  }
  return "";
}

std::optional<Task> task_of(const Convolution& c) {
  using A = Convolution::Axis;
  if (!all_axes(c, [](const A& axis) { return axis.spread == 1; })) {
    if (all_axes(c, [](const A& axis) { return axis.stride == 1; })) return Task::by_image;
    if (all_axes(c, [](const A& axis) { return axis.dilation == 1; })) return Task::by_filters;
    return std::nullopt;
  }
  const bool by_image = all_axes(c, [](const A& axis) { return axis.stride == 1; });
  const bool by_filters = all_axes(c, [](const A& axis) { return axis.dilation > 0; });
  const bool forward = all_axes(c, [](const A& axis) { return axis.stride > 0; });
  const double windows = real_product(c.used_axes(), &A::windows), taps = real_product(c.used_axes(), &A::taps);
  // In memory of every usual order, images are farther apart than channels.
  const bool images_as_channels = c.batch > 1 && c.channels > 1 ? c.x_channel_step > c.x_batch_step : taps > windows;
  if (by_filters && (images_as_channels || !forward)) return Task::by_filters;
  // Reversed filters need no copy there.
  if (by_image && !by_filters) return Task::by_image;
  if (forward) return Task::forward;
  return std::nullopt;
}

/// Reverses filters along an axis whose dilation is negative.
void make_dilation_positive(Problem& p, Axis& axis) {
  if (axis.dilation > 0) return;
  axis.dilation = -axis.dilation;
  axis.before += axis.dilation * (axis.taps - 1);
  p.filter_at += axis.filter_step * (axis.taps - 1);
  axis.filter_step = -axis.filter_step;
}

Problem as_forward(const Convolution& c) {
  Problem p{.task = Task::forward,
            .axes = c.axes,
            .images = c.batch,
            .groups = c.groups,
            .channels = c.channels,
            .results = c.results,
            .image = {c.x_batch_step, c.x_group_step, c.x_channel_step},
            .filter = {c.filter_group_step, c.filter_result_step, c.filter_channel_step},
            .result = {c.result_batch_step, c.result_group_step, c.result_result_step}};
  for (std::size_t j = 0; j < c.axes; ++j) {
    const Convolution::Axis& a = c.axis[j];
    p.axis[j] = {a.size, a.windows, a.taps, a.stride, a.dilation, a.before, a.x_step, a.filter_step, a.result_step};
  }
  return p;
}

/// spread at = w + dilation t - before, solved for w.
Problem as_by_image(const Convolution& c) {
  Problem p{.task = Task::by_image,
            .axes = c.axes,
            .images = c.batch,
            .groups = c.groups,
            .channels = c.results,
            .results = c.channels,
            .image = {c.result_batch_step, c.result_group_step, c.result_result_step},
            .filter = {c.filter_group_step, c.filter_channel_step, c.filter_result_step},
            .result = {c.x_batch_step, c.x_group_step, c.x_channel_step}};
  for (std::size_t j = 0; j < c.axes; ++j) {
    const Convolution::Axis& a = c.axis[j];
    const std::int64_t dilation = a.taps == 1 ? 1 : -a.dilation;
    p.axis[j] = {a.windows, a.size, a.taps, a.spread, dilation, -a.before, a.result_step, a.filter_step, a.x_step};
  }
  return p;
}

/// Images are its channels, windows its taps.
Problem as_by_filters(const Convolution& c) {
  Problem p{.task = Task::by_filters,
            .axes = c.axes,
            .images = c.channels,
            .groups = c.groups,
            .channels = c.batch,
            .results = c.results,
            .image = {c.x_channel_step, c.x_group_step, c.x_batch_step},
            .filter = {c.result_group_step, c.result_result_step, c.result_batch_step},
            .result = {c.filter_channel_step, c.filter_group_step, c.filter_result_step}};
  for (std::size_t j = 0; j < c.axes; ++j) {
    const Convolution::Axis& a = c.axis[j];
    p.axis[j] = {a.size, a.taps, a.windows, a.dilation, a.stride, a.before, a.x_step, a.result_step, a.filter_step};
  }
  return p;
}

/// spread at = stride w + t - before, solved for t: the results are spread, as in the gradient by filters of a gradient
/// by images.
Problem as_swapped_by_filters(const Convolution& c) {
  Problem p{.task = Task::by_filters,
            .axes = c.axes,
            .images = c.channels,
            .groups = c.groups,
            .channels = c.results,
            .results = c.batch,
            .image = {c.filter_channel_step, c.filter_group_step, c.filter_result_step},
            .filter = {c.result_group_step, c.result_batch_step, c.result_result_step},
            .result = {c.x_channel_step, c.x_group_step, c.x_batch_step},
            .swapped = true};
  for (std::size_t j = 0; j < c.axes; ++j) {
    const Convolution::Axis& a = c.axis[j];
    const std::int64_t dilation = a.windows == 1 ? 1 : -a.stride;
    p.axis[j] = {a.taps, a.size, a.windows, a.spread, dilation, -a.before, a.filter_step, a.result_step, a.x_step};
  }
  return p;
}

Problem as_problem(const Convolution& c, Task task) {
  if (task == Task::forward) return as_forward(c);
  if (task == Task::by_image) return as_by_image(c);
  const bool spread = !all_axes(c, [](const Convolution::Axis& axis) { return axis.spread == 1; });
  return spread ? as_swapped_by_filters(c) : as_by_filters(c);
}

/// Leaves out elements that no window reaches. Returns the reason if that is not possible.
std::string crop(Problem& p) {
  for (std::size_t j = 0; j < p.axes; ++j) {
    Axis& axis = p.axis[j];
    // The elements before the first window, and those after the last one if they are at least a stride; fewer are never
    // read.
    const std::int64_t front = std::max<std::int64_t>(-axis.before, 0);
    const std::int64_t far = (axis.out - 1) * axis.stride + reach(axis) - axis.before;
    const std::int64_t back = axis.in - far >= axis.stride ? axis.in - far : 0;
    if (axis.before >= reach(axis) || axis.after() >= reach(axis))
      return fmt::format("windows inside the border along axis {}", j);
    if (front == 0 && back == 0) continue;
    if (p.task == Task::by_image) return fmt::format("elements that no window reaches along axis {}", j);
    if (front + back >= axis.in) return fmt::format("windows that reach no element along axis {}", j);
    axis.in -= front + back;
    axis.before += front;
    p.image_at += front * axis.image_step;
  }
  return "";
}

/// Whether the steps of all sizes above 1 are positive.
bool positive(std::initializer_list<std::array<std::int64_t, 2>> sizes_and_steps) {
  return std::all_of(sizes_and_steps.begin(), sizes_and_steps.end(),
                     [](const auto& pair) { return pair[0] == 1 || pair[1] > 0; });
}

std::string step_fault(const Problem& p) {
  bool images = positive({{p.images, p.image[0]}, {p.groups, p.image[1]}, {p.channels, p.image[2]}});
  bool results = positive({{p.images, p.result[0]}, {p.groups, p.result[1]}, {p.results, p.result[2]}});
  for (const Axis& axis : p.used_axes()) {
    images = images && positive({{axis.in, axis.image_step}});
    results = results && positive({{axis.out, axis.result_step}});
  }
  if (!images) return "images with steps in memory that are not positive";
  if (!results) return "results with steps in memory that are not positive";
  return "";
}

}  // namespace

std::int64_t Axis::after() const {
  return std::max<std::int64_t>((out - 1) * stride + (taps - 1) * dilation + 1 - in - before, 0);
}

std::int64_t Problem::taps() const {
  std::int64_t count = 1;
  for (const Axis& a : axis) count *= a.taps;
  return count;
}

std::int64_t Problem::windows() const {
  std::int64_t count = 1;
  for (const Axis& a : axis) count *= a.out;
  return count;
}

double Problem::work() const {
  return real_product({images, groups, channels, results}) * real_product(axis, &Axis::out) *
         real_product(axis, &Axis::taps);
}

bool Problem::groups_are_one_axis() const {
  if (groups == 1) return true;
  return (channels == 1 || image[1] == channels * image[2]) && (results == 1 || result[1] == results * result[2]);
}

bool Problem::flipped() const {
  return std::ranges::any_of(used_axes(), [](const Axis& a) { return a.taps > 1 && a.filter_step < 0; });
}

std::optional<Problem> recognise(const Convolution& description, std::string* why) {
  const auto refuse = [&](std::string reason) {
    if (why) *why = std::move(reason);
    return std::nullopt;
  };
  if (std::string fault = fault_of(description); !fault.empty()) return refuse(fault);
  const Convolution c = normalized(description);
  const std::optional<Task> task = task_of(c);
  if (!task) return refuse("strides, dilations and spreads that no routine has");
  Problem p = as_problem(c, *task);
  for (Axis& axis : p.axis) make_dilation_positive(p, axis);
  for (const std::string& fault : {crop(p), step_fault(p)}) {
    if (!fault.empty()) return refuse(fault);
  }
  // A library computes positions within one image and one result in 32 bits.
  const double image = real_product({p.groups, p.channels}) *
                       real_product(p.axis, [](const Axis& axis) { return axis.in + axis.before + axis.after(); });
  const double result = real_product({p.groups, p.results}) * real_product(p.axis, &Axis::out);
  const double filters = real_product({p.groups, p.channels, p.results}) * real_product(p.axis, &Axis::taps);
  if (std::max({image, result, filters}) > max_size) return refuse("an image or filters of too many elements");
  return p;
}

Problem images_of(const Problem& problem, std::int64_t first, std::int64_t count) {
  Problem part = problem;
  part.images = count;
  part.image_at += first * problem.image[0];
  part.result_at += first * problem.result[0];
  return part;
}

Problem group_of(const Problem& problem, std::int64_t group) {
  Problem part = problem;
  part.groups = 1;
  part.image_at += group * problem.image[1];
  part.filter_at += group * problem.filter[0];
  part.result_at += group * problem.result[1];
  return part;
}

std::int64_t min_rows(const Problem& problem) {
  const Axis& axis = problem.axis[0];
  if (problem.task != Task::by_image) return 1;
  // If windows have gaps between them, a part might begin in a gap.
  return reach(axis) < axis.stride ? axis.in : reach(axis) + axis.stride;
}

Problem rows_of(const Problem& problem, std::int64_t first, std::int64_t count) {
  Problem part = problem;
  Axis& axis = part.axis[0];
  std::int64_t image = 0, result = 0;  // where the part begins in both
  if (problem.task == Task::by_image) {
    image = first;
    // The windows that reach any of them.
    const std::int64_t reaching = first + axis.before - (reach(axis) - 1);
    result = reaching > 0 ? base::ceil_div(reaching, axis.stride) : 0;
    const std::int64_t end = std::min((first + count - 1 + axis.before) / axis.stride + 1, axis.out);
    axis.in = count;
    axis.out = end - result;
    axis.before = axis.before + first - axis.stride * result;
  } else {
    result = first;
    const std::int64_t begin = axis.stride * first - axis.before;
    const std::int64_t end = begin + axis.stride * (count - 1) + reach(axis);
    image = std::max<std::int64_t>(begin, 0);
    axis.in = std::min(end, axis.in) - image;
    axis.out = count;
    axis.before = image - begin;
  }
  part.image_at += image * axis.image_step;
  part.result_at += result * axis.result_step;
  return part;
}

namespace {

// A piece of this many multiplications takes about 100 us on one core; a call of the library takes some.
constexpr double piece_work = 4e6;
constexpr std::int64_t max_pieces = 64;
// Each piece of a gradient by filters has filters of its own; they are added up at the end.
constexpr std::int64_t max_sums = 16, max_sum_bytes = std::int64_t{64} << 20;
constexpr std::int64_t min_summed = 64;   // products for each element that is added up
constexpr double max_elements = 1 << 28;  // of a piece: a library counts them in 32 bits

std::int64_t wanted_pieces(const Problem& p) {
  auto wanted = static_cast<std::int64_t>(std::clamp<double>(p.work() / piece_work, 1, max_pieces));
  if (p.task == Task::by_filters) {
    const std::int64_t bytes = p.groups * p.channels * p.results * p.taps() * std::int64_t{sizeof(float)};
    wanted = std::min(
        {wanted, max_sums, max_sum_bytes / std::max<std::int64_t>(bytes, 1), p.windows() * p.images / min_summed});
  }
  const double image = real_product({p.groups, p.channels}) * real_product(p.axis, &Axis::in);
  const double result = real_product({p.groups, p.results}) * real_product(p.axis, &Axis::out);
  const double needed = std::max(image, result) * real_product({p.images}) / max_elements;
  return std::max({wanted, static_cast<std::int64_t>(needed), std::int64_t{1}});
}

/// The first axis of one image in even parts, as many as its rows allow.
void add_rows(const Problem& image, std::int64_t parts, std::vector<Problem>& pieces) {
  const std::int64_t rows = image.task == Task::by_image ? image.axis[0].in : image.axis[0].out;
  parts = std::clamp<std::int64_t>(rows / min_rows(image), 1, parts);
  if (parts == 1) return pieces.push_back(image);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = rows * part / parts, end = rows * (part + 1) / parts;
    pieces.push_back(rows_of(image, first, end - first));
  }
}

void add_pieces(const Problem& p, std::vector<Problem>& pieces) {
  const std::int64_t wanted = wanted_pieces(p);
  if (p.images >= wanted) {
    const std::int64_t each = base::ceil_div(p.images, wanted);
    for (std::int64_t first = 0; first < p.images; first += each)
      pieces.push_back(images_of(p, first, std::min(each, p.images - first)));
    return;
  }
  const std::int64_t parts = base::ceil_div(wanted, p.images);
  for (std::int64_t image = 0; image < p.images; ++image) add_rows(images_of(p, image, 1), parts, pieces);
}

}  // namespace

std::vector<Problem> pieces_of(const Problem& problem) {
  std::vector<Problem> pieces;
  if (problem.groups_are_one_axis()) {
    add_pieces(problem, pieces);
  } else {
    for (std::int64_t group = 0; group < problem.groups; ++group) add_pieces(group_of(problem, group), pieces);
  }
  return pieces;
}

}  // namespace croton::runtime::cpu::dnn
