#include "codegen/analysis.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "base/stage.hpp"
#include "expr/evaluate.hpp"

namespace croton::codegen {
namespace {

using expr::Arena;
using expr::Core;
using kernel::Kernel;

/// The sum of coefficient[axis] * axis, plus offset; all are host nodes.
struct Affine {
  std::map<std::size_t, NodeId> coefficients;
  NodeId offset;
};

class Analyser {
 public:
  explicit Analyser(const Kernel& kernel) { result_.kernel = kernel; }

  Analysis run() {
    find_host();
    const NodeId nodes = body().size();
    for (NodeId id = 0; id < nodes; ++id) add_load(id);
    for (const kernel::Store& store : result_.kernel.stores) add_access(store.operand, true, store.index);
    for (NodeId id = 0; id < nodes && result_.kernel.family == kernel::Family::pointwise; ++id) add_switch(id);
    find_lines();
    find_conditions();
    find_host();  // including the nodes that were added
    result_.inner = kernel::depends_on_inner(result_.kernel);
    find_explicit();
    find_wrapping();
    if (result_.kernel.family == kernel::Family::contract) result_.contraction = kernel::as_contraction(result_.kernel);
    return std::move(result_);
  }

 private:
  Arena& body() { return result_.kernel.body; }

  void find_host() {
    const Arena& b = body();
    result_.host.assign(b.size(), false);
    for (NodeId id = 0; id < b.size(); ++id) {
      const expr::Op& op = b.op(id);
      if (!is_discrete(b.type(id).dtype)) continue;
      if (op.is(Core::const_, Core::extent)) result_.host[id] = true;
      if (op.kind == expr::Kind::Map) {
        result_.host[id] = std::ranges::all_of(b.inputs(id), [&](NodeId input) { return result_.host[input]; });
      }
    }
  }

  std::optional<Affine> affine(NodeId id) {
    if (const auto known = affine_.find(id); known != affine_.end()) return known->second;
    std::optional<Affine> result = find_affine(id);
    affine_[id] = result;
    return result;
  }

  std::optional<Affine> find_affine(NodeId id) {
    Arena& b = body();
    if (id < result_.host.size() && result_.host[id]) return Affine{{}, id};
    const expr::Op& op = b.op(id);
    if (op.is(Core::axis)) return Affine{{{b.attrs(id).index("k"), b.integer(1)}}, b.integer(0)};
    if (!op.is(Core::add, Core::sub, Core::mul)) return std::nullopt;
    const auto left = affine(b.input(id, 0)), right = affine(b.input(id, 1));
    if (!left || !right) return std::nullopt;
    if (op.is(Core::mul)) {
      const bool scale_left = right->coefficients.empty();
      if (!scale_left && !left->coefficients.empty()) return std::nullopt;
      const Affine& term = scale_left ? *left : *right;
      const NodeId factor = scale_left ? right->offset : left->offset;
      Affine scaled{{}, b.size_arithmetic(Core::mul, term.offset, factor)};
      for (const auto& [axis, c] : term.coefficients)
        scaled.coefficients[axis] = b.size_arithmetic(Core::mul, c, factor);
      return scaled;
    }
    Affine sum{left->coefficients, b.size_arithmetic(op, left->offset, right->offset)};
    for (const auto& [axis, c] : right->coefficients) {
      const auto at = sum.coefficients.find(axis);
      const NodeId before = at == sum.coefficients.end() ? b.integer(0) : at->second;
      sum.coefficients[axis] = b.size_arithmetic(op, before, c);
    }
    return sum;
  }

  void add_load(NodeId id) {
    if (!is_load(id)) return;
    const auto inputs = body().inputs(id).subspan(body().op(id).is(Core::load_if) ? 1 : 0);
    const std::vector<NodeId> index(inputs.begin(), inputs.end());
    const std::size_t operand = body().attrs(id).index("operand");
    for (std::size_t a = 0; a < result_.accesses.size(); ++a) {
      if (result_.accesses[a].operand == operand && result_.accesses[a].index == index) {
        result_.load_access[id] = a;
        return;
      }
    }
    result_.load_access[id] = result_.accesses.size();
    add_access(operand, false, index);
  }

  void add_access(std::size_t operand, bool written, const std::vector<NodeId>& index) {
    Access access{
        .operand = operand, .written = written, .affine = true, .index = index, .coefficient = {}, .offset = {}};
    access.coefficient.assign(result_.kernel.axes.size(), std::vector<NodeId>(index.size(), expr::no_node));
    for (std::size_t d = 0; d < index.size() && access.affine; ++d) {
      const auto form = affine(index[d]);
      access.affine = form.has_value();
      if (!form) break;
      access.offset.push_back(form->offset);
      for (const auto& [axis, c] : form->coefficients) access.coefficient[axis][d] = c;
    }
    result_.accesses.push_back(std::move(access));
  }

  /// The loads whose access no other load has, with their accesses.
  std::vector<std::pair<NodeId, std::size_t>> single_loads() const {
    std::vector<int> loads(result_.accesses.size(), 0);
    for (const auto& [load, a] : result_.load_access) ++loads[a];
    std::vector<std::pair<NodeId, std::size_t>> single;
    for (const auto& entry : result_.load_access) {
      if (loads[entry.second] == 1) single.emplace_back(entry);
    }
    return single;
  }

  /// Finds the reads of lines. Each is by one load, whose condition does not depend on the line's axis either.
  void find_lines() {
    if (result_.kernel.family != kernel::Family::pointwise) return;
    for (const auto& [load, a] : single_loads()) {
      Access& access = result_.accesses[a];
      if (access.affine || access.index.empty()) continue;
      const NodeId last = access.index.back();
      if (!body().op(last).is(Core::axis)) continue;
      const std::size_t axis = body().attrs(last).index("k");
      const auto others = body().inputs(load).first(body().inputs(load).size() - 1);
      if (std::ranges::none_of(others, [&](NodeId id) { return result_.depends_on(id, axis); }))
        access.line_axis = axis;
    }
  }

  /// Finds the conditions of reads that depend on indices and sizes alone.
  void find_conditions() {
    if (result_.kernel.family != kernel::Family::pointwise) return;
    for (const auto& [load, a] : single_loads()) {
      if (!result_.accesses[a].affine || !body().op(load).is(Core::load_if)) continue;
      const NodeId condition = body().input(load, 0);
      const std::vector<bool> needed = kernel::needed_for(body(), std::span(&condition, 1));
      bool loads_nothing = true;
      for (NodeId id = 0; id <= condition; ++id) loads_nothing = loads_nothing && !(needed[id] && is_load(id));
      if (loads_nothing) result_.accesses[a].condition = condition;
    }
  }

  /// Adds the node if it is a comparison of the index along one axis with a host value.
  void add_switch(NodeId id) {
    constexpr std::tuple<Core, std::string_view, bool> comparisons[] = {
        {Core::lt, "<", false}, {Core::ge, ">=", false}, {Core::le, "<=", true}, {Core::gt, ">", true}};
    for (const auto& [core, sign, after_equal] : comparisons) {
      if (!body().op(id).is(core)) continue;
      const NodeId left = body().input(id, 0), right = body().input(id, 1);
      if (body().type(left).dtype != DType::int64 || body().type(right).dtype != DType::int64) return;
      const auto moving = affine(left), limit = affine(right);
      if (!moving || !limit || moving->coefficients.size() != 1 || !limit->coefficients.empty()) return;
      const auto [axis, coefficient] = *moving->coefficients.begin();
      if (body().known(coefficient) == 1)
        result_.switches.emplace(id, ConditionSwitch{axis, moving->offset, limit->offset, sign, after_equal});
    }
  }

  /// Finds the axes and sizes that values, checks and indices that are not affine use.
  void find_explicit() {
    Kernel& kernel = result_.kernel;
    std::vector<bool> used(body().size(), false);
    for (const kernel::Stage& stage : kernel.stages) used[stage.value] = true;
    for (const kernel::Check& check : kernel.checks) used[check.condition] = used[check.value] = true;
    for (const kernel::Store& store : kernel.stores) used[store.value] = true;
    for (const Access& access : result_.accesses) {
      if (!access.affine && access.written) {
        for (const NodeId i : access.index) used[i] = true;
      }
    }
    result_.explicit_axes.assign(kernel.axes.size(), false);
    result_.explicit_extents.assign(kernel.extents, false);
    for (NodeId id = body().size(); id-- > 0;) {
      if (!used[id]) continue;
      if (body().op(id).is(Core::axis)) result_.explicit_axes[body().attrs(id).index("k")] = true;
      if (body().op(id).is(Core::extent)) result_.explicit_extents[body().attrs(id).index("k")] = true;
      if (result_.is_affine_load(id)) {
        if (body().op(id).is(Core::load_if)) used[body().input(id, 0)] = true;
        continue;
      }
      for (const NodeId input : body().inputs(id)) used[input] = true;
    }
  }

  bool is_load(NodeId id) const { return result_.kernel.body.op(id).is(Core::load, Core::load_if); }

  void find_wrapping() {
    std::vector<bool>& wraps = result_.wraps;
    wraps.assign(body().size(), false);
    for (const kernel::Stage& stage : result_.kernel.stages) wraps[stage.value] = true;
    for (const kernel::Check& check : result_.kernel.checks) wraps[check.condition] = wraps[check.value] = true;
    for (const kernel::Store& store : result_.kernel.stores) wraps[store.value] = true;
    for (NodeId id = body().size(); id-- > 0;) {
      if (!wraps[id]) continue;
      if (is_load(id)) {
        if (body().op(id).is(Core::load_if)) wraps[body().input(id, 0)] = true;
        continue;
      }
      for (const NodeId input : body().inputs(id)) wraps[input] = true;
    }
    std::vector<bool> loaded(body().size(), false);
    for (NodeId id = 0; id < body().size(); ++id) {
      loaded[id] = is_load(id) || body().op(id).is(Core::result);
      for (const NodeId input : body().inputs(id)) loaded[id] = loaded[id] || loaded[input];
      wraps[id] = wraps[id] || loaded[id];
    }
  }

  Analysis result_;
  std::map<NodeId, std::optional<Affine>> affine_;
};

}  // namespace

bool Access::moves(std::size_t axis) const {
  return std::ranges::any_of(coefficient[axis], [](NodeId c) { return c != expr::no_node; });
}

bool Analysis::is_affine_load(NodeId id) const {
  const auto load = load_access.find(id);
  return load != load_access.end() && accesses[load->second].affine;
}

bool Analysis::is_conditional(std::size_t access) const {
  return std::ranges::any_of(load_access, [&](const auto& load) {
    return load.second == access && kernel.body.op(load.first).is(expr::Core::load_if);
  });
}

bool Analysis::stores_elements() const {
  return std::ranges::any_of(kernel.stores, [&](const kernel::Store& store) { return bool{inner[store.value]}; });
}

bool Analysis::depends_on(NodeId id, std::size_t axis) const {
  const std::vector<bool> needed = kernel::needed_for(kernel.body, std::span(&id, 1));
  for (NodeId node = 0; node < kernel.body.size(); ++node) {
    if (needed[node] && kernel.body.op(node).is(Core::axis) && kernel.body.attrs(node).index("k") == axis) return true;
  }
  return false;
}

std::vector<std::int64_t> Analysis::host_values(std::span<const std::int64_t> extents) const {
  const Arena& body = kernel.body;
  std::vector<std::int64_t> values(body.size(), 0);
  std::vector<expr::Scalar> operands;
  for (NodeId id = 0; id < body.size(); ++id) {
    if (!host[id]) continue;
    if (const auto value = body.scalar_value(id)) {
      values[id] = value->as_int();
    } else if (body.op(id).is(Core::extent)) {
      values[id] = extents[body.attrs(id).index("k")];
    } else {
      operands.clear();
      for (const NodeId input : body.inputs(id))
        operands.push_back(expr::Scalar::of_int(values[input], body.type(input).dtype));
      values[id] = expr::apply_map(body.op(id), operands, body.type(id).dtype).as_int();
    }
  }
  return values;
}

std::shared_ptr<const Analysis> analyse(const Kernel& kernel) {
  const base::StageTimer timer(base::Stage::emit);
  return std::make_shared<const Analysis>(Analyser(kernel).run());
}

bool only_points_use_reductions(const Analysis& analysis) {
  const kernel::Kernel& kernel = analysis.kernel;
  if (kernel::stage_groups(kernel).size() != 1) return false;
  const std::vector<std::size_t> stage = kernel::stage_of(kernel);
  for (const kernel::Store& store : kernel.stores) {
    const bool by_element =
        analysis.inner[store.value] || std::ranges::any_of(store.index, [&](NodeId i) { return analysis.inner[i]; });
    const bool uses_results =
        stage[store.value] > 0 || std::ranges::any_of(store.index, [&](NodeId i) { return stage[i] > 0; });
    if (by_element && uses_results) return false;
  }
  return std::ranges::none_of(
      kernel.checks, [&](const kernel::Check& c) { return analysis.inner[c.condition] || analysis.inner[c.value]; });
}

}  // namespace croton::codegen
