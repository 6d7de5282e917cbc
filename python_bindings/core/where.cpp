#include "core/where.hpp"

#include <string>
#include <string_view>
#include <unordered_set>

#include "core/bindings.hpp"

namespace croton::python {
namespace {

/// The text for as long as the process lives: one copy for each name of a file, however many lines are noted. The GIL
/// guards it. It is never destroyed, because variables may outlive it.
const char* kept(std::string_view text) {
  static auto& texts = *new std::unordered_set<std::string>;
  return texts.emplace(text).first->c_str();
}

/// Is it a frame of this package's own Python files?
bool is_ours(nb::handle frame) {
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
  while (frame.is_valid() && !frame.is_none() && is_ours(frame)) frame = frame.attr("f_back");
  if (!frame.is_valid() || frame.is_none()) return {};
  auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  const int line = PyFrame_GetLineNumber(raw);
  const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  // Names of files need not be valid UTF-8; what is not is written with backslashes.
  const auto file = nb::steal<nb::bytes>(
      PyUnicode_AsEncodedString(nb::object(code.attr("co_filename")).ptr(), "utf-8", "backslashreplace"));
  if (!file.is_valid()) throw nb::python_error();
  return line > 0 ? Where(kept({file.c_str(), file.size()}), static_cast<unsigned>(line)) : Where();
}

}  // namespace croton::python
