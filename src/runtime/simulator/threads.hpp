// The threads of one resident block: fibers that run until they wait for each other, in an order drawn from a seed, so
// that the races of a missing barrier do happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/fiber.hpp"
#include "runtime/simulator/random_order.hpp"
#include "runtime/simulator/shape.hpp"

namespace croton::runtime::simulator {

/// The reason that a thread waits, if it does.
enum class Wait : std::uint8_t { nothing, barrier, shuffle, ballot, warp, grid, exited };

struct Thread {
  unsigned index = 0;
  Wait wait = Wait::nothing;
  const void* site = nullptr;     // tells one barrier of the text from another
  unsigned place = 0;             // in the text; 0 if the program is not checked
  unsigned lane = 0;              // whose value a shuffle reads
  unsigned mask = 0;              // the lanes that take part
  unsigned long long value = 0;   // for a shuffle or vote
  unsigned long long result = 0;  // of the shuffle or vote
  std::uintptr_t spin_address = 0;
  std::uint64_t spins = 0;  // atomic accesses of that address in a row
  std::uint64_t steps = 0;  // a rough count of its work so far, to find endless loops
  Range stack;
  Fiber fiber;
};

class Block {
 public:
  enum class State { running, spinning, finished, at_grid_barrier, wrong };

  /// For blocks of the shape, one after another. `checker` (may be null) checks accesses; `stacks` has stack_count()
  /// stacks from number `first_stack` on, and is null if that is 0.
  Block(const Program& program, Program::Entry entry, void** arguments, const LaunchShape& shape,
        std::byte* shared_memory, AccessChecker* checker, std::shared_ptr<const Stacks> stacks, unsigned first_stack,
        std::uint64_t seed);

  /// Whether the threads of a block cannot wait for anything and so run one after another.
  static bool is_loop(const Program& program) { return !program.waits() && !program.spins(); }
  /// How many stacks its threads need.
  static unsigned stack_count(const Program& program, unsigned threads);

  void start(unsigned index);
  /// Continues until no thread can continue without another block, or until its threads have come to a pause `pauses`
  /// times (`running`). Once it is `wrong`, the threads are abandoned.
  State advance(unsigned pauses);
  void leave_grid_barrier();

  /// Describes the fault of a block for which advance() returns `wrong`, or that spins or waits for ever.
  std::string describe_fault() const;
  /// Describes the last known place of the running thread.
  std::string describe_running() const;
  /// Describes the wait of the first thread, for a block at a grid barrier.
  std::string describe_first_wait() const { return describe_wait(threads_[0]); }
  unsigned index() const { return index_; }

  /// The block whose thread runs on this operating system thread.
  static Block* current();

  // For callbacks, on a fiber:
  Thread& thread() { return *running_; }
  unsigned axis(unsigned which) const;
  std::byte* shared_memory() const { return shared_memory_; }
  unsigned wait_for_block(const void* site, unsigned condition);
  void wait_for_grid(const void* site);
  unsigned long long wait_for_warp(Wait wait, const void* site, unsigned long long value, unsigned lane, unsigned mask);
  void fence();
  void turn(unsigned place);
  void check_access(const Access& access);
  void check_local(const Access& access, std::uintptr_t object, std::size_t size);
  void check_call(const void* function, unsigned type, unsigned place);
  /// `now`: the approximate address on the stack where the frame would begin.
  void check_frame(std::size_t bytes, std::uintptr_t now, unsigned place);
  void stop(Finding::Kind kind, std::size_t number = 0);
  void stop_at(Finding::Kind kind, unsigned place, std::size_t number = 0);

 private:
  struct Scope;  // makes a block the current one

  bool is_loop() const { return is_loop(program_); }
  void run_as_loop();
  void start_threads();
  void run_ready();
  static void run_thread(Thread& thread);
  static void run_all(Block& block);
  void pause();
  bool stopped() const { return finding_.has_value() || failure_ != nullptr; }
  void spin(const Access& access);

  void release();
  bool release_barrier();
  void release_warp(unsigned warp);
  bool is_complete(unsigned first, const Thread& leader) const;
  void exchange(unsigned first, unsigned mask, Wait what);
  bool all_wait_for(Wait wait) const;

  std::string describe_wait(const Thread& thread) const;
  std::string describe_stuck() const;
  std::string describe_stuck_warp(const Thread& waiting) const;

  const Program& program_;
  Program::Entry entry_;
  void** arguments_;
  LaunchShape shape_;
  unsigned size_;
  std::byte* shared_memory_;
  AccessChecker* checker_;
  RandomOrder order_;
  unsigned index_ = 0;
  std::array<unsigned, 3> coordinates_{};

  std::vector<Thread> threads_;
  std::shared_ptr<const Stacks> stacks_;  // none for unchecked loops
  std::vector<unsigned> ready_;
  std::vector<unsigned> spinning_;  // could continue, but let others run first
  Fiber scheduler_;
  Thread* running_ = nullptr;
  std::optional<Finding> finding_;
  std::exception_ptr failure_;  // of a check
};

}  // namespace croton::runtime::simulator
