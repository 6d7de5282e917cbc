// The rewriter applies one group of rules to a graph: a loop over the nodes in order, each built again over its
// rewritten inputs and then simplified until no rule of its root op fires. New nodes join the same arena; what is no
// longer needed is left behind.
#pragma once

#include "base/config.hpp"
#include "rewrite/match.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace croton::rewrite {

/// How often each rule fired.
using Fired = std::map<std::string_view, std::size_t>;

/// As the flag `optimizer` says it.
std::string_view name_of(base::OptimizerMode mode);

struct Options {
  bool special_values = true;  // rules that change results at special points may run
  /// fast_run: all; fast_compile: what correctness needs; none: only what cannot be left out.
  base::OptimizerMode optimizer = base::OptimizerMode::fast_run;
  std::vector<std::string_view> off = {};  // names of rules that do not run

  bool is_on(std::string_view rule) const { return std::ranges::find(off, rule) == off.end(); }
};

class Rewriter {
 public:
  Rewriter(expr::Graph& graph, const Group& group, const Options& options, Fired& fired);

  /// One pass; true if anything changed.
  bool run();

  // For the functions of rules:
  expr::Arena& arena() { return graph_.arena; }
  const expr::Graph& graph() const { return graph_; }
  /// A node, simplified by the rules of this group.
  expr::NodeId make(const expr::Op& op, std::span<const expr::NodeId> inputs, const expr::Attrs& attrs = {});
  expr::NodeId make(std::string_view op, std::initializer_list<expr::NodeId> inputs, const expr::Attrs& attrs = {});
  /// `value` (float or integer) as a constant of `like`'s dtype.
  expr::NodeId constant(double value, expr::NodeId like);
  /// At most one reader: rewriting it away saves it.
  bool one_use(expr::NodeId node) const;
  /// Whether something in the graph reads it, or it is a result.
  bool is_read(expr::NodeId node) const { return node < uses_.size() && uses_[node] > 0; }
  /// Whether the node that is simplified now was made by a rule, and stands nowhere in the graph yet.
  bool inside_rule() const { return depth_ > 0; }
  /// The node that reads the one which is simplified now, if it stands in the graph and has one reader. A rule about
  /// whole chains of ops leaves all but the last to it.
  expr::NodeId only_reader() const;

 private:
  expr::NodeId simplify(expr::NodeId node);
  expr::NodeId try_rules(expr::NodeId node);
  expr::NodeId build(const expr::Term& term, const Bindings& bindings, DType dtype);
  bool holds(const CompiledRule& rule, const Bindings& bindings) const;
  /// The replacement with the type that the node had: cast and broadcast where the rule changed it.
  expr::NodeId same_type(expr::NodeId replacement, expr::NodeId node);

  expr::Graph& graph_;
  Fired& fired_;
  std::vector<std::uint32_t> uses_;
  std::vector<expr::NodeId> readers_;      // of each node of the graph before the pass, the last one
  expr::NodeId position_ = expr::no_node;  // in that graph
  int depth_ = 0;                          // of rules that make nodes
  std::unordered_map<const expr::Op*, std::vector<const CompiledRule*>> by_root_;
  std::unordered_map<expr::NodeId, expr::NodeId> simplified_;
  expr::Place place_ = 0;
};

}  // namespace croton::rewrite
