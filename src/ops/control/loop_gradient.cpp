// The gradient of a loop is a loop that runs backward through its steps. Its step for step t computes the gradients of
// the body's inputs, from these inputs and the gradients of the body's outputs:
//
//   - of elements of sequences: they are stacked results;
//   - of captures: they are added up in a state;
//   - of rows of states: row r is the result of step r - rows, and the tap o reads it in step r - o. The tap o adds
//     P_o[t] in step t to the gradient of row t + o. So the gradient of row t + rows, the result of step t, is
//       G[t + rows] = H[t + rows] + sum over o of P_o[t + rows - o],
//     where H is the gradient from outside of the loop. Each P_o is a state with one tap, rows - o steps ago.
//
// Rows of states are kept by the loop (its histories); other values of the body are computed again.
#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/indexing.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <optional>

#include "builder/clone.hpp"
#include "builder/gradient.hpp"
#include "builder/gradient_context.hpp"
#include "builder/results_gradient.hpp"
#include "ops/control/loop.hpp"

namespace croton::ops {
namespace {

using builder::ResultsGradientContext;
using expr::Loop;
using expr::LoopResult;

Variable part(const Variable& x, const Variable& from, const Variable& count) {
  return x[slice(Operand(from), Operand(from + count))];
}
Variable reversed(const Variable& x) { return x[slice(std::nullopt, std::nullopt, -1)]; }
void add_to(Variable& sum, const Variable& term) { sum = sum.defined() ? sum + term : term; }
Variable whole(std::int64_t value) { return constant(Array(value)); }

class LoopGradient {
 public:
  explicit LoopGradient(const ResultsGradientContext& c)
      : node_(c.results[0].node), loop_(node_.attrs, node_.inputs.size()), forward_(spec_of(node_)) {
    history_.resize(loop_.states());
    last_.resize(loop_.states());
    stacked_.resize(loop_.stacked);
    for (const builder::ResultGradient& result : c.results) {
      const Loop of(result.node.attrs, result.node.inputs.size());
      // A result may occur twice: the user's, and one that another gradient made.
      if (of.result == LoopResult::history) add_to(history_[of.index], result.gradient);
      if (of.result == LoopResult::last) add_to(last_[of.index], result.gradient);
      if (of.result == LoopResult::stacked) add_to(stacked_[of.index], result.gradient);
    }
    find_range();
  }

  std::vector<Variable> run() {
    make_seeds();
    differentiate();
    return input_gradients();
  }

 private:
  Variable result(LoopResult kind, std::size_t index) const {
    return builder::apply(*node_.op, node_.inputs, expr::result_attrs(node_.attrs, kind, index), node_.where);
  }
  bool has_gradient(const Variable& x) const { return !is_discrete(x.dtype()); }

  /// Sets the range of steps [first_, first_ + count_): all steps that ran, or the last ones.
  void find_range() {
    const Variable done = loop_.until ? result(LoopResult::steps, 0) : cast(forward_.steps, DType::int64);
    count_ = done;
    all_ = !loop_.until && forward_.body.truncate < 0;
    first_ = whole(0);
    if (forward_.body.truncate >= 0) {
      count_ = minimum(done, whole(forward_.body.truncate));
      first_ = done - count_;
    }
  }
  /// The elements of x at the positions of the range. (A reversed loop ends at position 0.)
  Variable at_positions(const Variable& x) const {
    return all_ ? x : part(x, loop_.reverse ? whole(0) : first_, count_);
  }
  /// The row of a history that is `offset` after that of each step, by position.
  Variable rows_at(const Variable& rows, std::int64_t offset) const {
    const Variable steps = part(rows, first_ + offset, count_);
    return loop_.reverse ? reversed(steps) : steps;
  }

  void add_sequence(const Variable& own, const Variable& sequence) {
    backward_.body.inputs.push_back(own);
    backward_.sequences.push_back(sequence);
  }
  Variable add_sequence(const Variable& sequence) {
    add_sequence(element_placeholder(sequence), sequence);
    return backward_.body.inputs.back();
  }

  /// Adds the body's inputs and the gradients of its outputs as sequences, and the states P_o.
  void make_seeds() {
    const std::vector<Variable>&own = forward_.body.inputs, &given = forward_.body.outputs;
    for (std::size_t i = 0; i < loop_.sequences; ++i) add_sequence(own[i], at_positions(forward_.sequences[i]));
    for (std::size_t t = 0; t < loop_.taps.size(); ++t)
      add_sequence(own[loop_.tap_of(t)],
                   rows_at(result(LoopResult::history, loop_.taps[t].state), loop_.taps[t].offset));
    for (std::size_t k = 0; k < loop_.stacked; ++k) {
      const Variable& output = given[loop_.stacked_output(k)];
      if (stacked_[k].defined() && has_gradient(output))
        seeds_.push_back({output, add_sequence(at_positions(stacked_[k]))});
    }
    std::vector<Variable> of_rows(loop_.states());  // gradient of the next row of each state
    for (std::size_t j = 0; j < loop_.states(); ++j) {
      if (history_[j].defined() && has_gradient(given[j]))
        add_to(of_rows[j], add_sequence(rows_at(history_[j], loop_.rows[j])));
    }
    for (std::size_t t = 0; t < loop_.taps.size(); ++t) {
      const auto& [j, offset] = loop_.taps[t];
      const Variable& tap = own[loop_.tap_of(t)];
      if (!has_gradient(tap)) continue;
      // The initial value is the gradient of the last rows from outside, which belongs to tap 0 by its order.
      const std::int64_t rows = loop_.rows[j] - offset;
      const bool from_outside = offset == 0 && last_[j].defined();
      const Variable of_initial = node_.inputs[loop_.initial_input(j)];
      const Variable begin = from_outside ? last_[j] : zeros_like(part(of_initial, whole(0), whole(rows)));
      pending_.push_back({t, backward_.states.size()});
      backward_.states.push_back({from_outside && rows > 1 ? reversed(begin) : begin, rows, {0}});
      taps_.push_back(variable(tap.type(), "", tap.where()));
      add_to(of_rows[j], taps_.back());
    }
    for (std::size_t j = 0; j < loop_.states(); ++j) {
      if (of_rows[j].defined()) seeds_.push_back({given[j], of_rows[j]});
    }
  }

  void differentiate() {
    std::vector<Variable> wrt = forward_.body.inputs;
    GradOptions options;
    options.disconnected_inputs = Disconnected::ignore;
    options.return_disconnected = ReturnDisconnected::none;
    std::vector<Variable> gradients = builder::gradients("grad", seeds_, wrt, options, node_.where);
    for (std::size_t b = 0; b < wrt.size(); ++b) {
      if (!has_gradient(wrt[b])) gradients[b] = {};
    }
    for (std::size_t p = 0; p < pending_.size(); ++p) {
      const Variable& tap = forward_.body.inputs[loop_.tap_of(pending_[p].tap)];
      const Variable& gradient = gradients[loop_.tap_of(pending_[p].tap)];
      backward_.body.outputs.push_back(gradient.defined() ? gradient : zeros_like(tap));
    }
    sums_.resize(loop_.captures);
    for (std::size_t k = 0; k < loop_.captures; ++k) {
      const Variable& gradient = gradients[loop_.captured(k)];
      if (!gradient.defined()) continue;
      sums_[k] = backward_.states.size();
      backward_.states.push_back({expand_dims(zeros_like(node_.inputs[loop_.capture_input(k)]), 0), 1, {0}});
      taps_.push_back(builder::placeholder(forward_.body.inputs[loop_.captured(k)]));
      backward_.body.outputs.push_back(taps_.back() + gradient);
    }
    elements_.resize(loop_.sequences);
    std::size_t stacked = 0;
    for (std::size_t i = 0; i < loop_.sequences; ++i) {
      if (!gradients[i].defined()) continue;
      elements_[i] = stacked++;
      backward_.body.outputs.push_back(gradients[i]);
    }
    backward_.steps = count_;
    backward_.reverse = !loop_.reverse;
    backward_.body.inputs.insert(backward_.body.inputs.end(), taps_.begin(), taps_.end());
    for (std::size_t k = 0; k < loop_.captures; ++k) {
      backward_.body.inputs.push_back(forward_.body.inputs[loop_.captured(k)]);
      backward_.captures.push_back(node_.inputs[loop_.capture_input(k)]);
    }
  }

  std::vector<Variable> input_gradients() {
    std::vector<Variable> result(node_.inputs.size());
    if (seeds_.empty()) return result;
    const LoopResults back = make_loop(backward_, node_.where);
    for (std::size_t i = 0; i < loop_.sequences; ++i) {
      if (!elements_[i]) continue;
      const Variable &x = node_.inputs[loop_.sequence_input(i)], &found = back.stacked[*elements_[i]];
      result[loop_.sequence_input(i)] = all_ ? found : set_subtensor(at_positions(zeros_like(x)), found);
    }
    for (std::size_t j = 0; j < loop_.states(); ++j) {
      Variable& initial = result[loop_.initial_input(j)];
      const std::int64_t rows = loop_.rows[j];
      if (history_[j].defined() && has_gradient(history_[j])) initial = part(history_[j], whole(0), whole(rows));
      for (const Pending& pending : pending_) {
        if (loop_.taps[pending.tap].state != j) continue;
        // The last rows of P_o, in reversed order: the gradients of the rows from o on.
        const std::int64_t offset = loop_.taps[pending.tap].offset;
        Variable found = back.last[pending.state];
        if (rows - offset > 1) found = reversed(found);
        // A step outside of the range passes no gradient to the initial rows.
        if (forward_.body.truncate >= 0) found = where(eq(first_, 0), found, zeros_like(found));
        if (offset == 0) {
          initial = initial.defined() ? initial + found : found;
        } else {
          if (!initial.defined()) initial = zeros_like(node_.inputs[loop_.initial_input(j)]);
          initial = inc_subtensor(initial[slice(Operand(whole(offset)))], found);
        }
      }
    }
    for (std::size_t k = 0; k < loop_.captures; ++k) {
      if (sums_[k]) result[loop_.capture_input(k)] = squeeze(back.last[*sums_[k]], 0);
    }
    return result;
  }

  struct Pending {
    std::size_t tap;    // of the forward loop
    std::size_t state;  // of the backward loop
  };

  const builder::Node& node_;
  const Loop loop_;
  const LoopSpec forward_;
  std::vector<Variable> history_, last_, stacked_;  // gradients from outside
  Variable first_, count_;
  bool all_ = true;
  LoopSpec backward_;
  std::vector<Variable> taps_;  // taps of the backward loop
  std::vector<builder::Seed> seeds_;
  std::vector<Pending> pending_;
  std::vector<std::optional<std::size_t>> sums_, elements_;
};

}  // namespace

std::vector<Variable> loop_gradient(const ResultsGradientContext& context) { return LoopGradient(context).run(); }

}  // namespace croton::ops
