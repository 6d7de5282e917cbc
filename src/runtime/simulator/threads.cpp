#include "runtime/simulator/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/simulator/report.hpp"

namespace croton::runtime::simulator {
namespace {

constexpr unsigned warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;
// A thread that reads the same address so often in a row waits for another thread, and lets the others continue.
constexpr std::uint64_t spins_in_a_row = 64;

// The steps of an iteration of a loop, an access and a wait; LaunchShape::max_steps is a few seconds of each.
constexpr std::uint64_t turn_steps = 1, access_steps = 8, wait_steps = 128;

thread_local Block* current_block = nullptr;

bool is_in_warp(Wait wait) { return wait == Wait::shuffle || wait == Wait::ballot || wait == Wait::warp; }

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
    case Wait::warp:
      return "waits in a __syncwarp";
    case Wait::grid:
      return "waits at a grid barrier";
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

Block::Block(const Program& program, Program::Entry entry, void** arguments, const LaunchShape& shape,
             std::byte* shared_memory, AccessChecker* checker, std::shared_ptr<const Stacks> stacks,
             unsigned first_stack, std::uint64_t seed)
    : program_(program),
      entry_(entry),
      arguments_(arguments),
      shape_(shape),
      size_(shape.thread_count()),
      shared_memory_(shared_memory),
      checker_(checker),
      order_(seed),
      threads_(size_),
      stacks_(std::move(stacks)) {
  for (unsigned i = 0; i < size_; ++i) threads_[i].index = i;
  if (stacks_ == nullptr) return;
  for (unsigned i = 0; i < size_; ++i) {
    const unsigned number = first_stack + (is_loop() ? 0 : i);
    threads_[i].stack = {reinterpret_cast<std::uintptr_t>(stacks_->bottom(number)), stacks_->usable(number)};
  }
}

// Threads that never wait run in a loop; a checked thread may stop in the middle, so that loop is a fiber.
unsigned Block::stack_count(const Program& program, unsigned threads) {
  if (!is_loop(program)) return threads;
  return program.is_checked() ? 1 : 0;
}

unsigned Block::axis(unsigned which) const {
  switch (which / 3) {
    case 0:
      return coordinates(shape_.block(), running_->index)[which % 3];
    case 1:
      return coordinates_[which % 3];
    case 2:
      return shape_.block()[which % 3];
    default:
      return shape_.grid()[which % 3];
  }
}

// ---- Scheduling

void Block::start(unsigned index) {
  index_ = index;
  coordinates_ = coordinates(shape_.grid(), index);
  finding_.reset();
  if (checker_ != nullptr) checker_->start(index);
  if (stacks_ != nullptr) start_threads();
}

void Block::start_threads() {
  const auto bottom_of = [](const Thread& thread) { return reinterpret_cast<std::byte*>(thread.stack.begin); };
  spinning_.clear();
  if (is_loop()) {
    ready_ = {0};
    Thread& first = threads_[0];
    first.wait = Wait::nothing;
    first.fiber.prepare<&Block::run_all>(bottom_of(first), first.stack.size, *this);
    return;
  }
  for (Thread& thread : threads_) {
    thread.wait = Wait::nothing;
    thread.spin_address = 0;
    thread.spins = 0;
    thread.steps = 0;
    thread.fiber.prepare<&Block::run_thread>(bottom_of(thread), thread.stack.size, thread);
  }
  ready_ = order_.numbers(size_);
}

Block::State Block::advance(unsigned pauses) {
  const Scope scope(this);
  if (stacks_ == nullptr) {
    run_as_loop();
    return State::finished;
  }
  while (!ready_.empty()) {
    run_ready();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (finding_) return State::wrong;
    const bool only_spins = spinning_.size() == ready_.size();
    release();
    if (finding_) return State::wrong;
    if (only_spins && spinning_.size() == ready_.size()) return State::spinning;
    order_.shuffle(ready_);
    if (--pauses == 0 && !ready_.empty()) return State::running;
  }
  if (is_loop() || all_wait_for(Wait::exited)) return State::finished;
  return all_wait_for(Wait::grid) ? State::at_grid_barrier : State::wrong;
}

bool Block::all_wait_for(Wait wait) const {
  return std::all_of(threads_.begin(), threads_.end(), [&](const Thread& thread) {
    return thread.wait == wait && (wait == Wait::exited || thread.site == threads_[0].site);
  });
}

void Block::run_as_loop() {
  const unsigned first = order_.below(size_);
  for (unsigned i = 0; i < size_; ++i) {
    running_ = &threads_[(first + i) % size_];
    running_->steps = 0;
    entry_(arguments_);
  }
}

void Block::run_all(Block& block) {
  block.run_as_loop();
  Fiber::end_in(block.threads_[0].fiber, block.scheduler_);
}

void Block::run_thread(Thread& thread) {
  Block& block = *current_block;
  block.entry_(block.arguments_);
  thread.wait = Wait::exited;
  Fiber::end_in(thread.fiber, block.scheduler_);
}

void Block::run_ready() {
  spinning_.clear();
  for (const unsigned index : ready_) {
    running_ = &threads_[index];
    Fiber::switch_to(scheduler_, running_->fiber);
    if (stopped()) return;
  }
}

void Block::pause() { Fiber::switch_to(is_loop() ? threads_[0].fiber : running_->fiber, scheduler_); }

// ---- Called by threads

unsigned Block::wait_for_block(const void* site, unsigned condition) {
  running_->steps += wait_steps;
  running_->wait = Wait::barrier;
  running_->site = site;
  running_->value = condition;
  pause();
  return static_cast<unsigned>(running_->result);
}

void Block::wait_for_grid(const void* site) {
  if (!shape_.cooperative) stop(Finding::Kind::grid_barrier);
  running_->wait = Wait::grid;
  running_->site = site;
  pause();
}

unsigned long long Block::wait_for_warp(Wait wait, const void* site, unsigned long long value, unsigned lane,
                                        unsigned mask) {
  Thread& thread = *running_;
  if ((mask >> thread.index % warp_size & 1u) == 0) stop(Finding::Kind::outside_own_mask, mask);
  if (wait == Wait::shuffle && (mask >> lane & 1u) == 0) stop(Finding::Kind::shuffle_from_outside, lane);
  thread.steps += wait_steps;
  thread.wait = wait;
  thread.site = site;
  thread.value = value;
  thread.lane = lane;
  thread.mask = mask;
  pause();
  return thread.result;
}

void Block::fence() {
  if (checker_ != nullptr) checker_->order().fence(running_->index);
}

void Block::check_access(const Access& access) {
  running_->steps += access_steps;
  running_->place = access.place;
  spin(access);  // first: the access follows its check at once
  try {
    finding_ = checker_->check({running_->index, running_->stack}, access);
  } catch (...) {  // no memory to record accesses; no exception may pass through the code of a kernel
    failure_ = std::current_exception();
  }
  if (stopped()) pause();  // and never continue: the access does not happen
}

void Block::turn(unsigned place) {
  running_->steps += turn_steps;
  if (running_->steps < shape_.max_steps) return;
  running_->place = place;
  stop(Finding::Kind::endless);
}

void Block::spin(const Access& access) {
  if (is_loop()) return;
  Thread& thread = *running_;
  if (!access.is_atomic() && !access.is_volatile()) {
    thread.spin_address = 0;
    return;
  }
  if (thread.spin_address != access.address) {
    thread.spin_address = access.address;
    thread.spins = 0;
  }
  if (++thread.spins % spins_in_a_row != 0) return;
  spinning_.push_back(thread.index);
  // Waiting is no work: it lasts as long as the other threads do theirs, and if none does any more, that is found.
  thread.steps -= std::min(thread.steps, spins_in_a_row * (access_steps + turn_steps));
  thread.place = access.place;
  pause();
}

void Block::check_local(const Access& access, std::uintptr_t object, std::size_t size) {
  if (Range{object, size}.holds(access.address, access.size)) return;
  finding_ =
      Finding{.kind = Finding::Kind::local_out_of_bounds, .access = access, .thread = running_->index, .number = size};
  pause();
}

void Block::check_call(const void* function, unsigned type, unsigned place) {
  const Program::Function* found = program_.function(function);
  if (found == nullptr) stop_at(Finding::Kind::function, place);
  if (found->type != type) stop_at(Finding::Kind::function_type, place);
}

void Block::check_frame(std::size_t bytes, std::uintptr_t now, unsigned place) {
  running_->place = place;
  const Range& stack = is_loop() ? threads_[0].stack : running_->stack;
  // For spilled registers, and for the checks themselves.
  constexpr std::size_t reserve = 16 * 1024;
  if (now - stack.begin < bytes + reserve) stop_at(Finding::Kind::stack, place, bytes);
}

void Block::stop_at(Finding::Kind kind, unsigned place, std::size_t number) {
  running_->place = place;
  stop(kind, number);
}

void Block::stop(Finding::Kind kind, std::size_t number) {
  finding_ = Finding{.kind = kind, .access = {.place = running_->place}, .thread = running_->index, .number = number};
  pause();
}

// ---- Release of waiting threads, in the scheduler

void Block::release() {
  ready_ = spinning_;
  if (is_loop() || release_barrier()) return;
  for (unsigned warp = 0; warp * warp_size < size_; ++warp) release_warp(warp);
}

bool Block::release_barrier() {
  if (!all_wait_for(Wait::barrier)) return false;
  if (checker_ != nullptr) checker_->order().barrier();
  unsigned long long count = 0;
  for (const Thread& thread : threads_) count += thread.value != 0 ? 1u : 0u;
  for (Thread& thread : threads_) {
    thread.wait = Wait::nothing;
    thread.result = count;
    ready_.push_back(thread.index);
  }
  return true;
}

void Block::leave_grid_barrier() {
  if (checker_ != nullptr) checker_->order().barrier();
  for (Thread& thread : threads_) thread.wait = Wait::nothing;
  ready_ = order_.numbers(size_);
}

// Lanes of one warp may be in several exchanges at once, each among the lanes that its mask names.
void Block::release_warp(unsigned warp) {
  const unsigned first = warp * warp_size, last = std::min(first + warp_size, size_);
  for (unsigned i = first; i < last; ++i) {
    const Thread& leader = threads_[i];
    if (!is_in_warp(leader.wait)) continue;
    if (is_complete(first, leader)) exchange(first, leader.mask, leader.wait);
    if (leader.mask == all_lanes) return;
  }
}

bool Block::is_complete(unsigned first, const Thread& leader) const {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((leader.mask >> lane & 1u) == 0) continue;
    if (first + lane >= size_) return false;
    const Thread& thread = threads_[first + lane];
    if (thread.wait != leader.wait || thread.mask != leader.mask) return false;
    // Lanes may use different __syncwarp of the text together, but only one shuffle or vote.
    if (leader.wait != Wait::warp && thread.site != leader.site) return false;
  }
  return true;
}

void Block::exchange(unsigned first, unsigned mask, Wait what) {
  if (checker_ != nullptr) {
    checker_->order().exchange(first, mask,
                               what == Wait::warp ? BlockOrder::Exchange::barrier : BlockOrder::Exchange::values);
  }
  unsigned long long votes = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) != 0 && threads_[first + lane].value != 0) votes |= 1ull << lane;
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    Thread& thread = threads_[first + lane];
    thread.result = thread.wait == Wait::shuffle ? threads_[first + thread.lane].value : votes;
    thread.wait = Wait::nothing;
    ready_.push_back(thread.index);
  }
}

// ---- Descriptions of faults

std::string Block::describe_wait(const Thread& thread) const {
  std::string words =
      fmt::format("thread {} {}", simulator::name_of(shape_.block(), thread.index), name_of(thread.wait));
  if (thread.wait != Wait::exited && thread.place != 0) words += " (" + program_.describe_place(thread.place) + ")";
  return words;
}

std::string Block::describe_running() const {
  if (running_ == nullptr) return "before its first thread";
  return fmt::format("block {}, thread {}, at or after {}", simulator::name_of(shape_.grid(), index_),
                     simulator::name_of(shape_.block(), running_->index), program_.describe_place(running_->place));
}

std::string Block::describe_fault() const {
  if (finding_) {
    return fmt::format("thread {}: {}", simulator::name_of(shape_.block(), finding_->thread),
                       describe(*finding_, program_, checker_, index_, shape_));
  }
  if (!spinning_.empty()) {
    const Thread& thread = threads_[spinning_.front()];
    return fmt::format(
        "thread {}: spins for ever at address {:#x}, {}; the value that it waits for is not written{}",
        simulator::name_of(shape_.block(), thread.index), thread.spin_address, program_.describe_place(thread.place),
        shape_.cooperative ? "" : " (blocks need not run at the same time unless the launch is cooperative)");
  }
  return describe_stuck();
}

std::string Block::describe_stuck() const {
  // A warp's exchange that cannot happen is the cause; others may wait at a barrier only because of it.
  const auto in_warp =
      std::find_if(threads_.begin(), threads_.end(), [](const Thread& thread) { return is_in_warp(thread.wait); });
  if (in_warp != threads_.end()) return describe_stuck_warp(*in_warp);
  const auto waiting =
      std::find_if(threads_.begin(), threads_.end(), [](const Thread& thread) { return thread.wait != Wait::exited; });
  const auto other = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& thread) {
    return thread.wait != waiting->wait || thread.site != waiting->site;
  });
  return fmt::format("divergent {}: {}, but {}", waiting->wait == Wait::grid ? "grid barrier" : "barrier",
                     describe_wait(*waiting), other != threads_.end() ? describe_wait(*other) : "others do not arrive");
}

std::string Block::describe_stuck_warp(const Thread& waiting) const {
  const unsigned first = waiting.index / warp_size * warp_size, last = std::min(first + warp_size, size_);
  if (last - first < warp_size && waiting.mask >> (last - first) != 0) {
    return fmt::format(
        "a shuffle or ballot in a warp of {} threads: {}, but the lanes of its mask {:#010x} must all take part; the "
        "block's size must be a multiple of 32",
        last - first, describe_wait(waiting), waiting.mask);
  }
  for (unsigned i = first; i < last; ++i) {
    const Thread& other = threads_[i];
    if ((waiting.mask >> (i - first) & 1u) == 0) continue;
    if (other.wait == waiting.wait && other.mask != waiting.mask) {
      return fmt::format("divergent shuffle or ballot: {} with mask {:#010x}, but {} with mask {:#010x}",
                         describe_wait(waiting), waiting.mask, describe_wait(other), other.mask);
    }
    if (other.wait != waiting.wait || other.site != waiting.site) {
      return fmt::format("divergent shuffle or ballot: {}, but {}", describe_wait(waiting), describe_wait(other));
    }
  }
  return fmt::format("divergent shuffle or ballot: {}, but others do not arrive", describe_wait(waiting));
}

}  // namespace croton::runtime::simulator
