// Order of work on a device: streams, events between them, and memory that is allocated and freed in their order. All
// of these own what they stand for and may be used by several threads, one of them moving or destroying.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>

#include "runtime/cuda/device.hpp"

namespace croton::runtime::cuda {

class Event;

/// A queue of work. Copies are the same stream; it ends with the last of them, and work in it still runs to its end.
class Stream {
 public:
  /// None: only to be assigned to.
  Stream() = default;
  explicit Stream(std::shared_ptr<Device> device, Where where = {});

  explicit operator bool() const { return state_ != nullptr; }
  Device& device() const;
  StreamHandle handle() const;

  /// Waits until all work put in so far has run.
  void synchronize(Where where = {}) const;
  /// Work put in from now on starts after the event. Does not wait itself.
  void wait(const Event& event, Where where = {}) const;

 private:
  friend class Buffer;
  struct State;
  std::shared_ptr<State> state_;
};

/// A point in a stream, for others to wait for.
class Event {
 public:
  enum class Timing : bool { off, on };

  Event() = default;
  explicit Event(std::shared_ptr<Device> device, Timing timing = Timing::off, Where where = {});
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
  std::shared_ptr<Device> device_;
  EventHandle handle_ = nullptr;
};

/// Device memory, aligned to 256 bytes and not initialised. It belongs to a stream: it exists for work put into that
/// stream after its making and before its end. Other streams wait for an event of that one before they use it, and that
/// one waits for them before the buffer ends.
class Buffer {
 public:
  /// Empty.
  Buffer() = default;
  /// Throws OutOfMemory. No bytes are no memory: data() is null.
  Buffer(Stream stream, std::size_t bytes, Where where = {});
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  const Stream& stream() const { return stream_; }

 private:
  Stream stream_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Pinned host memory: copies between it and a device run while the program goes on. Its end waits for all work of the
/// device, so keep it.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  /// Throws OutOfMemory.
  PinnedMemory(std::shared_ptr<Device> device, std::size_t bytes, Where where = {});
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Addresses of device memory, as pointers and as the driver takes them.
inline Pointer pointer_of(const void* memory) { return reinterpret_cast<Pointer>(memory); }

}  // namespace croton::runtime::cuda
