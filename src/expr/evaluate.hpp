// The reference evaluator: runs a graph slowly and obviously, one Array per node, with the functions that each op
// brings along. Everything else that computes is compared with it. Nothing of the compiler's rewriting, fusion or code
// generation is used.
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
/// shared variables alike. Each node is rounded to its dtype. TypeError and ShapeError where an array does not fit its
/// input, ShapeError and IndexError where a requirement on sizes does not hold, IndexError where a check in the graph
/// fails.
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs);

/// A node whose value has been found. `arena` is the evaluator's own: nodes beyond the graph's are those of expansions.
struct EvaluatedNode {
  const Arena& arena;
  NodeId node;
  NodeId expansion;               // which node's value it took over; no_node: it was computed
  std::span<const Array> inputs;  // of a node that was expanded those that were needed; others are of size 0
  const Array& value;
};
using NodeObserver = std::function<void(const EvaluatedNode&)>;
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs, const NodeObserver& observer);

/// How many nodes the evaluator has computed in this process: tests assert that compiled calls leave it alone.
std::uint64_t evaluated_nodes();

/// One element of an array (C order) as a scalar of its dtype, and the array of scalars of one dtype.
Scalar element_of(const Array& array, std::int64_t position);
/// The result that a Host node stands for, among those that the callback gave; TypeError or ShapeError where it is not
/// what was promised. `line`: the user's, for messages.
Array host_result(const Op& op, const Attrs& attrs, const std::vector<Array>& given, DType dtype, const Sizes& shape,
                  std::string_view line);
Array array_of(std::span<const Scalar> values, DType dtype, const Sizes& shape);
/// The op's reference on operands cast to the dtype in which it computes.
Scalar apply_map(const Op& op, std::span<const Scalar> operands, DType result);
/// `message` with the first {} replaced, {real} by the float64 whose bits the value is, and {e3} by size 3 of those
/// that a launch was given. Not a format string: messages may come from texts.
std::string fill_message(std::string_view message, std::int64_t value, std::span<const std::int64_t> sizes = {});

}  // namespace croton::expr
