// The rewriter applies one group of rules to a graph: it builds each node, in order, from its rewritten inputs, and
// simplifies it until no rule of its op fires. New nodes are added to the same arena; nodes that are no longer needed
// stay in it.
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

struct Options {
  bool special_values = true;  // rules that change results at special points may run
  /// fast_run: all rules; fast_compile: the rules that correctness needs; none: only the rules that kernels need.
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
  /// Makes a node, simplified by the rules of this group.
  expr::NodeId make(const expr::Op& op, std::span<const expr::NodeId> inputs, const expr::Attrs& attrs = {});
  expr::NodeId make(std::string_view op, std::initializer_list<expr::NodeId> inputs, const expr::Attrs& attrs = {});
  /// `value` (float or integer) as a constant of `like`'s dtype.
  expr::NodeId constant(double value, expr::NodeId like);
  /// Whether the node has at most one reader, so that a rewrite of the reader removes it.
  bool one_use(expr::NodeId node) const;
  /// Whether a node of the graph reads it, or it is a result.
  bool is_read(expr::NodeId node) const { return node < uses_.size() && uses_[node] > 0; }
  /// Whether the node that is being simplified was made by a rule and is not in the graph yet.
  bool inside_rule() const { return depth_ > 0; }
  /// The only reader of the node that is being simplified, if that node is in the graph. A rule about whole chains of
  /// ops only handles the last op of a chain.
  expr::NodeId only_reader() const;

 private:
  expr::NodeId simplify(expr::NodeId node);
  expr::NodeId try_rules(expr::NodeId node);
  expr::NodeId build(const expr::Term& term, const Bindings& bindings, DType dtype);
  bool holds(const CompiledRule& rule, const Bindings& bindings) const;
  /// The replacement with the type of the node: cast and broadcast if they differ.
  expr::NodeId same_type(expr::NodeId replacement, expr::NodeId node);

  expr::Graph& graph_;
  Fired& fired_;
  std::vector<std::uint32_t> uses_;
  std::vector<expr::NodeId> readers_;      // the last reader of each node of the graph before the pass
  expr::NodeId position_ = expr::no_node;  // in that graph
  int depth_ = 0;                          // of rules that make nodes
  std::unordered_map<const expr::Op*, std::vector<const CompiledRule*>> by_root_;
  std::unordered_map<expr::NodeId, expr::NodeId> simplified_;
  expr::Place place_ = base::unplaced;
};

}  // namespace croton::rewrite
