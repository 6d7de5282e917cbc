// Fibers: threads that are switched by hand, on stacks of their own, about 15 instructions a switch. The threads of a
// simulated block are fibers, because a barrier among operating system threads costs 250 times more.
// A fiber stays on the operating system thread that started it. It may be abandoned at any switch: its stack is simply
// used again, so nothing on it may need a destructor then.
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

  /// Leaves `from`, which must be running (any thread's own stack counts as a fiber without prepare), and continues
  /// `to`.
  static void switch_to(Fiber& from, Fiber& to);

  /// The last switch of a prepared fiber: `from` is not continued unless prepared again.
  static void end_in(Fiber& from, Fiber& to);

  /// For the code that a prepared fiber begins with; not to be called otherwise.
  [[noreturn]] void begin();

 private:
  /// `kept`: where AddressSanitizer keeps the frames of `from` that it has elsewhere; null frees them.
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
  void* sanitizer_state_ = nullptr;  // what AddressSanitizer or ThreadSanitizer knows of the fiber
  Fiber* came_from_ = nullptr;
};

/// Stacks for the fibers of one block, with a page below each that cannot be accessed. Kept for later launches when
/// given back.
class Stacks {
 public:
  static constexpr std::size_t size = 64 * 1024;
  static constexpr unsigned most = 1024;

  /// Room for `count` (at most `most`) stacks; OutOfMemory where there is none.
  explicit Stacks(unsigned count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// The usable bytes of a stack.
  std::byte* bottom(unsigned number) const;
  std::size_t usable(unsigned number) const;

  /// Whether an address lies in any stack of the process's simulated threads.
  static bool holds(std::uintptr_t address);

 private:
  struct Region;
  static std::vector<std::unique_ptr<Region>>& kept();

  std::unique_ptr<Region> region_;
};

}  // namespace croton::runtime::simulator
