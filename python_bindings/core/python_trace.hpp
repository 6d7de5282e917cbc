// PythonTrace: a trace as Python has it.
#pragma once

#include <croton/trace.hpp>

#include <memory>
#include <string>
#include <vector>

#include "core/gil.hpp"

namespace croton::python {

/// A Trace whose methods run without the GIL: the calls that they wait for may need it.
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

  const Trace& get() const { return *trace_; }

 private:
  std::unique_ptr<Trace> trace_ = std::make_unique<Trace>();
};

}  // namespace croton::python
