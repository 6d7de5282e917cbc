// The memory of a simulated GPU: pages of the process without any other data, so that a kernel's wrong access meets
// either another allocation, which the checks know, or an inaccessible page. Several threads may use it at once.
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

/// Whether the address belongs to the process.
bool is_mapped(std::uintptr_t address);

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// At least `bytes` bytes, aligned to 256 as in CUDA, between inaccessible pages. OutOfMemory if the system has no
  /// more.
  void* allocate(std::size_t bytes);

  /// Frees an allocation. InternalError for an address that allocate() did not return.
  void free(void* address);

  /// Copies between host and device. InternalError if the device's bytes are not inside one allocation.
  void copy_in(void* device, std::span<const std::byte> host);
  void copy_out(std::span<std::byte> host, const void* device) const;

  /// Marks an allocation as never written; its bytes stay.
  void forget(void* address);
  /// A part of an allocation for one launch, with its written bytes, or without any unless `known`. InternalError if
  /// the bytes are not in one allocation.
  Allocation piece(void* address, std::size_t bytes, bool known) const;
  /// Takes over the written bytes of such a part after the launch.
  void set_written(const Allocation& piece);
  /// Accesses by others than kernels. DeviceError, with `what`, if the bytes are not in one allocation, or are to be
  /// read and were never written.
  void check_read(const void* address, std::size_t bytes, const char* what) const;
  void check_written(void* address, std::size_t bytes, const char* what);

  /// All allocations, by address.
  std::vector<Allocation> allocations() const;

 private:
  /// The allocation that has the bytes; null if there is none.
  const Allocation* find(const void* device, std::size_t bytes) const;
  Allocation require(const void* device, std::size_t bytes, const char* what) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;  // by address; with the requested sizes
};

}  // namespace croton::runtime::simulator
