// Traces of calls and the placement log: where and when work ran.
#include <croton/device.hpp>

#include "core/bindings.hpp"
#include "core/gil.hpp"
#include "core/python_stream.hpp"
#include "core/python_trace.hpp"

namespace croton::python {
namespace {

void bind_trace_class(nb::module_& m) {
  nb::class_<TraceEvent>(m, "TraceEvent", "One launch of a plan, or one copy between devices.")
      .def_ro("function", &TraceEvent::function, "The function's name.")
      .def_ro("name", &TraceEvent::name, "The variable that it computes or copies: its name, or its line.")
      .def_ro("what", &TraceEvent::what,
              "The kind: 'kernel', 'product', 'transfer', 'routine', 'loop', 'branch' or 'host' (a callback).")
      .def_ro("device", &TraceEvent::device, "The device that computes, or the target of a copy.")
      .def_ro("lane", &TraceEvent::lane,
              "The lane, 'cuda0' or 'cuda0 copies': events of a lane run one after the other.")
      .def_ro("caller", &TraceEvent::caller,
              "The thread that called the function; threads are numbered in the order of their first call.")
      .def_ro("start", &TraceEvent::start, "Microseconds since the trace began.")
      .def_ro("end", &TraceEvent::end, "Microseconds since the trace began.")
      .def_ro("bytes", &TraceEvent::bytes, "The size of a transfer.")
      .def("__repr__", [](const TraceEvent& event) {
        return "<croton.TraceEvent " + event.lane + ": " + event.what + " " + event.name + ">";
      });
  nb::class_<PythonTrace>(
      m, "Trace",
      "Records the calls of all functions in all threads, from its construction to stop(), or to the end of `with "
      "croton.Trace() as trace`. On a real GPU the times are those of launches; kernels may run later.")
      .def(nb::init<>())
      .def("stop", &PythonTrace::stop, "Ends the recording.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](PythonTrace& trace, nb::args) { trace.stop(); })
      .def_prop_ro("events", &PythonTrace::events, "The events recorded so far, in the order of their starts.")
      .def("write", &PythonTrace::write, "path"_a,
           "Writes the events as JSON in Chrome's trace format, for ui.perfetto.dev. The file is replaced as a whole. "
           "FileError if it cannot be written.");
}

/// The stream of the placement log; the GIL guards it.
std::unique_ptr<PythonStream>& log_stream() {
  static auto& stream = *new std::unique_ptr<PythonStream>;
  return stream;
}

void log_to(nb::object file) {
  std::unique_ptr<PythonStream> stream;
  if (!file.is_none()) stream = std::make_unique<PythonStream>(std::move(file));
  {
    const ReleaseGil no_gil;
    log_device_placement(stream ? &stream->stream() : nullptr);
  }
  log_stream().swap(stream);
}

}  // namespace

void bind_trace(nb::module_& m) {
  bind_trace_class(m);
  m.def("log_device_placement", &log_to, "file"_a.none(),
        "Starts a log of placements in a file (sys.stdout, or any object with write); None ends it. When a function is "
        "first placed, it logs the devices and a line for each op with its device and the reason; for every call, the "
        "transfers with their bytes.");
}

}  // namespace croton::python
