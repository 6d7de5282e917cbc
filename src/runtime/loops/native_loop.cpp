#include "runtime/loops/native_loop.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/cpu/device.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "runtime/devices.hpp"
#include "runtime/loops/loop_parts.hpp"
#include "runtime/loops/loop_text.hpp"

namespace croton::runtime {

using expr::Loop;
using expr::LoopResult;

namespace {

// The fixed cost of a part of a step, in elements.
constexpr std::int64_t cost_of_part = 16;

/// The layout's text, compiled if a GPU runs it. Then also finds the number of blocks of a cooperative launch.
codegen::Text prepared_text(LoopLayout& layout, RunCounts& counts) {
  codegen::Text text = emit_text(layout, layout.device.target());
  dump_text([&](codegen::Target language) { return emit_text(layout, language); }, layout.device.architecture());
  if (!layout.on_host()) count_prepared(layout.device.prepare(text, layout.shares.schedule.threads), counts);
  if (layout.is_grid()) find_grid_blocks(layout, text);
  return text;
}

/// The places of a loop that is shown without a call. They have no sizes, only the facts whether states and results
/// have a row for each step.
LoopPlaces shown_places(const fuse::LoopCall& call) {
  const auto wanted = [&](LoopResult what, std::size_t index) {
    return std::ranges::any_of(call.results, [&](const auto& r) { return r.kind == what && r.index == index; });
  };
  LoopPlaces shapes;
  shapes.sequences.resize(call.loop.sequences);
  shapes.states.resize(call.loop.states());
  for (std::size_t j = 0; j < call.loop.states(); ++j)
    shapes.slots.push_back(wanted(LoopResult::history, j) ? 0 : call.loop.rows[j] + 1);
  for (std::size_t k = 0; k < call.loop.stacked; ++k)
    shapes.stacked.push_back(wanted(LoopResult::stacked, k) ? std::optional<Rows>(Rows{}) : std::nullopt);
  return shapes;
}

}  // namespace

LoopPieces& loop_pieces() {
  static LoopPieces pieces;
  return pieces;
}

NativeLoop::NativeLoop(LoopLayout layout, RunCounts& counts)
    : layout_(std::move(layout)),
      memory_(layout_),
      text_(prepared_text(layout_, counts)),
      parameters_(layout_, memory_, text_),
      table_(layout_.device, text_) {}

std::unique_ptr<NativeLoop> NativeLoop::bind(std::shared_ptr<const Executable> body, const Loop& loop,
                                             const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                                             std::int64_t steps, Device& device, std::string_view schedule,
                                             RunCounts& counts, std::string& why) {
  LoopLayout layout(std::move(body), loop, steps, device);
  if (!find_sizes_of_body(layout, shapes, captures, why)) return nullptr;
  find_motions(layout, shapes);
  if (!find_parts(layout, why)) return nullptr;
  find_barriers(layout);
  if (!find_shares(layout, schedule, why)) return nullptr;
  std::unique_ptr<NativeLoop> made(new NativeLoop(std::move(layout), counts));
  if (made->layout_.shares.blocks != 0) return made;
  why = "its blocks cannot run at the same time";
  return nullptr;
}

codegen::Text NativeLoop::show(std::shared_ptr<const Executable> body, const fuse::LoopCall& call,
                               codegen::Target target) {
  LoopLayout layout(std::move(body), call.loop, 1, host_device());
  layout.shown = true;
  find_motions(layout, shown_places(call));
  show_parts(layout);
  find_barriers(layout);
  show_shares(layout);
  return emit_text(layout, target);
}

/// Runs `count` steps from step `first` on, by the threads of the host.
void NativeLoop::run_piece(std::int64_t first, std::int64_t count) {
  parameters_.set_steps(first, count);
  cpu::ThreadPool::instance().parallel_for(
      layout_.shares.shares, 1,
      [](void* context, std::int64_t begin, std::int64_t end) {
        NativeLoop& self = *static_cast<NativeLoop*>(context);
        self.entry_.run(self.parameters_.values().data(), begin, end);
      },
      this);
  memory_.throw_on_failure();
}

/// Runs the steps in pieces, between which the call can be interrupted.
std::int64_t NativeLoop::run_on_host() {
  const LoopPieces limits = loop_pieces();
  const std::int64_t work = work_of_step(layout_) + cost_of_part * static_cast<std::int64_t>(layout_.parts.size());
  std::int64_t done = 0;
  run_in_pieces(layout_.steps, limits.elements / work, limits.seconds, [&](std::int64_t first, std::int64_t count) {
    run_piece(first, count);
    done = first + memory_.steps_done(count);
    return !memory_.condition_holds();
  });
  return done;
}

std::int64_t NativeLoop::run(const LoopPlaces& places) {
  if (layout_.steps == 0) return 0;
  const cuda::NvtxRange range(text_.name);
  memory_.find_addresses(places);
  memory_.clear();
  if (on_host()) return run_on_host();
  parameters_.set_steps(0, layout_.steps);
  launch(places);
  memory_.throw_on_failure();
  return memory_.steps_done(layout_.steps);
}

void NativeLoop::launch(const LoopPlaces& places) {
  const Loop& loop = *layout_.loop;
  operands_ = places.read;
  const auto add_rows = [&](const Rows& rows, std::int64_t count, bool read) {
    operands_.push_back({rows.base, static_cast<std::size_t>(rows.bytes * count), read, true});
  };
  for (std::size_t j = 0; j < loop.states(); ++j)
    add_rows(places.states[j], places.slots[j] > 0 ? places.slots[j] : loop.rows[j] + layout_.steps, true);
  for (const auto& stacked : places.stacked) {
    if (stacked) add_rows(*stacked, layout_.steps, false);
  }
  memory_.add_operands(operands_);
  table_.upload(parameters_.values());
  const std::span<std::uint64_t> parameters = table_.to_launch(parameters_.values(), operands_);
  layout_.device.launch({.text = &text_,
                         .parameters = parameters,
                         .items = layout_.shares.shares,
                         .blocks = layout_.shares.blocks,
                         .threads = layout_.shares.schedule.threads,
                         .cooperative = layout_.is_grid(),
                         .operands = operands_});
}

}  // namespace croton::runtime
