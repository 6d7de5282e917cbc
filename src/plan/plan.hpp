// Plan: the calls of a program in order, with a buffer for everything that is stored, who may share memory with whom,
// and when each is needed. All sizes are symbolic; binding (runtime/bound/segment.hpp) fills in numbers.
//
// Steps run in segments: between two of them the host reads back sizes that were found by computing. Steps that run as
// one launch (the updates of all parameters) lie side by side.
//
// In-place work is decided here and nowhere else. The order keeps a promise: whatever can fail (checks of values,
// allocation) comes before the commit point; steps that overwrite shared variables come after it, and cannot fail.
#pragma once

#include "fuse/program.hpp"

#include <string>
#include <vector>

namespace croton::plan {

using expr::NodeId;
using fuse::CallId;
using fuse::SegmentId;

/// Indices into the lists of a Plan.
using BufferId = base::Id<struct BufferTag>;
using StepId = base::Id<struct StepTag>;
using LaunchId = base::Id<struct LaunchTag>;
inline constexpr BufferId no_buffer;
inline constexpr StepId no_step;
inline constexpr LaunchId no_launch;

struct Buffer {
  enum class Role : std::uint8_t { argument, shared, constant, temporary, output, update, resident, workspace };
  Role role = Role::temporary;
  NodeId node = expr::no_node;              // workspace: the routine's result; the bytes are found when it is bound
  std::size_t number = 0;                   // which argument, shared variable, constant, output or update
  BufferId copy_of = no_buffer;             // resident: of what buffer
  expr::Place place = 0;                    // the device that has it
  BufferId in_place_of = no_buffer;         // shares the memory of this buffer
  SegmentId segment = fuse::first_segment;  // in which it is given memory
  StepId first_step = no_step, last_step = no_step;
};

/// A matrix as a product reads it.
struct MatrixRef {
  BufferId buffer = no_buffer;
  bool transposed = false;
  bool other_sizes = false;  // than the buffer has, whose elements lie side by side
};

struct Step {
  CallId call;
  std::vector<BufferId> reads;  // as the kernel's read operands
  std::vector<BufferId> writes;
  MatrixRef left, right;  // of a product
  BufferId accumulate = no_buffer;
  BufferId workspace = no_buffer;                           // of a routine
  std::vector<std::vector<BufferId>> generated_reads = {};  // of the product's generated kernels
  bool after_commit = false;                                // overwrites a shared variable
};

/// The steps [first, end), run as one launch: one step, or several kernels that do not depend on each other.
struct Launch {
  StepId first_step{0}, end_step{0};
  std::size_t size() const { return end_step.index() - first_step.index(); }
  base::IdRange<StepId> steps() const { return {first_step, end_step}; }
};

/// Launches between which the host reads nothing back. A size that is found by computing ends a segment.
struct Segment {
  LaunchId first_launch{0}, end_launch{0};
  std::vector<BufferId> fresh;  // of the numbers that are read back at its end
  base::IdRange<LaunchId> launches() const { return {first_launch, end_launch}; }
};

struct Plan {
  base::IdVector<BufferId, Buffer> buffers;
  base::IdVector<StepId, Step> steps;
  base::IdVector<LaunchId, Launch> launches;
  base::IdVector<SegmentId, Segment> segments;
  StepId commit_step{0};                // steps from here on overwrite shared variables
  std::vector<BufferId> output_buffer;  // per output of the graph; no_buffer: a number of the host
  std::vector<BufferId> update_buffer;  // per update
};

/// Verified (verify.hpp) where the flag `verify` asks for it.
Plan make_plan(const fuse::Program& program);
std::string print(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
