#include "runtime/simulator/fiber.hpp"

#include <sys/mman.h>

#include <croton/error.hpp>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/simulator/range.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace croton::runtime::simulator {

// ---- The switch itself: saves the registers that a function must preserve, changes the stack, restores them.

#if !defined(CROTON_FIBER_UCONTEXT)

extern "C" void croton_fiber_switch(void** save_stack_pointer, void* next_stack_pointer);
extern "C" void croton_fiber_first();  // where a new fiber's first switch "returns" to
extern "C" [[noreturn]] void croton_fiber_begin(Fiber* fiber) { fiber->begin(); }

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .hidden croton_fiber_switch
  .globl croton_fiber_switch
  .type croton_fiber_switch, @function
  .p2align 4
croton_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size croton_fiber_switch, .-croton_fiber_switch
  .hidden croton_fiber_first
  .globl croton_fiber_first
  .type croton_fiber_first, @function
  .p2align 4
croton_fiber_first:
  movq %r12, %rdi
  xorl %ebp, %ebp
  call croton_fiber_begin@PLT
  ud2
  .size croton_fiber_first, .-croton_fiber_first
  .popsection
)");
constexpr std::size_t fiber_word = 3;   // r12, after r15 r14 r13
constexpr std::size_t return_word = 6;  // after rbx rbp
constexpr std::size_t frame_words = 7;  // once all are popped the stack is aligned to 16, as a call needs
#else                                   // AArch64
asm(R"(
  .pushsection .text
  .hidden croton_fiber_switch
  .globl croton_fiber_switch
  .type croton_fiber_switch, %function
  .p2align 4
croton_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size croton_fiber_switch, .-croton_fiber_switch
  .hidden croton_fiber_first
  .globl croton_fiber_first
  .type croton_fiber_first, %function
  .p2align 4
croton_fiber_first:
  mov x0, x19
  bl croton_fiber_begin
  brk #1
  .size croton_fiber_first, .-croton_fiber_first
  .popsection
)");
constexpr std::size_t fiber_word = 0;    // x19
constexpr std::size_t return_word = 11;  // x30
constexpr std::size_t frame_words = 20;
#endif

#endif  // own switch

// ---- Fiber

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  if (bottom_ != nullptr && sanitizer_state_ != nullptr) __tsan_destroy_fiber(sanitizer_state_);
#endif
}

void Fiber::prepare(std::byte* bottom, std::size_t size, Entry entry, void* argument) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(bottom, size);  // an abandoned fiber leaves marks of its frames
  sanitizer_state_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  if (sanitizer_state_ == nullptr) sanitizer_state_ = __tsan_create_fiber(0);
#endif
  bottom_ = bottom;
  size_ = size;
  entry_ = entry;
  argument_ = argument;
#if defined(CROTON_FIBER_UCONTEXT)
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom;
  context_.uc_stack.ss_size = size;
  context_.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  // makecontext passes only ints, so the pointer is passed in two halves.
  void (*start)(unsigned, unsigned) = [](unsigned high, unsigned low) {
    reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low)->begin();
  };
  makecontext(&context_, reinterpret_cast<void (*)()>(start), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
#else
  auto top = reinterpret_cast<std::uintptr_t>(bottom + size) & ~std::uintptr_t{15};
  auto** frame = reinterpret_cast<void**>(top) - frame_words;
  for (std::size_t word = 0; word < frame_words; ++word) frame[word] = nullptr;
  frame[fiber_word] = this;
  frame[return_word] = reinterpret_cast<void*>(&croton_fiber_first);
  stack_pointer_ = frame;
#endif
}

void Fiber::switch_to(Fiber& from, Fiber& to) { switch_keeping(&from.sanitizer_state_, from, to); }

void Fiber::end_in(Fiber& from, Fiber& to) { switch_keeping(nullptr, from, to); }

void Fiber::switch_keeping([[maybe_unused]] void** kept, Fiber& from, Fiber& to) {
  to.came_from_ = &from;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(kept, to.bottom_, to.size_);
#endif
#if defined(__SANITIZE_THREAD__)
  if (from.sanitizer_state_ == nullptr) from.sanitizer_state_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.sanitizer_state_, 0);
#endif
#if defined(CROTON_FIBER_UCONTEXT)
  swapcontext(&from.context_, &to.context_);
#else
  croton_fiber_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.sanitizer_state_, nullptr, nullptr);
#endif
}

void Fiber::begin() {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (came_from_->bottom_ == nullptr) {  // a thread's own stack: known from now on, for the return to it
    came_from_->bottom_ = static_cast<std::byte*>(const_cast<void*>(bottom));
    came_from_->size_ = size;
  }
#endif
  entry_(argument_);
  std::abort();  // entries do not return
}

// ---- Stacks

namespace {
std::mutex kept_mutex;  // of the kept regions, and of the list of all regions
constexpr std::size_t max_kept = 4;
}  // namespace

struct Stacks::Region {
  std::byte* begin = nullptr;
  unsigned prepared = 0;  // stacks whose memory is accessible

  Region() {
    void* mapped = mmap(nullptr, size * max_count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw OutOfMemory("the CUDA simulator cannot reserve stacks for its threads");
    begin = static_cast<std::byte*>(mapped);
    const std::lock_guard lock(kept_mutex);
    all().insert(reinterpret_cast<std::uintptr_t>(begin));
  }
  ~Region() {
    {
      const std::lock_guard lock(kept_mutex);
      all().erase(reinterpret_cast<std::uintptr_t>(begin));
    }
    munmap(begin, size * max_count);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // The begin of each region of the process. Never destroyed: regions may outlive any object with static storage.
  static std::set<std::uintptr_t>& all() {
    static auto* begins = new std::set<std::uintptr_t>;
    return *begins;
  }

  void prepare(unsigned count) {
    const std::size_t page = page_size();
    for (; prepared < count; ++prepared) {
      if (mprotect(begin + prepared * size + page, size - page, PROT_READ | PROT_WRITE) != 0) {
        throw OutOfMemory("the CUDA simulator cannot have stacks for its threads");
      }
    }
  }
};

Stacks::Stacks(unsigned count) {
  if (count > max_count) throw InternalError("more stacks than the block has threads");
  {
    const std::lock_guard lock(kept_mutex);
    if (!kept().empty()) {
      region_ = std::move(kept().back());
      kept().pop_back();
    }
  }
  if (region_ == nullptr) region_ = std::make_unique<Region>();
  region_->prepare(count);
}

Stacks::~Stacks() {
  const std::lock_guard lock(kept_mutex);
  if (kept().size() < max_kept) kept().push_back(std::move(region_));
}

std::vector<std::unique_ptr<Stacks::Region>>& Stacks::kept() {
  static std::vector<std::unique_ptr<Region>> regions;
  return regions;
}

bool Stacks::holds(std::uintptr_t address) {
  const std::lock_guard lock(kept_mutex);
  const auto next = Region::all().upper_bound(address);
  return next != Region::all().begin() && address - *std::prev(next) < size * max_count;
}

std::byte* Stacks::bottom(unsigned number) const { return region_->begin + number * size + page_size(); }

// Tops differ in their low bits: with equal distances of 64 kB all stacks would use the same cache lines.
std::size_t Stacks::usable(unsigned number) const { return size - page_size() - (number * 320u) % 4096u / 64u * 64u; }

}  // namespace croton::runtime::simulator
