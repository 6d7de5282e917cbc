#include "rewrite/match.hpp"

#include "rewrite/complex_rules.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace croton::rewrite {

using expr::Arena;
using expr::NodeId;
using expr::Term;

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at `separator` outside parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      if (const auto part = trim(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

bool bind(Bindings& bindings, std::string_view name, NodeId node) {
  for (const auto& [bound, to] : bindings.nodes) {
    if (bound == name) return to == node;
  }
  bindings.nodes.emplace_back(name, node);
  return true;
}

bool bind_attr(Bindings& bindings, std::string_view name, const expr::AttrValue& value) {
  for (const auto& [bound, to] : bindings.attrs) {
    if (bound == name) return to == value;
  }
  bindings.attrs.emplace_back(name, value);
  return true;
}

bool match_attrs(const Arena& arena, const Term& pattern, NodeId node, Bindings& bindings) {
  const expr::Attrs& attrs = arena.attrs(node);
  for (const auto& [name, wanted] : pattern.attrs.items()) {
    const expr::AttrValue* value = attrs.find(name);
    if (value == nullptr || !(*value == wanted)) return false;
  }
  for (const auto& [name, hole] : pattern.attr_holes) {
    const expr::AttrValue* value = attrs.find(name);
    if (value == nullptr || !bind_attr(bindings, hole, *value)) return false;
  }
  return true;
}

}  // namespace

NodeId Bindings::node(std::string_view name) const {
  for (const auto& [bound, to] : nodes) {
    if (bound == name) return to;
  }
  throw InternalError(fmt::format("a rule's hole '{}' is not bound", name));
}

CompiledRule compile(const Rule& rule) {
  CompiledRule compiled{.rule = &rule, .left = {}, .right = {}, .roots = {}, .conditions = {}};
  compiled.for_complex = holds_for_complex(rule.name);
  try {
    const std::size_t arrow = rule.text.find("=>");
    const std::string_view left = trim(rule.text.substr(0, arrow));
    if (arrow != std::string_view::npos) compiled.right = expr::parse_term(rule.text.substr(arrow + 2));
    if (left.find('(') == std::string_view::npos) {
      for (const std::string_view root : split(left, '|')) compiled.roots.push_back(&expr::op(root));
    } else {
      compiled.left = expr::parse_term(left);
      compiled.roots.push_back(&expr::op(compiled.left.text));
    }
    const auto is_call = [](const Term& term) { return term.form == Term::Form::call; };
    compiled.one_dtype = compiled.right && (compiled.right->form == Term::Form::call ||
                                            std::ranges::any_of(compiled.left.arguments, is_call));
    for (const std::string_view condition : split(rule.condition, ','))
      compiled.conditions.push_back(expr::parse_term(condition));
  } catch (const Error& e) {
    throw InternalError(fmt::format("rule {}: {}", rule.name, e.what()));
  }
  return compiled;
}

bool has_one_dtype(const Arena& arena, const Bindings& bindings) {
  for (const NodeId node : bindings.calls) {
    const expr::Op& op = arena.op(node);
    const DType own = arena.type(node).dtype;
    // The operands of a comparison have another dtype than its result.
    bool free = op.kind == expr::Kind::Map ? is_bool(own) : op.reduce != nullptr && op.reduce->yields_index;
    DType dtype = own;
    const auto inputs = arena.inputs(node);
    for (std::size_t i = op.is(expr::Core::where) ? 1 : 0; i < inputs.size(); ++i) {
      if (arena.scalar_value(inputs[i])) continue;
      const DType operand = arena.type(inputs[i]).dtype;
      if (free) dtype = operand;
      if (operand != dtype) return false;
      free = false;
    }
  }
  return true;
}

bool match(const Arena& arena, const Term& pattern, NodeId node, Bindings& bindings) {
  switch (pattern.form) {
    case Term::Form::number: {
      const auto value = arena.scalar_value(node);
      return value && value->as_complex() == pattern.value->as_complex() &&
             (!pattern.typed_number || value->dtype == pattern.value->dtype);
    }
    case Term::Form::name:
      if (pattern.constraint == "const" && !arena.scalar_value(node)) return false;
      return rewrite::bind(bindings, pattern.text, node);
    case Term::Form::computed:
      return false;
    case Term::Form::call:
      break;
  }
  const expr::Op& op = arena.op(node);
  if (op.name != pattern.text || arena.inputs(node).size() != pattern.arguments.size()) return false;
  if (!match_attrs(arena, pattern, node, bindings)) return false;
  bindings.calls.push_back(node);
  const Bindings before = bindings;
  const auto in_order = [&](bool swapped) {
    for (std::size_t i = 0; i < pattern.arguments.size(); ++i) {
      const std::size_t from = swapped ? pattern.arguments.size() - 1 - i : i;
      if (!match(arena, pattern.arguments[i], arena.input(node, from), bindings)) return false;
    }
    return true;
  };
  if (in_order(false)) return true;
  if (op.map == nullptr || !op.map->commutative) return false;
  bindings = before;
  return in_order(true);
}

}  // namespace croton::rewrite
