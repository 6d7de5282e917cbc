#include "codegen/variant_choices.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace croton::codegen {
namespace {

// With fewer elements along an axis it costs little to read a line of memory for each element.
constexpr std::int64_t min_tiled_size = 8;
// The maximal size of the staged operands per point of a tile: 32 KiB of the shared memory of a GPU for the smallest
// tile (schedule_tiles.cpp).
constexpr std::size_t max_staged_bytes = 32;

/// Whether the access is an unconditional read at all points.
bool reads_every_point(const Analysis& analysis, std::size_t access) {
  if (analysis.accesses[access].written || !analysis.accesses[access].affine) return false;
  return std::ranges::none_of(analysis.load_access, [&](const auto& load) {
    return load.second == access && analysis.kernel.body.op(load.first).is(expr::Core::load_if);
  });
}

/// The stride of an access along the kernel's axis, in elements; nothing if it is not constant.
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
      if (body.op(pending[i]).is(expr::Core::axis) && body.attrs(pending[i]).index("k") == axis) {
        if (!is_axis) return std::nullopt;
        step = *step + layout.strides[d];
      }
      for (const NodeId input : body.inputs(pending[i])) pending.push_back(input);
    }
  }
  return step;
}

/// The approximate cost of packing an element in runs of this length, in cycles of a processor. Each run has a fixed
/// cost, and contiguous elements are copied many at a time.
double cost_of_runs(std::optional<std::int64_t> step, std::int64_t length) {
  constexpr double of_run = 20, of_moved = 0.3, of_gathered = 2, of_computed = 6;
  const double each = !step ? of_computed : *step == 1 || *step == 0 ? of_moved : of_gathered;
  return each + of_run / static_cast<double>(std::clamp<std::int64_t>(length, 1, 256));
}

}  // namespace

void choose_tiles(const Analysis& analysis, Launch& launch) {
  Variant& variant = launch.variant;
  if (analysis.kernel.family != kernel::Family::pointwise || variant.parallel.size() < 2) return;
  const std::size_t fast = variant.parallel.size() - 1;
  if (launch.sizes[fast] < min_tiled_size) return;
  std::size_t bytes = 0;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (!reads_every_point(analysis, a) || std::abs(launch.strides[a][fast]) <= 1) continue;
    for (std::size_t m = 0; m < fast; ++m) {
      if (launch.strides[a][m] != 1 || launch.sizes[m] < min_tiled_size) continue;
      if (variant.tiled() && variant.tile_axis != m) continue;
      bytes += size_of(analysis.operand_of(a).dtype);
      if (bytes > max_staged_bytes) return;
      variant.tile_axis = m;
      variant.staged.resize(analysis.accesses.size());
      variant.staged[a] = true;
    }
  }
}

std::vector<std::size_t> choose_runs(const Analysis& analysis, Launch& launch,
                                     const std::vector<std::vector<std::int64_t>>& stride,
                                     std::span<const Layout> operands) {
  const kernel::Contraction& contraction = *analysis.contraction;
  const Variant& variant = launch.variant;
  const std::size_t inner = variant.parallel.size() + variant.inner.size() - 1;
  const auto last_of = [&](std::size_t m) {
    const bool parallel = m < variant.parallel.size();
    return (parallel ? variant.parallel[m] : variant.inner[m - variant.parallel.size()]).axes.back();
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
      const std::size_t a = load->second;
      const Layout& layout = operands[analysis.accesses[a].operand];
      total += cost_of_runs(step_along(analysis, a, last_of(m), stride[a], layout), launch.sizes[m]);
    }
    return total;
  };
  const std::size_t row = axes_of_side(analysis, variant, kernel::Side::rows).back();
  const std::size_t column = axes_of_side(analysis, variant, kernel::Side::columns).back();
  launch.variant.left_by_rows = cost(contraction.left, row) < cost(contraction.left, inner);
  launch.variant.right_by_columns = cost(contraction.right, column) <= cost(contraction.right, inner);
  return {column, launch.variant.left_by_rows ? row : inner, launch.variant.right_by_columns ? column : inner};
}

}  // namespace croton::codegen
