// A trace: what calls of functions run, on which device and when. It shows which devices work at the same time
// (docs/use/devices.md).
//
//   croton::Trace trace;
//   step(images, labels);
//   trace.write("step.json");   // opens in Perfetto (ui.perfetto.dev) and in chrome://tracing
//
// CROTON_FLAGS=trace=/tmp/step.json writes one of a whole program when it ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace croton {

/// One launch of a plan, or one copy between devices.
struct TraceEvent {
  std::string function;   ///< its name
  std::string name;       ///< what it computes or sends: your name for it or its line, as the placement log writes it
  std::string what;       ///< "kernel", "product", "transfer", "routine", "loop", "branch" or "host" (a callback)
  std::string device;     ///< "cuda0": that computes, or that a copy goes to
  std::string lane;       ///< "cuda0", or "cuda0 copies": what runs there one after the other
  int caller = 0;         ///< the thread that called the function: such threads are numbered as they come
  double start = 0;       ///< microseconds since the trace began
  double end = 0;         ///< the same
  std::size_t bytes = 0;  ///< of a transfer
};

/// Records the calls of all functions in all threads, from its construction to stop(). Times are those of the thread of
/// the host that runs the lane. On the host, on parts of it and on simulated GPUs that is the work itself; a real GPU
/// is asked for kernels and for copies to it in that time and may run them later, while a copy to the host ends when
/// the data is there. What raises is left out. A loop or a branch is one event.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Later calls are not recorded.
  void stop();
  /// What was recorded until now, by start.
  std::vector<TraceEvent> events() const;
  /// All of that as JSON in Chrome's trace format: a process for each calling thread, a row for each lane. The file is
  /// replaced as a whole. FileError.
  void write(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace croton
