// Kernel: what one launch computes, as loops over axes around expressions of the same node kind as graphs. It knows
// nothing of schedules, strides or devices.
//
// The axes are parallel (each point is computed on its own) or inner (walked within a point). First the stages run in
// order, each reducing a value over all inner axes; then the stores that depend on inner axes run over them, the others
// once a point.
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
// (Text that people write may nest: r1 = sum exp(sub(p0[i0, i1], r0)).)
#pragma once

#include "expr/arena.hpp"

#include <string>
#include <vector>

namespace croton::kernel {

using expr::NodeId;

/// The schedule family: which template runs the kernel. Fixed when the kernel is made, and with it the order of every
/// reduction.
enum class Family : std::uint8_t {
  pointwise,  // no inner axes
  row,        // inner axes are the fast ones: a point's elements lie together
  column,     // the fastest axis is parallel: neighbouring points are reduced side by side
  split,      // few points, long reductions: each is cut into fixed blocks
  contract,   // sums of products of what belongs to rows and what belongs to columns (contraction.hpp)
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

/// A reduction over all inner axes. Its result is the leaf `result` with this stage's number.
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
  std::size_t extents = 0;        // how many sizes the launch passes
  std::vector<Stage> stages;
  std::vector<Store> stores;
  std::vector<Check> checks;

  bool has_inner() const;
};

/// For each node of the body: whether it depends on an inner axis, through loads as well.
std::vector<bool> depends_on_inner(const Kernel& kernel);
/// For each node, the first stage that must have run before it (0: none).
std::vector<std::size_t> stage_of(const Kernel& kernel);

/// The text of the header comment; parse_kernel reads it back.
std::string print(const Kernel& kernel);
/// ValueError with line and column.
Kernel parse_kernel(std::string_view text);
/// The promise that the kernel breaks, or nothing.
std::string broken_promise(const Kernel& kernel);
/// InternalError that says which promise is broken.
void verify(const Kernel& kernel);

}  // namespace croton::kernel
