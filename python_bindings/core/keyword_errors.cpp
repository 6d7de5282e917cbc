// Errors of calls with an unknown keyword. nanobind lists the signature and the types of the arguments, though only one
// word is wrong. All functions of the module are called through a pointer in the object (PEP 590), which is replaced by
// a function of `explaining`; a successful call costs one more comparison.
#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bindings.hpp"

namespace croton::python {
namespace {

constexpr std::string_view mismatch = "(): incompatible function arguments.";

/// The edit distance: the number of insertions, deletions and substitutions between two words (Levenshtein, 1965).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The parameters in the parentheses of the signature that begins there, split at commas outside of brackets.
std::vector<std::string> parameters_at(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      if (depth++ == 0) continue;
    } else if (c == ')' || c == ']' || c == '}') {
      if (--depth == 0) break;
    } else if (c == ',' && depth == 1) {
      parts.emplace_back();
      continue;
    }
    if (depth > 0) parts.back() += c;
  }
  return parts;
}

/// The keywords of the signatures in a mismatch message; none if one of them accepts any.
std::vector<std::string> keywords_in(std::string_view message) {
  std::vector<std::string> names;
  for (std::size_t line = message.find('\n'); line != std::string_view::npos; line = message.find('\n', line + 1)) {
    const std::string_view rest = message.substr(line + 1);
    if (!rest.starts_with("    ")) break;
    const std::size_t open = rest.find('(');
    if (open == std::string_view::npos) break;
    for (const std::string& part : parameters_at(rest.substr(open))) {
      const std::size_t first = part.find_first_not_of(' ');
      if (first == std::string::npos) continue;
      if (part.compare(first, 2, "**") == 0) return {};
      const std::string name = part.substr(first, part.find(':') - first);
      if (name != "self" && !name.starts_with('*') && name != "/") names.push_back(name);
    }
  }
  return names;
}

std::string suggestion(const std::string& wrong, const std::vector<std::string>& names) {
  const auto nearest =
      std::ranges::min_element(names, {}, [&](const std::string& name) { return distance(wrong, name); });
  if (distance(wrong, *nearest) <= std::max<std::size_t>(2, wrong.size() / 3) &&
      distance(wrong, *nearest) < wrong.size())
    return "; did you mean '" + *nearest + "'?";
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return "; it takes " + list;
}

std::string name_of_function(nb::handle function) {
  auto name = nb::cast<std::string>(nb::str(nb::getattr(function, "__qualname__", nb::str("a function"))));
  constexpr std::string_view constructor = ".__init__";
  if (name.ends_with(constructor)) name.resize(name.size() - constructor.size());
  return name;
}

/// Restores the current error, or throws a better one if the function does not have a keyword.
void explain(nb::handle function, nb::handle keywords) {
  nb::python_error error;  // takes the current one
  if (!error.matches(PyExc_TypeError)) return error.restore();
  const auto message = nb::cast<std::string>(nb::str(error.value()));
  if (message.find(mismatch) == std::string::npos) return error.restore();
  const std::vector<std::string> names = keywords_in(message);
  for (const nb::handle keyword : keywords) {
    const auto name = nb::cast<std::string>(keyword);
    if (names.empty() || std::ranges::find(names, name) != names.end()) continue;
    throw TypeError(name_of_function(function) + "() got an unexpected keyword '" + name + "'" +
                    suggestion(name, names));
  }
  error.restore();
}

// nanobind has fewer entry points to call functions.
constexpr std::size_t max_entries = 12;
std::array<vectorcallfunc, max_entries> entries{};

template <std::size_t N>
PyObject* explaining(PyObject* self, PyObject* const* arguments, std::size_t count, PyObject* keywords) {
  PyObject* result = entries[N](self, arguments, count, keywords);
  if (result != nullptr || keywords == nullptr || PyErr_Occurred() == nullptr) return result;
  try {
    explain(self, keywords);
  } catch (...) {
    set_python_error(std::current_exception());
  }
  return nullptr;
}

template <std::size_t... N>
constexpr std::array<vectorcallfunc, max_entries> all_explaining(std::index_sequence<N...>) {
  return {&explaining<N>...};
}
constexpr std::array<vectorcallfunc, max_entries> explainers = all_explaining(std::make_index_sequence<max_entries>());

/// The location of the call pointer in a function object of nanobind; null if it is not where expected.
vectorcallfunc* call_pointer(nb::handle function) {
  auto* place = reinterpret_cast<vectorcallfunc*>(reinterpret_cast<PyVarObject*>(function.ptr()) + 1);
  return *place == PyVectorcall_Function(function.ptr()) ? place : nullptr;
}

void explain_calls_of(nb::handle function) {
  vectorcallfunc* place = call_pointer(function);
  if (place == nullptr || std::ranges::find(explainers, *place) != explainers.end()) return;
  auto entry = std::ranges::find(entries, *place);
  if (entry == entries.end()) entry = std::ranges::find(entries, nullptr);
  if (entry == entries.end()) return;
  *entry = *place;
  *place = explainers[static_cast<std::size_t>(entry - entries.begin())];
}

bool is_function(nb::handle object) {
  const nb::handle type = object.type();
  const auto name = nb::cast<std::string>(type.attr("__name__"));
  return (name == "nb_func" || name == "nb_method") && nb::cast<std::string>(type.attr("__module__")) == "nanobind";
}

}  // namespace

void explain_keywords(nb::handle scope) {
  for (const nb::handle item : nb::object(scope.attr("__dict__").attr("values")())) {
    if (PyModule_Check(item.ptr()) || (PyType_Check(item.ptr()) && nb::type_check(item))) {
      explain_keywords(item);
    } else if (is_function(item)) {
      explain_calls_of(item);
    }
  }
}

}  // namespace croton::python
