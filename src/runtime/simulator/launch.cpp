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

std::size_t resident_blocks(const LaunchShape& shape, std::size_t shared_bytes) {
  std::size_t blocks = std::min(Limits::blocks_per_multiprocessor,
                                Limits::threads_per_multiprocessor / ((shape.thread_count() + 31) / 32 * 32));
  if (shared_bytes > 0) blocks = std::min(blocks, Limits::shared_bytes_per_block / shared_bytes);
  return blocks * Limits::multiprocessors;
}

void check_shape(const std::string& name, const Program::Kernel& kernel, const LaunchShape& shape,
                 std::size_t variables) {
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
  if (shape.dynamic_shared > Limits::shared_bytes_per_block ||
      variables + shape.dynamic_shared > Limits::shared_bytes_per_block) {
    throw DeviceError(fmt::format("kernel {} needs {} + {} bytes of shared memory: a block has {}", name, variables,
                                  shape.dynamic_shared, Limits::shared_bytes_per_block));
  }
  const std::size_t resident = resident_blocks(shape, variables + shape.dynamic_shared);
  if (shape.cooperative && shape.block_count() > resident) {
    throw DeviceError(
        fmt::format("kernel {} cannot run as {} blocks in a cooperative launch: {} of them run at the same time", name,
                    shape.block_count(), resident));
  }
}

// The place of one block on the device: its shared memory, its checks, its threads.
class Slot {
 public:
  Slot(const Program& program, const Program::Kernel& kernel, const LaunchShape& shape, void** arguments,
       LaunchState* state, std::uint64_t seed)
      // The gap at the end is for the checks: too large an index in the dynamic part is then reported as shared memory.
      : bytes_(program.shared_bytes() + shape.dynamic_shared + (program.is_checked() ? 64 : 0)),
        owner_(base::allocate_shared_memory(bytes_ + Limits::shared_alignment)),
        shared_(static_cast<std::byte*>(owner_.get())) {
    shared_ += -reinterpret_cast<std::uintptr_t>(shared_) % Limits::shared_alignment;
    if (state != nullptr) {
      const Range range = {reinterpret_cast<std::uintptr_t>(shared_), bytes_};
      checker_.emplace(program, *state, shape.thread_count(), range, shape.dynamic_shared);
    }
    block_.emplace(program, kernel.entry, arguments, shape, shared_, checker_ ? &*checker_ : nullptr, seed);
  }

  Block& start(unsigned index) {
    // On a GPU, shared memory has values of an earlier block; nan shows best that a kernel uses them.
    std::memset(shared_, 0xff, bytes_);
    block_->start(index);
    return *block_;
  }
  AccessChecker* checker() { return checker_ ? &*checker_ : nullptr; }

 private:
  std::size_t bytes_;
  std::shared_ptr<void> owner_;
  std::byte* shared_;
  std::optional<AccessChecker> checker_;
  std::optional<Block> block_;
};

// After so many rounds of the scheduler in which threads only read the same addresses, no thread will change them.
constexpr unsigned max_spins = 2000;

class Run {
 public:
  Run(std::string name, const LaunchShape& shape) : name_(std::move(name)), shape_(shape) {}

  void one_by_one(Slot& slot, RandomOrder order) {
    for (const unsigned index : order.numbers(shape_.block_count())) {
      Block& block = slot.start(index);
      Block::State state = block.advance();
      for (unsigned rounds = 0; state == Block::State::spinning && rounds < max_spins; ++rounds)
        state = block.advance();
      if (state != Block::State::finished) fail(block, block.describe_fault());
    }
  }

  void all_at_once(std::vector<std::unique_ptr<Slot>>& slots, std::vector<Time>* grid_barriers, RandomOrder order) {
    std::vector<Block*> blocks;
    for (const unsigned index : order.numbers(shape_.block_count())) blocks.push_back(&slots[index]->start(index));
    std::vector<Block::State> states(blocks.size(), Block::State::running);
    for (unsigned rounds = 0; rounds < max_spins;) {
      bool only_spins = true;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (states[i] != Block::State::running && states[i] != Block::State::spinning) continue;
        states[i] = blocks[i]->advance();
        if (states[i] == Block::State::wrong) fail(*blocks[i], blocks[i]->describe_fault());
        if (states[i] != Block::State::spinning) only_spins = false;
      }
      const auto are = [&](Block::State state) { return std::ranges::count(states, state); };
      if (are(Block::State::finished) == std::ssize(blocks)) return;
      if (are(Block::State::at_grid_barrier) == std::ssize(blocks)) {
        for (std::size_t i = 0; i < blocks.size(); ++i) {
          blocks[i]->leave_grid_barrier();
          if (grid_barriers != nullptr)
            (*grid_barriers)[blocks[i]->index()] = slots[blocks[i]->index()]->checker()->order().now();
          states[i] = Block::State::running;
        }
        rounds = 0;
        continue;
      }
      if (are(Block::State::spinning) == 0) report_missing(blocks, states);
      rounds = only_spins ? rounds + 1 : 0;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (states[i] == Block::State::spinning) fail(*blocks[i], blocks[i]->describe_fault());
    }
  }

 private:
  [[noreturn]] void fail(const Block& block, const std::string& what) const {
    throw DeviceError(fmt::format("simulated kernel {} stopped in block {}, {}", name_,
                                  simulator::name_of(shape_.grid(), block.index()), what));
  }

  [[noreturn]] void report_missing(const std::vector<Block*>& blocks, const std::vector<Block::State>& states) const {
    std::size_t waiting = 0, gone = 0;
    for (std::size_t i = 0; i < states.size(); ++i) (states[i] == Block::State::at_grid_barrier ? waiting : gone) = i;
    fail(*blocks[waiting],
         fmt::format("divergent grid barrier: {}, but block {} has left the kernel",
                     blocks[waiting]->describe_first_wait(), simulator::name_of(shape_.grid(), blocks[gone]->index())));
  }

  std::string name_;
  LaunchShape shape_;
};

}  // namespace

std::size_t resident_blocks(unsigned threads) { return resident_blocks(LaunchShape{.threads = threads}, 0); }

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
  const RandomOrder order(seed);
  Run run(kernel, shape);
  if (!shape.cooperative) {
    Slot slot(program, found, shape, pointers.data(), checked, seed);
    run.one_by_one(slot, order);
    return;
  }
  std::vector<std::unique_ptr<Slot>> slots;
  for (unsigned index = 0; index < shape.block_count(); ++index)
    slots.push_back(std::make_unique<Slot>(program, found, shape, pointers.data(), checked, seed + index));
  run.all_at_once(slots, checked != nullptr ? &checked->grid_barriers() : nullptr, order);
}

}  // namespace croton::runtime::simulator
