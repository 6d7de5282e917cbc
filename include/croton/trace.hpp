// Traces: the launches and copies of calls, with device and time. A trace shows which devices work at the same time
// (docs/use/devices.md).
//
//   croton::Trace trace;
//   step(images, labels);
//   trace.write("step.json");   // opens in Perfetto (ui.perfetto.dev) and in chrome://tracing
//
// CROTON_FLAGS=trace=/tmp/step.json writes a trace of a whole program when it ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace croton {

class Trace;
namespace runtime {
struct RecordedEvent;
}
namespace detail {
std::vector<runtime::RecordedEvent> recorded_events(const Trace& trace);
}

/// One launch of a plan, or one copy between devices.
struct TraceEvent {
  std::string function;   ///< its name
  std::string name;       ///< of the value computed or sent: your name for it or its line, as in the placement log
  std::string what;       ///< "kernel", "product", "transfer", "routine", "loop", "branch" or "host" (a callback)
  std::string device;     ///< "cuda0": the computing device, or the destination of a copy
  std::string lane;       ///< "cuda0", or "cuda0 copies": events of a lane run in sequence
  int caller = 0;         ///< the number of the calling thread, in order of appearance
  double start = 0;       ///< microseconds since the trace began
  double end = 0;         ///< the same
  std::size_t bytes = 0;  ///< the size of a transfer
};

/// A recording of the calls of all functions in all threads, from its construction to stop(). Times are those of the
/// host thread that runs the lane. On the host, on parts of it and on simulated GPUs this is the time of the work
/// itself; for kernels on a real GPU and copies to it, it is the time of the launch, and the work may run later; a copy
/// to the host ends when the data is there. Work that raises is not recorded. A loop or a branch is one event.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Ends the recording: later calls are not recorded.
  void stop();
  /// The events recorded so far, ordered by start.
  std::vector<TraceEvent> events() const;
  /// Writes the events as JSON in Chrome's trace format: a process for each calling thread, a row for each lane. The
  /// file is replaced as a whole. FileError.
  void write(const std::string& path) const;

 private:
  friend std::vector<runtime::RecordedEvent> detail::recorded_events(const Trace& trace);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace croton
