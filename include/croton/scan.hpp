// Loops: scan repeats a step, which is written once as a function of variables. Names, arguments and conventions are
// Theano's; docs/use/scan.md explains them.
#pragma once

#include <croton/shared.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace croton {

/// A sequence, of which a step reads elements along the first axis: element t + tap in step t, for each tap. The first
/// step is the first for which all taps exist.
struct Sequence {
  Variable x;
  std::vector<int> taps = {0};
  Sequence(const Variable& variable) : x(variable) {}
  Sequence(const Variable& variable, std::vector<int> those) : x(variable), taps(std::move(those)) {}
};

/// The initial value of an output that is fed back: none; or the value before the first step; or, for taps such as {-2,
/// -1}, as many initial rows (along the first axis) as the oldest tap goes back. The type does not change from step to
/// step: its dtype and its axes of static size 1 are those of the initial value.
struct OutputInfo {
  Variable initial;  ///< empty: the output is not fed back
  std::vector<int> taps = {-1};
  OutputInfo(std::nullopt_t) {}
  OutputInfo(const Variable& value) : initial(value) {}
  OutputInfo(const Variable& rows, std::vector<int> those) : initial(rows), taps(std::move(those)) {}
};

/// The results of a step: outputs, new values of shared variables, and the stop condition.
struct Step {
  std::vector<Variable> outputs;
  std::vector<std::pair<SharedVariable, Variable>> updates = {};
  Variable until = {};  ///< a scalar: the loop ends after the step in which it is not 0
  Step(const Variable& output) : outputs{output} {}
  Step(std::vector<Variable> all) : outputs(std::move(all)) {}
  Step(std::initializer_list<Variable> all) : outputs(all) {}
  Step(std::vector<Variable> all, std::vector<std::pair<SharedVariable, Variable>> new_values)
      : outputs(std::move(all)), updates(std::move(new_values)) {}
  Step(std::vector<Variable> all, std::vector<std::pair<SharedVariable, Variable>> new_values, const Variable& end)
      : outputs(std::move(all)), updates(std::move(new_values)), until(end) {}
};
/// `return until(outputs, condition);`
Step until(std::vector<Variable> outputs, const Variable& condition);

struct ScanOptions {
  std::optional<Operand> n_steps = {};  ///< by default the length of the shortest sequence; 0 gives empty results
  bool go_backwards = false;            ///< sequences are read from their ends; outputs stay in the order of the steps
  std::int64_t truncate_gradient = -1;  ///< number of last steps through which gradients flow; -1: all
  bool strict = false;                  ///< outer variables that a step reads must be among non_sequences
  std::string name = {};                ///< for messages and prints
};

struct ScanResult {
  /// The outputs of all steps, along a new first axis, without the initial values.
  std::vector<Variable> outputs;
  /// New values of the shared variables that the step updates, after the last step: pass them to function(). The
  /// updates of random numbers drawn in the step are also default updates.
  std::vector<std::pair<SharedVariable, Variable>> updates;
  /// The only output; TypeError where there are several.
  operator const Variable&() const;
};

/// Builds a loop. The arguments of the step are, in this order: each sequence's elements by their taps, the previous
/// values of each output that is fed back by its taps, and the non_sequences. Other variables that it uses are computed
/// once, before the loop; random numbers that it draws itself are drawn in each step. `outputs_info` may be omitted
/// without feedback, else there is one for each output.
///
///     ScanResult powers = scan([&](const std::vector<Variable>& in) { return Step(in[0] * x); }, {}, {ones_like(x)},
///     {},
///                              {.n_steps = k});
///
/// TypeError or ValueError that names the state if its type changes, and for inconsistent arguments. When called,
/// ShapeError for sequences shorter than n_steps, or for a negative number of steps.
ScanResult scan(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                const std::vector<OutputInfo>& outputs_info = {}, const std::vector<Variable>& non_sequences = {},
                const ScanOptions& options = {}, Where where = std::source_location::current());

/// The step's outputs for each element: a scan without feedback.
ScanResult map(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
               const std::vector<Variable>& non_sequences = {}, const ScanOptions& options = {},
               Where where = std::source_location::current());
/// The states after the last step: step(elements..., states..., non_sequences...) returns the next states.
ScanResult reduce(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                  const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                  const ScanOptions& options = {}, Where where = std::source_location::current());
/// reduce from the first element to the last, and from the last to the first.
ScanResult foldl(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                 ScanOptions options = {}, Where where = std::source_location::current());
ScanResult foldr(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                 ScanOptions options = {}, Where where = std::source_location::current());
/// scan that stores the outputs of every `save_every`-th step only: gradients recompute the steps between, so that n
/// steps take memory for about n / save_every + save_every steps. The number of steps must be a multiple of save_every
/// (ShapeError when called). All feedback has one tap, -1.
ScanResult scan_checkpoints(const std::function<Step(const std::vector<Variable>&)>& step,
                            const std::vector<Sequence>& sequences, const std::vector<OutputInfo>& outputs_info,
                            const std::vector<Variable>& non_sequences, std::int64_t save_every,
                            const ScanOptions& options = {}, Where where = std::source_location::current());

}  // namespace croton
