// Flags in Python, as text; croton/flags.py converts them to Python values.
#include <croton/config.hpp>

#include "core/bindings.hpp"

namespace croton::python {

void bind_flags(nb::module_& m) {
  nb::class_<FlagInfo>(m, "FlagInfo", "The name, type, value and documentation of one flag, as text.")
      .def_ro("name", &FlagInfo::name)
      .def_ro("type", &FlagInfo::type, "'bool', 'int', 'string', 'choice', 'list' or 'path'.")
      .def_ro("value", &FlagInfo::value, "The value in the calling thread.")
      .def_ro("origin", &FlagInfo::origin,
              "The origin of the value: 'default', 'FILE:LINE', 'CROTON_FLAGS', 'set_flag' or 'change_flags'.")
      .def_ro("doc", &FlagInfo::doc)
      .def_ro("default_value", &FlagInfo::default_value)
      .def_ro("read_at", &FlagInfo::read_at, "When the flag is read: at 'build' (of the graph), 'compile' or 'call'.")
      .def_ro("accepted", &FlagInfo::accepted, "The accepted values, in words.");
  m.def("flags", &flags, "Every flag, in alphabetical order.");
  m.def("flag", &flag, "name"_a, "The value of a flag in the calling thread, as text.");
  m.def("set_flag", &set_flag, "name"_a, "value"_a, "Sets a flag for the process, from text.");
  nb::class_<change_flags>(m, "FlagScope", "A scope that changes flags for the calling thread.")
      .def(nb::init<std::string_view>(), "settings"_a);
}

}  // namespace croton::python
