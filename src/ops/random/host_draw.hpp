// Draws of sequential generators: operations of the host (croton/op.hpp) that return the numbers and the new states.
#pragma once

#include <croton/op.hpp>

#include <string>
#include <vector>

namespace croton::ops {

/// The arguments of a draw when a function is called.
struct HostDraw {
  std::vector<Array> states;      ///< updated by the draw
  Sizes shape;                    ///< of the numbers
  std::vector<Array> parameters;  ///< contiguous and read-only
  DType dtype;                    ///< of the numbers
};
/// Draws the numbers. Its errors are thrown again with the method and its caller's line.
using DrawFunction = Array (*)(HostDraw& draw);

struct HostDrawing {
  std::string method;  ///< "NumpyRandomStreams.uniform": for messages and, with its dots replaced, for printed graphs
  DrawFunction function;
  DType dtype;
};

/// Returns the numbers, followed by the new states. Gradients by floating-point parameters are not defined; sizes and
/// states have none.
std::vector<Variable> draw_on_host(const HostDrawing& drawing, const std::vector<Variable>& states,
                                   const std::vector<Operand>& sizes, const std::vector<Operand>& parameters,
                                   Where where);

}  // namespace croton::ops
