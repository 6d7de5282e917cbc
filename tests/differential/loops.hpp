// Loops and lazy branches for random graphs. The body of a loop is a list of steps, like a graph, over its arguments,
// so that bodies are made, printed and reduced like graphs; a line of a body may be another loop.
#pragma once

#include "case.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace differential {

/// A scan. Its operands are sequences, initial values of the outputs that are fed back, captures, and the number of
/// steps.
struct Recipe {
  std::vector<std::vector<int>> sequence_taps;
  std::vector<std::vector<int>> output_taps;  // for each output; empty if it is not fed back
  int captures = 0;
  bool by_name = true;      // captures are among the non_sequences; otherwise the body captures them from outside
  bool counts = false;      // the last operand is the number of steps
  std::int64_t steps = -1;  // ... or this is, if it is not -1
  bool backwards = false;
  std::int64_t truncate = -1;
  std::vector<Step> lines;  // the body's arguments first, then its lines
  std::vector<int> outputs;
  int until = -1;  // -1: none

  std::size_t given() const;
};

/// Rows that add a loop or a branch to a graph, and uses of its results.
const std::vector<const Row*>& loop_rows();

/// All results of a step whose row has several.
std::string results_text(const Step& step, const std::vector<std::string>& operands);
/// The recipe without one of its parts; none after the last part.
std::vector<std::shared_ptr<const Recipe>> simpler(const Recipe& recipe);

}  // namespace differential
