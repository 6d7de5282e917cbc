#include "kernel/contraction.hpp"

#include <algorithm>

namespace croton::kernel {
namespace {

/// Whether each node depends on each axis, also through loads: [node][axis].
std::vector<std::vector<bool>> axes_of_nodes(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  std::vector<std::vector<bool>> depends_on(body.size(), std::vector<bool>(kernel.axes.size(), false));
  for (NodeId id = 0; id < body.size(); ++id) {
    if (body.op(id).is(expr::Core::axis)) depends_on[id][body.attrs(id).index("k")] = true;
    for (const NodeId input : body.inputs(id)) {
      for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis)
        depends_on[id][axis] = depends_on[id][axis] || depends_on[input][axis];
    }
  }
  return depends_on;
}

bool only_stage_depends_on_inner(const Kernel& kernel) {
  const std::vector<bool> inner = depends_on_inner(kernel);
  const auto is_inner = [&](NodeId node) -> bool { return inner[node]; };
  return std::ranges::none_of(kernel.checks,
                              [&](const Check& c) { return is_inner(c.condition) || is_inner(c.value); }) &&
         std::ranges::none_of(kernel.stores, [&](const Store& s) {
           return is_inner(s.value) || std::ranges::any_of(s.index, is_inner);
         });
}

}  // namespace

std::optional<Contraction> as_contraction(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  if (kernel.stages.size() != 1 || !kernel.stages[0].op->is(expr::Core::sum)) return std::nullopt;
  const NodeId product = kernel.stages[0].value;
  const DType dtype = body.type(product).dtype;
  if (!body.op(product).is(expr::Core::mul) || (dtype != DType::float32 && dtype != DType::float64))
    return std::nullopt;
  if (!only_stage_depends_on_inner(kernel)) return std::nullopt;
  std::size_t parallel_end = kernel.axes.size();
  while (parallel_end > 0 && kernel.axes[parallel_end - 1].inner) --parallel_end;
  if (parallel_end == 0) return std::nullopt;
  const std::size_t last_parallel = parallel_end - 1;

  const std::vector<std::vector<bool>> depends_on = axes_of_nodes(kernel);
  Contraction result{body.input(product, 0), body.input(product, 1), {}};
  if (depends_on[result.left][last_parallel]) std::swap(result.left, result.right);
  bool has_rows = false;
  for (std::size_t axis = 0; axis < kernel.axes.size(); ++axis) {
    const bool left = depends_on[result.left][axis], right = depends_on[result.right][axis];
    if (!kernel.axes[axis].inner && !left && !right) return std::nullopt;
    result.side.push_back(kernel.axes[axis].inner ? Side::inner
                          : left && right         ? Side::both
                          : left                  ? Side::rows
                                                  : Side::columns);
    has_rows = has_rows || result.side.back() == Side::rows;
  }
  if (!has_rows || result.side[last_parallel] != Side::columns) return std::nullopt;
  return result;
}

}  // namespace croton::kernel
