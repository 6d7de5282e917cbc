#include "runtime/bound/trace.hpp"

#include <algorithm>

namespace croton::runtime {
namespace {

struct Recorders {
  std::mutex mutex;
  std::vector<std::shared_ptr<TraceRecorder>> all;
};
Recorders& all_recorders() {
  static auto& made = *new Recorders;  // never destroyed: functions may be called by destructors of static objects
  return made;
}

constinit thread_local const TracedCall* current_call = nullptr;

/// Calling threads are numbered in the order of their first call.
int caller_number() {
  static std::atomic<int> last{0};
  thread_local const int number = last++;
  return number;
}

}  // namespace

void TraceRecorder::add(const RecordedEvent& event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::vector<RecordedEvent> TraceRecorder::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

void start_trace(std::shared_ptr<TraceRecorder> recorder) {
  Recorders& every = all_recorders();
  const std::lock_guard lock(every.mutex);
  every.all.push_back(std::move(recorder));
  TracedCall::recorders.store(static_cast<int>(every.all.size()), std::memory_order_relaxed);
}

void stop_trace(const TraceRecorder* recorder) {
  Recorders& every = all_recorders();
  const std::lock_guard lock(every.mutex);
  std::erase_if(every.all, [&](const auto& other) { return other.get() == recorder; });
  TracedCall::recorders.store(static_cast<int>(every.all.size()), std::memory_order_relaxed);
}

constinit std::atomic<int> TracedCall::recorders{0};

void TracedCall::begin(const std::string& function) {
  function_ = std::make_shared<const std::string>(function);
  caller_ = caller_number();
  outer_ = current_call;
  current_call = this;
}

void TracedCall::end() { current_call = outer_; }

const TracedCall* TracedCall::current_of_thread() { return current_call; }

void TracedCall::add(TracedWork work, std::chrono::steady_clock::time_point start) const {
  const RecordedEvent event{std::move(work), function_, caller_, start, std::chrono::steady_clock::now()};
  Recorders& every = all_recorders();
  const std::lock_guard lock(every.mutex);
  for (const auto& recorder : every.all) recorder->add(event);
}

}  // namespace croton::runtime
