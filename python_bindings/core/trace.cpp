// What ran where and when: traces of calls, and the log of placements.
#include <croton/device.hpp>
#include <croton/trace.hpp>

#include <memory>

#include "core/bindings.hpp"
#include "core/gil.hpp"
#include "core/python_stream.hpp"

namespace croton::python {
namespace {

/// Trace without the GIL: what it waits for may need it.
class PythonTrace {
 public:
  PythonTrace() = default;
  PythonTrace(PythonTrace&&) noexcept = default;
  ~PythonTrace() {
    const ReleaseGil no_gil;
    trace_.reset();
  }
  void stop() const {
    const ReleaseGil no_gil;
    trace_->stop();
  }
  std::vector<TraceEvent> events() const {
    const ReleaseGil no_gil;
    return trace_->events();
  }
  void write(const std::string& path) const {
    const ReleaseGil no_gil;
    trace_->write(path);
  }

 private:
  std::unique_ptr<Trace> trace_ = std::make_unique<Trace>();
};

void bind_trace_class(nb::module_& m) {
  nb::class_<TraceEvent>(m, "TraceEvent", "One launch of a plan, or one copy between devices.")
      .def_ro("function", &TraceEvent::function, "Its name.")
      .def_ro("name", &TraceEvent::name, "What it computes or sends: your name for it, or its line.")
      .def_ro("what", &TraceEvent::what,
              "'kernel', 'product', 'transfer', 'routine', 'loop', 'branch' or 'host' (a callback).")
      .def_ro("device", &TraceEvent::device, "That computes, or that a copy goes to.")
      .def_ro("lane", &TraceEvent::lane, "'cuda0', or 'cuda0 copies': what runs there one after the other.")
      .def_ro("caller", &TraceEvent::caller, "The thread that called the function; they are numbered as they come.")
      .def_ro("start", &TraceEvent::start, "Microseconds since the trace began.")
      .def_ro("end", &TraceEvent::end, "The same.")
      .def_ro("bytes", &TraceEvent::bytes, "Of a transfer.")
      .def("__repr__", [](const TraceEvent& event) {
        return "<croton.TraceEvent " + event.lane + ": " + event.what + " " + event.name + ">";
      });
  nb::class_<PythonTrace>(
      m, "Trace",
      "Records the calls of all functions in all threads, from its construction to stop(), or to the end of `with "
      "croton.Trace() as trace`. A real GPU is asked for kernels in the times that are recorded, and may run them "
      "later.")
      .def(nb::init<>())
      .def("stop", &PythonTrace::stop, "Later calls are not recorded.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](PythonTrace& trace, nb::args) { trace.stop(); })
      .def_prop_ro("events", &PythonTrace::events, "What was recorded until now, by start.")
      .def("write", &PythonTrace::write, "path"_a,
           "All of that as JSON in Chrome's trace format, for ui.perfetto.dev. The file is replaced as a whole. "
           "FileError.");
}

/// The stream that the log is written to now; the GIL guards it.
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
  m.def(
      "log_device_placement", &log_to, "file"_a.none(),
      "From now on functions write where they run to the file (sys.stdout, or anything with write): when one is first "
      "placed, the devices and a line for each op with its device and the reason; and for every call its transfers, "
      "with their bytes. None ends it.");
}

}  // namespace croton::python
