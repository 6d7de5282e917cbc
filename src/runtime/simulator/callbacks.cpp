#include "runtime/simulator/callbacks.hpp"

#include <vector>

#include "runtime/simulator/threads.hpp"

namespace croton::runtime::simulator {
namespace {

// Each runs on the stack of a simulated thread, which may be abandoned inside: no object here may need a destructor.

Block& block() { return *Block::current(); }

unsigned thread_index() { return block().thread().index; }
unsigned block_size() { return block().size(); }
unsigned block_index() { return block().index(); }
unsigned block_count() { return block().count(); }
void* shared_base() { return block().shared_memory(); }

// The place of the call tells whether threads wait at the same one.
void wait_barrier() { block().wait_for_block(__builtin_return_address(0)); }

unsigned long long wait_shuffle(unsigned long long bits, unsigned lane) {
  return block().wait_for_warp(Wait::shuffle, __builtin_return_address(0), bits, lane);
}

unsigned wait_ballot(unsigned condition) {
  return static_cast<unsigned>(block().wait_for_warp(Wait::ballot, __builtin_return_address(0), condition, 0));
}

void at(unsigned line) { block().thread().line = line; }

void access(void* address, unsigned long long size, unsigned kind, unsigned line) {
  block().check_access({reinterpret_cast<std::uintptr_t>(address), size, kind, line});
}

template <typename Result, typename... Parameters>
std::pair<std::string, void*> named(const char* name, Result (*function)(Parameters...)) {
  return {std::string("croton_simulator_") + name, reinterpret_cast<void*>(function)};
}

}  // namespace

std::span<const std::pair<std::string, void*>> callbacks() {
  static const std::vector<std::pair<std::string, void*>> all = {
      named("thread_index", &thread_index),
      named("block_size", &block_size),
      named("block_index", &block_index),
      named("block_count", &block_count),
      named("shared_base", &shared_base),
      named("wait_barrier", &wait_barrier),
      named("wait_shuffle", &wait_shuffle),
      named("wait_ballot", &wait_ballot),
      named("at", &at),
      named("access", &access),
  };
  return all;
}

}  // namespace croton::runtime::simulator
