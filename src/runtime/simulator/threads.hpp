// The threads of one block at a time: fibers that run until they wait for each other, in an order drawn from a seed, so
// that what a missing barrier would allow does happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/fiber.hpp"
#include "runtime/simulator/random_order.hpp"

namespace croton::runtime::simulator {

/// What a thread waits for, if anything.
enum class Wait : std::uint8_t { nothing, barrier, shuffle, ballot, exited };

struct Thread {
  unsigned index = 0;
  Wait wait = Wait::nothing;
  void* place = nullptr;          // the code that waits
  unsigned line = 0;              // its line; 0 where the program is not checked
  unsigned lane = 0;              // whose value a shuffle asks for
  unsigned long long value = 0;   // given to a shuffle or ballot
  unsigned long long result = 0;  // what it gets
  Range stack;
  Fiber fiber;
};

class Block {
 public:
  /// For `count` blocks of `size` threads. `checker` (may be null) judges accesses.
  Block(const Program& program, Program::Entry entry, void** arguments, unsigned count, unsigned size,
        std::byte* shared_memory, AccessChecker* checker, std::uint64_t seed);

  /// Runs the block. Returns what went wrong, in words, or nothing; then the block's threads are abandoned.
  std::optional<std::string> run(unsigned index);

  /// The block whose thread runs on this operating system thread.
  static Block* current();

  // For callbacks, on a fiber:
  Thread& thread() { return *running_; }
  unsigned index() const { return index_; }
  unsigned size() const { return size_; }
  unsigned count() const { return count_; }
  std::byte* shared_memory() const { return shared_memory_; }
  void wait_for_block(void* place);
  unsigned long long wait_for_warp(Wait wait, void* place, unsigned long long value, unsigned lane);
  void check_access(const Access& access);

 private:
  struct Scope;  // makes a block the current one

  bool uses_fibers() const { return stacks_ != nullptr; }
  void run_as_loop();
  std::optional<std::string> run_fibers();
  void start_threads();
  void run_ready(const std::vector<unsigned>& ready);
  void release(std::vector<unsigned>& released);
  bool release_barrier(std::vector<unsigned>& released);
  void release_warp(unsigned warp, std::vector<unsigned>& released);
  void exchange(unsigned first);
  void pause();
  static void run_thread(void* thread);
  std::string describe_stuck() const;
  std::string describe_wait(const Thread& thread) const;

  const Program& program_;
  Program::Entry entry_;
  void** arguments_;
  unsigned count_;
  unsigned size_;
  std::byte* shared_memory_;
  AccessChecker* checker_;
  RandomOrder order_;
  unsigned index_ = 0;

  std::vector<Thread> threads_;
  std::unique_ptr<Stacks> stacks_;  // none for programs whose threads never wait
  Fiber scheduler_;
  Thread* running_ = nullptr;
  std::uint32_t block_epoch_ = 0;
  std::vector<std::uint32_t> warp_epochs_;
  std::optional<Finding> finding_;
};

}  // namespace croton::runtime::simulator
