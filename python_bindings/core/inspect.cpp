// The functions of <croton/inspect.hpp>, and functions that identify variables.
#include <croton/inspect.hpp>
#include <croton/shared.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace croton::python {
namespace {

nb::list nearest(const std::vector<Variable>& variables, const nb::callable& known) {
  nb::list found;
  std::unordered_set<const void*> seen;
  std::vector<Variable> pending;
  const auto push_inputs = [&](const Variable& x) {
    if (const std::optional<Application> made = application(x, false))
      for (const Variable& input : made->inputs)
        if (seen.insert(input.node()).second) pending.push_back(input);
  };
  for (const Variable& x : variables) push_inputs(x);
  while (!pending.empty()) {
    const Variable x = std::move(pending.back());
    pending.pop_back();
    if (const nb::object object = known(x); object.is_none())
      push_inputs(x);
    else
      found.append(object);
  }
  return found;
}

}  // namespace

void bind_inspection(nb::module_& m) {
  m.def(
      "application",
      [](const Variable& x, bool attributes) -> nb::object {
        const std::optional<Application> made = application(x, attributes);
        if (!made) return nb::none();
        if (!attributes) return nb::make_tuple(made->op, made->inputs);
        nb::object body = nb::none();
        if (made->body) body = nb::make_tuple(made->body->inputs, made->body->outputs, made->body->truncate);
        return nb::make_tuple(made->op, made->inputs, made->attributes, body);
      },
      "x"_a, "attributes"_a = false,
      "(op, inputs): the name of the op that computes x, and its inputs. With attributes also their text and the body "
      "of a loop, (inputs, outputs, truncate), or None for other ops. None for inputs, constants and shared variables. "
      "TypeError for attributes without a text: those of the user's operations.");
  m.def("nearest", &nearest, "variables"_a, "known"_a,
        "The results of known(y) that are not None, for the variables y that `variables` are computed from, found by a "
        "search that does not go beyond such y.");
  m.def(
      "apply_again",
      [](std::string op, std::vector<Variable> inputs, std::string attributes,
         std::optional<std::tuple<std::vector<Variable>, std::vector<Variable>, std::int64_t>> body) {
        Application made{std::move(op), std::move(inputs), std::move(attributes)};
        if (body) made.body = std::make_from_tuple<LoopBody>(*std::move(body));
        return apply_again(made, here());
      },
      "op"_a, "inputs"_a, "attributes"_a, "body"_a = nb::none(),
      "The result of an application that `application` described with attributes. ValueError if it cannot be.");
  m.def(
      "constant_value", [](const Variable& x) { return to_numpy(constant_value(x)); }, "x"_a,
      "The value of a constant, read-only. TypeError for others.");
  m.def(
      "line_of",
      [](const Variable& x) {
        const Where where = x.where();
        if (!where.known()) return std::string();
        const std::string_view file = where.file();
        return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
      },
      "x"_a, "The line of the program that built x, 'train.py:12'; empty if it is unknown.");
  m.def("is_shared", &is_shared, "x"_a, "Whether x is a shared variable.");
  m.def(
      "as_shared", [](const Variable& x) { return SharedVariable(x.handle()); }, "x"_a,
      "x as a SharedVariable, for a shared variable found in a graph.");
  m.def(
      "equal_computations",
      [](nb::handle a, nb::handle b, nb::handle a_inputs, nb::handle b_inputs) {
        const auto list = [](nb::handle object) {
          return object.is_none() ? std::vector<Variable>() : to_variables(object);
        };
        return equal_computations(to_variables(a), to_variables(b), list(a_inputs), list(b_inputs));
      },
      "a"_a, "b"_a, "a_inputs"_a = nb::none(), "b_inputs"_a = nb::none(),
      "Whether both lists are the same computations, with a_inputs equal to b_inputs by position.");
}

}  // namespace croton::python
