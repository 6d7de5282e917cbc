// The memory of a simulated GPU: pages of the process that no other data shares, so that a kernel's stray access meets
// either another allocation, which the checks know, or a page that cannot be read. Safe to use from several threads at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/simulator/range.hpp"
#include "runtime/simulator/shadow.hpp"

namespace croton::runtime::simulator {

struct Allocation {
  Range range;
  std::shared_ptr<WrittenBytes> written;  // by copies and by kernels
};

/// Whether the address belongs to the process at all.
bool is_mapped(std::uintptr_t address);

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

  /// Makes an allocation count as never written; its bytes stay.
  void forget(void* address);
  /// A part of an allocation for one launch: with what is known to be written there, or, without `known`, nothing.
  /// InternalError unless the bytes lie in one allocation.
  Allocation piece(void* address, std::size_t bytes, bool known) const;
  /// Takes over what is known of such a part after the launch.
  void set_written(const Allocation& piece);
  /// Accesses by others than kernels. DeviceError, with `what`, where the bytes do not lie in one allocation or, to be
  /// read, were never written.
  void check_read(const void* address, std::size_t bytes, const char* what) const;
  void check_written(void* address, std::size_t bytes, const char* what);

  /// All allocations, by address.
  std::vector<Allocation> allocations() const;

 private:
  /// The allocation that the bytes lie in.
  const Allocation* find(const void* device, std::size_t bytes) const;
  Allocation require(const void* device, std::size_t bytes, const char* what) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;  // by address; sizes as asked for
};

}  // namespace croton::runtime::simulator
