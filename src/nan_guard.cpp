#include "nan_guard.hpp"

#include <croton/verification.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/config.hpp"
#include "builder/gradient_line.hpp"
#include "builder/node.hpp"
#include "expr/evaluate.hpp"
#include "fuse/guard.hpp"

namespace croton::detail {
namespace {

using expr::NodeId;

/// Counts and range of an array's elements, by the kinds of the flag.
struct Contents {
  std::int64_t nan = 0, inf = 0, big = 0, zeros = 0, negatives = 0, first_bad = -1;
  double min = std::numeric_limits<double>::infinity(), max = -min;  // of finite elements; of complex ones |z|

  Contents(const Array& array, std::string_view kinds) {
    if (is_discrete(array.dtype())) {
      for (std::int64_t i = 0; i < array.size(); ++i) count_value(array.as_double(i));
      return;
    }
    const bool no_nan = base::has_word(kinds, "nan"), no_inf = base::has_word(kinds, "inf"),
               no_big = base::has_word(kinds, "big");
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const std::complex<double> value = array.as_complex(i);
      const bool is_nan = std::isnan(value.real()) || std::isnan(value.imag());
      const bool is_inf = !is_nan && (std::isinf(value.real()) || std::isinf(value.imag()));
      const bool is_big = !is_nan && std::abs(value) > 1e10;
      nan += is_nan ? 1 : 0;
      inf += is_inf ? 1 : 0;
      big += is_big && !is_inf ? 1 : 0;
      if (first_bad < 0 && ((is_nan && no_nan) || (is_inf && (no_inf || no_big)) || (is_big && no_big))) first_bad = i;
      if (!is_nan && !is_inf) count_value(is_complex(array.dtype()) ? std::abs(value) : value.real());
    }
  }
  bool bad() const { return first_bad >= 0; }

  /// "2 nan and 1 inf of 6 elements, the first at [0, 1]".
  std::string faults(const Array& array) const {
    std::string text;
    const auto add = [&](std::int64_t count, std::string_view what) {
      if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " and ", count, what);
    };
    add(nan, "nan");
    add(inf, "inf");
    add(big, "beyond 1e10");
    return fmt::format("{} of {} element{}, the first at [{}]", text, array.size(), array.size() == 1 ? "" : "s",
                       index(array));
  }
  /// "-1 to 3, 1 zero, 2 negative".
  std::string range() const {
    if (min > max) return "no finite element";
    return fmt::format("{:.6g} to {:.6g}, {} zero, {} negative", min, max, zeros, negatives) +
           (nan + inf > 0 ? fmt::format(", {} nan, {} inf", nan, inf) : "");
  }

 private:
  void count_value(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
    zeros += value == 0 ? 1 : 0;
    negatives += value < 0 ? 1 : 0;
  }
  std::string index(const Array& array) const {
    std::vector<std::int64_t> at(array.shape().size());
    std::int64_t rest = first_bad;
    for (std::size_t axis = at.size(); axis-- > 0;) {
      at[axis] = rest % array.shape()[axis];
      rest /= array.shape()[axis];
    }
    return fmt::format("{}", fmt::join(at, ", "));
  }
};

/// "log (z, train.cpp:12)", "mul in the gradient of log (train.cpp:12)".
std::string name_of_node(const expr::Arena& arena, NodeId node) {
  const expr::Origin& origin = arena.origin(node);
  const std::string_view gradient = builder::gradient_of(origin.where);
  const std::string in_gradient = gradient.empty() ? "" : fmt::format(" in the gradient of {}", gradient);
  const std::string line = builder::describe(origin.where);
  const bool leaf = arena.op(node).kind == expr::Kind::Leaf;
  if (leaf) return fmt::format("{} ({})", origin.name.empty() ? std::string(arena.op(node).name) : origin.name, line);
  return fmt::format("{}{} ({}{}{})", arena.op(node).name, in_gradient, origin.name, origin.name.empty() ? "" : ", ",
                     line);
}

/// A node whose value is bad although its inputs are not.
struct FaultyNode {
  NodeId node = expr::no_node;
  std::vector<Array> inputs;
  Array value;
};

/// These nodes, in the order in which the user's graph was built, and for all nodes whether their values are bad.
struct Faults {
  std::vector<FaultyNode> found;
  std::vector<bool> bad;  // by node

  explicit Faults(const GuardedCall& call) : bad(call.imported.arena.size()) {
    const expr::Arena& arena = call.imported.arena;
    expr::evaluate(call.imported, call.inputs, [&](const expr::EvaluatedNode& at) {
      if (at.node >= arena.size()) return;
      // A constant is what the program states: it is not a fault, but the results that it makes bad are.
      if (arena.op(at.node).is(expr::Core::const_) || arena.op(at.node).is(expr::Core::constant)) return;
      bad[at.node] = Contents(at.value, call.kinds).bad();
      if (!bad[at.node] || !Contents(at.value, fuse::guarded_kinds(arena.op(at.node), call.kinds)).bad()) return;
      for (const NodeId input : arena.inputs(at.node)) {
        if (bad[input]) return;
      }
      found.push_back({at.node, {at.inputs.begin(), at.inputs.end()}, at.value});
    });
    std::ranges::sort(found, {}, &FaultyNode::node);
  }

  /// The first of these nodes from which a path of bad values leads to one of `nodes`; nullptr if there is none.
  const FaultyNode* first_leading_to(const expr::Arena& arena, const std::vector<NodeId>& nodes) const {
    std::vector<bool> leads(bad.size());
    for (const NodeId node : nodes) leads[node] = bad[node];
    for (NodeId node = static_cast<NodeId>(bad.size()); node-- > 0;) {
      if (!leads[node]) continue;
      for (const NodeId input : arena.inputs(node)) leads[input] = leads[input] || bad[input];
    }
    const auto first = std::ranges::find_if(found, [&](const FaultyNode& fault) { return leads[fault.node]; });
    return first == found.end() ? nullptr : &*first;
  }
};

/// The node that made the value that a kernel rejected. The rejected node is in the rewritten graph, so the search goes
/// back from nodes with the same line of the user or, if no faulty node leads to them, from the results; bad values
/// that lead to neither are handled by the user's program.
const FaultyNode* cause(const Faults& faults, const expr::Graph& imported, const expr::Origin& refused) {
  std::vector<NodeId> of_line;
  for (NodeId node = 0; node < faults.bad.size(); ++node) {
    if (faults.bad[node] && imported.arena.origin(node).where == refused.where) of_line.push_back(node);
  }
  if (const FaultyNode* found = faults.first_leading_to(imported.arena, of_line)) return found;
  if (const FaultyNode* found = faults.first_leading_to(imported.arena, imported.roots())) return found;
  return faults.found.empty() ? nullptr : &faults.found.front();
}

std::string describe(const GuardedCall& call, const FaultyNode& found) {
  const expr::Arena& arena = call.imported.arena;
  const Contents contents(found.value, call.kinds);
  const std::string shape = Type{found.value.dtype(), found.value.shape()}.to_string();
  const bool leaf = arena.op(found.node).kind == expr::Kind::Leaf;
  std::string text = fmt::format("{}: nan_guard: {} {} {} ({})", call.name, name_of_node(arena, found.node),
                                 leaf ? "holds" : "made", contents.faults(found.value), shape);
  for (std::size_t i = 0; i < found.inputs.size(); ++i) {
    text += fmt::format("\n  of {}, {}: {}", name_of_node(arena, arena.input(found.node, i)),
                        Type{found.inputs[i].dtype(), found.inputs[i].shape()}.to_string(),
                        Contents(found.inputs[i], "").range());
  }
  return text;
}

}  // namespace

void raise_nan_error(const GuardedCall& call, const runtime::GuardFailure& failure) {
  const expr::Arena& arena = failure.executable->program.graph.arena;
  const Faults faults(call);
  if (const FaultyNode* found = cause(faults, call.imported, arena.origin(failure.node)))
    throw NanError(describe(call, *found));
  std::string text = fmt::format(
      "{}: nan_guard: a kernel computed it in {}; the graph as written, evaluated node by node, does not compute it, "
      "so the rewritten or fused form is at fault (mode=verify compares the two). The kernel:",
      call.name, name_of_node(arena, failure.node));
  for (const std::string& line : runtime::kernel_comment(*failure.kernel)) text += "\n  " + line;
  throw NanError(text);
}

void check_every_node(const GuardedCall& call) {
  const Faults faults(call);
  if (!faults.found.empty()) throw NanError(describe(call, faults.found.front()));
}

}  // namespace croton::detail
