// The shared variables of a function during a call: locked, those that it updates for writing, with the copies that
// were made of these since the function was.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "builder/shared.hpp"
#include "call/compiled_function.hpp"

namespace croton::detail {

class SharedLocks {
 public:
  explicit SharedLocks(const CompiledFunction& function);

  /// Locks all for a call. False, with nothing locked, where that would wait and may not.
  bool lock(bool waits);
  void release();
  /// ValueError where the function updates a variable whose memory is another one's too: both would change. With all
  /// locked.
  void refuse_common_memory();
  /// Whether an update may be written over the array's memory. After refuse_common_memory.
  bool may_be_written(const Array& array) const;

  /// All, locked for reading: where they live does not change meanwhile.
  std::vector<std::shared_lock<builder::StateLock>> lock_to_read() const;

  /// A copy, on another device, of what the function updates, that was made after it: it gets what update `update`
  /// gives.
  struct NewCopy {
    Variable copy;
    std::size_t update;
  };
  const std::vector<NewCopy>& new_copies() const { return new_copies_; }

 private:
  builder::SharedState& state(std::size_t i) const;
  void find_new_copies();

  const CompiledFunction& function_;
  std::vector<std::size_t> order_;  // shared variables by id
  std::vector<NewCopy> new_copies_;
  std::uint64_t mirror_generation_ = 0;  // new_copies_ is of
  std::vector<std::unique_lock<builder::StateLock>> written_;
  std::vector<std::shared_lock<builder::StateLock>> read_;
  std::vector<std::size_t> exposed_;  // variables on the host whose memory somebody else may see
  std::vector<std::pair<const void*, std::size_t>> exposed_at_;  // where they were when they had no memory in common
};

}  // namespace croton::detail
