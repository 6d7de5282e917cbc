// Traces: records the work of calls, with device and time (croton/trace.hpp). While nothing is recorded, a call and a
// segment each cost one relaxed load.
#pragma once

#include "runtime/bound/launch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace croton::runtime {

/// A piece of work, in the terms of the runtime.
struct TracedWork {
  std::shared_ptr<const Executable> executable;
  plan::LaunchId launch = plan::no_launch;  // a launch of its plan
  NodeId node = expr::no_node;              // without a launch: the value that was sent
  LaneName lane;
  std::size_t bytes = 0;  // of a transfer
};

struct RecordedEvent {
  TracedWork work;
  std::shared_ptr<const std::string> function;
  int caller;  // the number of the calling thread
  std::chrono::steady_clock::time_point start, end;
};

/// Records the events of all threads, from start_trace to stop_trace.
class TraceRecorder {
 public:
  void add(const RecordedEvent& event);
  std::vector<RecordedEvent> events() const;

 private:
  mutable std::mutex mutex_;
  std::vector<RecordedEvent> events_;
};
void start_trace(std::shared_ptr<TraceRecorder> recorder);
void stop_trace(const TraceRecorder* recorder);

/// A call of a function by this thread, for the lifetime of the object.
class TracedCall {
 public:
  explicit TracedCall(const std::string& function) {
    if (recorders.load(std::memory_order_relaxed) > 0) begin(function);
  }
  ~TracedCall() {
    if (function_) end();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  /// The current call of this thread; null if it is not recorded.
  static const TracedCall* current() {
    return recorders.load(std::memory_order_relaxed) > 0 ? current_of_thread() : nullptr;
  }
  /// Runs `work`, and records it if it does not raise. `call`: null if nothing is recorded.
  template <class Work>
  static void record(const TracedCall* call, const Work& work, const auto& describe) {
    if (call == nullptr) return work();
    const auto start = std::chrono::steady_clock::now();
    work();
    call->add(describe(), start);
  }

 private:
  friend void start_trace(std::shared_ptr<TraceRecorder> recorder);
  friend void stop_trace(const TraceRecorder* recorder);
  static constinit std::atomic<int> recorders;  // the number of recorders

  void begin(const std::string& function);
  void end();
  static const TracedCall* current_of_thread();
  void add(TracedWork work, std::chrono::steady_clock::time_point start) const;

  std::shared_ptr<const std::string> function_;  // null: not recorded
  int caller_ = 0;
  const TracedCall* outer_ = nullptr;
};

}  // namespace croton::runtime
