#include "runtime/bound/segment.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "base/interrupt.hpp"
#include "base/shape.hpp"
#include "base/stage.hpp"
#include "runtime/bound/routine_launch.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/device.hpp"
#include "runtime/devices.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

// The maximal number of lines that a message about memory names.
constexpr std::size_t max_lines = 4;

}  // namespace

BoundSegment::BoundSegment(std::shared_ptr<const Executable> executable, fuse::SegmentId number,
                           const BoundSegment* before, std::span<const std::int64_t> fresh, const CallArrays& arrays,
                           const BindOptions& options, RunCounts& counts)
    : executable_(std::move(executable)), number_(number), inside_(options.inside), engine_(options.engine) {
  const base::NamedFunction named(options.name);
  const base::StageTimer timer(base::Stage::bind);
  const plan::Plan& plan = executable_->plan;
  if (before != nullptr) {
    sizes_ = before->sizes_;
    memory_ = before->memory_;
    const std::vector<plan::BufferId>& found = plan.segments[number.previous()].fresh;
    for (std::size_t i = 0; i < found.size(); ++i) sizes_.set(plan.buffers[found[i]].node, fresh[i]);
  }
  devices_.emplace_back(base::host_place, &host_device());
  const auto add_device = [&](expr::Place place) {
    using Used = std::pair<expr::Place, Device*>;
    if (std::ranges::find(devices_, place, &Used::first) == devices_.end())
      devices_.emplace_back(place, &device_at(place, options.gpus));
  };
  for (const plan::BufferId b : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.segment == number_) (buffer.in_place_of == plan::no_buffer ? own_ : in_place_).push_back(b);
    add_device(buffer.place);
  }
  add_device(executable_->program.graph.results);
  find_sizes(*executable_, arrays, number, sizes_);
  check_requirements(*executable_, arrays, number, sizes_);
  find_layouts(*executable_, arrays, number, sizes_, memory_);
  find_workspaces(*executable_, number, memory_);
  find_uploads();
  place_temporaries();
  base::check_interrupt();  // kernels may have to be compiled
  const plan::Segment& segment = plan.segments[number];
  const bool has_work = segment.first_launch < segment.end_launch;
  if (engine_ == Engine::compiled && has_work && !cpu::can_compile()) engine_ = Engine::reference;
  bind_launches(arrays, options, counts);
  if (!options.inside) lanes_ = find_lanes();
  base::show(base::Stage::bind, [&] { return print(); });
  base::show(base::Stage::emit, [&] { return texts(); });
}

BoundSegment::~BoundSegment() = default;

/// Prints a line for the temporaries of each device, and one for each launch.
std::string BoundSegment::print() const {
  std::string text;
  for (const auto& [place, temporaries] : temporaries_) {
    if (temporaries.bytes > 0)
      text += fmt::format("  {}: {} bytes of temporaries\n", base::DeviceName::of_place(place).to_string(),
                          temporaries.bytes);
  }
  for (const BoundLaunch& launch : launches_) {
    const codegen::Text* code = launch.impl->text();
    text += fmt::format("  launch {}: {}{}{}\n", launch.number, fuse::name_of(executable_->call_of(launch.number).work),
                        code != nullptr ? " " + code->name : "", launch.after_commit ? ", after the commit point" : "");
  }
  return text;
}

/// The generated texts, without the prelude.
std::string BoundSegment::texts() const {
  std::string all;
  for (const BoundLaunch& launch : launches_) {
    if (const codegen::Text* code = launch.impl->text()) all += code->code + "\n";
  }
  return all;
}

Device& BoundSegment::device_of(expr::Place place) const {
  for (const auto& [known, device] : devices_) {
    if (known == place) return *device;
  }
  throw InternalError(fmt::format("the plan does not use {}", base::DeviceName::of_place(place).to_string()));
}

std::size_t BoundSegment::bytes_of(plan::BufferId b) const {
  const Buffer& buffer = executable_->plan.buffers[b];
  const Sizes& shape = memory_.layouts[b].shape;
  if (buffer.role == Buffer::Role::workspace) return static_cast<std::size_t>(shape[0]);
  return base::byte_count(shape, executable_->program.graph.arena.type(buffer.node).dtype);
}

/// Finds the arguments that are copied to devices in advance. Their memory is separate from that of temporaries,
/// because the device may still use temporaries during the copy. Only the first segment has such arguments, because the
/// host waits for the device between segments.
void BoundSegment::find_uploads() {
  const auto& buffers = executable_->plan.buffers;
  temporary_offset_.assign(buffers.size(), 0);
  uploaded_.assign(buffers.size(), false);
  if (number_ != fuse::first_segment) return;
  for (const plan::Step& step : executable_->plan.steps) {
    if (!executable_->call_of(step).is<fuse::TransferCall>()) continue;
    const plan::BufferId b = step.writes[0];
    const Buffer &source = buffers[step.reads[0]], &target = buffers[b];
    if (source.role != Buffer::Role::argument || !base::is_host(source.place)) continue;
    if (target.role != Buffer::Role::temporary || target.in_place_of != plan::no_buffer ||
        target.segment != fuse::first_segment)
      continue;
    if (!device_of(target.place).facts().copies_ahead) continue;
    Temporaries& arguments = arguments_[target.place];
    uploaded_[b] = true;
    temporary_offset_[b] = static_cast<std::int64_t>(arguments.bytes);
    arguments.bytes += static_cast<std::size_t>(temporary_room(static_cast<std::int64_t>(bytes_of(b))));
    if (arguments.for_what.size() < max_lines)
      arguments.for_what.push_back(executable_->program.graph.arena.origin(target.node));
  }
}

/// Lays out temporaries by first fit: a temporary gets the lowest offset that is free from its first step to its last.
void BoundSegment::place_temporaries() {
  const auto& buffers = executable_->plan.buffers;
  const expr::Arena& arena = executable_->program.graph.arena;
  struct Placed {
    std::int64_t begin, end;
    plan::StepId last;
  };
  std::map<expr::Place, std::vector<Placed>> placed_on;
  std::map<expr::Place, std::int64_t> totals;
  std::vector<plan::BufferId> temporaries;
  for (const plan::BufferId b : buffers.ids()) {
    const Buffer& buffer = buffers[b];
    const bool is_temporary = buffer.role == Buffer::Role::temporary || buffer.role == Buffer::Role::workspace;
    if (is_temporary && buffer.in_place_of == plan::no_buffer && buffer.segment == number_ && !uploaded_[b])
      temporaries.push_back(b);
  }
  // Sorted by first step, so that temporaries whose lifetime has ended can be removed.
  std::ranges::stable_sort(temporaries, {}, [&](plan::BufferId b) { return buffers[b].first_step; });
  for (const plan::BufferId b : temporaries) {
    const Buffer& buffer = buffers[b];
    const auto bytes = static_cast<std::int64_t>(bytes_of(b));
    std::int64_t& total = totals[buffer.place];
    if (bytes > INT64_MAX / 2 - total)
      throw OutOfMemory(fmt::format("temporaries of {} bytes could not be allocated ({})", bytes,
                                    line_of(arena.origin(buffer.node))));
    const std::int64_t size = temporary_room(bytes);
    std::vector<Placed>& placed = placed_on[buffer.place];
    std::erase_if(placed, [&](const Placed& other) { return other.last < buffer.first_step; });
    std::ranges::sort(placed, {}, &Placed::begin);
    std::int64_t at = 0;
    for (const Placed& other : placed) {
      if (other.begin - at >= size) break;
      at = std::max(at, other.end);
    }
    placed.push_back({at, at + size, buffer.last_step});
    temporary_offset_[b] = at;
    total = std::max(total, at + size);
    std::vector<expr::Origin>& origins = temporaries_[buffer.place].for_what;
    if (origins.size() < max_lines) origins.push_back(arena.origin(buffer.node));
  }
  for (const auto& [place, total] : totals) temporaries_[place].bytes = static_cast<std::size_t>(total);
}

}  // namespace croton::runtime
