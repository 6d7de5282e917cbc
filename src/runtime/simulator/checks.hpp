// Judges every access of memory by simulated threads, before it happens: whether it lies in memory of the device, is
// aligned as the code relies on, and, in shared memory, whether another thread's access is ordered before it by a
// barrier or a warp's exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/memory.hpp"

namespace croton::runtime::simulator {

/// As the code reports it (src/llvm/simulator_passes.cpp).
struct Access {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  unsigned kind = 0;  // bit 0: writes, bit 1: atomic, from bit 8: the alignment that the code relies on
  unsigned line = 0;

  bool writes() const { return (kind & 1u) != 0; }
  bool is_atomic() const { return (kind & 2u) != 0; }
  std::size_t alignment() const { return kind >> 8; }
};

/// Who makes it, and how far that thread has come.
struct Accessor {
  unsigned thread = 0;
  std::uint32_t block_epoch = 0;  // barriers of the block so far
  std::uint32_t warp_epoch = 0;   // exchanges of its warp so far
  Range stack;
};

/// What is wrong with an access. Plain data: it is made on the stack of a thread that is about to be abandoned.
struct Finding {
  enum class Kind { out_of_bounds, misaligned, race };
  Kind kind = Kind::out_of_bounds;
  Access access;
  unsigned thread = 0;
  unsigned other_thread = 0;  // of a race
  unsigned other_line = 0;
  bool other_writes = false;
};

class AccessChecker {
 public:
  /// `shared` is the block's shared memory, of which the program's variables and `dynamic_shared` bytes after them are
  /// in use.
  AccessChecker(const Program& program, std::vector<Range> allocations, Range shared, std::size_t dynamic_shared);

  /// Forgets what the last block did.
  void begin_block() { ++generation_; }

  /// Nothing where the access is right; then it is remembered.
  std::optional<Finding> check(const Accessor& accessor, const Access& access);

  /// The finding in words, without kernel and block.
  std::string describe(const Finding& finding) const;

 private:
  // One access of a byte of shared memory. Marks of an earlier block have an older generation.
  struct Mark {
    std::uint32_t generation = 0;
    std::uint32_t block_epoch = 0;
    std::uint32_t warp_epoch = 0;
    std::uint32_t line = 0;
    std::uint16_t thread = 0;
    bool is_atomic = false;
  };
  // Two readers are enough: of any two different ones, one is not the thread that writes next.
  struct ByteHistory {
    Mark write;
    Mark reads[2];
  };

  bool is_in_bounds(const Accessor& accessor, const Access& access);
  std::optional<Finding> find_race(const Accessor& accessor, const Access& access);
  bool conflicts(const Mark& mark, const Accessor& accessor, const Access& access) const;
  void remember(ByteHistory& history, const Mark& mark, bool writes) const;
  std::string describe_place(std::uintptr_t address, std::size_t size) const;

  const Program& program_;
  std::vector<Range> allocations_;
  Range shared_;
  std::vector<Range> shared_variables_;
  std::size_t last_allocation_ = 0;  // most accesses fall where the one before did
  std::uint32_t generation_ = 0;
  std::vector<ByteHistory> history_;  // per byte of shared memory
};

}  // namespace croton::runtime::simulator
