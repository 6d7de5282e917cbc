// Checks every access to memory by simulated threads, before it happens: whether it is in memory of the device, is
// aligned as the code assumes, reads written memory, and whether conflicting accesses of other threads happen before it
// (order.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/memory.hpp"
#include "runtime/simulator/order.hpp"
#include "runtime/simulator/shadow.hpp"
#include "runtime/simulator/shape.hpp"

namespace croton::runtime::simulator {

/// An access as the code reports it (src/llvm/simulator_instrument.cpp).
struct Access {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  unsigned kind = 0;  // the bits below; from bit 8 on the alignment that the code assumes
  unsigned place = 0;

  bool writes() const { return (kind & 1u) != 0; }
  bool is_atomic() const { return (kind & 2u) != 0; }
  bool is_volatile() const { return (kind & 4u) != 0; }
  bool reads() const { return (kind & 8u) != 0; }
  bool is_block() const { return (kind & 16u) != 0; }  // a struct or array as a whole, with its padding
  bool updates() const { return (kind & 32u) != 0; }   // reads and writes in one, atomically
  std::size_t alignment() const { return kind >> 8; }
};

/// The thread that makes it.
struct Accessor {
  unsigned thread = 0;
  Range stack;
};

/// A fault. Plain data: it is made on the stack of a thread that is about to be abandoned.
struct Finding {
  enum class Kind {
    out_of_bounds,
    local_out_of_bounds,
    constant,  // a write to a constant
    misaligned,
    uninitialised,
    race,
    shuffle_from_outside,  // reads the value of a lane that is not in the mask
    outside_own_mask,      // the calling lane is not in the mask
    grid_barrier,          // in a launch whose blocks need not run at the same time
    endless,               // more steps than any kernel takes
    assertion,
    trap,
    no_return,      // the end of a function without its result, or a place that the text calls unreachable
    divisor,        // of an integer division: 0
    quotient,       // the lowest integer by -1
    function,       // a call through a pointer that is not a function's
    function_type,  // a call through a pointer to a function of another type
    deletion,       // of memory, although there is no heap
    stack,          // it has no room for a frame
  };
  Kind kind = Kind::out_of_bounds;
  Access access;
  unsigned thread = 0;
  Mark other{};  // of a race
  bool other_writes = false;
  Missing missing{};
  std::size_t number = 0;  // the size of the local variable, the lane or the mask
};

/// The state that all blocks of one launch share: the device's memory, and the accesses to it so far.
class LaunchState {
 public:
  LaunchState(const Program& program, const std::vector<Allocation>& allocations, unsigned blocks);
  LaunchState(const LaunchState&) = delete;
  LaunchState& operator=(const LaunchState&) = delete;

  struct Piece {
    Range range;
    std::string name;                       // of a variable of the program; empty for allocations
    std::shared_ptr<WrittenBytes> written;  // null for constants, as is the shadow
    std::unique_ptr<Shadow> shadow;
  };
  /// The piece that has all of it, or nullptr.
  Piece* find(std::uintptr_t address, std::size_t size);
  const std::vector<Piece>& pieces() const { return pieces_; }

  std::vector<Time>& grid_barriers() { return grid_barriers_; }
  /// The knowledge at an address; null if nothing is published there.
  const Published* published(std::uintptr_t address) const {
    const auto found = published_.find(address);
    return found == published_.end() ? nullptr : &found->second;
  }
  void publish(std::uintptr_t address, const Knowledge& more);
  void forget_published(Range range);

 private:
  std::vector<Piece> pieces_;  // by address; fixed after the construction
  Piece* last_ = nullptr;      // most accesses are in the piece of the access before
  std::vector<Time> grid_barriers_;
  std::map<std::uintptr_t, Published> published_;  // by address
  std::uint64_t version_ = 0;                      // the last one
};

/// The checks of one block at a time.
class AccessChecker {
 public:
  /// `shared` is the block's shared memory: the program's variables and the dynamic part after them are in use.
  AccessChecker(const Program& program, LaunchState& launch, const LaunchShape& shape, Range shared);

  /// Forgets the accesses of the last block.
  void start(unsigned block);
  BlockOrder& order() { return order_; }

  /// The fault of an access; nothing if it is correct, and then it is remembered.
  std::optional<Finding> check(const Accessor& accessor, const Access& access);

  /// A description of the place of an address.
  std::string describe_place(std::uintptr_t address, std::size_t size) const;
  bool is_shared(std::uintptr_t address) const { return shared_.holds(address, 1); }

 private:
  // The memory of an access; `written` is null for the stack and for constants, which have no further checks.
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
  void synchronize(unsigned thread, const Access& access);
  void replace_published(const Access& access);

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
