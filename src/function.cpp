// function(): checks the user's arguments, adds default updates, and compiles (compile.cpp). Calls are
// in call/callable.cpp.
#include <croton/function.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <iostream>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "base/config.hpp"
#include "base/index.hpp"
#include "base/interrupt.hpp"
#include "builder/import.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "compile.hpp"
#include "compiled_function.hpp"
#include "expr/parse.hpp"
#include "ops/control/loop.hpp"

namespace croton {
namespace {

using builder::describe;

std::string function_at(Where where) { return fmt::format("function ({})", describe(where)); }

void check_update(const Variable& target, const Variable& value, Where where) {
  if (!target.defined() || !target.node()->shared) {
    throw TypeError(fmt::format("{}: an update must change a shared variable, but {}", function_at(where),
                                target.defined() ? describe(target) : "the variable is empty"));
  }
  if (!value.defined())
    throw TypeError(fmt::format("{}: {}, but its update is empty", function_at(where), describe(target)));
  if (target.dtype() != value.dtype()) {
    const std::string_view wanted = name_of(target.dtype());
    const std::string by_flag = is_float(target.dtype()) ? fmt::format("set floatX={}, or ", wanted) : "";
    throw TypeError(fmt::format("{}: {}, but its update has dtype {}; it must be {}: {}cast it with astype to {}",
                                function_at(where), describe(target), name_of(value.dtype()), wanted, by_flag, wanted));
  }
  if (target.rank() != value.rank()) {
    throw TypeError(fmt::format("{}: {}, but its update has {} dimension(s), not {}", function_at(where),
                                describe(target), value.rank(), target.rank()));
  }
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (value.type().broadcasts(axis) && !target.type().broadcasts(axis)) {
      throw TypeError(fmt::format("{}: {}, but its update is {}: its broadcastable axis {} does not fit the variable's",
                                  function_at(where), describe(target), value.type().to_string(), axis));
    }
  }
}

/// Warns if a scan computes new values of shared variables which the function does not assign: a mistake that is hard
/// to see otherwise.
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
          function_at(where), describe(target), describe(node->where));
    }
  }
}

/// Adds the default updates of all shared variables that the outputs and updates use and that have no other update.
/// Variables that are used only through an input or a replaced variable do not count.
void add_default_updates(builder::ImportRequest& request) {
  std::unordered_set<const builder::Node*> seen, updated;
  for (const Variable& input : request.inputs) seen.insert(input.node());
  for (const auto& [target, value] : request.updates) updated.insert(target.node());
  std::unordered_map<const builder::Node*, Variable> givens;
  for (const auto& [from, to] : request.givens) givens.emplace(from.node(), to);
  std::vector<Variable> pending = request.outputs;
  for (const auto& [target, value] : request.updates) pending.push_back(value);
  std::ranges::reverse(pending);  // so that the first output is visited first, which determines the order of updates
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

/// Adds updates of the copies of updated variables on other devices, except copies that have another update.
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

/// A given value with the type of its variable: sizes that only the new value states become unknown.
Variable checked_given(const Variable& from, const Variable& to, Where where) {
  bool fits = from.dtype() == to.dtype() && from.rank() == to.rank();
  std::vector<int> stated;
  for (int axis = 0; fits && axis < from.rank(); ++axis) {
    const std::int64_t had = base::nth(from.type().shape, axis), has = base::nth(to.type().shape, axis);
    if (had == unknown_size && has != unknown_size) stated.push_back(axis);
    fits = had == unknown_size || had == has;
  }
  if (fits) return stated.empty() ? to : unbroadcast(Operand(to, where), stated);
  throw TypeError(fmt::format(
      "{}: givens: {} cannot replace {}: it must have the same dtype and number of dimensions, and all stated sizes",
      function_at(where), describe(to), describe(from)));
}

}  // namespace

Function function(std::vector<In> inputs, OutputList outputs, FunctionOptions options, Where where) {
  builder::ImportRequest request;
  request.where = where;
  for (const In& in : inputs) {
    if (!in.variable.defined()) {
      throw TypeError(fmt::format("{}: input {} of {} is an empty Variable; it was never given an expression",
                                  function_at(where), request.inputs.size() + 1, inputs.size()));
    }
    if (in.variable.node()->shared) {
      throw TypeError(fmt::format("{}: {} is a shared variable; use givens to replace it", function_at(where),
                                  describe(in.variable)));
    }
    request.inputs.push_back(in.variable);
  }
  for (const Out& out : outputs.outputs) {
    if (!out.variable.defined()) {
      throw TypeError(fmt::format("{}: output {} of {} is an empty Variable; was the symbolic variable overwritten?",
                                  function_at(where), request.outputs.size() + 1, outputs.outputs.size()));
    }
    request.outputs.push_back(out.variable);
  }
  for (std::size_t i = 0; i < options.updates.size(); ++i) {
    const auto& [target, value] = options.updates[i];
    check_update(target, value, where);
    for (std::size_t j = 0; j < i; ++j) {
      if (options.updates[j].first == target)
        throw ValueError(fmt::format("{}: {} is updated twice", function_at(where), describe(target)));
    }
    request.updates.emplace_back(target, value);
  }
  for (const auto& [from, to] : options.givens) {
    if (!from.defined() || !to.defined())
      throw TypeError(fmt::format("{}: givens hold an empty Variable", function_at(where)));
    if (std::ranges::find(request.inputs, from) != request.inputs.end()) {
      throw ValueError(fmt::format("{}: givens replace the input {}; leave it out of the inputs", function_at(where),
                                   describe(from)));
    }
    request.givens.emplace_back(from, checked_given(from, to, where));
  }
  if (!options.no_default_updates) add_default_updates(request);
  update_copies(request);
  warn_of_dropped_updates(request, where);

  const base::Flags& flags = base::config();
  const UnusedInput on_unused =
      options.on_unused_input.value_or(flags.on_unused_input == base::UnusedInput::raise  ? UnusedInput::raise
                                       : flags.on_unused_input == base::UnusedInput::warn ? UnusedInput::warn
                                                                                          : UnusedInput::ignore);
  const std::string name = options.name.empty() ? "function" : options.name;
  builder::Imported imported = detail::import_graph(name, [&] { return builder::import(request); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (imported.used[i] || on_unused == UnusedInput::ignore) continue;
    const std::string message =
        fmt::format("{}: nothing depends on the input {}; leave it out, or pass on_unused_input=ignore",
                    function_at(where), describe(inputs[i].variable));
    if (on_unused == UnusedInput::raise) throw UnusedInputError(message);
    std::cerr << "croton: warning: " << message << "\n";
  }

  std::vector<detail::InputRules> rules;
  for (const In& in : inputs) {
    rules.push_back({in.variable, in.name.empty() ? in.variable.name() : in.name, in.value, in.strict,
                     in.allow_downcast ? in.allow_downcast : options.allow_input_downcast});
  }
  return Function(detail::compile_function(name, std::move(rules), outputs.single, std::move(imported)));
}

Function function_of_graph(const std::string& text, Where where) {
  const std::string name = "graph";
  builder::Imported imported =
      detail::import_graph(name, [&] { return builder::Imported{expr::parse_graph(text), {}, {}}; });
  std::vector<detail::InputRules> inputs;
  for (const expr::GraphInput& input : imported.graph.inputs) {
    if (input.role == expr::Role::shared) {
      throw TypeError(fmt::format("function_of_graph ({}): {} is a shared variable, whose value is not in the text",
                                  describe(where), input.name));
    }
    const Variable v = variable(expr::static_type(imported.graph.arena, input.node), input.name, where);
    inputs.push_back({v, input.name, {}, false, {}});
  }
  const bool single = imported.graph.outputs.size() == 1;
  return Function(detail::compile_function(name, std::move(inputs), single, std::move(imported)));
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
