// The locks of a function's shared variables during a call: exclusive for variables that it updates and for their
// copies that were made after the function was compiled, shared for the others.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "builder/shared.hpp"
#include "compiled_function.hpp"

namespace croton::detail {

class SharedLocks {
 public:
  explicit SharedLocks(const CompiledFunction& function);

  /// Locks all for a call. If `waits` is false and a lock is not free, it locks nothing and returns false.
  bool lock(bool waits);
  void release();
  /// ValueError if the function updates a variable that shares memory with another one, because both would change. All
  /// must be locked.
  void throw_on_common_memory();
  /// Whether an update may overwrite the array's memory. Call it after throw_on_common_memory.
  bool may_be_written(const Array& array) const;

  /// Locks all for reading, so that their homes do not change.
  std::vector<std::shared_lock<builder::StateLock>> lock_to_read() const;

  /// A copy, on another device, of a variable that the function updates, which was made after the function was
  /// compiled: it gets the value of update `update`.
  struct NewCopy {
    Variable copy;
    std::size_t update;
  };
  const std::vector<NewCopy>& new_copies() const { return new_copies_; }

 private:
  builder::SharedState& state(std::size_t i) const;
  void find_new_copies();

  const CompiledFunction& function_;
  std::vector<std::size_t> order_;  // indices of shared variables, by id
  std::vector<NewCopy> new_copies_;
  std::uint64_t mirror_generation_ = 0;  // the generation of new_copies_
  std::vector<std::unique_lock<builder::StateLock>> write_locks_;
  std::vector<std::shared_lock<builder::StateLock>> read_locks_;
  std::vector<std::size_t> exposed_;  // variables on the host whose memory user code may see
  std::vector<std::pair<const void*, std::size_t>> checked_exposed_;  // their memory when it was checked and not shared
};

}  // namespace croton::detail
