// Kernel: the computation of one launch, as loops over axes around expressions, which have the same kind of nodes as
// graphs. It is independent of schedules, strides and devices.
//
// An axis is parallel (its points are independent) or inner (a loop within a point). First the stages run in order;
// each reduces a value over all inner axes. Then the stores run: those that depend on inner axes once per element, the
// others once per point.
//
//   kernel row [i0: e0, i1: 10 inner] (e0, p0: f32[2]) -> (p1: f32[2])
//     v0 = p0[i0, i1]
//     r0 = max v0
//     v1 = sub(v0, r0)
//     v2 = exp(v1)
//     r1 = sum v2
//     v3 = true_divide(v2, r1)
//     p1[i0, i1] = v3
//
// (Text written by hand may nest expressions: r1 = sum exp(sub(p0[i0, i1], r0)).)
#pragma once

#include "expr/arena.hpp"

#include <string>
#include <vector>

namespace croton::kernel {

using expr::NodeId;

/// The schedule family: the template that runs the kernel. It is fixed when the kernel is made, and it fixes the order
/// of every reduction.
enum class Family : std::uint8_t {
  pointwise,  // no inner axes
  row,        // the fastest axis is inner: neighbouring elements belong to one point
  column,     // the fastest axis is parallel: neighbouring points are reduced at the same time
  split,      // few points, long reductions: each is split into blocks of a fixed size
  contract,   // sums of products of a value of the rows and a value of the columns (contraction.hpp)
};
std::string_view name_of(Family family);

struct Axis {
  NodeId extent;  // an int64 node of the body: a number or `extent`
  bool inner = false;
};

struct Operand {
  DType dtype = DType::float32;
  std::size_t rank = 0;
  bool written = false;
};

/// A reduction over all inner axes. The leaf `result` with the number of the stage reads its result.
struct Stage {
  const expr::Op* op;
  NodeId value;
};

struct Store {
  std::size_t operand;
  std::vector<NodeId> index;
  NodeId value;
};

/// Fails the call if the condition (bool) is false anywhere.
struct Check {
  NodeId condition;
  NodeId value;  // int64, shown in the message
  std::string message;
};

struct Kernel {
  Family family = Family::pointwise;
  expr::Arena body;
  std::vector<Axis> axes;
  std::vector<Operand> operands;  // read ones first, then written ones
  std::size_t extents = 0;        // the number of sizes that the launch passes
  std::vector<Stage> stages;
  std::vector<Store> stores;
  std::vector<Check> checks;

  bool has_inner() const;
};

/// For each node of the body: whether it depends on an inner axis, also through loads.
std::vector<bool> depends_on_inner(const Kernel& kernel);
/// For each node, the number of stages that must run before it.
std::vector<std::size_t> stage_of(const Kernel& kernel);
/// For each node: whether it is a float of 16 bits that is rounded where it is computed. Kernels compute such floats in
/// float32, and each op's result is rounded, as if it were stored and read back: results do not depend on what shares a
/// kernel. A store rounds anyway, so what only stores read is not in it, nor are casts, which round by themselves.
std::vector<bool> rounded_where_computed(const Kernel& kernel);
/// Neighbouring stages of which none depends on another one: they can be reduced in one pass over the elements.
struct StageGroup {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};
std::vector<StageGroup> stage_groups(const Kernel& kernel);
/// The nodes from which `roots` are computed. The node `known` is already computed and needs no inputs.
std::vector<bool> needed_for(const expr::Arena& body, std::span<const NodeId> roots, NodeId known = expr::no_node);

/// The kernel as text, as in the comment above; parse_kernel reads it back.
std::string print(const Kernel& kernel);
/// Parses the text of a kernel. Raises ValueError with the line and column.
Kernel parse_kernel(std::string_view text);
/// The first promise that the kernel breaks; empty if it keeps all.
std::string broken_promise(const Kernel& kernel);
/// Raises InternalError with the promise that the kernel breaks.
void verify(const Kernel& kernel);

}  // namespace croton::kernel
