// Fibers: threads with stacks of their own that the program itself switches, in about 15 instructions. The threads of a
// simulated block are fibers, because a barrier of operating system threads costs 250 times as much. A fiber stays on
// the operating system thread that started it. It may be abandoned at any switch: its stack is then reused, so nothing
// on it may need a destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if !defined(CROTON_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define CROTON_FIBER_UCONTEXT 1
#endif
#if defined(CROTON_FIBER_UCONTEXT)
#include <ucontext.h>
#endif

namespace croton::runtime::simulator {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes the next switch to this fiber call entry(argument) on the stack [bottom, bottom + size). The entry must not
  /// return: it ends by end_in.
  void prepare(std::byte* bottom, std::size_t size, Entry entry, void* argument);
  /// The same for run(object), a function of an object that outlives the fiber.
  template <auto run, class T>
  void prepare(std::byte* bottom, std::size_t size, T& object) {
    prepare(bottom, size, [](void* argument) { run(*static_cast<T*>(argument)); }, &object);
  }

  /// Leaves `from`, which must be running (any thread's own stack counts as a fiber without prepare), and continues
  /// `to`.
  static void switch_to(Fiber& from, Fiber& to);

  /// The last switch of a prepared fiber: `from` is not continued unless prepared again.
  static void end_in(Fiber& from, Fiber& to);

  /// For the first code of a prepared fiber; not to be called otherwise.
  [[noreturn]] void begin();

 private:
  /// `kept` gets AddressSanitizer's own frames of `from`; null frees them.
  static void switch_keeping(void** kept, Fiber& from, Fiber& to);

#if defined(CROTON_FIBER_UCONTEXT)
  ucontext_t context_{};
#else
  void* stack_pointer_ = nullptr;
#endif
  std::byte* bottom_ = nullptr;
  std::size_t size_ = 0;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  void* sanitizer_state_ = nullptr;  // of AddressSanitizer or ThreadSanitizer, about the fiber
  Fiber* came_from_ = nullptr;
};

/// Stacks for the fibers of one block, each with an inaccessible page below it. Later launches reuse them.
class Stacks {
 public:
  static constexpr std::size_t size = 256 * 1024;
  static constexpr unsigned max_count = 1024;

  /// Memory for `count` stacks, at most `max_count`; OutOfMemory if there is none.
  explicit Stacks(unsigned count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// The usable bytes of a stack.
  std::byte* bottom(unsigned number) const;
  std::size_t usable(unsigned number) const;

  /// Whether an address is in a stack of any simulated thread of the process.
  static bool holds(std::uintptr_t address);

 private:
  struct Region;
  static std::vector<std::unique_ptr<Region>>& kept();

  std::unique_ptr<Region> region_;
};

}  // namespace croton::runtime::simulator
