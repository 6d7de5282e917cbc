// Patterns of rules, and how nodes match them.
#pragma once

#include "rewrite/rule.hpp"

#include <map>
#include <string>
#include <vector>

namespace croton::rewrite {

/// The nodes and attributes that a pattern's holes matched.
struct Bindings {
  std::vector<std::pair<std::string_view, expr::NodeId>> nodes;
  std::vector<std::pair<std::string_view, expr::AttrValue>> attrs;
  std::vector<expr::NodeId> calls;  // the nodes that the ops of the pattern matched
  expr::NodeId node(std::string_view name) const;
};

/// A parsed rule: both sides as terms.
struct CompiledRule {
  const Rule* rule;
  expr::Term left;
  std::optional<expr::Term> right;  // absent where a function builds it
  std::vector<const expr::Op*> roots;
  std::vector<expr::Term> conditions;
  /// The rule builds or matches nested ops, whose arithmetic depends on the dtype: all matched nodes must have the
  /// root's dtype.
  bool one_dtype = false;
  bool for_complex = false;  // holds_for_complex
};

/// Parses a rule; InternalError that names the rule if its text is wrong.
CompiledRule compile(const Rule& rule);

/// Whether each node that an op of the pattern matched computes in one dtype: its own, except for comparisons and
/// positions of extremes. Constants and the conditions of `where` may have other dtypes.
bool has_one_dtype(const expr::Arena& arena, const Bindings& bindings);

/// Whether the node has the pattern's form; the operands of commutative ops are tried in both orders.
bool match(const expr::Arena& arena, const expr::Term& pattern, expr::NodeId node, Bindings& bindings);

}  // namespace croton::rewrite
