#include "kernel/kernel.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "kernel/contraction.hpp"

namespace croton::kernel {

using expr::Core;

std::string_view name_of(Family family) {
  switch (family) {
    case Family::pointwise:
      return "pointwise";
    case Family::row:
      return "row";
    case Family::column:
      return "column";
    case Family::split:
      return "split";
    case Family::contract:
      return "contract";
  }
  return "?";
}

bool Kernel::has_inner() const {
  return std::ranges::any_of(axes, [](const Axis& axis) { return axis.inner; });
}

std::vector<bool> depends_on_inner(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  std::vector<bool> depends(body.size(), false);
  for (NodeId id = 0; id < body.size(); ++id) {
    if (body.op(id).is(Core::axis)) {
      depends[id] = kernel.axes[body.attrs(id).index("k")].inner;
    }
    for (const NodeId input : body.inputs(id)) depends[id] = depends[id] || depends[input];
  }
  return depends;
}

std::vector<StageGroup> stage_groups(const Kernel& kernel) {
  const std::vector<std::size_t> stage = stage_of(kernel);
  std::vector<StageGroup> groups;
  for (std::size_t s = 0; s < kernel.stages.size(); ++s) {
    const bool joins = !groups.empty() && stage[kernel.stages[s].value] <= groups.back().begin;
    if (!joins) groups.push_back({s, s});
    groups.back().end = s + 1;
  }
  return groups;
}

std::vector<bool> needed_for(const expr::Arena& body, std::span<const NodeId> roots, NodeId known) {
  std::vector<bool> needed(body.size());
  std::vector<NodeId> pending(roots.begin(), roots.end());
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    if (id == known) continue;
    for (const NodeId input : body.inputs(id)) pending.push_back(input);
  }
  return needed;
}

std::vector<std::size_t> stage_of(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  std::vector<std::size_t> stage(body.size(), 0);
  for (NodeId id = 0; id < body.size(); ++id) {
    if (body.op(id).is(Core::result)) stage[id] = body.attrs(id).index("stage") + 1;
    for (const NodeId input : body.inputs(id)) stage[id] = std::max(stage[id], stage[input]);
  }
  return stage;
}

std::vector<bool> rounded_where_computed(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  std::vector<bool> read(body.size(), false), rounded(body.size(), false);
  for (NodeId id = 0; id < body.size(); ++id) {
    for (const NodeId input : body.inputs(id)) read[input] = true;
  }
  for (const Stage& stage : kernel.stages) read[stage.value] = true;
  for (const Check& check : kernel.checks) read[check.condition] = read[check.value] = true;
  const auto computes = [&](NodeId id) {
    const expr::Op& op = body.op(id);
    if (op.is(Core::result)) {
      const std::string_view combiner = kernel.stages[body.attrs(id).index("stage")].op->reduce->combiner;
      return combiner != "Max" && combiner != "Min";
    }
    return op.map != nullptr && !op.map->chooses && !op.is(Core::cast);
  };
  for (NodeId id = 0; id < body.size(); ++id) {
    const DType dtype = body.type(id).dtype;
    rounded[id] = compute_dtype(dtype) != dtype && read[id] && computes(id);
  }
  return rounded;
}

namespace {

/// The promise that node `id` of the body breaks, or an empty text.
std::string broken_by_node(const Kernel& kernel, NodeId id) {
  const expr::Arena& body = kernel.body;
  const expr::Op& op = body.op(id);
  const auto exists = [&](std::string_view attr, std::size_t count) {
    return base::is_index(body.attrs(id).integer(attr), count);
  };
  if (body.type(id).rank() != 0) return "bodies compute scalars";
  if (op.is(Core::axis) && !exists("k", kernel.axes.size())) return "an axis exists";
  if (op.is(Core::extent) && !exists("k", kernel.extents)) return "an extent exists";
  if (op.is(Core::result) && !exists("stage", kernel.stages.size())) return "a stage exists";
  if (!op.is(Core::load, Core::load_if)) {
    const bool known = op.kind == expr::Kind::Map || op.is(Core::const_, Core::axis, Core::extent, Core::result);
    return known ? "" : "bodies hold elementwise ops and their own leaves only";
  }
  if (!exists("operand", kernel.operands.size())) return "an operand exists";
  const Operand& operand = kernel.operands[body.attrs(id).index("operand")];
  if (operand.written) return "loads read operands that are not written";
  const std::size_t guards = op.is(Core::load_if) ? 1 : 0;
  if (body.inputs(id).size() != operand.rank + guards) return "a load has an index for each dimension";
  if (guards == 1 && !is_bool(body.type(body.input(id, 0)).dtype)) return "a guard is bool";
  for (const NodeId index : body.inputs(id).subspan(guards)) {
    if (body.type(index).dtype != DType::int64) return "an index is int64";
  }
  return body.type(id).dtype == operand.dtype ? "" : "a load has its operand's dtype";
}

std::string broken_by_store(const Kernel& kernel, const Store& store, const std::vector<bool>& inner) {
  const expr::Arena& body = kernel.body;
  if (store.operand >= kernel.operands.size()) return "an operand exists";
  const Operand& operand = kernel.operands[store.operand];
  if (!operand.written) return "stores write written operands";
  if (store.index.size() != operand.rank) return "a store has an index for each dimension";
  if (std::ranges::any_of(store.index, [&](NodeId i) { return body.type(i).dtype != DType::int64; }))
    return "an index is int64";
  if (body.type(store.value).dtype != operand.dtype) return "a store has its operand's dtype";
  const bool by_inner = std::ranges::any_of(store.index, [&](NodeId i) { return inner[i]; });
  return by_inner || !inner[store.value] ? "" : "a store once a point has one value";
}

}  // namespace

std::string broken_promise(const Kernel& kernel) {
  const expr::Arena& body = kernel.body;
  for (NodeId id = 0; id < body.size(); ++id) {
    if (std::string promise = broken_by_node(kernel, id); !promise.empty()) return promise;
  }
  for (const Axis& axis : kernel.axes) {
    const auto size = body.scalar_value(axis.extent);
    if (size ? size->as_int() < 0 : !body.op(axis.extent).is(Core::extent))
      return "an axis has a number or a size as its extent";
  }
  const std::vector<std::size_t> stage = stage_of(kernel);
  const std::vector<bool> inner = depends_on_inner(kernel);
  for (std::size_t s = 0; s < kernel.stages.size(); ++s) {
    if (kernel.stages[s].op->kind != expr::Kind::Reduce) return "a stage reduces";
    if (stage[kernel.stages[s].value] > s) return "a stage uses earlier results only";
  }
  if (kernel.stores.empty() && kernel.checks.empty()) return "a kernel stores or checks something";
  std::vector<bool> stored(kernel.operands.size(), false);
  for (const Store& store : kernel.stores) {
    if (std::string promise = broken_by_store(kernel, store, inner); !promise.empty()) return promise;
    stored[store.operand] = true;
  }
  for (std::size_t p = 0; p < kernel.operands.size(); ++p) {
    if (kernel.operands[p].written && !stored[p]) return "a written operand has a store";
    if (p > 0 && kernel.operands[p - 1].written && !kernel.operands[p].written)
      return "read operands come before written ones";
  }
  for (const Check& check : kernel.checks) {
    if (!is_bool(body.type(check.condition).dtype)) return "a check's condition is bool";
    if (body.type(check.value).dtype != DType::int64) return "a check shows an int64";
  }
  if (!kernel.stages.empty() && !kernel.has_inner()) return "stages need inner axes";
  if ((kernel.family == Family::pointwise) == kernel.has_inner()) return "all families but pointwise have inner axes";
  if (kernel.family == Family::contract && !as_contraction(kernel))
    return "a contraction adds up products of two sides";
  return "";
}

void verify(const Kernel& kernel) {
  const std::string promise = broken_promise(kernel);
  if (!promise.empty()) throw InternalError(fmt::format("a kernel violates an invariant: {}", promise));
}

}  // namespace croton::kernel
