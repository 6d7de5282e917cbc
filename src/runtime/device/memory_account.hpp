// The account of the memory that a device has handed out. The pieces share it, as they may outlive everything else of
// the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace croton::runtime {

struct MemoryUse {
  std::uint64_t allocations = 0;  // since the start
  std::size_t bytes_in_use = 0;
  std::size_t peak_bytes = 0;  // the maximum of bytes_in_use
};

/// All functions may be called from any thread.
class MemoryAccount {
 public:
  void take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++use_.allocations;
    use_.bytes_in_use += bytes;
    use_.peak_bytes = std::max(use_.peak_bytes, use_.bytes_in_use);
  }
  void give_back(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    use_.bytes_in_use -= bytes;
  }
  MemoryUse use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  mutable std::mutex mutex_;
  MemoryUse use_;
};

/// The same memory, on the account until its last owner ends.
inline std::shared_ptr<void> on_account(std::shared_ptr<MemoryAccount> account, std::shared_ptr<void> memory,
                                        std::size_t bytes) {
  void* address = memory.get();
  account->take(bytes);
  return {address, [account = std::move(account), memory = std::move(memory), bytes](void*) mutable {
            memory.reset();
            account->give_back(bytes);
          }};
}

}  // namespace croton::runtime
