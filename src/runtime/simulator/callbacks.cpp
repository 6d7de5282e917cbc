#include "runtime/simulator/callbacks.hpp"

#include <vector>

#include "runtime/simulator/threads.hpp"

namespace croton::runtime::simulator {
namespace {

// Each runs on the stack of a simulated thread, which may be abandoned there: no object here may need a destructor.

Block& block() { return *Block::current(); }

// 0 to 2: x, y, z of the thread in its block; then of the block in the grid, of the block's size, of the grid's.
unsigned axis(unsigned which) { return block().axis(which); }
unsigned thread_number() { return block().thread().index; }
void* shared_base() { return block().shared_memory(); }

// Identifies the place of the text where a thread waits: in a checked program by the number that the code has set
// before; else by the address of the call, although the compiler may merge two calls.
const void* site_of_call(const void* return_address) {
  const Thread& thread = block().thread();
  return thread.place != 0 ? reinterpret_cast<const void*>(std::uintptr_t{thread.place}) : return_address;
}

unsigned wait_barrier(unsigned condition) {
  return block().wait_for_block(site_of_call(__builtin_return_address(0)), condition);
}

void wait_grid() { block().wait_for_grid(site_of_call(__builtin_return_address(0))); }

unsigned long long wait_shuffle(unsigned long long bits, unsigned lane, unsigned mask) {
  return block().wait_for_warp(Wait::shuffle, site_of_call(__builtin_return_address(0)), bits, lane, mask);
}

unsigned wait_ballot(unsigned condition, unsigned mask) {
  return static_cast<unsigned>(
      block().wait_for_warp(Wait::ballot, site_of_call(__builtin_return_address(0)), condition, 0, mask));
}

void wait_warp(unsigned mask) {
  block().wait_for_warp(Wait::warp, site_of_call(__builtin_return_address(0)), 0, 0, mask);
}

void fence() { block().fence(); }

// Its name begins with wait, since only a thread with a fiber of its own can end in the middle.
void wait_stop(unsigned trap) { block().stop(trap != 0 ? Finding::Kind::trap : Finding::Kind::assertion); }

// In the order of src/llvm/simulator_faults.cpp.
void fault(unsigned which, unsigned place) {
  static constexpr Finding::Kind kinds[] = {Finding::Kind::trap,     Finding::Kind::no_return,
                                            Finding::Kind::divisor,  Finding::Kind::quotient,
                                            Finding::Kind::deletion, Finding::Kind::function_type};
  block().stop_at(kinds[which], place);
}

void call(const void* function, unsigned type, unsigned place) { block().check_call(function, type, place); }

void frame(unsigned long long bytes, unsigned place) {
  block().check_frame(bytes, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), place);
}

void turn(unsigned place) { block().turn(place); }

void at(unsigned place) { block().thread().place = place; }

void access(void* address, unsigned long long size, unsigned kind, unsigned place) {
  block().check_access({reinterpret_cast<std::uintptr_t>(address), size, kind, place});
}

void local_access(void* address, unsigned long long size, unsigned kind, unsigned place, void* object,
                  unsigned long long object_size) {
  block().check_local({reinterpret_cast<std::uintptr_t>(address), size, kind, place},
                      reinterpret_cast<std::uintptr_t>(object), object_size);
}

template <typename Result, typename... Parameters>
std::pair<std::string, void*> named(const char* name, Result (*function)(Parameters...)) {
  return {std::string("croton_simulator_") + name, reinterpret_cast<void*>(function)};
}

}  // namespace

std::span<const std::pair<std::string, void*>> callbacks() {
  static const std::vector<std::pair<std::string, void*>> all = {
      named("axis", &axis),
      named("thread_number", &thread_number),
      named("shared_base", &shared_base),
      named("wait_barrier", &wait_barrier),
      named("wait_grid", &wait_grid),
      named("wait_shuffle", &wait_shuffle),
      named("wait_ballot", &wait_ballot),
      named("wait_warp", &wait_warp),
      named("fence", &fence),
      named("wait_stop", &wait_stop),
      named("fault", &fault),
      named("call", &call),
      named("frame", &frame),
      named("turn", &turn),
      named("at", &at),
      named("access", &access),
      named("local_access", &local_access),
  };
  return all;
}

}  // namespace croton::runtime::simulator
