// C++ errors as Python exceptions. Every class derives from croton.Error and, if Python has one for the same fault,
// from Python's class too: `except ValueError` catches a croton.ShapeError. InternalError, a bug of Croton, is not a
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

// Bases first: classes are created from the top, and errors are matched from the bottom.
std::array<ErrorClass, 18> classes{{
    {"Error", "Base of every error caused by how Croton is called.", nullptr, nullptr, is<Error>},
    {"InternalError", "A bug in Croton: please report it with its message.", nullptr, &PyExc_RuntimeError,
     is<InternalError>},
    {"TypeError", "A dtype, rank or kind of value that an operation does not accept.", "Error", &PyExc_TypeError,
     is<TypeError>},
    {"ValueError", "A value outside the range of an operation or a setting.", "Error", &PyExc_ValueError,
     is<ValueError>},
    {"IndexError", "An index outside its axis.", "Error", &PyExc_IndexError, is<IndexError>},
    {"ConfigError", "A flag, file or environment variable with an unknown name or an invalid value.", "Error", nullptr,
     is<ConfigError>},
    {"FileError", "A file that cannot be read or written, or whose content violates its format.", "Error",
     &PyExc_OSError, is<FileError>},
    {"OutOfMemory", "Memory that could not be allocated.", "Error", &PyExc_MemoryError, is<OutOfMemory>},
    {"DeviceError", "A device, compiler or library that is missing or fails.", "Error", &PyExc_RuntimeError,
     is<DeviceError>},
    {"AssertionError", "A condition of the program that did not hold.", "Error", &PyExc_AssertionError,
     is<AssertionError>},
    {"NotImplementedError", "A request that Croton does not support yet.", "Error", &PyExc_NotImplementedError,
     is<NotImplementedError>},
    {"VerificationError", "mode=verify: a function's result differs from that of its graph before rewriting.", "Error",
     nullptr, is<VerificationError>},
    {"NanError", "nan_guard: an op computed a NaN, an infinity or a number that is too large.", "Error",
     &PyExc_ArithmeticError, is<NanError>},
    {"UnusedInputError", "An input of a function that no output depends on, or that is listed twice.", "ValueError",
     nullptr, is<UnusedInputError>},
    {"MissingInputError", "A function needs a variable that is neither an input, nor given, nor shared.", "ValueError",
     nullptr, is<MissingInputError>},
    {"ShapeError", "Sizes that do not fit together.", "ValueError", nullptr, is<ShapeError>},
    {"DisconnectedInputError", "A gradient by a variable that the cost does not depend on.", "ValueError", nullptr,
     is<DisconnectedInputError>},
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

/// Sets the error. Bytes that are not valid UTF-8, as file names may have, are replaced.
void set_error(PyObject* type, std::string_view message) {
  const nb::object text =
      nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  if (text.is_valid()) PyErr_SetObject(type, text.ptr());
}

bool is_word(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

/// The message for Python users. Lines of Croton's own sources, which ops composed of others record, are replaced by
/// the user's current line, if there is one.
std::string for_python(std::string message, const std::function<Where()>& user_line) {
  constexpr std::string_view nothing = "std::nullopt";  // options that are None in Python
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
    const bool in_parentheses =
        first > 1 && message.compare(first - 2, 2, " (") == 0 && message.compare(last, 1, ")") == 0;
    if (!line.known() && in_parentheses) {
      first -= 2;
      last += 1;
    }
    message.replace(first, last - first, place);
    at = first + place.size();
  }
  return message;
}

PyObject* class_of(std::string_view name) { return std::ranges::find(classes, name, &ErrorClass::name)->type; }

/// Errors of the standard library, whose own texts mean nothing to users. Those that sizes and kinds of arguments cause
/// are the user's; all others are bugs.
void set_standard_error(const std::exception& error) {
  if (is<std::bad_alloc>(error)) return set_error(class_of("OutOfMemory"), "there is not enough memory for it");
  if (is<std::length_error>(error))
    return set_error(class_of("ValueError"), "more elements were requested than an array can have");
  if (is<std::bad_cast>(error)) {
    return set_error(class_of("TypeError"),
                     "an argument, or the result of a function passed as an argument, has the wrong type");
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
      // Bugs are reported with their lines; messages of compilers have lines of generated texts.
      const bool unchanged = is<InternalError>(error) || is<DeviceError>(error);
      return set_error(row->type, unchanged ? error.what() : for_python(error.what(), user_line));
    }
    set_standard_error(error);
  }
}

/// For functions that build expressions: the current line is the line of the expression.
void translate(const std::exception_ptr& pointer, void*) { translate_with(pointer, &here); }

}  // namespace

void set_python_error(const std::exception_ptr& pointer) noexcept {
  try {
    translate_with(pointer, [] { return Where(); });  // slots call functions that were built at other lines
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
    // Never released: errors may be raised until the process ends.
    row.type = PyErr_NewExceptionWithDoc(full_name.c_str(), row.doc, bases_of(row).ptr(), nullptr);
    if (row.type == nullptr) throw nb::python_error();
    m.attr(std::string(row.name).c_str()) = nb::handle(row.type);
  }
  nb::register_exception_translator(translate);
}

}  // namespace croton::python
