#include "fuse/decision.hpp"

namespace croton::fuse {

std::string_view reason_of(Stored stored) {
  switch (stored) {
    case Stored::no:
      return "it has no buffer";
    case Stored::result:
      return "it is a result, or a size that the host reads";
    case Stored::call:
      return "it is computed by a call that stores its result";
    case Stored::operand:
      return "a product, contraction, routine, loop or other call reads it as an array";
    case Stored::repeated_draw:
      return "a reader repeats these random numbers, and would draw each of them many times";
    case Stored::many_reads:
      return "an element of its reader would read too many arrays";
    case Stored::depth:
      return "it ends a long chain of values without buffers";
    case Stored::other_kernel:
      return "another kernel reads it, and to compute it again would cost more";
  }
  return "";
}

std::string_view reason_of(Apart apart) {
  switch (apart) {
    case Apart::every_op:
      return "optimizer=none gives each operation its own kernel";
    case Apart::device:
      return "it runs on another device";
    case Apart::sizes_read_back:
      return "the host reads back sizes between the two";
    case Apart::too_large:
      return "that kernel has as many operations as a kernel may have";
    case Apart::shape:
      return "it has other elements than that kernel, or reduces other axes";
    case Apart::position:
      return "it reads values at other positions than those at which that kernel computes them";
    case Apart::after_reduction:
      return "it needs a sum of everything, which blocks compute in parts, for each element";
    case Apart::other_reduction:
      return "that reduction shares a launch with others, at whose end a kernel of its own joins their results";
    case Apart::contraction:
      return "sums of products have kernels of their own";
    case Apart::order:
      return "it also needs a value that is computed at the same time as that kernel, or after it";
  }
  return "";
}

}  // namespace croton::fuse
