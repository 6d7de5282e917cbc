#include "codegen/variant.hpp"

#include <algorithm>

#include "codegen/variant_choices.hpp"

namespace croton::codegen {

Layout Layout::contiguous(std::vector<std::int64_t> shape) {
  Layout layout{std::move(shape), {}};
  layout.strides.assign(layout.shape.size(), 1);
  for (std::size_t d = layout.shape.size(); d-- > 1;) layout.strides[d - 1] = layout.strides[d] * layout.shape[d];
  return layout;
}

Variant Variant::without_tiles() const {
  Variant plain = *this;
  plain.tile_axis.reset();
  plain.staged.clear();
  return plain;
}

std::vector<std::size_t> axes_of_side(const Analysis& analysis, const Variant& variant, kernel::Side side) {
  std::vector<std::size_t> axes;
  for (std::size_t m = 0; m < variant.parallel.size(); ++m) {
    if (analysis.contraction->side[variant.parallel[m].axes[0]] == side) axes.push_back(m);
  }
  return axes;
}

namespace {

/// Makes the launch of one kernel from numbers for its extents and strides.
class Specialiser {
 public:
  Specialiser(const Analysis& analysis, std::span<const std::int64_t> extents, std::span<const Layout> operands)
      : analysis_(analysis), kernel_(analysis.kernel), operands_(operands), values_(analysis.host_values(extents)) {
    size_.reserve(kernel_.axes.size());
    for (const auto& axis : kernel_.axes) size_.push_back(values_[axis.extent]);
  }

  Launch run() {
    for (const Access& access : analysis_.accesses) find_strides(access);
    launch_.variant.parallel = merged(false);
    launch_.variant.inner = merged(true);
    for (const auto* axes : {&launch_.variant.parallel, &launch_.variant.inner}) {
      for (const MergedAxis& axis : *axes) all_.push_back(&axis);
    }
    for (const MergedAxis* axis : all_) launch_.sizes.push_back(size_of_merged(*axis));
    const std::vector<std::size_t> fast = fast_axes();
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) classify_strides(a, fast);
    choose_tiles(analysis_, launch_);
    return std::move(launch_);
  }

 private:
  /// Finds the stride of an access along each axis of the kernel, and its offset from the operand's first element.
  void find_strides(const Access& access) {
    const Layout& layout = operands_[access.operand];
    std::int64_t offset = 0;
    std::vector<std::int64_t>& stride = stride_.emplace_back(kernel_.axes.size(), 0);
    if (access.affine) {
      for (std::size_t d = 0; d < access.index.size(); ++d) {
        offset += values_[access.offset[d]] * layout.strides[d];
        for (std::size_t axis = 0; axis < stride.size(); ++axis) {
          const NodeId c = access.coefficient[axis][d];
          if (c != expr::no_node) stride[axis] += values_[c] * layout.strides[d];
        }
      }
    }
    launch_.offsets.push_back(offset);
  }

  /// Whether all accesses can iterate over the two axes as one axis.
  bool are_mergeable(std::size_t outer, std::size_t axis) const {
    if (analysis_.explicit_axes[outer] || analysis_.explicit_axes[axis]) return false;
    if (analysis_.contraction && analysis_.contraction->side[outer] != analysis_.contraction->side[axis]) return false;
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      const Access& access = analysis_.accesses[a];
      if (!access.affine) continue;
      // An access may be independent of both axes, but not of one only, whatever the present sizes are.
      if (access.moves(outer) != access.moves(axis)) return false;
      if (stride_[a][outer] != stride_[a][axis] * size_[axis]) return false;
    }
    return true;
  }

  /// The merged inner (or parallel) axes.
  std::vector<MergedAxis> merged(bool inner) const {
    std::vector<MergedAxis> merged;
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      if (kernel_.axes[axis].inner != inner) continue;
      const bool joins = !merged.empty() && are_mergeable(merged.back().axes.back(), axis);
      if (!joins) merged.emplace_back();
      merged.back().axes.push_back(axis);
    }
    return merged;
  }

  std::int64_t size_of_merged(const MergedAxis& axis) const {
    std::int64_t total = 1;
    for (const std::size_t k : axis.axes) total *= size_[k];
    return total;
  }

  /// The axes of the innermost loops: only for them a stride of 1 changes the text.
  std::vector<std::size_t> fast_axes() {
    if (kernel_.family == kernel::Family::contract) return choose_runs(analysis_, launch_, stride_, operands_);
    const bool inner_is_fast = kernel_.family == kernel::Family::row || kernel_.family == kernel::Family::split;
    return {inner_is_fast ? all_.size() - 1 : launch_.variant.parallel.size() - 1};
  }

  void classify_strides(std::size_t a, const std::vector<std::size_t>& fast) {
    const Access& access = analysis_.accesses[a];
    auto& classes = launch_.variant.strides.emplace_back();
    auto& numbers = launch_.strides.emplace_back();
    if (!access.affine) {
      numbers = operands_[access.operand].strides;
      const bool along_fast = access.line_axis && all_[fast.front()]->axes == std::vector{*access.line_axis};
      if (along_fast && numbers.back() == 1) classes.push_back(StrideClass::unit);
      return;
    }
    for (std::size_t m = 0; m < all_.size(); ++m) {
      const std::size_t last = all_[m]->axes.back();
      const std::int64_t stride = stride_[a][last];
      numbers.push_back(stride);
      classes.push_back(!access.moves(last)                                       ? StrideClass::none
                        : std::ranges::find(fast, m) != fast.end() && stride == 1 ? StrideClass::unit
                                                                                  : StrideClass::any);
    }
  }

  const Analysis& analysis_;
  const kernel::Kernel& kernel_;
  std::span<const Layout> operands_;
  std::vector<std::int64_t> values_;               // of the body's host nodes
  std::vector<std::int64_t> size_;                 // of the kernel's axes
  std::vector<std::vector<std::int64_t>> stride_;  // [access][axis of the kernel]
  std::vector<const MergedAxis*> all_;             // the merged axes, parallel ones first
  Launch launch_;
};

}  // namespace

Launch specialise(const Analysis& analysis, std::span<const std::int64_t> extents, std::span<const Layout> operands) {
  return Specialiser(analysis, extents, operands).run();
}

std::vector<std::int64_t> default_extents(const Analysis& analysis, bool small) {
  static constexpr std::int64_t large[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
  static constexpr std::int64_t three[] = {101, 103, 107}, many[] = {11, 13, 17, 19, 23, 29, 31, 37};
  const std::size_t count = analysis.kernel.extents;
  const std::span<const std::int64_t> primes = !small || count < 3 ? std::span<const std::int64_t>(large)
                                               : count == 3        ? std::span<const std::int64_t>(three)
                                                                   : std::span<const std::int64_t>(many);
  std::vector<std::int64_t> extents;
  extents.reserve(count);
  for (std::size_t k = 0; k < count; ++k) extents.push_back(primes[k % primes.size()]);
  return extents;
}

Launch default_launch(const Analysis& analysis) { return default_launch(analysis, default_extents(analysis)); }

namespace {

/// The smallest shape of an operand that contains all elements that are accessed. A dimension that no axis indexes has
/// one element.
std::vector<std::int64_t> reached_shape(const Analysis& analysis, const std::vector<std::int64_t>& values,
                                        std::size_t operand) {
  const kernel::Kernel& kernel = analysis.kernel;
  std::vector<std::int64_t> shape(kernel.operands[operand].rank, 1);
  for (const Access& access : analysis.accesses) {
    if (access.operand != operand || !access.affine) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t last = values[access.offset[d]];
      bool walked = false;
      for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
        const NodeId step = access.coefficient[axis][d];
        if (step == expr::no_node) continue;
        walked = true;
        last += std::max<std::int64_t>(values[step], 0) * (values[kernel.axes[axis].extent] - 1);
      }
      if (walked) shape[d] = std::max(shape[d], last + 1);
    }
  }
  return shape;
}

}  // namespace

Launch default_launch(const Analysis& analysis, std::span<const std::int64_t> extents) {
  const std::vector<std::int64_t> values = analysis.host_values(extents);
  std::vector<Layout> layouts;
  for (std::size_t operand = 0; operand < analysis.kernel.operands.size(); ++operand)
    layouts.push_back(Layout::contiguous(reached_shape(analysis, values, operand)));
  return specialise(analysis, extents, layouts);
}

}  // namespace croton::codegen
