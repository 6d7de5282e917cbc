#include "rewrite/rewriter.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>

#include "base/index.hpp"
#include "base/interrupt.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::NodeId;
using expr::Term;

namespace {

// A rule that fires this often at one place does not terminate: a bug that must not hang a compilation.
constexpr int max_firings_at_one_place = 1000;

/// The parsed rules; each group is parsed once in a process.
const std::vector<CompiledRule>& compiled(std::span<const Rule> rules) {
  static std::mutex mutex;
  static std::map<const Rule*, std::vector<CompiledRule>> all;
  const std::lock_guard lock(mutex);
  auto [at, fresh] = all.try_emplace(rules.data());
  if (fresh) {
    for (const Rule& rule : rules) at->second.push_back(compile(rule));
  }
  return at->second;
}

/// Whether the result of finite constants is finite, and a product is not subnormal: x times 1e30 times 1e30 may be
/// finite when x times their product is not.
bool keeps_range(const expr::Op& op, const expr::Scalar& value, const std::vector<expr::Scalar>& from) {
  if (!is_float(value.dtype)) return true;
  const auto is = [&](auto property) {
    return std::ranges::all_of(from, [&](const expr::Scalar& s) { return property(s.as_double()); });
  };
  const double x = std::abs(value.as_double());
  if (is([](double y) { return std::isfinite(y); }) && !std::isfinite(x)) return false;
  const double least = value.dtype == DType::float16   ? 0x1p-14
                       : value.dtype == DType::float64 ? std::numeric_limits<double>::min()
                                                       : std::numeric_limits<float>::min();
  return !op.is(expr::Core::mul) || x >= least || std::isnan(x) || !is([](double y) { return y != 0; });
}

}  // namespace

Rewriter::Rewriter(expr::Graph& graph, const Group& group, const Options& options, Fired& fired)
    : graph_(graph), fired_(fired) {
  for (const CompiledRule& rule : compiled(group.rules)) {
    if (rule.rule->special_values && !options.special_values) continue;
    if (!options.is_on(rule.rule->name)) continue;
    for (const expr::Op* root : rule.roots) by_root_[root].push_back(&rule);
  }
}

bool Rewriter::run() {
  Arena& arena = graph_.arena;
  const std::vector<bool> needed = expr::reachable(graph_);
  uses_ = expr::count_uses(graph_);
  const NodeId count = arena.size();
  readers_.assign(count, expr::no_node);
  for (NodeId id = 0; id < count; ++id) {
    if (!needed[id]) continue;
    for (const NodeId input : arena.inputs(id)) readers_[input] = id;
  }
  std::vector<NodeId> to(count);
  bool changed = false;
  std::vector<NodeId> inputs;
  for (NodeId id = 0; id < count; ++id) {
    to[id] = id;
    base::check_interrupt();
    if (!needed[id] || arena.op(id).kind == expr::Kind::Leaf) continue;
    inputs.clear();
    bool moved = false;
    for (const NodeId input : arena.inputs(id)) {
      inputs.push_back(to[input]);
      moved = moved || to[input] != input;
    }
    arena.set_origin(arena.origin_id(id));
    place_ = arena.node(id).place;
    const NodeId fresh = moved ? arena.make(arena.op(id), inputs, expr::Attrs(arena.attrs(id)), place_) : id;
    position_ = id;
    if (fresh >= uses_.size()) uses_.resize(fresh + 1, 0);
    if (fresh != id) uses_[fresh] += uses_[id];
    to[id] = simplify(fresh);
    changed = changed || to[id] != id;
    if (to[id] >= uses_.size()) uses_.resize(to[id] + 1, 0);
    if (to[id] != fresh) uses_[to[id]] += uses_[id];
  }
  for (NodeId& output : graph_.outputs) output = to[output];
  for (expr::Update& update : graph_.updates) update.value = to[update.value];
  arena.renew_requirements(to);
  return changed;
}

NodeId Rewriter::make(const expr::Op& op, std::span<const NodeId> inputs, const expr::Attrs& attrs) {
  ++depth_;
  const NodeId node = simplify(arena().make(op, inputs, attrs, place_));
  --depth_;
  return node;
}
NodeId Rewriter::make(std::string_view op, std::initializer_list<NodeId> inputs, const expr::Attrs& attrs) {
  return make(expr::op(op), std::span<const NodeId>(inputs.begin(), inputs.size()), attrs);
}

NodeId Rewriter::constant(double value, NodeId like) {
  const DType dtype = arena().type(like).dtype;
  return arena().scalar(is_float(dtype) ? expr::Scalar::of_double(value, dtype)
                                        : expr::Scalar::of_double(value, DType::float64).cast(dtype));
}

bool Rewriter::one_use(NodeId node) const { return node >= uses_.size() || uses_[node] <= 1; }

NodeId Rewriter::only_reader() const {
  return inside_rule() || uses_[position_] != 1 ? expr::no_node : readers_[position_];
}

NodeId Rewriter::simplify(NodeId node) {
  if (const auto known = simplified_.find(node); known != simplified_.end()) return known->second;
  NodeId current = node;
  for (int firing = 0; firing < max_firings_at_one_place; ++firing) {
    const NodeId next = try_rules(current);
    if (next == expr::no_node) {
      simplified_[node] = current;
      simplified_[current] = current;
      return current;
    }
    current = next;
  }
  throw InternalError(fmt::format("the rules for {} do not terminate", arena().op(node).name));
}

NodeId Rewriter::try_rules(NodeId node) {
  const auto rules = by_root_.find(&arena().op(node));
  if (rules == by_root_.end()) return expr::no_node;
  const auto is_complex_node = [&](NodeId id) { return is_complex(arena().type(id).dtype); };
  const bool complex = is_complex_node(node) || std::ranges::any_of(arena().inputs(node), is_complex_node);
  for (const CompiledRule* rule : rules->second) {
    if (complex && !rule->for_complex) continue;
    NodeId replacement = expr::no_node;
    Bindings bindings;
    if (!rule->left.text.empty() && !match(arena(), rule->left, node, bindings)) continue;
    if (rule->one_dtype && !has_one_dtype(arena(), bindings)) continue;
    if (!holds(*rule, bindings)) continue;
    replacement = rule->rule->apply != nullptr ? rule->rule->apply(*this, node)
                                               : build(*rule->right, bindings, arena().type(node).dtype);
    if (replacement == expr::no_node) continue;
    replacement = same_type(replacement, node);
    if (replacement == node) continue;
    ++fired_[rule->rule->name];
    return replacement;
  }
  return expr::no_node;
}

bool Rewriter::holds(const CompiledRule& rule, const Bindings& bindings) const {
  const Arena& arena = graph_.arena;
  for (const Term& condition : rule.conditions) {
    const NodeId node = bindings.node(condition.arguments.at(0).text);
    const DType dtype = arena.type(node).dtype;
    bool holds = false;
    if (condition.text == "one_use")
      holds = one_use(node);
    else if (condition.text == "float")
      holds = is_float(dtype);
    else if (condition.text == "discrete")
      holds = is_discrete(dtype);
    else if (condition.text == "logical")
      holds = is_bool(dtype);
    else if (condition.text == "signed")
      holds = is_float(dtype) || is_signed_int(dtype);
    else if (condition.text == "same_shape")
      holds = arena.same_shape(arena.type(node).shape, arena.type(bindings.node(condition.arguments.at(1).text)).shape);
    else
      throw InternalError(fmt::format("rule {}: unknown condition {}", rule.rule->name, condition.text));
    if (!holds) return false;
  }
  return true;
}

NodeId Rewriter::build(const Term& term, const Bindings& bindings, DType dtype) {
  switch (term.form) {
    case Term::Form::name:
      return bindings.node(term.text);
    case Term::Form::number:
      return arena().scalar(term.typed_number ? *term.value
                            : is_float(dtype) ? expr::Scalar::of_double(term.value->as_double(), dtype)
                                              : term.value->cast(dtype));
    case Term::Form::computed: {
      // Arithmetic on constants.
      const Term& call = term.arguments[0];
      std::vector<expr::Scalar> values;
      for (const Term& argument : call.arguments) {
        const NodeId node = build(argument, bindings, dtype);
        if (node == expr::no_node) return node;
        values.push_back(arena().scalar_value(node)->cast(dtype));
      }
      const expr::Op& op = expr::op(call.text);
      if (!expr::is_exact(op, values, dtype)) return expr::no_node;
      const expr::Scalar value = op.map->reference(values, dtype);
      return keeps_range(op, value, values) ? arena().scalar(value) : expr::no_node;
    }
    case Term::Form::call:
      break;
  }
  std::vector<NodeId> inputs;
  for (const Term& argument : term.arguments) {
    inputs.push_back(build(argument, bindings, dtype));
    if (inputs.back() == expr::no_node) return expr::no_node;
  }
  expr::Attrs attrs = term.attrs;
  for (const auto& [name, hole] : term.attr_holes) {
    for (const auto& [bound, value] : bindings.attrs) {
      if (bound == hole) attrs.set(name, value);
    }
  }
  return make(expr::op(term.text), inputs, attrs);
}

NodeId Rewriter::same_type(NodeId replacement, NodeId node) {
  Arena& a = arena();
  if (a.type(replacement).dtype != a.type(node).dtype) {
    replacement = make(expr::op(expr::Core::cast), std::span(&replacement, 1), {{"dtype", a.type(node).dtype}});
  }
  if (a.same_shape(a.type(replacement).shape, a.type(node).shape)) return replacement;
  std::vector<NodeId> inputs{replacement};
  for (const NodeId size : a.type(node).shape) inputs.push_back(a.representative(size));
  return make(expr::op(expr::Core::alloc), inputs);
}

}  // namespace croton::rewrite
