// Plan: the calls of a program in order, the buffers of all stored values, their lifetimes, and which buffers share
// memory. All sizes are symbolic; binding (runtime/bound/segment.hpp) replaces them by numbers.
//
// Steps run in segments: between two segments the host reads back fresh sizes (fuse/host.hpp). The steps of one launch
// (the updates of all parameters; on a GPU, reductions of whole arrays that do not depend on each other, and then
// kernels of one point that use their results) are consecutive.
//
// Only the plan decides what is computed in place. The order of steps guarantees that a failed call changes no shared
// variable: everything that can fail (checks of values, allocation) comes before the commit point, and steps that
// overwrite shared variables come after it and cannot fail.
#pragma once

#include "fuse/program.hpp"

#include <memory>
#include <string>
#include <vector>

namespace croton::plan {

using expr::NodeId;
using fuse::CallId;
using fuse::SegmentId;

/// Indices into the vectors of a Plan.
using BufferId = base::Id<struct BufferTag>;
using StepId = base::Id<struct StepTag>;
using LaunchId = base::Id<struct LaunchTag>;
inline constexpr BufferId no_buffer;
inline constexpr StepId no_step;
inline constexpr LaunchId no_launch;

struct Buffer {
  enum class Role : std::uint8_t { argument, shared, constant, temporary, output, update, resident, workspace };
  Role role = Role::temporary;
  NodeId node = expr::no_node;              // workspace: the routine's result; its size is found by binding
  std::size_t number = 0;                   // the index of the argument, shared variable, constant, output or update
  BufferId copy_of = no_buffer;             // resident: the buffer that it is a copy of
  expr::Place place = base::host_place;     // the device that has it
  BufferId in_place_of = no_buffer;         // the buffer whose memory it shares
  SegmentId segment = fuse::first_segment;  // the segment in which it gets memory
  StepId first_step = no_step, last_step = no_step;
};

/// A matrix as a product reads it.
struct MatrixRef {
  BufferId buffer = no_buffer;
  bool transposed = false;
  bool reshaped = false;  // it has another shape than the buffer, whose elements are contiguous
  friend bool operator==(const MatrixRef&, const MatrixRef&) = default;
};

struct Plan;

struct Step {
  CallId call;
  std::vector<BufferId> reads;  // in the order of the kernel's read operands
  std::vector<BufferId> writes;
  MatrixRef left, right;  // products: the two matrices
  BufferId accumulate = no_buffer;
  BufferId workspace = no_buffer;                           // routines: their workspace
  std::vector<std::vector<BufferId>> generated_reads = {};  // products: what each generated kernel reads
  std::vector<std::shared_ptr<const Plan>> bodies = {};     // loops and branches: the plans of their bodies
  bool after_commit = false;                                // it overwrites a shared variable
};

/// The steps [first, end), run as one launch: one step, or several kernels that do not depend on each other. After
/// several reductions there may be kernels of one point that read their results, and run in this order.
struct Launch {
  StepId first_step{0}, end_step{0};
  std::size_t size() const { return end_step.index() - first_step.index(); }
  base::IdRange<StepId> steps() const { return {first_step, end_step}; }
};

/// Launches without a host read in between. A segment ends where the host reads back fresh sizes.
struct Segment {
  LaunchId first_launch{0}, end_launch{0};
  std::vector<BufferId> fresh;  // the buffers of the numbers that are read back at its end
  base::IdRange<LaunchId> launches() const { return {first_launch, end_launch}; }
};

struct Plan {
  base::IdVector<BufferId, Buffer> buffers;
  base::IdVector<StepId, Step> steps;
  base::IdVector<LaunchId, Launch> launches;
  base::IdVector<SegmentId, Segment> segments;
  StepId commit_step{0};                // steps from here on overwrite shared variables
  std::vector<BufferId> output_buffer;  // per output of the graph; no_buffer: the host knows the number
  std::vector<BufferId> update_buffer;  // per update
};

/// Makes the plan of a program and of the bodies in it. Its verification is verify.hpp.
Plan make_plan(const fuse::Program& program);
/// The same with the launches of a GPU, whatever the devices are. The buffers have the same ids.
Plan make_plan_for_gpu(const fuse::Program& program);
/// The plan as text: its buffers and its steps.
std::string print(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
