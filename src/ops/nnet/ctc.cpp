// Connectionist temporal classification: a routine sums over paths through the states of a sequence, another one
// computes the gradient backward; the rest is composed.
#include <croton/elementwise.hpp>
#include <croton/indexing.hpp>
#include <croton/nnet.hpp>
#include <croton/nnet_losses.hpp>
#include <croton/ops.hpp>
#include <croton/sorting.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/index.hpp"
#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/evaluate.hpp"
#include "expr/routine.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::RoutineSizes;
using expr::RoutineWork;

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// The sizes of one computation, and the number of states of a sequence.
struct Paths {
  std::int64_t length, sequences, classes, labels, blank, states = 2 * labels + 1;

  Paths(const expr::Attrs& attrs, const Sizes& log_probabilities, const Sizes& label_rows)
      : length(log_probabilities[0]),
        sequences(log_probabilities[1]),
        classes(log_probabilities[2]),
        labels(label_rows[1]),
        blank(attrs.integer("blank")) {
    if (blank < 0) blank += classes;
  }
  /// The numbers that the routines read.
  std::vector<std::int64_t> numbers() const { return {length, sequences, classes, states, blank}; }
  std::int64_t items() const { return sequences * states; }
};

void check_inputs(InferContext& c) {
  const InferredType &logs = c.inputs[0], &labels = c.inputs[1];
  if ((logs.dtype != DType::float32 && logs.dtype != DType::float64) || logs.shape.size() != 3 ||
      labels.dtype != DType::int64 || labels.shape.size() != 2)
    c.type_error("log-probabilities (length, sequences, classes) and a matrix of int64 labels are expected");
  c.require_equal(labels.shape[0], logs.shape[1], "ctc: there must be a row of labels for each sequence");
  c.require_index(c.constant(c.attrs.integer("blank")), logs.shape[2], "ctc: the blank must be a class");
}

// ---- ctc_paths: log-probabilities, labels -> (length + 1, sequences, states) ----

InferredType infer_paths(InferContext& c) {
  check_inputs(c);
  const expr::Dim states = c.apply("add", c.apply("mul", c.constant(2), c.inputs[1].shape[1]), c.constant(1));
  return {DType::float64, {c.apply("add", c.inputs[0].shape[0], c.constant(1)), c.inputs[0].shape[1], states}};
}

constexpr std::int64_t step_cost = 64;  // per state, in elements: a few exponentials and a logarithm

RoutineWork paths_work(const RoutineSizes& s) {
  const Paths paths(s.attrs, s.inputs[0], s.inputs[1]);
  RoutineWork work;
  work.numbers = paths.numbers();
  if (paths.items() == 0) return work;
  for (std::int64_t step = 0; step <= paths.length; ++step)
    work.phases.push_back({.items = paths.items(), .step = step, .cost = step_cost});
  return work;
}

/// The states of one sequence, for the references.
struct Sequence {
  std::vector<std::int64_t> emits;  // by state

  Sequence(const Paths& paths, const Array& labels, std::int64_t sequence) {
    const Array own = labels.row(sequence);
    for (const std::int64_t label : own.data<std::int64_t>()) {
      emits.push_back(paths.blank);
      emits.push_back(label);
    }
    emits.push_back(paths.blank);
  }
  bool leads(std::size_t from, std::size_t to) const {
    return from == to || from + 1 == to || (from + 2 == to && to % 2 == 1 && emits[from] != emits[to]);
  }
  /// The sum of exp(logs) over the states that lead to a state is exp(largest) total.
  struct IncomingSum {
    double largest = nothing, total = 0;
  };
  IncomingSum incoming_sum(const std::vector<double>& logs, std::size_t to) const {
    IncomingSum all;
    for (std::size_t from = 0; from < logs.size(); ++from) {
      if (leads(from, to) && (logs[from] > all.largest || std::isnan(logs[from]))) all.largest = logs[from];
    }
    for (std::size_t from = 0; from < logs.size() && all.largest != nothing; ++from) {
      if (leads(from, to)) all.total += std::exp(logs[from] - all.largest);
    }
    return all;
  }
};

Array evaluate_paths(const EvaluateContext& c) {
  const Array& given = c.inputs[0];
  const Paths paths(c.attrs, given.shape(), c.inputs[1].shape());
  Array result = Array::empty(DType::float64, c.shape);
  const auto out = result.data<double>();
  for (std::int64_t b = 0; b < paths.sequences; ++b) {
    const Sequence sequence(paths, c.inputs[1], b);
    std::vector<double> logs(sequence.emits.size(), nothing);
    logs[0] = 0;
    for (std::int64_t step = 0; step <= paths.length; ++step) {
      const std::vector<double> before = logs;
      for (std::size_t s = 0; s < logs.size(); ++s) {
        const std::int64_t emitted = sequence.emits[s], at = ((step - 1) * paths.sequences + b) * paths.classes;
        if (step > 0) {
          const bool known = emitted >= 0 && emitted < paths.classes;
          const auto [largest, total] = sequence.incoming_sum(before, s);
          logs[s] = (largest == nothing ? nothing : largest + std::log(total)) +
                    (known ? given.as_double(at + emitted) : nothing);
        }
      }
      std::ranges::copy(logs, out.begin() + (step * paths.sequences + b) * paths.states);
    }
  }
  return result;
}

std::vector<Variable> paths_gradient(const GradientContext& c) {
  return {builder::apply("ctc_paths_grad", {c.input(0), c.input(1), c.output, c.gradient}, c.node.attrs, c.node.where),
          {}};
}

/// Merges the batch axis with the axis of sequences.
builder::Batched batch_of_sequences(const builder::BatchContext& c) {
  const Variable sequences = c.repeated(0).shape(2);
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Variable all = c.repeated(i);
    inputs.push_back(all.rank() == 3
                         ? reshape(all, {c.size * sequences, all.shape(2)})
                         : reshape(dimshuffle(all, {1, 0, 2, 3}), {all.shape(1), c.size * sequences, all.shape(3)}));
  }
  const Variable result = builder::apply(*c.node.op, inputs, c.node.attrs, c.node.where);
  return {dimshuffle(reshape(result, {result.shape(0), c.size, sequences, result.shape(2)}), {1, 0, 2, 3})};
}

// ---- ctc_paths_grad: log-probabilities, labels, ctc_paths, the gradient by that -> by the log-probabilities ----

InferredType infer_paths_grad(InferContext& c) {
  check_inputs(c);
  const InferredType &paths = c.inputs[2], &gradient = c.inputs[3];
  if (paths.dtype != DType::float64 || gradient.dtype != DType::float64 || paths.shape.size() != 3 ||
      gradient.shape.size() != 3)
    c.type_error("the third and fourth are ctc_paths and the gradient by it");
  for (std::size_t axis = 0; axis < 3; ++axis)
    c.require_equal(paths.shape[axis], gradient.shape[axis], "ctc: a gradient for each state");
  return c.inputs[0];
}

RoutineWork paths_grad_work(const RoutineSizes& s) {
  const Paths paths(s.attrs, s.inputs[0], s.inputs[1]);
  RoutineWork work;
  work.numbers = paths.numbers();
  if (paths.items() == 0) return work;
  for (std::int64_t step = paths.length; step > 0; --step)
    work.phases.push_back({.phase = 0, .items = paths.items(), .step = step, .cost = step_cost});
  work.phases.push_back(
      {.phase = 1, .items = paths.length * paths.sequences, .cost = paths.classes + 2 * paths.states});
  work.workspace_bytes = paths.length * paths.items() * std::int64_t{sizeof(double)};
  return work;
}

Array evaluate_paths_grad(const EvaluateContext& c) {
  const Paths paths(c.attrs, c.inputs[0].shape(), c.inputs[1].shape());
  const auto logs = c.inputs[2].data<double>(), given = c.inputs[3].data<double>();
  std::vector<double> sums(base::to_size(c.inputs[0].size()));
  for (std::int64_t b = 0; b < paths.sequences; ++b) {
    const Sequence sequence(paths, c.inputs[1], b);
    const std::size_t states = sequence.emits.size();
    std::vector<double> later(states);
    for (std::int64_t step = paths.length; step > 0; --step) {
      const std::int64_t row = (step * paths.sequences + b) * paths.states;
      const std::vector<double> at(logs.begin() + row, logs.begin() + row + paths.states);
      std::vector<double> gradient(given.begin() + row, given.begin() + row + paths.states);
      for (std::size_t to = 0; to < states && step < paths.length; ++to) {
        if (later[to] == 0) continue;
        const auto [largest, total] = sequence.incoming_sum(at, to);
        for (std::size_t from = 0; from <= to; ++from) {
          if (sequence.leads(from, to) && at[from] != nothing)
            gradient[from] += std::exp(at[from] - largest) / total * later[to];
        }
      }
      for (std::size_t s = 0; s < states; ++s) {
        const std::int64_t emitted = sequence.emits[s];
        if (emitted >= 0 && emitted < paths.classes)
          base::nth(sums, ((step - 1) * paths.sequences + b) * paths.classes + emitted) += gradient[s];
      }
      later = std::move(gradient);
    }
  }
  Array result = Array::empty(DType::float64, c.shape);
  std::ranges::copy(sums, result.data<double>().begin());
  return result.astype(c.dtype);
}

[[noreturn]] void throw_type_error(const Operand& x, std::string_view what, std::string_view why) {
  throw TypeError(
      fmt::format("ctc ({}): {}: {} {}", builder::describe(x.where), builder::describe(x.variable), what, why));
}

}  // namespace

void register_ctc(Registry& registry) {
  constexpr std::string_view file = "routines/ctc.cuh", numbers = "length sequences classes states blank";
  static const expr::RoutineInfo forward{file, "ct::CtcForward<{0}>", numbers, paths_work};
  static const expr::RoutineInfo backward{file, "ct::CtcBackward<{0}>", numbers, paths_grad_work};
  static const expr::Op ops[] = {
      {.name = "ctc_paths",
       .kind = expr::Kind::Routine,
       .arity = 2,
       .doc = "log-probability, after each time step, of the paths that end in each state of a sequence of labels",
       .infer = infer_paths,
       .gradient = paths_gradient,
       .evaluate = evaluate_paths,
       .routine = &forward,
       .gives_infinities = true,  // states that no path reaches
       .batch = batch_of_sequences},
      {.name = "ctc_paths_grad",
       .kind = expr::Kind::Routine,
       .arity = 4,
       .doc = "the gradient of ctc_paths by the log-probabilities",
       .infer = infer_paths_grad,
       .evaluate = evaluate_paths_grad,
       .routine = &backward,
       .batch = batch_of_sequences},
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton::nnet {

Variable ctc(Operand activations, Operand labels, Operand input_lengths, std::int64_t blank) {
  const builder::OriginScope origin(activations.where);
  ops::demand_real(activations, "ctc");
  if (activations.variable.rank() != 3)
    ops::throw_type_error(activations, "activations", "are a tensor3 (length, sequences, classes)");
  if (labels.variable.rank() != 2 || !is_integer(labels.variable.dtype()))
    ops::throw_type_error(labels, "labels", "are an integer matrix, a row for each sequence");
  if (input_lengths.variable.rank() != 1 || !is_integer(input_lengths.variable.dtype()))
    ops::throw_type_error(input_lengths, "input lengths", "are an integer vector, one for each sequence");
  const Variable given = ops::in_floats(activations);
  const DType dtype = given.dtype();
  const Variable logs = log_softmax(dtype == DType::float64 ? given : cast(given, DType::float32));
  const Variable length = logs.shape(0), sequences = logs.shape(1), classes = logs.shape(2);
  const auto checked = [&](const Variable& index, const Variable& size, const char* message) {
    return builder::apply("checked_index", {index, size}, {{"message", std::string(message)}}, activations.where);
  };

  // Only labels before the first negative one or blank count.
  const Variable all = cast(labels, DType::int64);
  Variable symbol = builder::scalar_constant(static_cast<double>(blank), DType::int64);
  if (blank < 0) symbol = classes + symbol;
  const Variable some = eq(cumsum(cast((all < 0) | eq(all, symbol), DType::int64), 1), 0);
  const Variable rows = checked(where(some, all, symbol), classes, "ctc: a label of {} is not one of {size} classes");
  const Variable last = 2 * sum(cast(some, DType::int64), 1);
  const Variable steps = checked(cast(ops::require_shape(input_lengths.variable, {sequences},
                                                         "ctc: there must be an input length for each sequence"),
                                      DType::int64),
                                 length + 1, "ctc: an input length of {} of sequences of at most {size} - 1 steps");

  // A path ends in the last label or in the blank after it.
  const Variable paths = builder::apply("ctc_paths", {logs, rows}, {{"blank", blank}}, activations.where);
  const Variable numbers = arange(sequences), none = builder::number(ops::nothing, paths);
  const Variable in_blank = paths.at({steps, numbers, last});
  const Variable in_label = paths.at({steps, numbers, maximum(last - 1, 0)});
  // Without any path the logarithm of the sum would have no gradient.
  const Variable possible = croton::neq(croton::maximum(in_blank, in_label), none);
  const auto safe = [&](const Variable& x) { return where(possible, x, zeros_like(x)); };
  const Variable cost =
      where(possible, -where(last > 0, croton::logaddexp(safe(in_blank), safe(in_label)), safe(in_blank)),
            builder::number(-ops::nothing, paths));
  return cast(cost, dtype);
}

}  // namespace croton::nnet
