// The decisions of fusion with their reasons: why a value has a buffer, and why a kernel is apart from another whose
// values it reads. They are found together with the decisions, so that what is shown is what was decided.
#pragma once

#include "expr/graph.hpp"

#include <cstdint>
#include <string_view>

namespace croton::fuse {

using expr::NodeId;

/// Why a node has a buffer.
enum class Stored : std::uint8_t {
  no,             // it has none
  result,         // of the graph, or a size that the host reads back
  call,           // the result of a library, a routine, a loop, a branch or a callback
  operand,        // of such a call, or of a contraction
  repeated_draw,  // random numbers that a reader repeats along an axis
  many_reads,     // an element of a reader would read too many arrays
  depth,          // a long chain of views or of values that are computed again
  other_kernel,   // a kernel of its own reads it, and it is not cheap to compute again
};
/// The reason as the end of a sentence: "it is a result".
std::string_view reason_of(Stored stored);

/// Why a node does not join the kernel of a value that it reads.
enum class Apart : std::uint8_t {
  every_op,         // optimizer=none: one kernel for each op
  device,           // it runs on another device
  sizes_read_back,  // between the two the host reads back sizes
  too_large,        // the kernel has as many operations as a kernel may have
  shape,            // it has other elements, or reduces other axes
  position,         // it reads the values at other positions than those at which they are computed
  after_reduction,  // it needs a reduction of everything, which is divided over blocks
  other_reduction,  // that reduction shares a launch with others
  contraction,      // sums of products have kernels of their own
  order,            // it also needs a value that is computed at the same time as that kernel or after it
};
/// The reason as the end of a sentence: "it runs on another device".
std::string_view reason_of(Apart apart);

/// A value that the first operation of a kernel reads, and why the kernel that computes it is another one.
struct Separation {
  NodeId value;
  Apart reason;
};

}  // namespace croton::fuse
