// Judges every access of memory by simulated threads, before it happens: whether it lies in memory of the device, is
// aligned as the code relies on, reads what somebody has written, and whether conflicting accesses of other threads
// happen before it (order.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/memory.hpp"
#include "runtime/simulator/order.hpp"
#include "runtime/simulator/shadow.hpp"

namespace croton::runtime::simulator {

/// As the code reports it (src/llvm/simulator_instrument.cpp).
struct Access {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  unsigned kind = 0;  // the bits below; from bit 8 on the alignment that the code relies on
  unsigned place = 0;

  bool writes() const { return (kind & 1u) != 0; }
  bool is_atomic() const { return (kind & 2u) != 0; }
  bool is_volatile() const { return (kind & 4u) != 0; }
  bool reads() const { return (kind & 8u) != 0; }
  bool is_block() const { return (kind & 16u) != 0; }  // a struct or array as a whole, with what pads it
  std::size_t alignment() const { return kind >> 8; }
};

/// Who makes it.
struct Accessor {
  unsigned thread = 0;
  Range stack;
};

/// What is wrong. Plain data: it is made on the stack of a thread that is about to be abandoned.
struct Finding {
  enum class Kind {
    out_of_bounds,
    local_out_of_bounds,
    constant,  // a write to one
    misaligned,
    uninitialised,
    race,
    shuffle_from_outside,  // reads the value of a lane that the mask does not name
    outside_own_mask,      // the mask does not name the lane that calls
    grid_barrier,          // in a launch whose blocks need not run at the same time
    endless,               // more steps than any kernel takes
    assertion,
    trap,
    no_return,      // the end of a function that gives a value, or what the text says cannot be reached
    divisor,        // of an integer division: 0
    quotient,       // the lowest integer by -1
    function,       // a call through a pointer that is none's
    function_type,  // a call through a pointer of one that is called otherwise
    deletion,       // of memory, though there is no heap
    stack,          // a frame that it has no room for
  };
  Kind kind = Kind::out_of_bounds;
  Access access;
  unsigned thread = 0;
  Mark other{};  // of a race
  bool other_writes = false;
  std::size_t number = 0;  // the size of the local variable, the lane, the mask
};

/// What all blocks of one launch share: the device's memory and what is remembered of it.
class LaunchState {
 public:
  LaunchState(const Program& program, const std::vector<Allocation>& allocations, unsigned blocks);

  struct Piece {
    Range range;
    std::string name;                       // of a variable of the program; empty for allocations
    std::shared_ptr<WrittenBytes> written;  // null, as the shadow is, for constants
    std::unique_ptr<Shadow> shadow;
  };
  /// The piece that holds all of it, or nullptr.
  Piece* find(std::uintptr_t address, std::size_t size);
  const std::vector<Piece>& pieces() const { return pieces_; }

  std::vector<Time>& grid_barriers() { return grid_barriers_; }
  /// What was left at addresses by atomic accesses.
  std::unordered_map<std::uintptr_t, Knowledge>& released() { return released_; }

 private:
  std::vector<Piece> pieces_;  // by address
  std::size_t last_ = 0;       // most accesses fall where the one before did
  std::vector<Time> grid_barriers_;
  std::unordered_map<std::uintptr_t, Knowledge> released_;
};

/// The checks of one block at a time.
class AccessChecker {
 public:
  /// `shared` is the block's shared memory, of which the program's variables and `dynamic_shared` bytes after them are
  /// in use.
  AccessChecker(const Program& program, LaunchState& launch, unsigned threads, Range shared,
                std::size_t dynamic_shared);

  /// Forgets what the last block did.
  void start(unsigned block);
  BlockOrder& order() { return order_; }

  /// Nothing where the access is right; then it is remembered.
  std::optional<Finding> check(const Accessor& accessor, const Access& access);

  /// Where an address lies, in words.
  std::string describe_place(std::uintptr_t address, std::size_t size) const;
  bool is_shared(std::uintptr_t address) const { return shared_.holds(address, 1); }

 private:
  // Where an access falls; `written` is null for the stack and for constants, which are not looked at further.
  struct Found {
    bool in_bounds = false;
    std::uintptr_t begin = 0;
    WrittenBytes* written = nullptr;
    Shadow* shadow = nullptr;
    bool is_constant = false;
  };

  Found locate(const Accessor& accessor, const Access& access);
  std::optional<Finding> find_race(Shadow& shadow, std::size_t offset, unsigned thread, const Access& access,
                                   bool is_strong);
  void pass_on(unsigned thread, const Access& access);

  const Program& program_;
  LaunchState& launch_;
  BlockOrder order_;
  unsigned block_ = 0;
  Range shared_;
  std::vector<Range> shared_variables_;
  WrittenBytes shared_written_;
  Shadow shared_shadow_;
};

}  // namespace croton::runtime::simulator
