// Owners of memory of a GPU and of pinned memory of the host. Several threads may use the memory; moving and destroying
// are for one thread.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>

#include "runtime/cuda/driver/stream.hpp"

namespace croton::runtime::cuda {

/// Device memory, aligned to 256 bytes and not initialised. It belongs to a stream: it exists for work that enters the
/// stream between its construction and its end. Other streams wait for an event of that stream before they use it, and
/// that stream waits for them before the buffer ends.
class Buffer {
 public:
  /// Empty.
  Buffer() = default;
  /// Throws OutOfMemory. For 0 bytes data() is null.
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

/// Pinned host memory: copies between it and a device run while the program continues. Its end waits for all work of
/// the device, so keep it alive.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  /// Throws OutOfMemory.
  PinnedMemory(std::shared_ptr<Context> context, std::size_t bytes, Where where = {});
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<Context> context_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Addresses of device memory, as pointers and as the driver takes them.
inline Pointer pointer_of(const void* memory) { return reinterpret_cast<Pointer>(memory); }

}  // namespace croton::runtime::cuda
