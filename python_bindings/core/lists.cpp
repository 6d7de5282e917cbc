#include "core/lists.hpp"

#include "core/operands.hpp"

namespace croton::python {

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

std::vector<std::pair<Variable, Variable>> to_pairs(nb::handle object, const char* what) {
  std::vector<std::pair<Variable, Variable>> pairs;
  if (object.is_none()) return pairs;
  const nb::object items = nb::isinstance<nb::dict>(object) ? nb::object(object.attr("items")()) : nb::borrow(object);
  for (const nb::handle item : items) {
    if (!is_list(item) || nb::len(item) != 2 || !nb::isinstance<Variable>(item[0])) {
      throw TypeError(std::string(what) + " is a dict or a list of pairs (variable, expression)");
    }
    pairs.emplace_back(nb::cast<Variable>(item[0]), to_variable(item[1]));
  }
  return pairs;
}

std::optional<Operand> to_optional_operand(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(to_operand(object));
}

std::vector<std::int64_t> to_numbers(nb::handle object, const char* what) {
  if (!is_list(object)) return {to_int(object, what)};
  std::vector<std::int64_t> numbers;
  for (const nb::handle item : object) numbers.push_back(to_int(item, what));
  return numbers;
}

nnet::Layout to_layout(const std::string& text) {
  return choice<nnet::Layout>(
      text, "layout",
      {{"channels_first", nnet::Layout::channels_first}, {"channels_last", nnet::Layout::channels_last}});
}

}  // namespace croton::python
