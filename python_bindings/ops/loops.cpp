// The functions of <croton/scan.hpp> and <croton/ifelse.hpp>. croton/loops.py converts the users' arguments for them.
#include <croton/ifelse.hpp>
#include <croton/scan.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

using Updates = std::vector<std::pair<SharedVariable, Variable>>;
using StepResult = std::tuple<std::vector<Variable>, Updates, std::optional<Variable>>;
using Taps = std::vector<int>;

ScanOptions options_of(nb::handle n_steps, std::int64_t truncate_gradient, bool go_backwards, bool strict,
                       const std::optional<std::string>& name) {
  ScanOptions options;
  options.n_steps = to_optional_operand(n_steps);
  options.truncate_gradient = truncate_gradient;
  options.go_backwards = go_backwards;
  options.strict = strict;
  options.name = name.value_or("");
  return options;
}

nb::tuple run(const nb::callable& step, const std::vector<std::pair<Variable, Taps>>& sequences,
              const std::vector<std::pair<std::optional<Variable>, Taps>>& outputs_info,
              const std::vector<Variable>& non_sequences, nb::handle n_steps, std::int64_t truncate_gradient,
              bool go_backwards, bool strict, const std::optional<std::string>& name,
              std::optional<std::int64_t> save_every) {
  const auto call = [&](const std::vector<Variable>& arguments) {
    auto [outputs, updates, until] = nb::cast<StepResult>(step(arguments));
    return Step(std::move(outputs), std::move(updates), until.value_or(Variable()));
  };
  std::vector<Sequence> inputs;
  inputs.reserve(sequences.size());
  for (const auto& [x, taps] : sequences) inputs.emplace_back(x, taps);
  std::vector<OutputInfo> recurrent;
  recurrent.reserve(outputs_info.size());
  for (const auto& [initial, taps] : outputs_info)
    recurrent.push_back(initial ? OutputInfo(*initial, taps) : OutputInfo(std::nullopt));
  const ScanOptions options = options_of(n_steps, truncate_gradient, go_backwards, strict, name);
  const ScanResult result = save_every
                                ? scan_checkpoints(call, inputs, recurrent, non_sequences, *save_every, options, here())
                                : scan(call, inputs, recurrent, non_sequences, options, here());
  return nb::make_tuple(result.outputs, result.updates);
}

}  // namespace

void bind_loops(nb::module_& m) {
  m.def("_scan", &run, "step"_a, "sequences"_a, "outputs_info"_a, "non_sequences"_a, "n_steps"_a = nb::none(),
        "truncate_gradient"_a = -1, "go_backwards"_a = false, "strict"_a = false, "name"_a = nb::none(),
        "save_every"_a = nb::none(),
        "scan with plain lists: sequences and outputs_info are pairs of a variable (or None) and taps; step(list) "
        "returns (outputs, updates, until or None). Returns (outputs, updates).");
  m.def(
      "ifelse",
      [](nb::handle condition, nb::handle then, nb::handle otherwise) -> nb::object {
        if (!is_list(then) && !is_list(otherwise))
          return nb::cast(ifelse(to_operand(condition), to_operand(then), to_operand(otherwise)));
        return nb::cast(ifelse(to_operand(condition), to_variables(then), to_variables(otherwise)));
      },
      "condition"_a, "then"_a, "otherwise"_a,
      "`then` if the condition, a scalar, is not 0, else `otherwise`: variables, or lists of the same length. Only the "
      "selected branch is computed. dtypes, dimensions and stated sizes of 1 must be equal (TypeError).");
}

}  // namespace croton::python
