// Plan: the calls of a program in order, with a buffer for everything that is stored, who may share memory with whom, and when each
// is needed. All sizes are symbolic; binding (runtime/bind.hpp) fills in numbers.
//
// In-place work is decided here and nowhere else. The order keeps a promise: whatever can fail (checks of values, allocation) comes before
// the commit point; steps that overwrite shared variables come after it, and cannot fail.
#pragma once

#include "fuse/program.hpp"

#include <string>
#include <vector>

namespace croton::plan {

using expr::NodeId;

struct Buffer {
  enum class Role : std::uint8_t { argument, shared, constant, temporary, output, update };
  Role role = Role::temporary;
  NodeId node = expr::no_node;
  int number = 0;         // which argument, shared variable, constant, output or update
  int in_place_of = -1;   // shares the memory of this buffer
  int first_step = -1, last_step = -1;
};

/// A matrix as a product reads it.
struct MatrixRef {
  int buffer = -1;
  bool transposed = false;
};

struct Step {
  int call = -1;                 // of the program
  std::vector<int> reads;        // buffers, as the kernel's read operands
  std::vector<int> writes;
  MatrixRef left, right;         // of a product
  int accumulate = -1;
  std::vector<int> small_reads = {};  // of the product's generated kernel
  bool after_commit = false;     // overwrites a shared variable
  NodeId guard = expr::no_node;  // only needed where this holds (lazy branches)
};

/// Steps between which the host reads nothing back. A size that is found by computing ends a segment.
struct Segment {
  int first_step = 0, end_step = 0;
  std::vector<NodeId> fresh_sizes;  // read back at its end
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Segment> segments;
  int commit_step = 0;               // steps from here on overwrite shared variables
  std::vector<int> output_buffer;    // per output of the graph
  std::vector<int> update_buffer;    // per update
};

Plan make_plan(const fuse::Program& program);
std::string print(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
