// The reference evaluator: a slow and simple evaluation of a graph, with one Array per node, by the reference functions
// of ops. All other evaluation is compared with it. It is independent of rewriting, fusion and code generation.
#pragma once

#include "expr/graph.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace croton::expr {

/// The outputs, then the values of the updates. `inputs`: one array for each of the graph's inputs, arguments and
/// shared variables alike. Each node is rounded to its dtype. TypeError and ShapeError if an array does not fit its
/// input, ShapeError and IndexError if a requirement on sizes does not hold, IndexError if a check in the graph fails.
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs);

/// A node whose value has been computed. `arena` is the evaluator's copy: nodes after the graph's are those
/// of expansions.
struct EvaluatedNode {
  const Arena& arena;
  NodeId node;
  NodeId expansion;               // the node that its value comes from; no_node: it was computed
  std::span<const Array> inputs;  // for an expanded node only those that were needed; others have size 0
  const Array& value;
};
using NodeObserver = std::function<void(const EvaluatedNode&)>;
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs, const NodeObserver& observer);

/// The number of nodes that were evaluated in this process: tests assert that compiled calls do not use the evaluator.
std::uint64_t evaluated_nodes();

/// One element of an array (C order) as a scalar of its dtype, and the array of scalars of one dtype.
Scalar element_of(const Array& array, std::int64_t position);
/// The result of a Host node among those that the callback returned; TypeError or ShapeError if it has not the promised
/// dtype or shape. `line`: the user's line, for messages.
Array host_result(const Op& op, const Attrs& attrs, const std::vector<Array>& given, DType dtype, const Sizes& shape,
                  std::string_view line);
Array array_of(std::span<const Scalar> values, DType dtype, const Sizes& shape);
/// The op's reference on operands cast to the dtype in which it computes.
Scalar apply_map(const Op& op, std::span<const Scalar> operands, DType result);
/// `message` with the first {} replaced by the value, {real} by the float64 that has the value's bits, and {e3} by size
/// 3 of a launch. It is not a format string, because messages may come from texts.
std::string fill_message(std::string_view message, std::int64_t value, std::span<const std::int64_t> sizes = {});

}  // namespace croton::expr
