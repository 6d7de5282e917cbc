// Patterns of rules: matched against nodes, and built into nodes again.
#pragma once

#include "rewrite/rule.hpp"

#include <map>
#include <string>
#include <vector>

namespace croton::rewrite {

/// What the holes of a pattern stand for.
struct Bindings {
  std::vector<std::pair<std::string_view, expr::NodeId>> nodes;
  std::vector<std::pair<std::string_view, expr::AttrValue>> attrs;
  std::vector<expr::NodeId> calls;  // the nodes that the ops of the pattern matched
  expr::NodeId node(std::string_view name) const;
};

/// A rule read once: both sides as terms.
struct CompiledRule {
  const Rule* rule;
  expr::Term left;
  std::optional<expr::Term> right;  // absent where a function builds it
  std::vector<const expr::Op*> roots;
  std::vector<expr::Term> conditions;
  /// The rule builds or looks into nested ops, whose arithmetic depends on the dtype: all that it matches must have the
  /// root's.
  bool one_dtype = false;
  bool for_complex = false;  // holds_for_complex
};

/// InternalError that names the rule if its text is at fault.
CompiledRule compile(const Rule& rule);

/// Whether each node that an op of the pattern matched computes in one dtype, which is its own unless it compares or
/// finds a position; constants and the conditions of `where` apart.
bool has_one_dtype(const expr::Arena& arena, const Bindings& bindings);

/// Whether the node is of the pattern's form; commutative ops are tried both ways round.
bool match(const expr::Arena& arena, const expr::Term& pattern, expr::NodeId node, Bindings& bindings);

}  // namespace croton::rewrite
