// C++ errors as Python exceptions. Every class is a croton.Error and, where Python has one for the same fault, of
// Python's class too: `except ValueError` catches a croton.ShapeError. InternalError, a bug of Croton, is not a
// croton.Error.
#include <croton/error.hpp>
#include <croton/verification.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>

#include "core/bindings.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

struct ErrorClass {
  std::string_view name;
  const char* doc;
  const char* base;   // another row, or nullptr
  PyObject** native;  // Python's class for the fault, or nullptr
  bool (*matches)(const std::exception& error);
  PyObject* type = nullptr;
};

template <class E>
bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

// Bases first: classes are made from the top, and errors matched from the bottom.
std::array<ErrorClass, 18> classes{{
    {"Error", "Base of every error caused by how Croton is called.", nullptr, nullptr, is<Error>},
    {"InternalError", "A bug in Croton: please report it with its message.", nullptr, &PyExc_RuntimeError,
     is<InternalError>},
    {"TypeError", "A dtype, rank or kind of value that an operation does not take.", "Error", &PyExc_TypeError,
     is<TypeError>},
    {"ValueError", "A value outside what an operation or a setting takes.", "Error", &PyExc_ValueError, is<ValueError>},
    {"IndexError", "An index outside its axis.", "Error", &PyExc_IndexError, is<IndexError>},
    {"ConfigError", "A flag, file or environment variable with a name or value that is not understood.", "Error",
     nullptr, is<ConfigError>},
    {"FileError", "A file that cannot be read, written, or does not hold what its format asks for.", "Error",
     &PyExc_OSError, is<FileError>},
    {"OutOfMemory", "Memory that could not be had.", "Error", &PyExc_MemoryError, is<OutOfMemory>},
    {"DeviceError", "A device, compiler or library that is missing or refuses the work.", "Error", &PyExc_RuntimeError,
     is<DeviceError>},
    {"AssertionError", "A condition of the program that did not hold.", "Error", &PyExc_AssertionError,
     is<AssertionError>},
    {"NotImplementedError", "Something asked for that Croton does not do yet.", "Error", &PyExc_NotImplementedError,
     is<NotImplementedError>},
    {"VerificationError", "mode=verify: a function gave another result than its graph as it was written.", "Error",
     nullptr, is<VerificationError>},
    {"NanError", "nan_guard: an op made a NaN, an infinity or a number that is too large.", "Error",
     &PyExc_ArithmeticError, is<NanError>},
    {"UnusedInputError", "An input of a function that nothing depends on, or that is there twice.", "ValueError",
     nullptr, is<UnusedInputError>},
    {"MissingInputError", "A function needs a variable that is neither an input, nor given, nor shared.", "ValueError",
     nullptr, is<MissingInputError>},
    {"ShapeError", "Sizes that do not fit together.", "ValueError", nullptr, is<ShapeError>},
    {"DisconnectedInputError", "A gradient asked for a variable that the cost does not depend on.", "ValueError",
     nullptr, is<DisconnectedInputError>},
    {"NullTypeGradError", "A gradient that is not defined reached a variable of wrt.", "TypeError", nullptr,
     is<NullTypeGradError>},
}};

nb::tuple bases_of(const ErrorClass& row) {
  nb::list bases;
  for (const ErrorClass& other : classes) {
    if (row.base != nullptr && row.base == other.name) bases.append(nb::handle(other.type));
  }
  if (row.native != nullptr) bases.append(nb::handle(*row.native));
  if (bases.size() == 0) bases.append(nb::handle(PyExc_Exception));
  return nb::tuple(bases);
}

/// Sets the error; text that is no UTF-8, which names of files may hold, is shown as far as it can be.
void set_error(PyObject* type, std::string_view message) {
  const nb::object text =
      nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  if (text.is_valid()) PyErr_SetObject(type, text.ptr());
}

bool is_word(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

/// The message for a reader of Python. Lines of Croton's own sources, which ops note that are made of others, give way
/// to the user's line that runs now, if there is one.
std::string for_python(std::string message, const std::function<Where()>& user_line) {
  constexpr std::string_view nothing = "std::nullopt";  // of options that are None here
  for (std::size_t at = message.find(nothing); at != std::string::npos; at = message.find(nothing, at))
    message.replace(at, nothing.size(), "None");
  constexpr std::string_view ending = ".cpp:";
  for (std::size_t at = message.find(ending); at != std::string::npos; at = message.find(ending, at)) {
    std::size_t first = at, last = at + ending.size();
    while (first > 0 && is_word(message[first - 1])) --first;
    while (last < message.size() && std::isdigit(static_cast<unsigned char>(message[last])) != 0) ++last;
    if (first == at || last == at + ending.size()) {
      at = last;
      continue;
    }
    const Where line = user_line();
    const std::string_view file = line.known() ? line.file() : "";
    std::string place(file.substr(file.find_last_of('/') + 1));
    if (line.known()) place += ":" + std::to_string(line.line());
    const bool alone = first > 1 && message.compare(first - 2, 2, " (") == 0 && message.compare(last, 1, ")") == 0;
    if (!line.known() && alone) {
      first -= 2;
      last += 1;
    }
    message.replace(first, last - first, place);
    at = first + place.size();
  }
  return message;
}

PyObject* class_of(std::string_view name) { return std::ranges::find(classes, name, &ErrorClass::name)->type; }

/// Errors of the standard library: they say nothing that a user could read. What sizes and kinds of arguments cause is
/// the user's; what remains is a bug.
void set_standard_error(const std::exception& error) {
  if (is<std::bad_alloc>(error)) return set_error(class_of("OutOfMemory"), "there is not enough memory for it");
  if (is<std::length_error>(error))
    return set_error(class_of("ValueError"), "more elements were asked for than there can be");
  if (is<std::bad_cast>(error)) {
    return set_error(class_of("TypeError"),
                     "an argument, or what a function that was given returned, is of another kind than is taken here");
  }
  set_error(class_of("InternalError"), std::string("a bug in Croton: ") + error.what());
}

void translate_with(const std::exception_ptr& pointer, const std::function<Where()>& user_line) {
  try {
    std::rethrow_exception(pointer);
  } catch (nb::python_error&) {  // carries a Python exception already
    throw;
  } catch (nb::builtin_exception&) {  // nanobind's own, which it translates
    throw;
  } catch (const std::exception& error) {
    for (auto row = classes.rbegin(); row != classes.rend(); ++row) {
      if (!row->matches(error)) continue;
      // Bugs are reported with their lines, and what compilers say is about texts of their own.
      const bool as_it_is = is<InternalError>(error) || is<DeviceError>(error);
      return set_error(row->type, as_it_is ? error.what() : for_python(error.what(), user_line));
    }
    set_standard_error(error);
  }
}

/// Of functions that build expressions: the line that runs is the one that the expression is charged to.
void translate(const std::exception_ptr& pointer, void*) { translate_with(pointer, &here); }

}  // namespace

void set_python_error(const std::exception_ptr& pointer) noexcept {
  try {
    translate_with(pointer, [] { return Where(); });  // slots call what was built elsewhere
  } catch (nb::python_error& error) {
    error.restore();
  } catch (nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error    ? PyExc_TypeError
                    : error.type() == nb::exception_type::value_error ? PyExc_ValueError
                                                                      : PyExc_RuntimeError,
                    error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

void bind_errors(nb::module_& m) {
  for (ErrorClass& row : classes) {
    const std::string full_name = "croton." + std::string(row.name);
    // Never released: errors may be raised as long as the process lives.
    row.type = PyErr_NewExceptionWithDoc(full_name.c_str(), row.doc, bases_of(row).ptr(), nullptr);
    if (row.type == nullptr) throw nb::python_error();
    m.attr(std::string(row.name).c_str()) = nb::handle(row.type);
  }
  nb::register_exception_translator(translate);
}

}  // namespace croton::python
