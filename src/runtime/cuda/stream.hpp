// Order of work on a device: streams, and events between them. Both own what they stand for and may be used by several
// threads, one of them moving or destroying. Memory comes and goes in the order of a stream (memory.hpp).
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>

#include "runtime/cuda/context.hpp"

namespace croton::runtime::cuda {

class Event;

/// A queue of work. Copies are the same stream; it ends with the last of them, and work in it still runs to its end.
class Stream {
 public:
  /// None: only to be assigned to.
  Stream() = default;
  explicit Stream(std::shared_ptr<Context> context, Where where = {});

  explicit operator bool() const { return state_ != nullptr; }
  Context& context() const;
  StreamHandle handle() const;

  /// Waits until all work put in so far has run.
  void synchronize(Where where = {}) const;
  /// Work put in from now on starts after the event. Does not wait itself.
  void wait(const Event& event, Where where = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A point in a stream, for others to wait for.
class Event {
 public:
  enum class Timing : bool { off, on };

  Event() = default;
  explicit Event(std::shared_ptr<Context> context, Timing timing = Timing::off, Where where = {});
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  EventHandle handle() const { return handle_; }

  /// Moves the event to the present end of the stream, which must be of the same device.
  void record(const Stream& stream, Where where = {});
  /// True if all work before it has run, and if it was never recorded.
  bool done(Where where = {}) const;
  void synchronize(Where where = {}) const;
  /// Milliseconds from `start` to this one; both made with Timing::on, recorded and done.
  double milliseconds_since(const Event& start, Where where = {}) const;

 private:
  std::shared_ptr<Context> context_;
  EventHandle handle_ = nullptr;
};

}  // namespace croton::runtime::cuda
