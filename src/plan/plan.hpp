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

struct Buffer {
  enum class Role : std::uint8_t { argument, shared, constant, temporary, output, update, resident, workspace };
  Role role = Role::temporary;
  NodeId node = expr::no_node;
  int number = 0;         // which argument, shared variable, constant, output or update; resident: of what buffer;
                          // workspace: bytes are found when it is bound, `node` is the routine's result
  expr::Place place = 0;  // the device that has it
  int in_place_of = -1;   // shares the memory of this buffer
  int segment = 0;        // in which it is given memory
  int first_step = -1, last_step = -1;
};

/// A matrix as a product reads it.
struct MatrixRef {
  int buffer = -1;
  bool transposed = false;
  bool other_sizes = false;  // than the buffer has, whose elements lie side by side
};

struct Step {
  int call = -1;           // of the program
  std::vector<int> reads;  // buffers, as the kernel's read operands
  std::vector<int> writes;
  MatrixRef left, right;  // of a product
  int accumulate = -1;
  int workspace = -1;                                  // of a routine
  std::vector<std::vector<int>> generated_reads = {};  // of the product's generated kernels
  bool after_commit = false;                           // overwrites a shared variable
};

/// The steps [first, end), run as one launch: one step, or several kernels that do not depend on each other.
struct Launch {
  int first_step = 0, end_step = 0;
  int size() const { return end_step - first_step; }
};

/// Launches between which the host reads nothing back. A size that is found by computing ends a segment.
struct Segment {
  int first_launch = 0, end_launch = 0;
  std::vector<int> fresh;  // buffers of the numbers that are read back at its end
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Launch> launches;
  std::vector<Segment> segments;
  int commit_step = 0;             // steps from here on overwrite shared variables
  std::vector<int> output_buffer;  // per output of the graph
  std::vector<int> update_buffer;  // per update
};

/// Verified (verify.hpp) where the flag `verify` asks for it.
Plan make_plan(const fuse::Program& program);
std::string print(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
