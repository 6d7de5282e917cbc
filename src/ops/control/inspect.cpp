#include <croton/inspect.hpp>

#include <croton/error.hpp>

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "builder/node.hpp"
#include "expr/body.hpp"
#include "expr/parse.hpp"
#include "ops/control/loop.hpp"

namespace croton {
namespace builder {
namespace {

const Node& checked(const Variable& x) {
  if (!x.defined()) throw TypeError("an empty Variable was given");
  return *x.node();
}

bool is_leaf(const Node& node) { return node.op->kind == expr::Kind::Leaf && node.inputs.empty(); }

/// Assigns equal numbers to nodes that compute the same value.
class Numbering {
 public:
  void same(const Variable& a, const Variable& b) { numbers_[b.node()] = number(a); }

  std::size_t number(const Variable& root) {
    for (Node* node : topological_order({root})) {
      if (!numbers_.contains(node)) numbers_[node] = new_number(*node);
    }
    return numbers_.at(root.node());
  }

 private:
  std::size_t new_number(const Node& node) {
    const std::size_t fresh = ++last_;
    if (is_leaf(node) && !Variable(std::const_pointer_cast<Node>(node.shared_from_this())).is_constant()) return fresh;
    std::vector<std::size_t> inputs;
    inputs.reserve(node.inputs.size());
    for (const Variable& input : node.inputs) inputs.push_back(numbers_.at(input.node()));
    const auto [first, last] = known_.equal_range({node.op, inputs});
    for (auto at = first; at != last; ++at) {
      const Node& other = *at->second.first;
      if (other.type == node.type && other.attrs == node.attrs && (!is_leaf(node) || other.value.same_bits(node.value)))
        return at->second.second;
    }
    known_.emplace(std::tuple(node.op, inputs), std::pair(&node, fresh));
    return fresh;
  }

  std::unordered_map<const Node*, std::size_t> numbers_;
  std::multimap<std::tuple<const expr::Op*, std::vector<std::size_t>>, std::pair<const Node*, std::size_t>> known_;
  std::size_t last_ = 0;
};

}  // namespace
}  // namespace builder

std::optional<Application> application(const Variable& x, bool attributes) {
  const builder::Node& node = builder::checked(x);
  if (builder::is_leaf(node)) return std::nullopt;
  Application made{std::string(node.op->name), node.inputs, ""};
  if (!attributes) return made;
  if (node.op->kind == expr::Kind::Host || node.own_op != nullptr)
    throw TypeError(fmt::format("{}: the op '{}' has no text", builder::describe(x), made.op));
  if (node.op->kind == expr::Kind::Loop) {
    const ops::LoopSource& source = ops::loop_source(node);
    made.body = {source.inputs, source.outputs, source.truncate};
  }
  for (const auto& [name, value] : node.attrs.items()) {
    if (std::holds_alternative<expr::BodyPtr>(value)) continue;
    made.attributes += fmt::format("{}{}={}", made.attributes.empty() ? "" : ", ", name, expr::to_string(value));
  }
  return made;
}

Variable apply_again(const Application& made, Where where) {
  expr::Term term = expr::parse_term(made.op + "(" + made.attributes + ")");
  const expr::Op* op = expr::find_op(term.text);
  const bool is_loop = op != nullptr && op->kind == expr::Kind::Loop;
  if (op == nullptr || op->kind == expr::Kind::Leaf || is_loop != made.body.has_value() || !term.arguments.empty() ||
      !term.attr_holes.empty())
    throw ValueError(fmt::format("'{}({})' is not an application of an op", made.op, made.attributes));
  if (is_loop)
    term.attrs.set("body", ops::loop_body({made.body->inputs, made.body->outputs, made.body->truncate}, where));
  try {
    return builder::apply(*op, made.inputs, term.attrs, where);
  } catch (const expr::AttrFault& fault) {
    throw ValueError(fmt::format("{}: {}", made.op, fault.fault));
  }
}

bool is_shared(const Variable& x) { return builder::checked(x).shared != nullptr; }

Array constant_value(const Variable& x) {
  const builder::Node& node = builder::checked(x);
  if (!x.is_constant()) throw TypeError(fmt::format("{} is not a constant", builder::describe(x)));
  return node.value;
}

bool equal_computations(const std::vector<Variable>& a, const std::vector<Variable>& b,
                        const std::vector<Variable>& a_inputs, const std::vector<Variable>& b_inputs) {
  if (a_inputs.size() != b_inputs.size())
    throw ValueError(
        fmt::format("equal_computations: {} and {} inputs; as many are needed", a_inputs.size(), b_inputs.size()));
  if (a.size() != b.size()) return false;
  builder::Numbering numbering;
  for (std::size_t i = 0; i < a_inputs.size(); ++i) numbering.same(a_inputs[i], b_inputs[i]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (numbering.number(a[i]) != numbering.number(b[i])) return false;
  }
  return true;
}

}  // namespace croton
