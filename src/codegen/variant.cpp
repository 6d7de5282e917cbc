#include "codegen/variant.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace croton::codegen {

Layout Layout::contiguous(std::vector<std::int64_t> shape) {
  Layout layout{std::move(shape), {}};
  layout.strides.assign(layout.shape.size(), 1);
  for (std::size_t d = layout.shape.size(); d-- > 1;) layout.strides[d - 1] = layout.strides[d] * layout.shape[d];
  return layout;
}

Variant Variant::without_tiles() const {
  Variant plain = *this;
  plain.tile_axis = -1;
  plain.staged.clear();
  return plain;
}

namespace {

// Fewer than these along an axis, and reading a line of memory for each element costs little.
constexpr std::int64_t least_tiled = 8;
// What a tile may take per point: 32 KiB of the shared memory of a GPU, where a tile has 1056 elements.
constexpr std::size_t most_staged_bytes = 32;

/// Whether all points read it, and read no more than is there.
bool reads_every_point(const Analysis& analysis, std::size_t access) {
  if (analysis.accesses[access].written || !analysis.accesses[access].affine) return false;
  return std::ranges::none_of(analysis.load_access, [&](const auto& load) {
    return load.second == static_cast<int>(access) && analysis.kernel.body.op(load.first).is(expr::Core::load_if);
  });
}

/// Sets tile_axis and staged.
void choose_tiles(const Analysis& analysis, Launch& launch) {
  Variant& variant = launch.variant;
  if (analysis.kernel.family != kernel::Family::pointwise || variant.parallel.size() < 2) return;
  const std::size_t fast = variant.parallel.size() - 1;
  if (launch.sizes[fast] < least_tiled) return;
  std::size_t bytes = 0;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (!reads_every_point(analysis, a) || std::abs(launch.strides[a][fast]) <= 1) continue;
    for (std::size_t m = 0; m < fast; ++m) {
      if (launch.strides[a][m] != 1 || launch.sizes[m] < least_tiled) continue;
      if (variant.tiled() && variant.tile_axis != static_cast<int>(m)) continue;
      bytes += size_of(analysis.kernel.operands[static_cast<std::size_t>(analysis.accesses[a].operand)].dtype);
      if (bytes > most_staged_bytes) return;
      variant.tile_axis = static_cast<int>(m);
      variant.staged.resize(analysis.accesses.size());
      variant.staged[a] = true;
    }
  }
}

/// In elements, from one index along the kernel's axis to the next; nothing where that is not one number.
std::optional<std::int64_t> step_along(const Analysis& analysis, std::size_t a, std::size_t axis,
                                       const std::vector<std::int64_t>& strides, const Layout& layout) {
  const Access& access = analysis.accesses[a];
  if (access.affine) return strides[axis];
  std::optional<std::int64_t> step = 0;
  const expr::Arena& body = analysis.kernel.body;
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    std::vector<NodeId> pending{access.index[d]};
    const bool is_axis = body.op(pending[0]).is(expr::Core::axis);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (body.op(pending[i]).is(expr::Core::axis) &&
          body.attrs(pending[i]).integer("k") == static_cast<std::int64_t>(axis)) {
        if (!is_axis) return std::nullopt;
        step = *step + layout.strides[d];
      }
      for (const NodeId input : body.inputs(pending[i])) pending.push_back(input);
    }
  }
  return step;
}

/// What it costs to bring an element together in runs of so many, in about a processor's cycles: a run has to be found,
/// and elements that lie side by side are moved many at once.
double cost_of_runs(std::optional<std::int64_t> step, std::int64_t length) {
  constexpr double of_run = 20, of_moved = 0.3, of_gathered = 2, of_computed = 6;
  const double each = !step ? of_computed : *step == 1 || *step == 0 ? of_moved : of_gathered;
  return each + of_run / static_cast<double>(std::clamp<std::int64_t>(length, 1, 256));
}

/// Along which axes the factors of a contraction are brought together, and which merged axes are walked by loops.
std::vector<std::size_t> choose_runs(const Analysis& analysis, Launch& launch,
                                     const std::vector<std::vector<std::int64_t>>& stride,
                                     std::span<const Layout> operands) {
  const kernel::Contraction& contraction = *analysis.contraction;
  const Variant& variant = launch.variant;
  const std::size_t inner = variant.parallel.size() + variant.inner.size() - 1;
  const auto last_of = [&](std::size_t m) {
    const bool parallel = m < variant.parallel.size();
    return static_cast<std::size_t>(
        (parallel ? variant.parallel[m] : variant.inner[m - variant.parallel.size()]).axes.back());
  };
  std::vector<bool> needed(analysis.kernel.body.size());
  const auto cost = [&](NodeId factor, std::size_t m) {
    needed.assign(needed.size(), false);
    needed[factor] = true;
    double total = 0;
    for (NodeId id = factor + 1; id-- > 0;) {
      if (!needed[id]) continue;
      for (const NodeId input : analysis.kernel.body.inputs(id)) needed[input] = true;
      const auto load = analysis.load_access.find(id);
      if (load == analysis.load_access.end()) continue;
      const auto a = static_cast<std::size_t>(load->second);
      total += cost_of_runs(step_along(analysis, a, last_of(m), stride[a],
                                       operands[static_cast<std::size_t>(analysis.accesses[a].operand)]),
                            launch.sizes[m]);
    }
    return total;
  };
  const std::size_t row = axes_of_side(analysis, variant, kernel::Side::rows).back();
  const std::size_t column = axes_of_side(analysis, variant, kernel::Side::columns).back();
  launch.variant.left_by_rows = cost(contraction.left, row) < cost(contraction.left, inner);
  launch.variant.right_by_columns = cost(contraction.right, column) <= cost(contraction.right, inner);
  return {column, launch.variant.left_by_rows ? row : inner, launch.variant.right_by_columns ? column : inner};
}

}  // namespace

std::vector<std::size_t> axes_of_side(const Analysis& analysis, const Variant& variant, kernel::Side side) {
  std::vector<std::size_t> axes;
  for (std::size_t m = 0; m < variant.parallel.size(); ++m) {
    if (analysis.contraction->side[static_cast<std::size_t>(variant.parallel[m].axes[0])] == side) axes.push_back(m);
  }
  return axes;
}

Launch specialise(const Analysis& analysis, std::span<const std::int64_t> extents, std::span<const Layout> operands) {
  const kernel::Kernel& kernel = analysis.kernel;
  const std::vector<std::int64_t> values = analysis.host_values(extents);
  const std::size_t axes = kernel.axes.size();
  std::vector<std::int64_t> size(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) size[axis] = values[kernel.axes[axis].extent];

  Launch launch;
  std::vector<std::vector<std::int64_t>> stride(analysis.accesses.size());  // [access][axis]
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    const Access& access = analysis.accesses[a];
    const Layout& layout = operands[static_cast<std::size_t>(access.operand)];
    std::int64_t offset = 0;
    stride[a].assign(axes, 0);
    if (access.affine) {
      for (std::size_t d = 0; d < access.index.size(); ++d) {
        offset += values[access.offset[d]] * layout.strides[d];
        for (std::size_t axis = 0; axis < axes; ++axis) {
          const NodeId c = access.coefficient[axis][d];
          if (c != expr::no_node) stride[a][axis] += values[c] * layout.strides[d];
        }
      }
    }
    launch.offsets.push_back(offset);
  }

  const auto mergeable = [&](std::size_t outer, std::size_t axis) {
    if (analysis.explicit_axes[outer] || analysis.explicit_axes[axis]) return false;
    if (analysis.contraction && analysis.contraction->side[outer] != analysis.contraction->side[axis]) return false;
    for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
      if (!analysis.accesses[a].affine) continue;
      // Repeating along both is fine; repeating along one is not, whatever the sizes are now.
      if (analysis.accesses[a].moves(outer) != analysis.accesses[a].moves(axis)) return false;
      if (stride[a][outer] != stride[a][axis] * size[axis]) return false;
    }
    return true;
  };
  const auto merge = [&](bool inner) {
    std::vector<MergedAxis> merged;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (kernel.axes[axis].inner != inner) continue;
      const bool joins = !merged.empty() && mergeable(static_cast<std::size_t>(merged.back().axes.back()), axis);
      if (!joins) merged.emplace_back();
      merged.back().axes.push_back(static_cast<int>(axis));
    }
    return merged;
  };
  launch.variant.parallel = merge(false);
  launch.variant.inner = merge(true);

  std::vector<const MergedAxis*> all;
  all.reserve(launch.variant.parallel.size() + launch.variant.inner.size());
  for (const MergedAxis& axis : launch.variant.parallel) all.push_back(&axis);
  for (const MergedAxis& axis : launch.variant.inner) all.push_back(&axis);
  for (const MergedAxis* axis : all) {
    std::int64_t total = 1;
    for (const int k : axis->axes) total *= size[static_cast<std::size_t>(k)];
    launch.sizes.push_back(total);
  }
  // The axis that a loop runs along: only there does a stride of 1 change the text.
  const bool inner_is_fast = kernel.family == kernel::Family::row || kernel.family == kernel::Family::split;
  std::vector<std::size_t> fast{inner_is_fast ? all.size() - 1 : launch.variant.parallel.size() - 1};
  if (kernel.family == kernel::Family::contract) fast = choose_runs(analysis, launch, stride, operands);
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    const Access& access = analysis.accesses[a];
    auto& classes = launch.variant.strides.emplace_back();
    auto& numbers = launch.strides.emplace_back();
    if (!access.affine) {
      numbers = operands[static_cast<std::size_t>(access.operand)].strides;
      continue;
    }
    for (std::size_t m = 0; m < all.size(); ++m) {
      const auto last = static_cast<std::size_t>(all[m]->axes.back());
      numbers.push_back(stride[a][last]);
      classes.push_back(!access.moves(last)                                                ? StrideClass::none
                        : std::ranges::find(fast, m) != fast.end() && stride[a][last] == 1 ? StrideClass::unit
                                                                                           : StrideClass::any);
    }
  }
  choose_tiles(analysis, launch);
  return launch;
}

std::vector<std::int64_t> default_extents(const Analysis& analysis, bool small) {
  static constexpr std::int64_t large[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
  static constexpr std::int64_t three[] = {101, 103, 107}, many[] = {11, 13, 17, 19, 23, 29, 31, 37};
  const auto count = static_cast<std::size_t>(analysis.kernel.extents);
  const std::span<const std::int64_t> primes = !small || count < 3 ? std::span<const std::int64_t>(large)
                                               : count == 3        ? std::span<const std::int64_t>(three)
                                                                   : std::span<const std::int64_t>(many);
  std::vector<std::int64_t> extents;
  extents.reserve(count);
  for (std::size_t k = 0; k < count; ++k) extents.push_back(primes[k % primes.size()]);
  return extents;
}

Launch default_launch(const Analysis& analysis) { return default_launch(analysis, default_extents(analysis)); }

Launch default_launch(const Analysis& analysis, std::span<const std::int64_t> extents) {
  const kernel::Kernel& kernel = analysis.kernel;
  const std::vector<std::int64_t> values = analysis.host_values(extents);
  std::vector<Layout> layouts;
  for (std::size_t operand = 0; operand < kernel.operands.size(); ++operand) {
    // A dimension is as large as what is read of it reaches; of one that no axis walks that counts as one element.
    std::vector<std::int64_t> shape(static_cast<std::size_t>(kernel.operands[operand].rank), 1);
    for (const Access& access : analysis.accesses) {
      if (access.operand != static_cast<int>(operand) || !access.affine) continue;
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
    layouts.push_back(Layout::contiguous(shape));
  }
  return specialise(analysis, extents, layouts);
}

}  // namespace croton::codegen
