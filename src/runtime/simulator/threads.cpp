#include "runtime/simulator/threads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace croton::runtime::simulator {
namespace {

constexpr unsigned warp_size = 32;

thread_local Block* current_block = nullptr;

const char* name_of(Wait wait) {
  switch (wait) {
    case Wait::nothing:
      return "runs";
    case Wait::barrier:
      return "waits at a barrier";
    case Wait::shuffle:
      return "waits in a shuffle";
    case Wait::ballot:
      return "waits in a ballot";
    case Wait::exited:
      return "has left the kernel";
  }
  return "";
}

}  // namespace

struct Block::Scope {
  explicit Scope(Block* block) : previous(current_block) { current_block = block; }
  ~Scope() { current_block = previous; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Block* previous;
};

Block* Block::current() { return current_block; }

Block::Block(const Program& program, Program::Entry entry, void** arguments, unsigned count, unsigned size,
             std::byte* shared_memory, AccessChecker* checker, std::uint64_t seed)
    : program_(program),
      entry_(entry),
      arguments_(arguments),
      count_(count),
      size_(size),
      shared_memory_(shared_memory),
      checker_(checker),
      order_(seed),
      threads_(size),
      warp_epochs_((size + warp_size - 1) / warp_size) {
  // A checked thread must be able to stop in the middle, which only a fiber can.
  if (program.waits() || program.is_checked()) stacks_ = std::make_unique<Stacks>(size);
  for (unsigned i = 0; i < size; ++i) {
    threads_[i].index = i;
    if (uses_fibers()) threads_[i].stack = {reinterpret_cast<std::uintptr_t>(stacks_->bottom(i)), stacks_->usable(i)};
  }
}

std::optional<std::string> Block::run(unsigned index) {
  const Scope scope(this);
  index_ = index;
  if (checker_ != nullptr) checker_->begin_block();
  if (uses_fibers()) return run_fibers();
  run_as_loop();
  return std::nullopt;
}

void Block::run_as_loop() {
  const unsigned first = order_.below(size_);
  for (unsigned i = 0; i < size_; ++i) {
    running_ = &threads_[(first + i) % size_];
    entry_(arguments_);
  }
}

// ---- Scheduling

std::optional<std::string> Block::run_fibers() {
  start_threads();
  std::vector<unsigned> ready = order_.numbers(size_);
  while (!ready.empty()) {
    run_ready(ready);
    if (finding_) {
      return fmt::format("thread {}: {}", finding_->thread, checker_->describe(*finding_));
    }
    release(ready);
    order_.shuffle(ready);
  }
  if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& thread) { return thread.wait == Wait::exited; })) {
    return std::nullopt;
  }
  return describe_stuck();
}

void Block::start_threads() {
  block_epoch_ = 0;
  std::fill(warp_epochs_.begin(), warp_epochs_.end(), 0u);
  for (Thread& thread : threads_) {
    thread.wait = Wait::nothing;
    thread.fiber.prepare(reinterpret_cast<std::byte*>(thread.stack.begin), thread.stack.size, &Block::run_thread,
                         &thread);
  }
}

void Block::run_ready(const std::vector<unsigned>& ready) {
  for (const unsigned index : ready) {
    running_ = &threads_[index];
    Fiber::switch_to(scheduler_, running_->fiber);
    if (finding_) return;
  }
}

void Block::run_thread(void* thread) {
  Block& block = *current_block;
  block.entry_(block.arguments_);
  static_cast<Thread*>(thread)->wait = Wait::exited;
  block.pause();
}

void Block::pause() { Fiber::switch_to(running_->fiber, scheduler_); }

// ---- Waiting, on a fiber

void Block::wait_for_block(void* place) {
  running_->wait = Wait::barrier;
  running_->place = place;
  pause();
}

unsigned long long Block::wait_for_warp(Wait wait, void* place, unsigned long long value, unsigned lane) {
  Thread& thread = *running_;
  thread.wait = wait;
  thread.place = place;
  thread.value = value;
  thread.lane = lane;
  pause();
  return thread.result;
}

void Block::check_access(const Access& access) {
  const Thread& thread = *running_;
  const Accessor accessor = {thread.index, block_epoch_, warp_epochs_[thread.index / warp_size], thread.stack};
  finding_ = checker_->check(accessor, access);
  if (finding_) pause();  // and never come back: the access does not happen
}

// ---- Letting threads go on, in the scheduler

void Block::release(std::vector<unsigned>& released) {
  released.clear();
  if (release_barrier(released)) return;
  for (unsigned warp = 0; warp * warp_size + warp_size <= size_; ++warp) release_warp(warp, released);
}

bool Block::release_barrier(std::vector<unsigned>& released) {
  for (const Thread& thread : threads_) {
    if (thread.wait != Wait::barrier || thread.place != threads_[0].place) return false;
  }
  ++block_epoch_;
  for (Thread& thread : threads_) {
    thread.wait = Wait::nothing;
    released.push_back(thread.index);
  }
  return true;
}

void Block::release_warp(unsigned warp, std::vector<unsigned>& released) {
  const unsigned first = warp * warp_size;
  const Thread& leader = threads_[first];
  if (leader.wait != Wait::shuffle && leader.wait != Wait::ballot) return;
  for (unsigned i = first; i < first + warp_size; ++i) {
    if (threads_[i].wait != leader.wait || threads_[i].place != leader.place) return;
  }
  exchange(first);
  ++warp_epochs_[warp];
  for (unsigned i = first; i < first + warp_size; ++i) {
    threads_[i].wait = Wait::nothing;
    released.push_back(i);
  }
}

void Block::exchange(unsigned first) {
  unsigned long long votes = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (threads_[first + lane].value != 0) votes |= 1ull << lane;
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    Thread& thread = threads_[first + lane];
    thread.result = thread.wait == Wait::ballot ? votes : threads_[first + thread.lane].value;
  }
}

// ---- Words for a block in which nobody can go on

std::string Block::describe_wait(const Thread& thread) const {
  std::string words = fmt::format("thread {} {}", thread.index, name_of(thread.wait));
  if (thread.wait != Wait::exited && thread.line != 0) words += " (" + program_.describe_line(thread.line) + ")";
  return words;
}

std::string Block::describe_stuck() const {
  const auto waits_in_warp = [](const Thread& thread) {
    return thread.wait == Wait::shuffle || thread.wait == Wait::ballot;
  };
  // A warp's exchange that cannot happen is the cause; others may wait at a barrier only because of it.
  const auto stuck = std::find_if(threads_.begin(), threads_.end(), waits_in_warp);
  const bool in_warp = stuck != threads_.end();
  const unsigned first = in_warp ? stuck->index / warp_size * warp_size : 0;
  const unsigned last = in_warp ? std::min(first + warp_size, size_) : size_;
  if (in_warp && last - first < warp_size) {
    return fmt::format(
        "a shuffle or ballot in a warp of {} threads: {}, but all 32 lanes must take part; the block's size must be a "
        "multiple of 32",
        last - first, describe_wait(*stuck));
  }
  const auto waiting = in_warp ? stuck : std::find_if(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.wait != Wait::exited;
  });
  const auto other = std::find_if(threads_.begin() + first, threads_.begin() + last, [&](const Thread& thread) {
    return thread.wait != waiting->wait || thread.place != waiting->place;
  });
  return fmt::format("divergent {}: {}, but {}", in_warp ? "shuffle or ballot" : "barrier", describe_wait(*waiting),
                     other != threads_.begin() + last ? describe_wait(*other) : "others do not come");
}

}  // namespace croton::runtime::simulator
