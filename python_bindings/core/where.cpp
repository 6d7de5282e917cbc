#include "core/where.hpp"

#include <string>
#include <string_view>
#include <unordered_set>

#include "core/bindings.hpp"

namespace croton::python {
namespace {

/// Interns a file name: one copy for all lines of the file. The GIL guards the set, which is never destroyed, because
/// variables may outlive the module.
const char* interned(std::string_view text) {
  static auto& texts = *new std::unordered_set<std::string>;
  return texts.emplace(text).first->c_str();
}

/// Whether the frame is in one of this package's own Python files.
bool is_own(nb::handle frame) {
  const nb::object globals = frame.attr("f_globals");
  const nb::handle name = PyDict_GetItemString(globals.ptr(), "__name__");  // code that exec runs may have none
  if (!name.is_valid() || !PyUnicode_Check(name.ptr())) return false;
  const nb::object package = nb::str("croton.");
  return PyUnicode_CompareWithASCIIString(name.ptr(), "croton") == 0 ||
         PyUnicode_Tailmatch(name.ptr(), package.ptr(), 0, PY_SSIZE_T_MAX, -1) == 1;
}

}  // namespace

Where here() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none() && is_own(frame)) frame = frame.attr("f_back");
  if (!frame.is_valid() || frame.is_none()) return {};
  auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  const int line = PyFrame_GetLineNumber(raw);
  const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  // File names need not be valid UTF-8; invalid bytes become backslash escapes.
  const auto file = nb::steal<nb::bytes>(
      PyUnicode_AsEncodedString(nb::object(code.attr("co_filename")).ptr(), "utf-8", "backslashreplace"));
  if (!file.is_valid()) throw nb::python_error();
  return line > 0 ? Where(interned({file.c_str(), file.size()}), static_cast<unsigned>(line)) : Where();
}

}  // namespace croton::python
