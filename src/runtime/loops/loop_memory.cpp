#include "runtime/loops/loop_memory.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/device_memory.hpp"
#include "base/shape.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "expr/evaluate.hpp"
#include "runtime/bound/memory.hpp"
#include "runtime/bound/user_line.hpp"

namespace croton::runtime {

using codegen::Motion;
using expr::Loop;
using plan::Buffer;

namespace {

// Packing a right matrix into panels pays if a thread multiplies it with at least this many rows in all
// steps together (cpu/product.hpp).
constexpr std::int64_t min_rows_for_panels = 64;
// Two words, in separate cache lines.
constexpr std::size_t grid_barrier_bytes = 2 * ct::grid_barrier_stride;
// Per part: three words, as in ct::Failure, and one for the alignment.
constexpr std::size_t bytes_of_failure = 16;

std::size_t bytes_of(const LoopLayout& layout, plan::BufferId buffer) {
  return base::byte_count(layout.memory.layouts[buffer].shape, layout.dtype_of(buffer));
}

/// The size of the panels of a product's right matrix (cpu/product.hpp) for all shares; 0 if it has no panels.
std::int64_t panel_bytes(const LoopLayout& layout, const StepPart& part) {
  if (part.kernel || !layout.on_host()) return 0;
  const LoopShares& shares = layout.shares;
  const BufferMotion& right = layout.motions[part.buffers[1]];
  const std::int64_t rows = shares.rows > 1 ? shares.share_rows : part.sizes.m;
  if (right.written || right.kind != Motion::rows ||
      layout.steps < min_rows_for_panels / std::max<std::int64_t>(rows, 1))
    return 0;
  return shares.shares *
         temporary_room(part.sizes.k * part.sizes.n * base::element_size(layout.dtype_of_product(part)));
}

std::int64_t split_bytes(const StepPart& part) {
  return part.split_blocks() * static_cast<std::int64_t>(codegen::split_state_bytes(*part.analysis()));
}

}  // namespace

LoopMemory::LoopMemory(const LoopLayout& layout) : layout_(layout), base_(layout.body->plan.buffers.size()) {
  place_temporaries();
  if (temporary_bytes_ > 0) temporaries_ = layout.device.allocate(static_cast<std::size_t>(temporary_bytes_));
  if (layout.loop->until) done_ = layout.device.allocate(sizeof(std::int64_t));
  if (layout.is_grid()) grid_barrier_ = layout.device.allocate(grid_barrier_bytes);
  if (std::ranges::any_of(layout.parts, &StepPart::checks)) failures_ = layout.device.allocate(failure_bytes());
  for (const Array& constant : layout.body->program.graph.constants)
    constants_.push_back(base::moved_to(layout.device, constant));
}

std::int64_t LoopMemory::place(std::int64_t bytes) {
  const std::int64_t at = temporary_bytes_;
  temporary_bytes_ += temporary_room(bytes);
  return at;
}

/// Places the results that a step needs in its later parts. Shares do not wait for each other, so results do not share
/// memory, except those that are computed in place, row by row.
void LoopMemory::place_temporaries() {
  const auto& buffers = layout_.body->plan.buffers;
  temporary_offset_.assign(buffers.size(), -1);
  for (const plan::BufferId b : buffers.ids()) {
    const bool unused = buffers[b].role == Buffer::Role::output && layout_.motions[b].kind == Motion::rows;
    if ((buffers[b].role != Buffer::Role::temporary && !unused) || buffers[b].in_place_of != plan::no_buffer) continue;
    temporary_offset_[b] = place(static_cast<std::int64_t>(bytes_of(layout_, b)));
  }
  for (const StepPart& part : layout_.parts) {
    const std::int64_t panels = panel_bytes(layout_, part);
    workspace_.push_back(part.is_split() ? place(split_bytes(part)) : panels > 0 ? place(panels) : -1);
  }
}

/// The address of a buffer that is no temporary.
char* LoopMemory::address_of(const Buffer& buffer, const LoopPlaces& places) const {
  const Loop& loop = *layout_.loop;
  const std::size_t number = buffer.number;
  const auto first_step = [&](const Rows& rows) {
    return rows.at(loop.reverse ? std::max<std::int64_t>(0, layout_.steps - 1) : 0);
  };
  const auto row_of = [&](std::size_t j, std::int64_t offset) {
    return places.slots[j] == 0 ? places.states[j].at(offset) : places.states[j].base;
  };
  if (buffer.role == Buffer::Role::constant) return static_cast<char*>(constants_[number].address());
  if (buffer.role == Buffer::Role::output) {
    return number < loop.states() ? row_of(number, loop.rows[number])
                                  : first_step(*places.stacked[number - loop.states()]);
  }
  if (buffer.role != Buffer::Role::argument) return nullptr;
  if (number < loop.sequences) return first_step(places.sequences[number]);
  if (number >= loop.captured(0)) return places.captures[number - loop.captured(0)];
  const Loop::Tap& tap = loop.taps[number - loop.sequences];
  return row_of(tap.state, tap.offset);
}

void LoopMemory::find_addresses(const LoopPlaces& places) {
  const auto& buffers = layout_.body->plan.buffers;
  for (const plan::BufferId b : buffers.ids())
    base_[b] = temporary_offset_[b] >= 0 ? temporary(temporary_offset_[b]) : address_of(buffers[b], places);
  for (const plan::BufferId b : buffers.ids()) {
    if (buffers[b].in_place_of != plan::no_buffer) base_[b] = base_[buffers[b].in_place_of];
  }
}

void* LoopMemory::failure(std::size_t part) const {
  return static_cast<char*>(failures_.get()) + bytes_of_failure * part;
}

std::size_t LoopMemory::failure_bytes() const { return layout_.parts.size() * bytes_of_failure; }

void LoopMemory::add_operands(std::vector<Operand>& operands) const {
  const auto& buffers = layout_.body->plan.buffers;
  for (const plan::BufferId b : buffers.ids()) {
    const Buffer& buffer = buffers[b];
    const bool captured = buffer.role == Buffer::Role::argument && buffer.number >= layout_.loop->captured(0);
    if (captured || buffer.role == Buffer::Role::constant)
      operands.push_back({base_[b], bytes_of(layout_, b), true, false});
  }
  if (temporary_bytes_ > 0)
    operands.push_back({temporaries_.get(), static_cast<std::size_t>(temporary_bytes_), false, true});
  if (done_) operands.push_back({done_.get(), sizeof(std::int64_t), false, true});
  if (failures_) operands.push_back({failures_.get(), failure_bytes(), true, true});
  if (grid_barrier_) operands.push_back({grid_barrier_.get(), grid_barrier_bytes, true, true});
}

void LoopMemory::clear() const {
  const auto set_zero = [&](const std::shared_ptr<void>& memory, std::size_t bytes) {
    if (!memory) return;
    const std::vector<char> none(bytes);
    layout_.device.copy_in(memory.get(), none.data(), bytes);
  };
  set_zero(failures_, failure_bytes());
  set_zero(grid_barrier_, grid_barrier_bytes);
}

void LoopMemory::throw_on_failure() const {
  if (!failures_) return;
  std::vector<std::uint32_t> words(failure_bytes() / sizeof(std::uint32_t));
  layout_.device.copy_out(words.data(), failures_.get(), failure_bytes());
  for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
    const std::uint32_t* failure = words.data() + i * bytes_of_failure / sizeof(std::uint32_t);  // as ct::Failure
    if (failure[0] == 0) continue;
    const BoundKernel& kernel = *layout_.parts[i].kernel;
    const auto& checks = kernel.call->kernel->checks;
    const auto value = static_cast<std::int64_t>(failure[1] | (std::uint64_t{failure[2]} << 32));
    const std::string message = failure[0] <= checks.size()
                                    ? expr::fill_message(checks[failure[0] - 1].message, value, kernel.extents)
                                    : "a check failed";
    throw IndexError(fmt::format("{} ({}), in a step of a loop", message, lines_of(kernel.call->origins)));
  }
}

std::int64_t LoopMemory::steps_done(std::int64_t requested) const {
  if (!done_) return requested;
  if (layout_.on_host()) return *static_cast<const std::int64_t*>(done_.get());
  std::int64_t done = 0;
  layout_.device.copy_out(&done, done_.get(), sizeof done);
  return done;
}

bool LoopMemory::condition_holds() const {
  if (!done_) return false;
  return Array::view_of(static_cast<const void*>(condition()), layout_.dtype_of(layout_.condition_buffer()), {})
             .as_double(0) != 0;
}

}  // namespace croton::runtime
