#include "runtime/simulator/memory.hpp"

#include <sys/mman.h>

#include <croton/error.hpp>
#include <cstring>
#include <string>

#include "base/checked.hpp"

namespace croton::runtime::simulator {
namespace {

// The bytes of the pages of an allocation, without the guard page at each end; nothing if the size does not fit.
std::optional<std::size_t> pages_for(std::size_t bytes) {
  const auto rounded = base::checked_add(bytes, page_size() - 1);
  if (!rounded) return std::nullopt;
  return std::max(*rounded / page_size(), std::size_t{1}) * page_size();
}

void unmap(std::uintptr_t address, std::size_t bytes) {
  munmap(reinterpret_cast<void*>(address - page_size()), *pages_for(bytes) + 2 * page_size());
}

std::string outside(const char* what, std::size_t bytes) {
  return std::string("out of bounds on a simulated device: ") + what + ", " + std::to_string(bytes) +
         " bytes, is not inside one allocation";
}

}  // namespace

bool is_mapped(std::uintptr_t address) {
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page_size() * page_size()), 1, &resident) == 0;
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, allocation] : allocations_) unmap(address, allocation.range.size);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const auto pages = pages_for(bytes);
  const auto whole = pages ? base::checked_add(*pages, 2 * page_size()) : std::nullopt;
  void* mapped =
      whole ? mmap(nullptr, *whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
  if (mapped == MAP_FAILED) throw OutOfMemory("a simulated device cannot allocate " + std::to_string(bytes) + " bytes");
  std::byte* first = static_cast<std::byte*>(mapped) + page_size();
  if (mprotect(first, *pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, *whole);
    throw OutOfMemory("a simulated device cannot allocate " + std::to_string(bytes) + " bytes");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  try {
    Allocation fresh{{address, bytes}, std::make_shared<WrittenBytes>(bytes)};
    const std::lock_guard lock(mutex_);
    allocations_.emplace(address, std::move(fresh));
  } catch (...) {  // there is no memory for the records
    munmap(mapped, *whole);
    throw OutOfMemory("a simulated device cannot allocate " + std::to_string(bytes) + " bytes");
  }
  return first;
}

void DeviceMemory::free(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations_.end())
    throw InternalError("freed an address that no allocation of this simulated device begins at");
  unmap(found->first, found->second.range.size);
  allocations_.erase(found);
}

void DeviceMemory::copy_in(void* device, std::span<const std::byte> host) {
  const Allocation allocation = require(device, host.size(), "into");
  if (host.empty()) return;
  std::memcpy(device, host.data(), host.size());
  const std::lock_guard lock(mutex_);
  allocation.written->set(reinterpret_cast<std::uintptr_t>(device) - allocation.range.begin, host.size());
}

void DeviceMemory::copy_out(std::span<std::byte> host, const void* device) const {
  require(device, host.size(), "out of");
  if (!host.empty()) std::memcpy(host.data(), device, host.size());
}

void DeviceMemory::forget(void* address) {
  const Allocation allocation = require(address, 1, "about");
  const std::lock_guard lock(mutex_);
  allocation.written->clear();
}

Allocation DeviceMemory::piece(void* address, std::size_t bytes, bool known) const {
  const Allocation whole = require(address, bytes, "about");
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  Allocation part{{begin, bytes}, std::make_shared<WrittenBytes>(bytes)};
  if (!known) return part;
  const std::lock_guard lock(mutex_);
  part.written->copy(0, *whole.written, begin - whole.range.begin, bytes);
  return part;
}

void DeviceMemory::set_written(const Allocation& piece) {
  const Allocation whole = require(reinterpret_cast<void*>(piece.range.begin), piece.range.size, "about");
  const std::lock_guard lock(mutex_);
  whole.written->copy(piece.range.begin - whole.range.begin, *piece.written, 0, piece.range.size);
}

void DeviceMemory::check_read(const void* address, std::size_t bytes, const char* what) const {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const Allocation* found = find(address, bytes);
  if (found == nullptr) throw DeviceError(outside(what, bytes));
  if (!found->written->all(reinterpret_cast<std::uintptr_t>(address) - found->range.begin, bytes))
    throw DeviceError(std::string("uninitialised read on a simulated device: ") + what);
}

void DeviceMemory::check_written(void* address, std::size_t bytes, const char* what) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const Allocation* found = find(address, bytes);
  if (found == nullptr) throw DeviceError(outside(what, bytes));
  found->written->set(reinterpret_cast<std::uintptr_t>(address) - found->range.begin, bytes);
}

std::vector<Allocation> DeviceMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  for (const auto& [address, allocation] : allocations_) all.push_back(allocation);
  return all;
}

const Allocation* DeviceMemory::find(const void* device, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(device);
  const auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  const Allocation& before = std::prev(next)->second;
  return before.range.holds(address, bytes) ? &before : nullptr;
}

Allocation DeviceMemory::require(const void* device, std::size_t bytes, const char* what) const {
  const std::lock_guard lock(mutex_);
  if (const Allocation* found = find(device, bytes)) return *found;
  if (bytes == 0) return {};
  throw InternalError("a copy of " + std::to_string(bytes) + " bytes " + what +
                      " a simulated device is not inside one allocation");
}

}  // namespace croton::runtime::simulator
