// scan: converts the user's step to the body of a loop. Values that do not depend on the loop are computed once outside
// of it, and captured.
#include <croton/scan.hpp>

#include <croton/error.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "builder/clone.hpp"
#include "builder/gradient_context.hpp"
#include "builder/shared.hpp"
#include "builder/walk.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/control/loop.hpp"

namespace croton {
namespace {

using builder::describe;
using builder::Node;
using ops::LoopSpec;

Variable whole(std::int64_t value) { return constant(Array(value)); }

class Scan {
 public:
  /// `last`: the results of states are their values after the last step, not those of all steps.
  Scan(const std::vector<OutputInfo>& infos, const ScanOptions& options, bool last, Where where)
      : infos_(infos), options_(options), last_(last), where_(where) {}

  ScanResult run(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& non_sequences) {
    for (const Variable& each : non_sequences) {
      if (!each.defined()) fail_type("a non_sequence is an empty Variable");
    }
    {
      const builder::OriginScope origin(where_);  // for nodes made here; the step's nodes have the user's lines
      add_sequences(sequences);
      add_states();
    }
    std::vector<Variable> arguments = placeholders_;
    arguments.insert(arguments.end(), non_sequences.begin(), non_sequences.end());
    for (const Variable& each : non_sequences) {
      if (!each.node()->shared) outside_.insert(each.node());
    }
    // Newer nodes than this are made by the step.
    first_inside_ = variable(Type{DType::bool_, {}}, "", where_).node()->serial;
    Step made = step(arguments);
    const builder::OriginScope origin(where_);
    check(made);
    if (options_.strict) check_strict(made, non_sequences);
    return results(loop(made), made);
  }

 private:
  std::string name_and_line() const {
    return fmt::format("scan{} ({})", options_.name.empty() ? "" : " '" + options_.name + "'", describe(where_));
  }
  [[noreturn]] void fail_type(const std::string& message) const {
    throw TypeError(fmt::format("{}: {}", name_and_line(), message));
  }
  [[noreturn]] void fail_value(const std::string& message) const {
    throw ValueError(fmt::format("{}: {}", name_and_line(), message));
  }

  // ---- inputs of the step ----

  void add_sequences(const std::vector<Sequence>& sequences) {
    std::vector<Variable> lengths;
    struct Part {
      Variable x;
      int tap, oldest, newest;
    };
    std::vector<Part> parts;
    for (const Sequence& sequence : sequences) {
      if (!sequence.x.defined()) fail_type("a sequence is an empty Variable");
      if (sequence.x.rank() == 0) fail_type(describe(sequence.x) + ": a sequence has at least one axis");
      if (sequence.taps.empty()) fail_value(describe(sequence.x) + ": a sequence without taps");
      const int oldest = std::min(0, *std::ranges::min_element(sequence.taps));
      const int newest = std::max(0, *std::ranges::max_element(sequence.taps));
      const Variable length = sequence.x.shape(0);
      lengths.push_back(newest == oldest ? length : maximum(length - whole(newest - oldest), 0));
      for (const int tap : sequence.taps) parts.push_back({sequence.x, tap, oldest, newest});
    }
    if (options_.n_steps) {
      const Operand& n = *options_.n_steps;
      if (!is_discrete(n.variable.dtype()) || n.variable.rank() != 0)
        fail_type(fmt::format("{}: n_steps must be an integer scalar", describe(n.variable)));
      if (n.variable.is_constant() && n.variable.node()->value.as_double(0) < 0)
        fail_value(fmt::format("{} steps; there are at least 0", n.variable.node()->value.to_string()));
      spec_.steps = ops::whole_number(n.variable);
    } else {
      if (lengths.empty()) fail_value("the number of steps is not known: give n_steps or a sequence");
      spec_.steps = lengths[0];
      for (std::size_t i = 1; i < lengths.size(); ++i) {
        if (!(lengths[i] == lengths[0])) spec_.steps = minimum(spec_.steps, lengths[i]);
      }
    }
    const bool all_of_one = !options_.n_steps && sequences.size() == 1;
    for (const Part& part : parts) {
      const int from = part.tap - part.oldest, after = part.newest - part.tap;
      Variable x = part.x;
      if (from != 0 || after != 0) {
        std::optional<Operand> start, stop;
        if (from != 0) start = Operand(from, where_);
        if (after != 0) stop = Operand(-after, where_);
        x = x[slice(start, stop)];
      }
      if (options_.go_backwards) x = x[slice(std::nullopt, std::nullopt, -1)];
      if (!all_of_one) x = first_steps(x);
      spec_.sequences.push_back(x);
      placeholders_.push_back(ops::element_placeholder(part.x));
      if (!part.x.name().empty()) placeholders_.back().named(fmt::format("{}[t{}]", part.x.name(), tap_text(part.tap)));
    }
  }

  /// The first elements of x, one per step; ShapeError at the call if there are fewer.
  Variable first_steps(const Variable& x) const {
    const Variable cut = x[slice(std::nullopt, Operand(spec_.steps, where_))];
    return ops::require_shape(cut, {Operand(spec_.steps, where_)},
                              "scan: a sequence has fewer elements than there are steps");
  }

  static std::string tap_text(int tap) { return tap == 0 ? "" : fmt::format("{:+}", tap); }

  void add_states() {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const OutputInfo& info = infos_[i];
      if (!info.initial.defined()) continue;
      if (info.taps.empty()) fail_value(describe(info.initial) + ": a state without taps");
      const int oldest = *std::ranges::min_element(info.taps);
      if (*std::ranges::max_element(info.taps) >= 0)
        fail_value(describe(info.initial) + ": taps of a state are steps before: -1, -2, ...");
      const bool one = info.taps == std::vector<int>{-1};
      if (!one && info.initial.rank() == 0)
        fail_value(fmt::format("{}: for the taps {} the initial rows are along the first axis, and there is none",
                               describe(info.initial), fmt::join(info.taps, ", ")));
      ops::LoopState state{one ? expand_dims(info.initial, 0) : info.initial, -oldest, {}};
      if (!one)
        state.initial = ops::require_shape(info.initial, {Operand(-oldest, where_)},
                                           "scan: the number of initial rows of a state is that of its oldest tap");
      for (const int tap : info.taps) state.offsets.push_back(tap - oldest);
      for (const int tap : info.taps) {
        placeholders_.push_back(one ? builder::placeholder(info.initial) : ops::element_placeholder(info.initial));
        if (!info.initial.name().empty())
          placeholders_.back().named(fmt::format("{}[t{}]", info.initial.name(), tap_text(tap)));
      }
      row_of_[i] = placeholders_.back();
      state_of_.emplace(i, spec_.states.size());
      spec_.states.push_back(std::move(state));
    }
  }

  // ---- outputs of the step ----

  void check(const Step& step) const {
    if (step.outputs.empty() && step.updates.empty()) fail_value("the step returns nothing");
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (!step.outputs[i].defined()) fail_type(fmt::format("output {} of the step is an empty Variable", i));
    }
    if (!infos_.empty() && infos_.size() != step.outputs.size())
      fail_value(
          fmt::format("{} outputs_info for {} output(s) of the step; std::nullopt is for one that is not fed back",
                      infos_.size(), step.outputs.size()));
    for (const auto& [output, state] : state_of_) check_state(output, step.outputs[output]);
    for (const auto& [target, value] : step.updates) {
      if (!target.defined() || !target.node()->shared) fail_type("an update must change a shared variable");
      if (!value.defined()) fail_type(fmt::format("the update of {} is empty", describe(target)));
      if (value.dtype() != target.dtype() || value.rank() != target.rank())
        fail_type(fmt::format("the update of {} is {}; dtype and dimensions must be the variable's", describe(target),
                              value.type().to_string()));
    }
    if (step.until.defined() && (step.until.rank() != 0 || is_complex(step.until.dtype())))
      fail_type(fmt::format("{}: the condition of until must be a scalar", describe(step.until)));
  }

  void check_state(std::size_t output, const Variable& next) const {
    const OutputInfo& info = infos_[output];
    const Type begin =
        info.taps == std::vector<int>{-1} ? info.initial.type() : ops::element_placeholder(info.initial).type();
    const std::string state = fmt::format("state {}, which begins as {}", output, describe(info.initial));
    if (next.dtype() != begin.dtype) {
      fail_type(fmt::format("{}, becomes {}: its dtype must stay {}. Begin with .astype({}), or return .astype({})",
                            state, describe(next), name_of(begin.dtype), name_of(next.dtype()), name_of(begin.dtype)));
    }
    if (next.type().rank() != begin.rank()) {
      fail_type(fmt::format("{}, becomes {}: it must keep its {} dimension(s)", state, describe(next), begin.rank()));
    }
    for (std::size_t axis = 0; axis < begin.rank(); ++axis) {
      if (begin.broadcasts(axis) == next.type().broadcasts(axis)) continue;
      if (begin.broadcasts(axis))
        fail_type(
            fmt::format("{}, becomes {}: its axis {} has the stated size 1 only in the beginning; unbroadcast(initial, "
                        "{}) removes it",
                        state, describe(next), axis, axis));
    }
  }

  bool is_inside(const Node* node) const { return node->serial > first_inside_; }

  void check_strict(const Step& step, const std::vector<Variable>& non_sequences) const {
    std::unordered_set<const Node*> given;
    for (const Variable& each : placeholders_) given.insert(each.node());
    for (const Variable& each : non_sequences) given.insert(each.node());
    std::unordered_set<const Node*> seen;
    const std::vector<Variable> all = roots(step);
    for (const Node* node : builder::reachable(all, seen, [&](const Node& n) { return is_inside(&n); })) {
      for (const Variable& input : node->inputs) demand_given(input, given);
    }
    for (const Variable& root : all) demand_given(root, given);
  }
  void demand_given(const Variable& used, const std::unordered_set<const Node*>& given) const {
    if (used.is_constant() || is_inside(used.node()) || given.contains(used.node())) return;
    throw MissingInputError(
        fmt::format("{}: the step uses {}, which is not among its arguments: with strict, add it to non_sequences",
                    name_and_line(), describe(used)));
  }

  static std::vector<Variable> roots(const Step& step) {
    std::vector<Variable> all = step.outputs;
    for (const auto& [target, value] : step.updates) all.push_back(value);
    if (step.until.defined()) all.push_back(step.until);
    return all;
  }

  /// Adds the shared variables that every step changes, which become states: those that the step updates, and the
  /// states of its random draws.
  void add_updated(const Step& step) {
    for (const auto& [target, value] : step.updates) {
      for (const auto& [earlier, unused] : updated_) {
        if (earlier == target) fail_value(fmt::format("{} is updated twice", describe(target)));
      }
      updated_.emplace_back(target, value);
    }
    std::vector<Variable> all = roots(step);
    for (std::size_t known = 0; known != all.size();) {  // an update may draw random numbers, too
      known = all.size();
      for (Node* node : builder::topological_order(all)) {
        if (!node->shared || !node->shared->default_update.defined() || !is_inside(node)) continue;
        const SharedVariable state(node->shared_from_this());
        if (std::ranges::any_of(updated_, [&](const auto& u) { return u.first == state; })) continue;
        builder::Replacements replace;
        for (const auto& [inside, variable] : builder::default_update_inputs(*node)) replace[inside.node()] = variable;
        const Variable next = builder::clone({node->shared->default_update}, replace)[0];
        updated_.emplace_back(state, next);
        all.push_back(next);
      }
    }
  }

  /// Makes the outside values that the body reads captures.
  void capture(const std::vector<Variable>& all, builder::Replacements& replace, std::vector<Variable>& captured) {
    std::unordered_set<const Node*> depends;
    for (const auto& [node, with] : replace) depends.insert(node);
    for (const Variable& own : placeholders_) depends.insert(own.node());
    const auto take = [&](const Variable& v) {
      if (depends.contains(v.node()) || replace.contains(v.node()) || (v.is_constant() && v.rank() == 0)) return;
      const Variable inside = builder::placeholder(v);
      replace[v.node()] = inside;
      spec_.captures.push_back(v);
      captured.push_back(inside);
    };
    for (const Node* node : builder::topological_order(all)) {
      if (outside_.contains(node)) continue;
      if (std::ranges::any_of(node->inputs, [&](const Variable& v) { return depends.contains(v.node()); }))
        depends.insert(node);
    }
    for (const Node* node : builder::topological_order(all)) {
      if (!depends.contains(node) || replace.contains(node)) continue;
      for (const Variable& input : node->inputs) take(input);
    }
    for (const Variable& root : all) take(root);
  }

  /// The next value of a state, required to have the sizes of the previous one, `row`.
  Variable of_same_size(const Variable& next, const Variable& row, std::string_view state) const {
    std::vector<std::optional<Operand>> sizes;
    sizes.reserve(next.type().rank());
    for (int axis = 0; axis < next.rank(); ++axis) sizes.emplace_back(Operand(row.shape(axis), where_));
    return ops::require_shape(next, sizes,
                              fmt::format("{}: {} must keep its size from step to step", name_and_line(), state));
  }

  ops::LoopResults loop(const Step& step) {
    add_updated(step);
    std::vector<Variable> next_rows, stacked;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (state_of_.contains(i))
        next_rows.push_back(of_same_size(step.outputs[i], row_of_[i], fmt::format("state {}", i)));
      else
        stacked.push_back(step.outputs[i]);
    }
    // The states of shared variables come last.
    builder::Replacements replace;
    for (const auto& [target, value] : updated_) {
      const Variable inside = builder::placeholder(target);
      replace[target.node()] = inside;
      placeholders_.push_back(inside);
      next_rows.push_back(of_same_size(value, inside, describe(target)));
      spec_.states.push_back({expand_dims(target, 0), 1, {0}});
    }
    std::vector<Variable> all = next_rows;
    all.insert(all.end(), stacked.begin(), stacked.end());
    if (step.until.defined()) all.push_back(step.until);
    std::vector<Variable> captured;
    capture(all, replace, captured);
    spec_.body.outputs = builder::clone(all, replace);
    spec_.body.inputs = placeholders_;
    spec_.body.inputs.insert(spec_.body.inputs.end(), captured.begin(), captured.end());
    spec_.body.truncate = options_.truncate_gradient;
    for (const auto& [target, value] : step.updates) spec_.body.updated.push_back(target.node()->weak_from_this());
    spec_.until = step.until.defined();
    return ops::make_loop(spec_, where_);
  }

  ScanResult results(const ops::LoopResults& made, const Step& step) {
    ScanResult result;
    std::size_t next_state = 0, next_stacked = 0;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      Variable output;
      if (state_of_.contains(i) && last_) {
        output = squeeze(made.last[next_state++], 0);
      } else if (state_of_.contains(i)) {
        const std::int64_t rows = spec_.states[next_state].rows;
        const Variable& history = made.history[next_state++];
        std::optional<Operand> stop;
        if (spec_.until) stop = Operand(made.steps + rows, where_);
        output = history[slice(Operand(rows, where_), stop)];
      } else {
        output = made.stacked[next_stacked++];
        if (spec_.until) output = output[slice(std::nullopt, Operand(made.steps, where_))];
      }
      result.outputs.push_back(output.named(step.outputs[i].name()));
    }
    for (auto& [target, value] : updated_) {
      const Variable after = squeeze(made.last[next_state++], 0);
      result.updates.emplace_back(target, after);
      // Functions update the states of random draws by default, also those of a loop inside the step.
      if (target.node()->shared->default_update.defined()) target.set_default_update(after);
    }
    return result;
  }

  const std::vector<OutputInfo>& infos_;
  const ScanOptions& options_;
  bool last_;
  Where where_;
  LoopSpec spec_;
  std::vector<Variable> placeholders_;                        // placeholders for elements and rows
  std::unordered_map<std::size_t, std::size_t> state_of_;     // by output of the step
  std::unordered_map<std::size_t, Variable> row_of_;          // placeholder for its previous row
  std::unordered_set<const Node*> outside_;                   // arguments of the step from outside of the loop
  std::vector<std::pair<SharedVariable, Variable>> updated_;  // shared variables that are states
  std::uint64_t first_inside_ = 0;
};

std::vector<OutputInfo> fed_back(const std::vector<Variable>& initial) { return {initial.begin(), initial.end()}; }

}  // namespace

Step until(std::vector<Variable> outputs, const Variable& condition) { return {std::move(outputs), {}, condition}; }

ScanResult::operator const Variable&() const {
  if (outputs.size() == 1) return outputs[0];
  throw TypeError(fmt::format("a scan with {} outputs is used as one variable; `outputs` has them", outputs.size()));
}

ScanResult scan(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                const std::vector<OutputInfo>& outputs_info, const std::vector<Variable>& non_sequences,
                const ScanOptions& options, Where where) {
  return Scan(outputs_info, options, false, where).run(step, sequences, non_sequences);
}

ScanResult map(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
               const std::vector<Variable>& non_sequences, const ScanOptions& options, Where where) {
  return scan(step, sequences, {}, non_sequences, options, where);
}

ScanResult reduce(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                  const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences,
                  const ScanOptions& options, Where where) {
  const std::vector<OutputInfo> infos = fed_back(initial);
  return Scan(infos, options, true, where).run(step, sequences, non_sequences);
}

ScanResult foldl(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences, ScanOptions options,
                 Where where) {
  options.go_backwards = false;
  return reduce(step, sequences, initial, non_sequences, options, where);
}
ScanResult foldr(const std::function<Step(const std::vector<Variable>&)>& step, const std::vector<Sequence>& sequences,
                 const std::vector<Variable>& initial, const std::vector<Variable>& non_sequences, ScanOptions options,
                 Where where) {
  options.go_backwards = true;
  return reduce(step, sequences, initial, non_sequences, options, where);
}

ScanResult scan_checkpoints(const std::function<Step(const std::vector<Variable>&)>& step,
                            const std::vector<Sequence>& sequences, const std::vector<OutputInfo>& outputs_info,
                            const std::vector<Variable>& non_sequences, std::int64_t save_every,
                            const ScanOptions& options, Where where) {
  const builder::OriginScope origin(where);
  const auto refuse = [&](const std::string& message) {
    throw ValueError(fmt::format("scan_checkpoints ({}): {}", describe(where), message));
  };
  if (save_every < 1) refuse(fmt::format("save_every is {}; it must be at least 1", save_every));
  if (sequences.empty() && !options.n_steps) refuse("the number of steps is not known: give n_steps or a sequence");
  for (const Sequence& sequence : sequences) {
    if (sequence.taps != std::vector<int>{0}) refuse(describe(sequence.x) + ": a sequence has only the tap 0");
  }
  for (const OutputInfo& info : outputs_info) {
    if (info.initial.defined() && info.taps != std::vector<int>{-1})
      refuse(describe(info.initial) + ": a state has only the tap -1");
  }
  if (options.truncate_gradient != ScanOptions().truncate_gradient) refuse("gradients are not truncated");
  Variable given;
  if (options.n_steps) given = ops::whole_number(options.n_steps->variable);
  for (const Sequence& sequence : sequences) {
    if (!options.n_steps) given = given.defined() ? minimum(given, sequence.x.shape(0)) : sequence.x.shape(0);
  }
  const Variable whole_parts = floor_divide(given, whole(save_every)) * whole(save_every);
  const Variable counted =
      ops::require_shape(arange(whole_parts), {Operand(given, where)},
                         fmt::format("scan_checkpoints: the steps must be a multiple of {}", save_every));
  const Variable parts = floor_divide(counted.shape(0), whole(save_every));
  std::vector<Sequence> cut;
  for (const Sequence& sequence : sequences) {
    Variable x = sequence.x;
    if (options.go_backwards) x = x[slice(std::nullopt, std::nullopt, -1)];
    if (options.n_steps || sequences.size() > 1) {
      x = ops::require_shape(x[slice(std::nullopt, Operand(given, where))], {Operand(given, where)},
                             "scan: a sequence has fewer elements than there are steps");
    }
    std::vector<Operand> shape{Operand(parts, where), Operand(save_every, where)};
    for (int axis = 1; axis < x.rank(); ++axis) shape.emplace_back(x.shape(axis), where);
    cut.emplace_back(reshape(x, shape));
  }
  // Runs the steps of one part; its result is the state after its last step.
  const auto part = [&](const std::vector<Variable>& in) {
    std::vector<Sequence> own;
    own.reserve(cut.size());
    for (std::size_t i = 0; i < cut.size(); ++i) own.emplace_back(in[i]);
    std::vector<OutputInfo> begin;
    begin.reserve(outputs_info.size());
    std::size_t next = cut.size();
    for (const OutputInfo& info : outputs_info)
      begin.push_back(info.initial.defined() ? OutputInfo(in[next++]) : OutputInfo(std::nullopt));
    const std::span<const Variable> rest = std::span(in).subspan(next);
    const std::vector<Variable> others(rest.begin(), rest.end());
    ScanOptions inner = options;
    inner.go_backwards = false;
    inner.n_steps = Operand(save_every, where);
    const auto endless = [&](const std::vector<Variable>& arguments) {
      Step made = step(arguments);
      if (made.until.defined()) refuse("a condition to stop is not supported");
      return made;
    };
    const ScanResult steps = scan(endless, own, begin, others, inner, where);
    std::vector<Variable> last;
    last.reserve(steps.outputs.size());
    for (const Variable& output : steps.outputs) last.push_back(output[-1]);
    return Step(std::move(last), steps.updates);
  };
  ScanOptions outer = options;
  outer.go_backwards = false;
  outer.n_steps = Operand(parts, where);
  return scan(part, cut, outputs_info, non_sequences, outer, where);
}

}  // namespace croton
