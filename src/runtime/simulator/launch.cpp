#include "runtime/simulator/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <croton/error.hpp>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>

#include "base/memory.hpp"
#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/random_order.hpp"
#include "runtime/simulator/threads.hpp"

namespace croton::runtime::simulator {
namespace {

std::string text_of(const std::array<unsigned, 3>& sizes) {
  if (sizes[1] == 1 && sizes[2] == 1) return std::to_string(sizes[0]);
  return fmt::format("{} x {} x {}", sizes[0], sizes[1], sizes[2]);
}

bool fits(const std::array<unsigned, 3>& sizes, const std::array<unsigned, 3>& limits) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (sizes[axis] == 0 || sizes[axis] > limits[axis]) return false;
  }
  return true;
}

std::uint64_t product(const std::array<unsigned, 3>& sizes) { return std::uint64_t{sizes[0]} * sizes[1] * sizes[2]; }

// The size of the kernel's own variables, without the gaps between them in checked programs.
std::size_t variable_bytes(const Program& program) {
  std::size_t bytes = 0;
  for (const auto& variable : program.shared_variables()) bytes += variable.size;
  return bytes;
}

// `bytes`: of shared memory, variables and dynamic part.
std::size_t resident_blocks(const LaunchShape& shape, std::size_t bytes) {
  const Architecture& gpu = *shape.architecture;
  std::size_t blocks =
      std::min(gpu.blocks_per_multiprocessor, gpu.threads_per_multiprocessor / ((shape.thread_count() + 31) / 32 * 32));
  if (bytes > 0) blocks = std::min(blocks, gpu.shared_bytes_per_multiprocessor / (bytes + gpu.reserved_shared_bytes));
  return blocks * multiprocessors;
}

void check_shared_memory(const std::string& name, const LaunchShape& shape, std::size_t variables) {
  const Architecture& gpu = *shape.architecture;
  if (variables > Architecture::static_shared_bytes) {
    throw DeviceError(fmt::format(
        "kernel {} has {} bytes of variables in shared memory: a block has {}, more only as dynamic shared memory",
        name, variables, Architecture::static_shared_bytes));
  }
  if (const std::size_t most = gpu.shared_bytes_per_block();
      shape.dynamic_shared > most || variables + shape.dynamic_shared > most) {
    throw DeviceError(fmt::format("kernel {} needs {} + {} bytes of shared memory: a block of {} has {}", name,
                                  variables, shape.dynamic_shared, gpu.name, most));
  }
}

void check_shape(const std::string& name, const Program::Kernel& kernel, const LaunchShape& shape,
                 std::size_t variables) {
  using Limits = Architecture;
  if (!fits(shape.grid(), Limits::blocks) || !fits(shape.block(), Limits::threads) ||
      product(shape.block()) > Limits::threads_per_block || product(shape.grid()) > Limits::blocks[0]) {
    throw DeviceError(
        fmt::format("kernel {} cannot run as {} blocks of {} threads: a launch needs at least one block (at most {}, "
                    "{} and {} along x, y and z), and 1 to {} threads in it",
                    name, text_of(shape.grid()), text_of(shape.block()), Limits::blocks[0], Limits::blocks[1],
                    Limits::blocks[2], Limits::threads_per_block));
  }
  if (kernel.max_threads != 0 && shape.thread_count() > kernel.max_threads) {
    throw DeviceError(fmt::format("kernel {} cannot run in blocks of {} threads: its __launch_bounds__ allow {}", name,
                                  shape.thread_count(), kernel.max_threads));
  }
  if (kernel.parameter_bytes > Limits::parameter_bytes) {
    throw DeviceError(fmt::format("kernel {} has {} bytes of parameters: a launch has {}", name, kernel.parameter_bytes,
                                  Limits::parameter_bytes));
  }
  check_shared_memory(name, shape, variables);
  const std::size_t resident = resident_blocks(shape, variables + shape.dynamic_shared);
  if (shape.cooperative && shape.block_count() > resident) {
    throw DeviceError(
        fmt::format("kernel {} cannot run as {} blocks in a cooperative launch: {} of them run at the same time on {}",
                    name, shape.block_count(), resident, shape.architecture->name));
  }
}

constexpr std::size_t shared_alignment = 1024;

// The place of one block on the device: its shared memory, its checks, its threads.
class Slot {
 public:
  Slot(const Program& program, const Program::Kernel& kernel, const LaunchShape& shape, void** arguments,
       LaunchState* launch, std::shared_ptr<const Stacks> stacks, unsigned first_stack, std::uint64_t seed)
      // The gap at the end is for the checks: too large an index in the dynamic part is then reported as shared memory.
      : bytes_(program.shared_bytes() + shape.dynamic_shared + (program.is_checked() ? 64 : 0)),
        owner_(base::allocate_shared_memory(bytes_ + shared_alignment)),
        shared_(static_cast<std::byte*>(owner_.get())) {
    shared_ += -reinterpret_cast<std::uintptr_t>(shared_) % shared_alignment;
    if (launch != nullptr) {
      const Range range = {reinterpret_cast<std::uintptr_t>(shared_), bytes_};
      checker_.emplace(program, *launch, shape, range);
    }
    block_.emplace(program, kernel.entry, arguments, shape, shared_, checker_ ? &*checker_ : nullptr, std::move(stacks),
                   first_stack, seed);
  }

  void start(unsigned index) {
    // On a GPU, shared memory has values of an earlier block; nan shows best that a kernel uses them.
    std::memset(shared_, 0xff, bytes_);
    block_->start(index);
    state = Block::State::running;
  }
  Block& block() { return *block_; }
  AccessChecker* checker() { return checker_ ? &*checker_ : nullptr; }

  Block::State state = Block::State::running;

 private:
  std::size_t bytes_;
  std::shared_ptr<void> owner_;
  std::byte* shared_;
  std::optional<AccessChecker> checker_;
  std::optional<Block> block_;
};

/// How the blocks of an ordinary launch share the device, drawn from the seed.
struct Interleaving {
  unsigned resident = 1;  // blocks at the same time
  unsigned pauses = 1;    // most that a block makes before another one continues
  bool starves = false;   // one of the resident blocks continues only when no other one can
};

// The threads of all resident blocks of an ordinary launch: each has a stack, which costs memory and mappings.
constexpr unsigned most_resident_threads = 2048;

Interleaving draw(RandomOrder& order, const Program& program, const LaunchShape& shape, std::size_t resident) {
  const unsigned all = shape.block_count();
  const auto most = static_cast<unsigned>(std::min<std::size_t>(resident, all));
  const unsigned many = std::clamp(most_resident_threads / shape.thread_count(), 1u, most), few = std::min(many, 4u);
  Interleaving drawn;
  if (shape.cooperative) {
    drawn.resident = all;
  } else if (!program.spins()) {
    // Without atomics and volatile accesses a block can see nothing of another one but by a race, which the checks find
    // in any order.
    return drawn;
  } else if (const unsigned kind = order.below(4); kind > 0) {  // 0: one block after another
    drawn.resident = 1 + order.below(kind == 1 ? few : many);
  }
  drawn.pauses = 1u << order.below(6);
  drawn.starves = drawn.resident > 1 && order.below(3) == 0;
  return drawn;
}

// After so many rounds of the scheduler in which threads only read the same addresses, no thread will change them.
constexpr unsigned max_spins = 2000;

class Run {
 public:
  Run(std::string name, const LaunchShape& shape, LaunchState* state, RandomOrder& order, const Interleaving& drawn,
      std::vector<std::unique_ptr<Slot>>& slots)
      : name_(std::move(name)), shape_(shape), state_(state), order_(order), drawn_(drawn), slots_(slots) {}

  void to_end() {
    next_ = order_.numbers(shape_.block_count());
    std::ranges::reverse(next_);  // they are taken from the end
    for (auto& slot : slots_) begin_next(*slot);
    starved_ = drawn_.starves ? slots_[order_.below(slots_.size())].get() : nullptr;
    for (unsigned idle = 0; count(Block::State::finished) < slots_.size();) {
      idle = round() ? 0 : idle + 1;
      if (idle == max_spins) fail_spinning();
    }
  }

 private:
  /// Each block that may continue does so for a while. False if all of them only spin.
  bool round() {
    bool progress = false;
    for (const unsigned i : order_.numbers(static_cast<unsigned>(slots_.size()))) {
      if (slots_[i].get() != starved_) progress = advance(*slots_[i]) || progress;
    }
    if (!progress && starved_ != nullptr) progress = advance(*starved_);
    if (progress) return true;
    if (count(Block::State::at_grid_barrier) == slots_.size()) {
      leave_grid_barrier();
      return true;
    }
    if (count(Block::State::spinning) == 0) report_missing();
    return false;
  }

  /// Whether the block did anything but spin.
  bool advance(Slot& slot) {
    if (slot.state != Block::State::running && slot.state != Block::State::spinning) return false;
    const unsigned pauses = slots_.size() == 1 ? 0 : 1 + order_.below(drawn_.pauses);  // 0: without a limit
    slot.state = slot.block().advance(pauses);
    if (slot.state == Block::State::wrong) fail(slot.block(), slot.block().describe_fault());
    if (slot.state == Block::State::finished && !next_.empty()) begin_next(slot);
    return slot.state != Block::State::spinning;
  }

  void begin_next(Slot& slot) {
    slot.start(next_.back());
    next_.pop_back();
  }

  void leave_grid_barrier() {
    for (auto& slot : slots_) {
      slot->block().leave_grid_barrier();
      if (state_ != nullptr) state_->grid_barriers()[slot->block().index()] = slot->checker()->order().now();
      slot->state = Block::State::running;
    }
  }

  std::size_t count(Block::State state) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(slots_, [&](const auto& slot) { return slot->state == state; }));
  }
  Block& first_in(Block::State state) const {
    return (*std::ranges::find_if(slots_, [&](const auto& slot) { return slot->state == state; }))->block();
  }

  [[noreturn]] void fail(const Block& block, const std::string& what) const {
    throw DeviceError(fmt::format("simulated kernel {} stopped in block {}, {}", name_,
                                  simulator::name_of(shape_.grid(), block.index()), what));
  }

  [[noreturn]] void fail_spinning() const {
    const Block& block = first_in(Block::State::spinning);
    fail(block, block.describe_fault());
  }

  [[noreturn]] void report_missing() const {
    const Block& waiting = first_in(Block::State::at_grid_barrier);
    fail(waiting,
         fmt::format("divergent grid barrier: {}, but block {} has left the kernel", waiting.describe_first_wait(),
                     simulator::name_of(shape_.grid(), first_in(Block::State::finished).index())));
  }

  const std::string name_;
  const LaunchShape shape_;
  LaunchState* const state_;
  RandomOrder& order_;
  const Interleaving drawn_;
  std::vector<std::unique_ptr<Slot>>& slots_;
  std::vector<unsigned> next_;  // blocks that have not begun, the next one last
  Slot* starved_ = nullptr;
};

// Slots whose threads share regions of stacks.
std::vector<std::unique_ptr<Slot>> make_slots(unsigned count, const Program& program, const Program::Kernel& kernel,
                                              const LaunchShape& shape, void** arguments, LaunchState* state,
                                              std::uint64_t seed) {
  const unsigned needed = Block::stack_count(program, shape.thread_count());
  const unsigned in_region = needed == 0 ? count : std::min(count, Stacks::max_count / needed);
  std::vector<std::unique_ptr<Slot>> slots;
  std::shared_ptr<const Stacks> stacks;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned place = i % in_region;
    if (place == 0 && needed > 0) stacks = std::make_shared<const Stacks>(std::min(in_region, count - i) * needed);
    slots.push_back(std::make_unique<Slot>(program, kernel, shape, arguments, state, stacks, place * needed, seed + i));
  }
  return slots;
}

}  // namespace

std::size_t resident_blocks(const Program& program, const LaunchShape& shape) {
  return resident_blocks(shape, variable_bytes(program) + shape.dynamic_shared);
}

void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
            std::span<void* const> arguments, const std::vector<Allocation>& memory, std::uint64_t seed) {
  const Program::Kernel found = program.kernel(kernel);
  if (found.parameters != arguments.size()) {
    throw InternalError(
        fmt::format("kernel {} has {} parameters, launched with {}", kernel, found.parameters, arguments.size()));
  }
  check_shape(kernel, found, shape, variable_bytes(program));

  std::optional<LaunchState> state;
  if (program.is_checked()) state.emplace(program, memory, shape.block_count());
  LaunchState* checked = state ? &*state : nullptr;
  std::vector<void*> pointers(arguments.begin(), arguments.end());
  RandomOrder order(seed);
  const Interleaving drawn = draw(order, program, shape, resident_blocks(program, shape));
  auto slots = make_slots(drawn.resident, program, found, shape, pointers.data(), checked, seed);
  Run(kernel, shape, checked, order, drawn, slots).to_end();
}

}  // namespace croton::runtime::simulator
