// The attributes of a node of the op `loop`. A loop runs its body a number of times. In step t the body reads
//
//   - an element of each sequence: the one at t or, in a loop in reverse, at n - 1 - t;
//   - rows of each state's history: the history of state j starts with rows[j] initial rows and gets one more in each
//     step; a tap (j, o) is row t + o of it, 0 <= o < rows[j];
//   - captured values, the same in all steps,
//
// and computes the next row of each state, an element for each stacked result (at the sequences' position), and, in a
// loop with `until`, whether this step is the last.
//
// The node's inputs: the number of steps, the sequences, the states' initial rows, the captures. The body's:
// elements, taps, captures. A node is one result; the nodes of one loop have equal inputs and attributes except
// `result` and `index`:
//
//   history  all rows of a state, the initial ones first: n + rows[j] of them
//   last     the last rows[j] of them
//   stacked  the elements of a result, n of them
//   steps    the number of steps that ran, an int64 scalar; rows and elements of later steps are undefined
#pragma once

#include "expr/body.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace croton::expr {

enum class LoopResult : std::uint8_t { history, last, stacked, steps };
std::string_view name_of(LoopResult result);

struct Loop {
  struct Tap {
    std::size_t state;
    std::int64_t offset;
  };
  /// Reads a node's attributes and number of inputs; AttrFault if they are inconsistent.
  Loop(const Attrs& attrs, std::size_t inputs);

  BodyPtr body;
  bool reverse = false, until = false;
  std::size_t sequences = 0, captures = 0, stacked = 0;
  Ints rows;  // number of initial rows per state
  std::vector<Tap> taps;
  LoopResult result = LoopResult::steps;
  std::size_t index = 0;

  std::size_t states() const { return rows.size(); }
  // Positions among the node's inputs.
  static constexpr std::size_t steps_input = 0;
  std::size_t sequence_input(std::size_t i) const { return 1 + i; }
  std::size_t initial_input(std::size_t j) const { return 1 + sequences + j; }
  std::size_t capture_input(std::size_t k) const { return 1 + sequences + states() + k; }
  // Positions among the body's inputs.
  static std::size_t element_of(std::size_t i) { return i; }
  std::size_t tap_of(std::size_t t) const { return sequences + t; }
  std::size_t captured(std::size_t k) const { return sequences + taps.size() + k; }
  // Positions among the body's outputs.
  static std::size_t next_row(std::size_t j) { return j; }
  std::size_t stacked_output(std::size_t k) const { return states() + k; }
  std::size_t condition() const { return states() + stacked; }
  /// The position in sequences and stacked results of step t of n.
  std::int64_t position(std::int64_t t, std::int64_t n) const { return reverse ? n - 1 - t : t; }
};

/// On a CPU a right matrix of more bytes does not stay in a second-level cache: each step would read it from slower
/// memory. Such a product is faster for all steps at once, or in a library, which packs it, than inside a launch of
/// all steps.
constexpr std::int64_t most_right_bytes_cpu = std::int64_t{1} << 20;

/// The attributes of a loop without `result` and `index`. `taps`: pairs of state and offset.
Attrs loop_attrs(BodyPtr body, std::size_t sequences, const Ints& rows, const Ints& taps, bool reverse, bool until);
/// The attributes of one result of a loop.
Attrs result_attrs(Attrs loop, LoopResult result, std::size_t index);
/// The attributes that all results of a loop share.
Attrs without_result(const Attrs& attrs);

/// The outputs of the body in each step, by the reference evaluator.
std::vector<std::vector<Array>> evaluate_steps(const Loop& loop, const std::vector<Array>& inputs);
/// A result of the loop, made from these outputs; it has that dtype and shape.
Array loop_result(const Loop& loop, const std::vector<Array>& inputs, const std::vector<std::vector<Array>>& steps,
                  DType dtype, const Sizes& shape);

}  // namespace croton::expr
