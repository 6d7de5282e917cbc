// A rewrite rule is a row: a name, its text in the language of printed graphs with holes (`x`, `c:const`, `axis=A`), a
// condition, and the reason. If text cannot express the right side, the row has a function, with the same tests.
#pragma once

#include "base/config.hpp"
#include "expr/graph.hpp"
#include "expr/parse.hpp"

#include <optional>
#include <string_view>

namespace croton::rewrite {

class Rewriter;

struct Rule {
  std::string_view name;
  /// "log(exp(x)) => x"; for a function only the left side, or the names of the root ops ("mul | true_divide").
  std::string_view text;
  std::string_view condition = "";  // "one_use(x), float(x)"
  std::string_view reason = "";
  /// The rule changes results at special points (x / x at 0): off under special_values=ieee.
  bool special_values = false;
  /// The node to use instead of `root`, or no_node if the rule does not apply after all.
  expr::NodeId (*apply)(Rewriter& rewriter, expr::NodeId root) = nullptr;
};

struct Group {
  std::string_view name;
  std::string_view measure;  // what each rule lowers, so that the group terminates
  std::span<const Rule> rules;
  /// It runs in the modes of the flag `optimizer` up to this one. `none` means that kernels need its rules: they cannot
  /// be turned off.
  base::OptimizerMode last_mode = base::OptimizerMode::fast_run;
};

/// In the order in which they run; pipeline.cpp explains the order.
std::span<const Rule> canonical_rules();
std::span<const Rule> stability_rules();
std::span<const Rule> filter_rules();
std::span<const Rule> expand_rules();
std::span<const Rule> algebra_rules();
std::span<const Rule> specialise_rules();

}  // namespace croton::rewrite
