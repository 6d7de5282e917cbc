// The compiler on one page: a function is compiled by the stages of `compile` below, in that order; each can be printed
// (CROTON_FLAGS=print=...), verified and timed. Calls (call.cpp) bind the plan to their sizes and run it.
#include <croton/function.hpp>

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/interrupt.hpp"
#include "builder/import.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "call.hpp"
#include "expr/parse.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "fuse/program.hpp"
#include "ops/loop.hpp"
#include "rewrite/pipeline.hpp"

namespace croton {
namespace detail {
namespace {

/// Prints a stage's result and the time it took, where the flags ask for it.
class StageLog {
 public:
  explicit StageLog(std::string name) : name_(std::move(name)) {}
  template <class Text>
  void done(std::string_view stage, Text text) {
    base::check_interrupt();
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    const base::Flags& flags = base::config();
    if (flags.print_timings) std::cerr << fmt::format("croton: {}: {:10} {:8.3f} ms\n", name_, stage, ms);
    if (base::has_word(flags.print, stage)) std::cerr << fmt::format("---- {}: {}\n{}", name_, stage, text());
    last_ = std::chrono::steady_clock::now();
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// From the user's expressions as a graph in which sizes are nodes (builder/import.hpp) to a function.
std::shared_ptr<CompiledFunction> compile(const std::string& name, builder::Imported imported) {
  const base::Compilation compilation;
  const base::Flags& flags = base::config();
  auto result = std::make_shared<CompiledFunction>();
  StageLog log(name);
  const auto verify = [&](const expr::Graph& graph) {
    if (flags.verify) expr::verify(graph);
  };

  expr::Graph graph = std::move(imported.graph);
  verify(graph);
  result->verified = flags.mode == base::RunMode::verify;
  result->nan_guard = flags.nan_guard;
  if (result->verified || !result->nan_guard.empty()) result->written = std::make_shared<const expr::Graph>(graph);
  log.done("graph", [&] { return expr::print(graph, {.origins = true}); });

  // Canonical form, stability, expansion, algebra.
  const rewrite::Options options{.special_values = flags.special_values == base::SpecialValues::theano,
                                 .optimizer = flags.optimizer == base::OptimizerMode::fast_run       ? "fast_run"
                                              : flags.optimizer == base::OptimizerMode::fast_compile ? "fast_compile"
                                                                                                     : "none",
                                 .off = rewrite::rule_names(flags.rules_off)};
  result->rewriting = options;
  result->reports = rewrite::run(graph, options, [&](const rewrite::GroupReport&, const expr::Graph& g) { verify(g); });
  log.done("rewrites", [&] { return expr::print(graph, {.origins = true}); });
  result->graph = std::make_shared<const expr::Graph>(graph);

  result->name = name;
  result->shared = std::move(imported.shared);
  for (const Variable& variable : result->shared) {
    builder::SharedState& state = *variable.node()->shared;
    const std::unique_lock lock(state.mutex);
    if (!state.copies) state.copies = std::make_shared<runtime::SharedCopies>();
  }
  result->join = flags.optimizer != base::OptimizerMode::none;
  result->names_devices = rewrite::uses_devices(graph, {});
  result->reference = flags.mode == base::RunMode::reference;
  result->simulated = flags.mode == base::RunMode::simulate;

  // The rest once per answer to where it runs (call.cpp): nodes are placed, transfers put between devices; regions of
  // the graph become kernels; steps are put in order, with buffers and in-place work. Text is made when the plan is
  // bound.
  const runtime::Executable& executable = *result->placed().executable;
  log.done("place", [&] { return print_placement(result->placed()); });
  log.done("kernels", [&] { return fuse::print(executable.program); });
  log.done("plan", [&] { return plan::print(executable.plan, executable.program); });

  codegen::choose_schedule(kernel::Family::pointwise, flags.schedule);  // raises for one that cannot be read
  result->schedule = flags.schedule;
  // Shared variables are numbered as they stand among the inputs.
  for (const expr::Update& update : result->graph->updates) {
    const auto before = std::span(result->graph->inputs).first(update.input);
    result->update_of.push_back(
        static_cast<std::size_t>(std::ranges::count(before, expr::Role::shared, &expr::GraphInput::role)));
  }
  return result;
}

}  // namespace
}  // namespace detail

namespace {

using builder::describe;

std::string in_line(Where where) { return fmt::format("function ({})", describe(where)); }

void check_update(const Variable& target, const Variable& value, Where where) {
  if (!target.defined() || !target.node()->shared) {
    throw TypeError(fmt::format("{}: an update must change a shared variable, but {}", in_line(where),
                                target.defined() ? describe(target) : "the variable is empty"));
  }
  if (!value.defined())
    throw TypeError(fmt::format("{}: {}, but its update is empty", in_line(where), describe(target)));
  if (target.dtype() != value.dtype()) {
    throw TypeError(
        fmt::format("{}: {}, but its update has dtype {}; it must be {}: set floatX={}, or cast it with astype to {}",
                    in_line(where), describe(target), name_of(value.dtype()), name_of(target.dtype()),
                    name_of(target.dtype()), name_of(target.dtype())));
  }
  if (target.rank() != value.rank()) {
    throw TypeError(fmt::format("{}: {}, but its update has {} dimension(s), not {}", in_line(where), describe(target),
                                value.rank(), target.rank()));
  }
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (value.type().broadcasts(static_cast<std::size_t>(axis)) &&
        !target.type().broadcasts(static_cast<std::size_t>(axis))) {
      throw TypeError(
          fmt::format("{}: {}, but its update is {}: the broadcastable axis {} of that does not fit the variable's",
                      in_line(where), describe(target), value.type().to_string(), axis));
    }
  }
}

/// Warns where a scan gives new values of shared variables that the function does not give them: a mistake that nothing
/// else shows.
void warn_of_dropped_updates(const builder::ImportRequest& request, Where where) {
  std::vector<Variable> roots = request.outputs;
  for (const auto& [target, value] : request.updates) roots.push_back(value);
  std::vector<const builder::Node*> warned;
  for (const builder::Node* node : builder::topological_order(roots)) {
    if (node->op->kind != expr::Kind::Loop) continue;
    for (const std::weak_ptr<builder::Node>& updated : ops::loop_source(*node).updated) {
      const std::shared_ptr<builder::Node> kept = updated.lock();
      if (!kept) continue;
      const Variable target(kept);
      const bool given =
          std::ranges::any_of(request.updates, [&](const auto& update) { return update.first == target; });
      if (given || std::ranges::find(warned, target.node()) != warned.end()) continue;
      warned.push_back(target.node());
      std::cerr << fmt::format(
          "croton: warning: {}: {} is updated by the scan ({}), and not by this function; pass the scan's updates to "
          "it\n",
          in_line(where), describe(target), describe(node->where));
    }
  }
}

/// Default updates of all shared variables that the outputs and updates use, as far as nothing else updates them. What
/// is behind an input, or behind what a given stands in for, is not used.
void add_default_updates(builder::ImportRequest& request) {
  std::unordered_set<const builder::Node*> seen, updated;
  for (const Variable& input : request.inputs) seen.insert(input.node());
  for (const auto& [target, value] : request.updates) updated.insert(target.node());
  std::unordered_map<const builder::Node*, Variable> givens;
  for (const auto& [from, to] : request.givens) givens.emplace(from.node(), to);
  std::vector<Variable> pending = request.outputs;
  for (const auto& [target, value] : request.updates) pending.push_back(value);
  std::ranges::reverse(pending);  // so that the first output is looked at first, which decides the order of updates
  const auto update = [&](builder::Node& node) {
    const Variable target(node.shared_from_this());
    const Variable& value = node.shared->default_update;
    check_update(target, value, request.where);
    request.updates.emplace_back(target, value);
    pending.push_back(value);
    for (const auto& [inside, variable] : builder::default_update_inputs(node)) {
      request.givens.emplace_back(inside, variable);
      givens.emplace(inside.node(), variable);
    }
  };
  while (!pending.empty()) {
    base::check_interrupt();
    const Variable next = pending.back();
    pending.pop_back();
    builder::Node* node = next.node();
    if (!seen.insert(node).second) continue;
    if (const auto given = givens.find(node); given != givens.end()) {
      pending.push_back(given->second);
      continue;
    }
    if (node->shared && node->shared->default_update.defined() && updated.insert(node).second) update(*node);
    for (const Variable& input : std::views::reverse(node->inputs)) pending.push_back(input);
  }
}

/// Copies on other devices of what is updated get the new value too, but those that an update of their own is given
/// for.
void update_copies(builder::ImportRequest& request) {
  std::unordered_set<const builder::Node*> updated;
  for (const auto& [target, value] : request.updates) updated.insert(target.node());
  for (std::size_t i = 0; i < request.updates.size(); ++i) {
    const auto [target, value] = request.updates[i];
    for (const SharedVariable& other : builder::with_copies(target)) {
      if (!updated.insert(other.node()).second) continue;
      request.updates.emplace_back(other, other.pinned() ? transfer(value, other.home(), request.where) : value);
    }
  }
}

}  // namespace

Function function(std::vector<In> inputs, OutputList outputs, FunctionOptions options, Where where) {
  builder::ImportRequest request;
  request.where = where;
  for (const In& in : inputs) {
    if (!in.variable.defined()) {
      throw TypeError(fmt::format("{}: input {} of {} is an empty Variable; it was never given an expression",
                                  in_line(where), request.inputs.size() + 1, inputs.size()));
    }
    if (in.variable.node()->shared) {
      throw TypeError(
          fmt::format("{}: {} is a shared variable; use givens to replace it", in_line(where), describe(in.variable)));
    }
    request.inputs.push_back(in.variable);
  }
  for (const Out& out : outputs.outputs) {
    if (!out.variable.defined()) {
      throw TypeError(fmt::format("{}: output {} of {} is an empty Variable; was the symbolic variable overwritten?",
                                  in_line(where), request.outputs.size() + 1, outputs.outputs.size()));
    }
    request.outputs.push_back(out.variable);
  }
  for (std::size_t i = 0; i < options.updates.size(); ++i) {
    const auto& [target, value] = options.updates[i];
    check_update(target, value, where);
    for (std::size_t j = 0; j < i; ++j) {
      if (options.updates[j].first == target)
        throw ValueError(fmt::format("{}: {} is updated twice", in_line(where), describe(target)));
    }
    request.updates.emplace_back(target, value);
  }
  for (const auto& [from, to] : options.givens) {
    if (!from.defined() || !to.defined())
      throw TypeError(fmt::format("{}: givens hold an empty Variable", in_line(where)));
    if (from.type() != to.type()) {
      throw TypeError(fmt::format("{}: givens: {} cannot stand in for {}: the types must be equal", in_line(where),
                                  describe(to), describe(from)));
    }
    if (std::ranges::find(request.inputs, from) != request.inputs.end()) {
      throw ValueError(
          fmt::format("{}: givens replace the input {}; leave it out of the inputs", in_line(where), describe(from)));
    }
    request.givens.emplace_back(from, to);
  }
  if (!options.no_default_updates) add_default_updates(request);
  update_copies(request);
  warn_of_dropped_updates(request, where);

  const base::Flags& flags = base::config();
  const UnusedInput on_unused =
      options.on_unused_input.value_or(flags.on_unused_input == base::UnusedInput::raise  ? UnusedInput::raise
                                       : flags.on_unused_input == base::UnusedInput::warn ? UnusedInput::warn
                                                                                          : UnusedInput::ignore);
  builder::Imported imported = builder::import(request);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (imported.used[i] || on_unused == UnusedInput::ignore) continue;
    const std::string message =
        fmt::format("{}: nothing depends on the input {}; leave it out, or pass on_unused_input=ignore", in_line(where),
                    describe(inputs[i].variable));
    if (on_unused == UnusedInput::raise) throw UnusedInputError(message);
    std::cerr << "croton: warning: " << message << "\n";
  }

  auto compiled = detail::compile(options.name.empty() ? "function" : options.name, std::move(imported));
  for (const In& in : inputs) {
    compiled->inputs.push_back({in.variable, in.name.empty() ? in.variable.name() : in.name, in.value, in.strict,
                                in.allow_downcast ? in.allow_downcast : options.allow_input_downcast});
  }
  compiled->single = outputs.single;
  return Function(std::move(compiled));
}

Function function_of_graph(const std::string& text, Where where) {
  builder::Imported imported{expr::parse_graph(text), {}, {}};
  std::vector<detail::InputRules> inputs;
  for (const expr::GraphInput& input : imported.graph.inputs) {
    if (input.role == expr::Role::shared) {
      throw TypeError(fmt::format("function_of_graph ({}): {} is a shared variable, of which the text has no value",
                                  describe(where), input.name));
    }
    const Variable v = variable(expr::static_type(imported.graph.arena, input.node), input.name, where);
    inputs.push_back({v, input.name, {}, false, {}});
  }
  const bool single = imported.graph.outputs.size() == 1;
  auto compiled = detail::compile("graph", std::move(imported));
  compiled->inputs = std::move(inputs);
  compiled->single = single;
  return Function(std::move(compiled));
}

Array Variable::eval(std::initializer_list<Binding> values, Where where) const {
  std::vector<In> inputs;
  std::vector<Argument> arguments;
  for (const auto& [variable, array] : values) {
    inputs.emplace_back(variable);
    arguments.emplace_back(array);
  }
  const Function f = function(inputs, *this, {.name = "eval", .on_unused_input = UnusedInput::ignore}, where);
  return f.call(arguments).only();
}

}  // namespace croton
