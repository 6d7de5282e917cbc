// C++ errors as Python exceptions. Every class is a croton.Error and, where Python has one for the same fault, of
// Python's class too: `except ValueError` catches a croton.ShapeError. InternalError, a bug of Croton, is not a
// croton.Error.
#include <croton/error.hpp>
#include <croton/verification.hpp>

#include <array>
#include <exception>
#include <string>

#include "bindings.hpp"

namespace croton::python {
namespace {

struct ErrorClass {
  const char* name;
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
    if (row.base != nullptr && std::string(row.base) == other.name) bases.append(nb::handle(other.type));
  }
  if (row.native != nullptr) bases.append(nb::handle(*row.native));
  if (bases.size() == 0) bases.append(nb::handle(PyExc_Exception));
  return nb::tuple(bases);
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (nb::python_error&) {  // carries a Python exception already
    throw;
  } catch (const std::exception& error) {
    for (auto row = classes.rbegin(); row != classes.rend(); ++row) {
      if (row->matches(error)) return PyErr_SetString(row->type, error.what());
    }
    throw;
  }
}

}  // namespace

void set_python_error(const std::exception_ptr& pointer) noexcept {
  try {
    translate(pointer, nullptr);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error    ? PyExc_TypeError
                    : error.type() == nb::exception_type::value_error ? PyExc_ValueError
                                                                      : PyExc_RuntimeError,
                    error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

void bind_errors(nb::module_& m) {
  for (ErrorClass& row : classes) {
    const std::string full_name = std::string("croton.") + row.name;
    // Never released: errors may be raised as long as the process lives.
    row.type = PyErr_NewExceptionWithDoc(full_name.c_str(), row.doc, bases_of(row).ptr(), nullptr);
    if (row.type == nullptr) throw nb::python_error();
    m.attr(row.name) = nb::handle(row.type);
  }
  nb::register_exception_translator(translate);
}

}  // namespace croton::python
