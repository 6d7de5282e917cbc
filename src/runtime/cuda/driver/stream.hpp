// Order of work on a device: streams, and events between them. Both own their object of the driver. Several threads may
// use them; moving and destroying are for one thread. Memory is allocated and freed in the order of a stream
// (memory.hpp).
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>

#include "runtime/cuda/driver/context.hpp"

namespace croton::runtime::cuda {

class Event;

/// A queue of work. Copies are the same stream; it ends with the last copy, and its work still runs to the end.
class Stream {
 public:
  /// No stream, until one is assigned.
  Stream() = default;
  explicit Stream(std::shared_ptr<Context> context, Where where = {});

  explicit operator bool() const { return state_ != nullptr; }
  Context& context() const;
  StreamHandle handle() const;

  /// Waits for all work so far.
  void synchronize(Where where = {}) const;
  /// Later work of the stream starts after the event. Does not wait itself.
  void wait(const Event& event, Where where = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A point in a stream that other streams and the host can wait for.
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

  /// Moves the event to the current end of the stream, which must be of the same device.
  void record(const Stream& stream, Where where = {});
  /// True if all work before it has run, or if it was never recorded.
  bool done(Where where = {}) const;
  void synchronize(Where where = {}) const;
  /// Milliseconds from `start` to this one; both made with Timing::on, recorded and done.
  double milliseconds_since(const Event& start, Where where = {}) const;

 private:
  std::shared_ptr<Context> context_;
  EventHandle handle_ = nullptr;
};

}  // namespace croton::runtime::cuda
