// The memory of a simulated GPU: pages of the process that no other data shares, so that a kernel's stray access meets
// either another allocation, which the checks know, or a page that cannot be read. Safe to use from several threads at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace croton::runtime::simulator {

/// A piece of memory by its address.
struct Range {
  std::uintptr_t begin = 0;
  std::size_t size = 0;

  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// At least `bytes` bytes, aligned as CUDA aligns (256), with pages around that cannot be accessed. OutOfMemory where
  /// the system has no more.
  void* allocate(std::size_t bytes);

  /// Gives an allocation back. InternalError for anything that allocate() did not return.
  void free(void* address);

  /// Copies between host and device. InternalError where the device's side is not inside one allocation.
  void copy_in(void* device, std::span<const std::byte> host);
  void copy_out(std::span<std::byte> host, const void* device) const;

  /// All allocations, by address.
  std::vector<Range> allocations() const;

  /// InternalError unless the bytes lie in one allocation; `what` tells of the access: "copied into".
  void require(const void* device, std::size_t bytes, const char* what) const;

 private:

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> sizes_;  // by address, as asked for
};

}  // namespace croton::runtime::simulator
