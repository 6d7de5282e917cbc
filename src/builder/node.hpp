// The user's graph: reference-counted nodes with identity, names and source lines, which the compiler never changes.
#pragma once

#include <croton/variable.hpp>

#include "expr/op.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace croton::builder {

struct SharedState;

struct Node : std::enable_shared_from_this<Node> {
  Type type;
  const expr::Op* op = nullptr;  // leaves: input, constant, shared
  expr::Attrs attrs;
  std::vector<Variable> inputs;
  std::string name;
  Where where;
  std::uint16_t place = 0;
  std::uint64_t serial = 0;  // order of creation: a topological order
  Array value;               // of a constant
  std::shared_ptr<SharedState> shared;
  std::shared_ptr<const expr::Op> own_op;  // owns `op` if it is not an op of the registry

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// Destroys long chains in a loop, without recursion.
  ~Node();
};

/// The variable of `op` over `inputs`, with the type by the op's rule; TypeError or ShapeError that names the inputs
/// and their lines.
Variable apply(const expr::Op& op, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where);
Variable apply(expr::Core core, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where);
/// Whether an integer scalar fits in int64.
bool fits_index(const Array& number);
/// Indices and bounds of any shape, with uint64 converted to int64. Larger values become the largest int64: they are
/// outside of any axis, and must not become negative. (Sizes that are too large are errors.)
Variable as_index(const Variable& index);
Variable apply(std::string_view op, const std::vector<Variable>& inputs, const expr::Attrs& attrs, Where where);
/// The sizes of x, as alloc, reshape and the like take them.
std::vector<Operand> shape_of(const Variable& x);
/// A 0-d constant of that dtype.
Variable scalar_constant(double value, DType dtype, Where where = std::source_location::current());

/// A variable in messages: "x is f32[?, 784] (train.cpp:12)".
std::string describe(const Variable& variable);
/// A line in messages: "train.cpp:12".
std::string describe(Where where);

/// The nodes of `roots` and all nodes that they depend on, inputs first; iterative.
std::vector<Node*> topological_order(const std::vector<Variable>& roots);

}  // namespace croton::builder
