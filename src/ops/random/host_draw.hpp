// Draws of sequential generators: operations of the host (croton/op.hpp) that give numbers and the states after them.
#pragma once

#include <croton/op.hpp>

#include <string>
#include <vector>

namespace croton::ops {

/// What the host sees of a draw when a function is called.
struct HostDraw {
  std::vector<Array> states;      ///< to be moved on
  Sizes shape;                    ///< of what is drawn
  std::vector<Array> parameters;  ///< contiguous and read-only
  DType dtype;                    ///< of what is drawn
};
/// How the numbers are drawn. What it raises is told with the method and its caller's line.
using DrawFunction = Array (*)(HostDraw& draw);

struct HostDrawing {
  std::string method;  ///< "NumpyRandomStreams.uniform": part of messages and, its dots replaced, of prints
  DrawFunction function;
  DType dtype;
};

/// The numbers, and behind them the new states. Gradients by floating-point parameters are not defined; sizes and
/// states have none.
std::vector<Variable> draw_on_host(const HostDrawing& drawing, const std::vector<Variable>& states,
                                   const std::vector<Operand>& sizes, const std::vector<Operand>& parameters,
                                   Where where);

}  // namespace croton::ops
