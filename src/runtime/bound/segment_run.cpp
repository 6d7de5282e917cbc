// What a call does with a bound segment: buffers get their addresses, launches run, and everything that may fail does
// so before a shared variable changes.
#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/config.hpp"
#include "base/interrupt.hpp"
#include "base/shape.hpp"
#include "runtime/bound/segment.hpp"
#include "runtime/bound/trace.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/device.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

// Segments are kept for so many different sets of numbers; more come from data, which need not repeat itself.
constexpr std::size_t kept_segments = 64;

char* address_of(const Array& array) { return static_cast<char*>(array.address()); }

std::int64_t read_integer(const char* address, DType dtype) {
  return Array::view_of(const_cast<char*>(address), dtype, {}, {}).astype(DType::int64).item<std::int64_t>();
}

}  // namespace

/// Null where nobody records this segment's launches as events of their own.
const TracedCall* BoundSegment::traced() const { return inside_ ? nullptr : TracedCall::current(); }

TracedWork BoundSegment::sent(const Buffer& to, std::size_t bytes) const {
  return {.executable = executable_,
          .node = to.node,
          .kind = LaunchKind::transfer,
          .lane = {to.place, true},
          .bytes = bytes};
}

/// The constant's copy on this device, sent when it is first asked for.
void BoundSegment::send_constant(plan::BufferId b, RunCounts& counts) {
  const Buffer& buffer = executable_->plan.buffers[b];
  Device& to = device_of(buffer.place);
  DeviceConstants& constants = *executable_->device_constants;
  const std::lock_guard lock(constants.mutex);  // copies of a function share them
  const auto key = std::pair<std::size_t, base::DeviceMemory*>(buffer.number, &to);
  auto found = constants.arrays.find(key);
  if (found == constants.arrays.end()) {
    const Array& value = executable_->program.graph.constants[buffer.number];
    TracedCall::record(
        traced(), [&] { found = constants.arrays.emplace(key, copy_to(to, host_device(), value)).first; },
        [&] { return sent(buffer, value.bytes()); });
    counts.add({buffer.node, 0, buffer.place, Transferred::Kind::constant, value.bytes()});
  }
  memory_.base[b] = address_of(found->second);
}

/// The value, which must lie where the plan takes it to be: names of devices mean others when flags change.
const Array& BoundSegment::at_home(const Array& value, const Device& home, NodeId node) const {
  if (home.has(value)) return value;
  throw DeviceError(
      fmt::format("{} lies on another {} than the one that the flags now name: it was put there while mode, "
                  "cuda_simulator, cuda_driver or logical_devices had other values. Give them back those values, or "
                  "move it: x.set_value(x.get_value())",
                  lines_of(executable_->program.graph.arena.origin(node)), value.device()));
}

/// The shared variable's copy on this device: sent if the value has changed since it was last here.
void BoundSegment::send_copy(plan::BufferId b, CallArrays& arrays, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const Buffer& buffer = plan.buffers[b];
  const std::size_t number = plan.buffers[buffer.copy_of].number;
  const Array& value = *arrays.shared[number];
  SharedCopies& copies = *arrays.copies[number];
  const std::lock_guard lock(copies.mutex);  // another call may read the variable at the same time
  Device& to = device_of(buffer.place);
  SharedCopies::Copy& copy = copies.by_device[&to];
  if (copy.version != arrays.versions[number] + 1) {  // 0: never sent
    Array fresh = Array::empty_on(to, value.dtype(), value.shape());
    Device& from = device_of(plan.buffers[buffer.copy_of].place);
    TracedCall::record(
        traced(),
        [&] { copy_between(to, fresh.address(), from, at_home(value, from, buffer.node).address(), value.bytes()); },
        [&] { return sent(buffer, value.bytes()); });
    copy = {std::move(fresh), arrays.versions[number] + 1};
    counts.add(
        {buffer.node, plan.buffers[buffer.copy_of].place, buffer.place, Transferred::Kind::shared, value.bytes()});
  }
  arrays.held.push_back(copy.array);
  memory_.base[b] = address_of(copy.array);
}

namespace {

/// Whether a result need not be allocated: its place is given (ShapeError where it does not fit) or left from an
/// earlier call. Those that are kept are on the host, of functions that never leave it.
bool has_place(const CallArrays& arrays, const Array& place, DType dtype, std::span<const std::int64_t> shape) {
  if (arrays.given_outputs && place.address() != nullptr) {
    check_place(place, shape);
    return true;
  }
  return arrays.kept_outputs && place.dtype() == dtype && std::ranges::equal(place.shape(), shape) &&
         place.owner().use_count() == 1;  // nobody took it
}

}  // namespace

void BoundSegment::start(CallArrays& arrays, Workspace& workspace, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  for (auto& [place, block] : temporaries_) {
    block.address = with_lines(
        block.for_what, [&, place = place] { return workspace.block(device_of(place), number_.index(), block.bytes); });
  }
  for (auto& [place, block] : arguments_) {
    with_lines(block.for_what, [&, place = place] {
      Uploads& uploads = workspace.uploads(device_of(place));
      block.address = uploads.begin(block.bytes);
      uploads_[place] = &uploads;
    });
  }
  for (const plan::BufferId b : own_) {
    const Buffer& buffer = plan.buffers[b];
    const std::size_t number = buffer.number;
    const auto dtype = [&] { return graph.arena.type(buffer.node).dtype; };
    char*& base = memory_.base[b];
    const auto device = [&]() -> Device& { return device_of(buffer.place); };
    switch (buffer.role) {
      case Buffer::Role::argument:
        base = address_of(*arrays.arguments[number]);
        break;
      case Buffer::Role::shared:
        base = address_of(at_home(*arrays.shared[number], device(), buffer.node));
        break;
      case Buffer::Role::constant:
        if (device().is_host())
          base = address_of(graph.constants[number]);
        else
          with_lines(graph.arena.origin(buffer.node), [&] { send_constant(b, counts); });
        break;
      case Buffer::Role::resident:
        with_lines(graph.arena.origin(buffer.node), [&] { send_copy(b, arrays, counts); });
        break;
      case Buffer::Role::temporary:
      case Buffer::Role::workspace:
        base = (uploaded_[b] ? arguments_ : temporaries_).at(buffer.place).address + temporary_offset_[b];
        break;
      case Buffer::Role::output:
        if (!has_place(arrays, arrays.outputs[number], dtype(), memory_.layouts[b].shape))
          arrays.outputs[number] = with_lines(graph.arena.origin(buffer.node), [&] {
            return Array::empty_on(device(), dtype(), memory_.layouts[b].shape);
          });
        base = address_of(arrays.outputs[number]);
        break;
      case Buffer::Role::update:
        arrays.updates[number] = with_lines(graph.arena.origin(buffer.node), [&] {
          return Array::empty_on(device(), dtype(), memory_.layouts[b].shape);
        });
        base = address_of(arrays.updates[number]);
        break;
    }
  }
  for (const plan::BufferId b : in_place_) {
    const Buffer& buffer = plan.buffers[b];
    memory_.base[b] = memory_.base[buffer.in_place_of];
    const Buffer& home = plan.buffers[buffer.in_place_of];
    if (buffer.role == Buffer::Role::update) arrays.updates[buffer.number] = *arrays.shared[home.number];
  }
}

void BoundSegment::run(RunCounts& counts) {
  host_results_.clear();
  const TracedCall* traced = this->traced();
  Undo undo;
  bool overwritten = false;
  try {
    if (uses_lanes())
      run_lanes(counts, traced, undo, overwritten);
    else
      run_in_order(counts, traced, undo, overwritten);
    host_results_.clear();
  } catch (...) {
    undo.put_back();
    if (overwritten && undo.empty()) give_up();
    throw;
  }
}

bool BoundSegment::uses_lanes() const {
  if (!lanes_) return false;
  const base::DeviceThreads wanted = base::config().device_threads;
  return wanted == base::DeviceThreads::on || (wanted == base::DeviceThreads::automatic && lanes_->pays);
}

void BoundSegment::run_in_order(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten) {
  failure_[0] = 0;
  for (BoundLaunch& launch : launches_) {
    if (launch.after_commit && fails_late_ && undo.empty()) keep_updates(undo);
    run(launch, {counts, failure_, traced});
    overwritten = overwritten || launch.after_commit;
  }
}

void BoundSegment::run_lanes(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten) {
  SegmentLanes& lanes = *lanes_;
  for (RunCounts& of_launch : lanes.counts) of_launch = {};
  for (auto& failure : lanes.failures) failure[0] = 0;
  std::atomic<bool> some_overwritten{false};
  std::atomic<std::size_t> first_failed{launches_.size()};
  // What a run in order would have counted: launches after one that failed are not.
  const auto add_counts = [&] {
    for (std::size_t l = 0; l < std::min(launches_.size(), first_failed.load() + 1); ++l) counts.add(lanes.counts[l]);
    overwritten = some_overwritten;
  };
  const auto work = [&](std::size_t piece) {
    if (piece == lanes.commit) {
      if (fails_late_ && piece < launches_.size()) keep_updates(undo);
      return;
    }
    const std::size_t l = lanes.launch_of(piece);
    const std::size_t lane = lanes.lanes.pieces()[piece].lane;
    try {
      run(launches_[l], {lanes.counts[l], lanes.failures[lane].data(), traced});
    } catch (...) {
      for (std::size_t first = first_failed; l < first && !first_failed.compare_exchange_weak(first, l);) {
      }
      throw;
    }
    if (launches_[l].after_commit) some_overwritten = true;
  };
  try {
    lanes.lanes.run(work);
  } catch (...) {
    add_counts();
    throw;
  }
  add_counts();
}

void BoundSegment::give_up() const noexcept {
  for (const auto& [place, device] : devices_)
    device->lose("a call failed when it had overwritten some of its shared variables, and not all");
}

void BoundSegment::run(BoundLaunch& launch, const InLane& in) {
  std::optional<base::Uninterrupted> commits;  // from here on the call comes to its end
  if (launch.after_commit)
    commits.emplace();
  else
    base::check_interrupt();
  const auto work = [&] { launch.what->run({memory_, in.counts, in.failure, host_results_, uploads_, executable_}); };
  if (in.traced == nullptr) return work();
  TracedCall::record(in.traced, work, [&] {
    return TracedWork{.executable = executable_,
                      .launch = launch.number,
                      .kind = launch.what->kind(),
                      .lane = lane_of(launch),
                      .bytes = launch.what->bytes()};
  });
}

/// The values that are about to be overwritten.
void BoundSegment::keep_updates(Undo& undo) const {
  const auto& buffers = executable_->plan.buffers;
  for (const plan::BufferId b : in_place_) {
    const Buffer& buffer = buffers[b];
    if (buffer.role != Buffer::Role::update) continue;
    const DType dtype = executable_->program.graph.arena.type(buffer.node).dtype;
    undo.keep(device_of(buffer.place), memory_.base[b], base::byte_count(memory_.layouts[b].shape, dtype));
  }
}

std::vector<std::int64_t> BoundSegment::read_fresh() const {
  const plan::Plan& plan = executable_->plan;
  std::vector<std::int64_t> values;
  for (const plan::BufferId b : plan.segments[number_].fresh) {
    const DType dtype = executable_->program.graph.arena.type(plan.buffers[b].node).dtype;
    std::uint64_t bits = 0;  // of one integer, in whichever memory
    const plan::Buffer& buffer = plan.buffers[b];
    with_lines(executable_->program.graph.arena.origin(buffer.node),
               [&] { device_of(buffer.place).copy_out(&bits, memory_.base[b], size_of(dtype)); });
    values.push_back(read_integer(reinterpret_cast<const char*>(&bits), dtype));
  }
  return values;
}

BoundSegment& BoundSegment::next(std::vector<std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                                 RunCounts& counts) {
  const auto at = next_.find(fresh);
  if (at != next_.end()) {
    at->second->memory_.base = memory_.base;  // of the present call; what comes after sets its own
    return *at->second;
  }
  auto bound = std::make_unique<BoundSegment>(executable_, number_.next(), this, fresh, arrays, options, counts);
  if (next_.size() >= kept_segments) next_.clear();
  return *next_.emplace(std::move(fresh), std::move(bound)).first->second;
}

bool BoundSegment::is_brief() const {
  constexpr std::size_t few_bytes = 1 << 16;
  const bool simple = std::ranges::all_of(launches_, [](const BoundLaunch& launch) { return launch.what->is_brief(); });
  if (!simple || launches_.size() > 4 || lanes_) return false;
  std::size_t bytes = 0;
  const plan::Plan& plan = executable_->plan;
  for (const plan::BufferId b : plan.buffers.ids()) {
    if (plan.buffers[b].place != 0) return false;
    bytes += bytes_of(b);
  }
  return bytes <= few_bytes;
}

/// Programs take the batches of a data set by number, x[i * n:(i + 1) * n], and each number would be a plan with memory
/// of its own, though all that differs is where kernels and loops begin to read.
bool BoundSegment::renumber(const CallArrays& arrays) {
  std::optional<SizeTable> sizes = renumbered_sizes(*executable_, arrays, sizes_);
  if (!sizes) return false;
  std::vector<Launch::Renumbering> changes;
  for (const BoundLaunch& launch : launches_) {
    auto change = launch.what->renumbered(sizes_, *sizes, memory_);
    if (!change) return false;
    if (*change) changes.push_back(*std::move(change));
  }
  for (const Launch::Renumbering& change : changes) change();
  sizes_ = *std::move(sizes);
  return true;
}

}  // namespace croton::runtime
