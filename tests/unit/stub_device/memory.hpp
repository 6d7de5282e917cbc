// The memory of stub devices: from malloc, filled so that nothing is zero by chance, with a list of its pieces.
#pragma once

#include <croton/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

namespace croton::test::stub {

class Memory {
 public:
  /// Memory that is freed with its last owner.
  std::shared_ptr<void> allocate(std::size_t bytes) {
    constexpr std::size_t alignment = 64;
    const std::size_t whole = (bytes / alignment + 1) * alignment;  // an empty one has an address too
    void* piece = std::aligned_alloc(alignment, whole);
    if (piece == nullptr) throw OutOfMemory("stub: no memory");
    std::memset(piece, 0xab, whole);
    const std::lock_guard lock(mutex_);
    pieces_[static_cast<const std::byte*>(piece)] = bytes;
    return {piece, [this](void* end) { release(end); }};
  }

  /// InternalError unless the range is in one allocation.
  void check(const void* address, std::size_t bytes) const {
    const auto* begin = static_cast<const std::byte*>(address);
    const std::lock_guard lock(mutex_);
    const auto next = pieces_.upper_bound(begin);
    if (bytes == 0) return;
    if (next == pieces_.begin() || begin + bytes > std::prev(next)->first + std::prev(next)->second)
      throw InternalError("stub: the range is not in its memory");
  }

 private:
  void release(void* piece) {
    const std::lock_guard lock(mutex_);
    pieces_.erase(static_cast<const std::byte*>(piece));
    std::free(piece);
  }

  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> pieces_;
};

}  // namespace croton::test::stub
