// Loops: a step, written once as a function of variables, runs a number of times. Names, arguments and conventions are
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

/// What a step reads one element of, along the first axis: element t + tap in step t, for each tap. The first step is
/// the first for which all taps are there.
struct Sequence {
  Variable x;
  std::vector<int> taps = {0};
  Sequence(const Variable& variable) : x(variable) {}
  Sequence(const Variable& variable, std::vector<int> those) : x(variable), taps(std::move(those)) {}
};

/// What an output of the step is fed back from: nothing; or an initial value, which is the step before the first; or,
/// for taps such as {-2, -1}, as many initial rows (along the first axis) as the oldest tap is steps ago. The type does
/// not change from step to step: its dtype and its axes of stated size 1 are those of the initial value.
struct OutputInfo {
  Variable initial;  ///< empty: the output is not fed back
  std::vector<int> taps = {-1};
  OutputInfo(std::nullopt_t) {}
  OutputInfo(const Variable& value) : initial(value) {}
  OutputInfo(const Variable& rows, std::vector<int> those) : initial(rows), taps(std::move(those)) {}
};

/// What a step gives: outputs, new values of shared variables, and whether it was the last.
struct Step {
  std::vector<Variable> outputs;
  std::vector<std::pair<SharedVariable, Variable>> updates = {};
  Variable until = {};  ///< a scalar: the loop ends with the step in which it is not 0
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
  std::optional<Operand> n_steps = {};  ///< else as many as the shortest sequence has; 0 gives empty results
  bool go_backwards = false;            ///< sequences are read from their ends; outputs stay in the order of the steps
  std::int64_t truncate_gradient = -1;  ///< gradients go back through so many last steps; -1: through all
  bool strict = false;                  ///< what a step reads from outside must be among non_sequences
  std::string name = {};                ///< for messages and prints
};

struct ScanResult {
  /// The outputs of all steps, along a new first axis. Initial values are not among them.
  std::vector<Variable> outputs;
  /// New values of the shared variables that the step updates, after the last step: to be passed to function(). Those
  /// of random numbers that were drawn inside are default updates too.
  std::vector<std::pair<SharedVariable, Variable>> updates;
  /// The only output; TypeError where there are several.
  operator const Variable&() const;
};

/// The step is given, in this order: each sequence's elements by their taps, the rows of each output that is fed back
/// by its taps, and the non_sequences. What else it uses is taken as it is outside, and computed once, in front of the
/// loop; random numbers that it draws itself are drawn in each step. `outputs_info` may be left out where nothing is
/// fed back, else there is one for each output.
///
///     ScanResult powers = scan([&](const std::vector<Variable>& in) { return Step(in[0] * x); }, {}, {ones_like(x)},
///     {},
///                              {.n_steps = k});
///
/// TypeError or ValueError that names the state for one whose type changes; for what does not fit together. When
/// called, ShapeError for sequences that are shorter than n_steps, or for fewer than 0 steps.
ScanResult scan(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                const std::vector<OutputInfo>& outputs_info = {}, const std::vector<Variable>& non_sequences = {},
                const ScanOptions& options = {}, Where where = std::source_location::current());

/// The step's outputs for each element: a scan in which nothing is fed back.
ScanResult map(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
               const std::vector<Variable>& non_sequences = {}, const ScanOptions& options = {},
               Where where = std::source_location::current());
/// The states after the last step: step(elements..., states..., non_sequences...) gives the next ones.
ScanResult reduce(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                  const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                  const ScanOptions& options = {}, Where where = std::source_location::current());
/// reduce from the first element on, and from the last one on.
ScanResult foldl(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                 ScanOptions options = {}, Where where = std::source_location::current());
ScanResult foldr(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences = {},
                 ScanOptions options = {}, Where where = std::source_location::current());
/// scan, of which the outputs of every `save_every`-th step alone are kept: gradients compute the steps between again,
/// so that n steps take memory for about n / save_every + save_every of them. The number of steps must be a multiple of
/// it (ShapeError when called). Everything that is fed back has one tap, -1.
ScanResult scan_checkpoints(const std::function<Step(const std::vector<Variable>&)>& step,
                            const std::vector<Sequence>& sequences, const std::vector<OutputInfo>& outputs_info,
                            const std::vector<Variable>& non_sequences, std::int64_t save_every,
                            const ScanOptions& options = {}, Where where = std::source_location::current());

}  // namespace croton
