#include "runtime/cuda/libraries/dnn_form.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace croton::runtime::cuda::dnn {
namespace {

constexpr std::int64_t max_elements = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t max_number = std::int64_t{1} << 29;  // sums and products of two stay in 64 bits

// ---- the three arrays, by source ----

/// The dimension that a pair of arrays shares besides groups and axes.
enum class Shared : std::uint8_t { batch, channels, results };

Shared shared(Source a, Source b) {
  if (a != Source::filters && b != Source::filters) return Shared::batch;
  return a != Source::result && b != Source::result ? Shared::channels : Shared::results;
}

std::int64_t extent(const Convolution& c, Shared which) {
  return which == Shared::batch ? c.batch : which == Shared::channels ? c.channels : c.results;
}

std::int64_t step(const Convolution& c, Source source, Shared which) {
  switch (source) {
    case Source::x:
      return which == Shared::batch ? c.x_batch_step : c.x_channel_step;
    case Source::filters:
      return which == Shared::results ? c.filter_result_step : c.filter_channel_step;
    case Source::result:
      break;
  }
  return which == Shared::batch ? c.result_batch_step : c.result_result_step;
}

std::int64_t group_step(const Convolution& c, Source source) {
  return source == Source::x ? c.x_group_step : source == Source::filters ? c.filter_group_step : c.result_group_step;
}

std::int64_t size(const Convolution::Axis& axis, Source source) {
  return source == Source::x ? axis.size : source == Source::filters ? axis.taps : axis.windows;
}

std::int64_t step(const Convolution::Axis& axis, Source source) {
  return source == Source::x ? axis.x_step : source == Source::filters ? axis.filter_step : axis.result_step;
}

/// In spread at - stride w - dilation t + before = 0.
std::int64_t coefficient(const Convolution::Axis& axis, Source source) {
  return source == Source::x ? axis.spread : source == Source::filters ? -axis.dilation : -axis.stride;
}

struct Places {
  Source image, filter, output;
};

// ---- an axis ----

struct AxisForm {
  std::int64_t pad = 0, stride = 1, dilation = 1;
  bool plain = false, flipped = false;  // neither for a single tap
  // Of the image, which has `size` elements for the library: `front` zeros, then `part` elements from `begin` on.
  std::int64_t size = 1, front = 0, part = 1, begin = 0;
};

/// h = stride p + dilation r - pad, with `length` values of h, `outputs` of p and `taps` of r.
struct Relation {
  std::int64_t stride, dilation, pad, length, outputs, taps;
  std::int64_t last() const { return stride * (outputs - 1) + dilation * (taps - 1) - pad; }
  /// Whether the library computes the right number of outputs, since it pads both ends equally; `after` is the padding
  /// that they need at the end.
  bool symmetric(std::int64_t before, std::int64_t after) const {
    return before >= 0 && before - after >= 0 && before - after < stride;
  }
};

/// The part of the image that is read, padded if its ends differ.
std::optional<AxisForm> fit_read(const Relation& r, AxisForm form) {
  form.begin = std::max<std::int64_t>(0, -r.pad);
  const std::int64_t before = form.begin + r.pad;
  for (const std::int64_t end : {r.length - 1, std::min(r.length - 1, r.last())}) {
    if (end < form.begin) return std::nullopt;  // nothing is read
    form.size = form.part = end - form.begin + 1;
    form.pad = before;
    if (r.symmetric(before, r.last() - end)) return form;
  }
  form.size = r.last() + r.pad + 1;
  form.front = before;
  form.pad = 0;
  return form;
}

/// The image is the result, and every element must be written.
std::optional<AxisForm> fit_written(const Relation& r, AxisForm form) {
  if (r.pad < 0) return std::nullopt;
  form.size = form.part = r.length;
  form.pad = r.pad;
  if (r.symmetric(r.pad, r.last() - (r.length - 1))) return form;
  form.front = r.pad;
  form.pad = 0;
  form.size = std::max(r.last(), r.length - 1) + r.pad + 1;
  // If a stride or more remains after the last window, the library would compute another window.
  if (form.size - 1 - r.pad - r.last() >= r.stride) return std::nullopt;
  return form;
}

std::optional<AxisForm> fit(const Convolution::Axis& axis, const Places& places) {
  Relation relation{0, 1, axis.before, size(axis, places.image), size(axis, places.output), size(axis, places.filter)};
  const std::int64_t of_image = coefficient(axis, places.image), of_output = coefficient(axis, places.output);
  // The coefficient of an index that is always 0 has no effect, so the sign is free if the image has one element.
  if (relation.length > 1 && of_image != 1 && of_image != -1) return std::nullopt;
  const std::int64_t sign = relation.length > 1    ? of_image
                            : relation.outputs > 1 ? (of_output < 0 ? 1 : -1)
                                                   : (coefficient(axis, places.filter) < 0 ? 1 : -1);
  if (relation.outputs > 1 && sign * of_output > 0) return std::nullopt;
  relation.stride = of_output < 0 ? -of_output : of_output;
  relation.pad *= sign;
  AxisForm form;
  if (relation.taps > 1) {
    const std::int64_t of_taps = sign * coefficient(axis, places.filter);
    form.plain = of_taps < 0;
    form.flipped = of_taps > 0;
    relation.dilation = form.plain ? -of_taps : of_taps;
    if (form.flipped) relation.pad += of_taps * (relation.taps - 1);
  }
  if (relation.pad > max_number || relation.pad < -max_number || relation.last() > max_number) return std::nullopt;
  form.stride = relation.stride;
  form.dilation = relation.dilation;
  return places.image == Source::result ? fit_written(relation, form) : fit_read(relation, form);
}

// ---- an operand ----

using WideNumbers = std::array<std::int64_t, max_dims>;

/// The numbers in the library's type, which is known to have them.
Numbers narrowed(const WideNumbers& numbers) {
  Numbers result{};
  std::ranges::transform(numbers, result.begin(), [](std::int64_t number) { return static_cast<int>(number); });
  return result;
}

/// Steps of an array without gaps.
WideNumbers packed_steps(const WideNumbers& sizes, std::size_t dims, bool channels_last) {
  WideNumbers steps{};
  std::int64_t next = 1;
  const auto take = [&](std::size_t d) {
    steps[d] = next;
    next *= sizes[d];
  };
  if (channels_last) take(1);
  for (std::size_t d = dims; d-- > 2;) take(d);
  if (!channels_last) take(1);
  take(0);
  return steps;
}

struct Role {
  Source source;
  Shared outer, inner;  // images or results of filters, and channels
  bool outer_has_groups;
};

class OperandMaker {
 public:
  OperandMaker(const Convolution& c, const std::vector<AxisForm>& axes, bool channels_last)
      : c_(c), axes_(axes), dims_(axes.size() + 2), last_(channels_last) {}

  std::optional<Operand> make(const Role& role, bool is_image, bool is_filter) const {
    WideNumbers sizes{}, part{}, own{};
    Operand made{.source = role.source};
    for (const auto& [d, which] : {std::pair<std::size_t, Shared>{0, role.outer}, {1, role.inner}}) {
      const bool grouped = (d == 0) == role.outer_has_groups;
      const auto joined = joined_step(role.source, which, grouped);
      if (!joined) return std::nullopt;
      part[d] = sizes[d] = extent(c_, which) * (grouped ? c_.groups : 1);
      own[d] = *joined;
    }
    const std::size_t first = dims_ - c_.axes;
    if (first == 3) part[2] = sizes[2] = 1;  // the library wants two axes
    for (std::size_t j = 0; j < c_.axes; ++j) {
      const AxisForm& axis = axes_[first - 2 + j];
      sizes[first + j] = is_image ? axis.size : size(c_.axis[j], role.source);
      part[first + j] = is_image ? axis.part : sizes[first + j];
      own[first + j] = step(c_.axis[j], role.source);
      if (is_image) made.offset += axis.begin * own[first + j];
      made.padded = made.padded || sizes[first + j] != part[first + j];
    }
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < dims_; ++d) {
      if (sizes[d] > max_elements / elements) return std::nullopt;
      elements *= sizes[d];
    }
    const auto steps = packed_steps(sizes, dims_, last_);
    made.copied = made.padded;
    std::int64_t reach = 0;
    for (std::size_t d = 0; d < dims_; ++d) {
      if (part[d] == 1) own[d] = steps[d];  // this step has no effect
      if (own[d] < 1) return std::nullopt;
      reach += (part[d] - 1) * own[d];
      // Images that are a part of a batch, or have a part of the channels, may have a larger step.
      const bool fits = d == 0 && !is_filter ? own[d] >= steps[d] : own[d] == steps[d];
      made.copied = made.copied || !fits;
    }
    if (reach > max_elements) return std::nullopt;
    made.sizes = narrowed(sizes);
    made.steps = narrowed(made.copied ? steps : own);
    if (!made.copied) return made;
    made.part = narrowed(part);
    made.array_steps = narrowed(own);
    for (std::size_t d = 2; is_image && d < dims_; ++d) made.inset += axes_[d - 2].front * steps[d];
    return made;
  }

 private:
  /// The step of an axis that goes through all groups.
  std::optional<std::int64_t> joined_step(Source source, Shared which, bool grouped) const {
    const std::int64_t inner = step(c_, source, which), groups = group_step(c_, source), n = extent(c_, which);
    if (!grouped || c_.groups == 1) return inner;
    if (n == 1) return groups;
    if (groups != n * inner) return std::nullopt;
    return inner;
  }

  const Convolution& c_;
  const std::vector<AxisForm>& axes_;
  const std::size_t dims_;
  const bool last_;
};

// ---- choosing ----

struct Candidate {
  Form form;
  std::int64_t misplaced = 0;  // operands whose images are not the outer axis, as they usually are
  std::int64_t taps = 1;       // of the filter
  std::int64_t copied = 0;     // elements

  /// Candidates of different kinds are convolutions of different shapes.
  auto kind() const { return std::tuple(misplaced, taps); }
  auto rank() const { return std::tuple(misplaced, taps, form.flipped, copied, form.routine, form.channels_last); }
};

void add_forms(const Convolution& c, const Places& places, std::vector<Candidate>& all) {
  std::vector<AxisForm> axes;
  if (c.axes == 1) axes.emplace_back();
  Candidate candidate;
  bool plain = false;
  for (const Convolution::Axis& used : c.used_axes()) {
    const auto axis = fit(used, places);
    if (!axis) return;
    axes.push_back(*axis);
    candidate.taps *= size(used, places.filter);
    plain = plain || axis->plain;
    candidate.form.flipped = candidate.form.flipped || axis->flipped;
  }
  if (plain && candidate.form.flipped) return;
  Form& form = candidate.form;
  form.routine = places.output == Source::result  ? Routine::forward
                 : places.image == Source::result ? Routine::backward_data
                                                  : Routine::backward_filter;
  form.dims = static_cast<int>(axes.size()) + 2;
  form.groups = static_cast<int>(c.groups);
  WideNumbers pads{}, strides{}, dilations{};
  std::ranges::transform(axes, pads.begin(), &AxisForm::pad);
  std::ranges::transform(axes, strides.begin(), &AxisForm::stride);
  std::ranges::transform(axes, dilations.begin(), &AxisForm::dilation);
  form.pads = narrowed(pads);
  form.strides = narrowed(strides);
  form.dilations = narrowed(dilations);
  const Shared images = shared(places.image, places.output), channels = shared(places.image, places.filter),
               results = shared(places.filter, places.output);
  const auto misplaced = [&](Source source, Shared inner) {
    return extent(c, images) > 1 && extent(c, inner) > 1 && step(c, source, images) < step(c, source, inner) ? 1 : 0;
  };
  candidate.misplaced = misplaced(places.image, channels) + misplaced(places.output, results);
  for (const bool channels_last : {false, true}) {
    if (channels_last && c.dtype == DType::float64) break;  // the library has no such routines
    const OperandMaker maker(c, axes, channels_last);
    const auto image = maker.make({places.image, images, channels, false}, true, false);
    const auto filter = maker.make({places.filter, results, channels, true}, false, true);
    const auto output = maker.make({places.output, images, results, false}, false, false);
    if (!image || !filter || !output) return;
    Candidate made = candidate;
    made.form.channels_last = channels_last;
    made.form.image = *image;
    made.form.filter = *filter;
    made.form.output = *output;
    for (const Operand* operand : {&*image, &*filter, &*output}) made.copied += operand->copied_elements();
    all.push_back(made);
  }
}

bool numbers_fit(const Convolution& c) {
  if (c.dtype != DType::float32 && c.dtype != DType::float64) return false;
  if (c.axes < 1 || c.axes > 3) return false;
  const auto is_size = [](std::int64_t n) { return n >= 1 && n <= max_number; };
  const auto is_number = [](std::int64_t n) { return n >= -max_number && n <= max_number; };
  if (!is_size(c.batch) || !is_size(c.groups) || !is_size(c.channels) || !is_size(c.results)) return false;
  return std::ranges::all_of(c.used_axes(), [&](const Convolution::Axis& a) {
    return is_size(a.size) && is_size(a.windows) && is_size(a.taps) && is_number(a.stride) && is_number(a.dilation) &&
           is_number(a.spread) && is_number(a.before) && a.stride != 0 && a.dilation != 0 && a.spread > 0;
  });
}

}  // namespace

std::int64_t Operand::copied_elements() const {
  std::int64_t all = copied ? 1 : 0;
  for (const int n : sizes) all *= std::max(n, 1);
  return all;
}

std::vector<Form> forms_of(const Convolution& convolution) {
  if (!numbers_fit(convolution)) return {};
  constexpr std::array sources{Source::x, Source::filters, Source::result};
  std::vector<Candidate> all;
  for (const Source image : sources) {
    for (const Source filter : sources) {
      for (const Source output : sources) {
        if (image != filter && filter != output && image != output)
          add_forms(convolution, {image, filter, output}, all);
      }
    }
  }
  std::ranges::stable_sort(all, {}, &Candidate::rank);
  std::vector<Form> forms;
  for (const Candidate& candidate : all) {
    if (candidate.kind() == all.front().kind()) forms.push_back(candidate.form);
  }
  return forms;
}

}  // namespace croton::runtime::cuda::dnn
