// The run of a bound segment in a call: buffers get their addresses and launches run. Everything that can fail comes
// before the first change of a shared variable.
#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "base/interrupt.hpp"
#include "base/shape.hpp"
#include "runtime/bound/failures.hpp"
#include "runtime/bound/segment.hpp"
#include "runtime/bound/trace.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/device.hpp"
#include "runtime/cpu/threads/threads.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

// The maximal number of next segments that are kept, one for each set of fresh sizes. Sets depend on data and
// may never repeat.
constexpr std::size_t max_next_segments = 64;

char* address_of(const Array& array) { return static_cast<char*>(array.address()); }

std::int64_t read_integer(const char* address, DType dtype) {
  return Array::view_of(const_cast<char*>(address), dtype, {}, {}).astype(DType::int64).item<std::int64_t>();
}

}  // namespace

/// Null if the launches of this segment are not recorded as separate events.
const TracedCall* BoundSegment::traced() const { return inside_ ? nullptr : TracedCall::current(); }

TracedWork BoundSegment::transfer_work(const Buffer& to, std::size_t bytes) const {
  return {.executable = executable_, .node = to.node, .lane = {to.place, true}, .bytes = bytes};
}

/// Sets the address of the constant's copy on this device, which is sent at the first use.
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
        [&] { return transfer_work(buffer, value.bytes()); });
    counts.add({executable_, buffer.node, base::host_place, buffer.place, Transferred::Kind::constant, value.bytes()});
  }
  memory_.base[b] = address_of(found->second);
}

/// The value, after a check that it is on the device that the plan assumes: flags can change the meaning
/// of device names.
const Array& BoundSegment::require_home(const Array& value, const Device& home, NodeId node) const {
  if (home.has(value)) return value;
  throw DeviceError(fmt::format(
      "{} is on another {} than the one that the flags now name: it was stored there while mode, cuda_simulator, "
      "cuda_simulator_architecture, cuda_driver or logical_devices had other values. Restore those values, or move it: "
      "x.set_value(x.get_value())",
      lines_of(executable_->program.graph.arena.origin(node)), value.device()));
}

/// Sets the address of the shared variable's copy on this device, which is sent if the value has changed since
/// the last copy.
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
        [&] {
          copy_between(to, fresh.address(), from, require_home(value, from, buffer.node).address(), value.bytes());
        },
        [&] { return transfer_work(buffer, value.bytes()); });
    copy = {std::move(fresh), arrays.versions[number] + 1};
    counts.add({executable_, buffer.node, plan.buffers[buffer.copy_of].place, buffer.place, Transferred::Kind::shared,
                value.bytes()});
  }
  arrays.held.push_back(copy.array);
  memory_.base[b] = address_of(copy.array);
}

namespace {

/// Whether a result needs no allocation, because its memory is given (ShapeError if it has another shape) or reused
/// from an earlier call. Only functions that run entirely on the host reuse results.
bool has_place(const CallArrays& arrays, const Array& place, DType dtype, std::span<const std::int64_t> shape) {
  if (arrays.given_outputs && place.address() != nullptr) {
    check_place(place, shape);
    return true;
  }
  return arrays.reuse_outputs && place.dtype() == dtype && std::ranges::equal(place.shape(), shape) &&
         place.owner().use_count() == 1;  // the caller has released it
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
        base = address_of(require_home(*arrays.shared[number], device(), buffer.node));
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
    if (checks_unread_) {  // an earlier run ended before that
      for (const auto& words : check_words_) words->clear();
      checks_unread_ = false;
    }
    for (Launch* launch : with_table_) launch->prepare(memory_);
    if (uses_lanes())
      run_lanes(counts, traced, undo, overwritten);
    else
      run_in_order(counts, traced, undo, overwritten);
    host_results_.clear();
  } catch (...) {
    undo.restore();
    if (overwritten && undo.empty()) mark_devices_lost();
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
    if (launch.after_commit || launch.impl->needs_checked_values()) read_checks();
    if (launch.after_commit && may_fail_after_commit_ && undo.empty()) save_updates(undo);
    checks_unread_ = checks_unread_ || launch.impl->has_check_words();
    try {
      run(launch, {counts, failure_, traced, true});
    } catch (const CheckFailure&) {
      // On the host, perhaps because of a value that an earlier check on a device has refused.
      read_checks();
      throw;
    } catch (const GuardFailure&) {
      read_checks();
      throw;
    }
    overwritten = overwritten || launch.after_commit;
  }
  read_checks();
}

/// Reports the checks of the launches so far that failed, the first one of them.
void BoundSegment::read_checks() {
  if (!checks_unread_) return;
  bool failed = false;
  for (const auto& words : check_words_) failed = words->read() || failed;
  checks_unread_ = false;
  if (!failed) return;
  for (const BoundLaunch& launch : launches_) {
    if (launch.impl->has_check_words()) launch.impl->report_checks(executable_);
  }
}

void BoundSegment::run_lanes(RunCounts& counts, const TracedCall* traced, Undo& undo, bool& overwritten) {
  SegmentLanes& lanes = *lanes_;
  for (RunCounts& of_launch : lanes.counts) of_launch = {};
  for (auto& failure : lanes.failures) failure[0] = 0;
  std::atomic<bool> some_overwritten{false};
  std::atomic<std::size_t> first_failed{launches_.size()};
  // Launches after a failed one are not counted.
  const auto add_counts = [&] {
    for (std::size_t l = 0; l < std::min(launches_.size(), first_failed.load() + 1); ++l) counts.add(lanes.counts[l]);
    overwritten = some_overwritten;
  };
  const auto work = [&](std::size_t piece) {
    if (piece == lanes.commit) {
      if (may_fail_after_commit_ && piece < launches_.size()) save_updates(undo);
      return;
    }
    const std::size_t l = lanes.launch_of(piece);
    const std::size_t lane = lanes.lanes.pieces()[piece].lane;
    try {
      run(launches_[l], {lanes.counts[l], lanes.failures[lane].data(), traced, false});
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
    checks_unread_ = !check_words_.empty();
    throw;
  }
  add_counts();
}

void BoundSegment::mark_devices_lost() const noexcept {
  for (const auto& [place, device] : devices_)
    device->lose("a call failed after it had overwritten some, but not all, of its shared variables");
}

namespace {

/// Counts the parts of a launch's kernels that other threads were offered and did, while it lives.
class CountParts {
 public:
  explicit CountParts(RunCounts& counts) : counts_(counts) {}
  ~CountParts() {
    const auto now = cpu::ThreadPool::parts_of_thread();
    counts_.offered_parts += now.offered - before_.offered;
    counts_.worker_parts += now.by_workers - before_.by_workers;
  }
  CountParts(const CountParts&) = delete;
  CountParts& operator=(const CountParts&) = delete;

 private:
  RunCounts& counts_;
  const cpu::ThreadPool::Parts before_ = cpu::ThreadPool::parts_of_thread();
};

}  // namespace

void BoundSegment::run(BoundLaunch& launch, const LaneContext& in) {
  std::optional<CountParts> parts;  // the launch of a loop counts those of its steps
  if (!inside_) parts.emplace(in.counts);
  std::optional<base::Uninterrupted> commits;  // after the commit point the call is not interrupted
  if (launch.after_commit)
    commits.emplace();
  else
    base::check_interrupt();
  const auto work = [&] {
    launch.impl->run({memory_, in.counts, in.failure, host_results_, uploads_, executable_, in.defers_checks});
  };
  if (in.traced == nullptr) return work();
  TracedCall::record(in.traced, work, [&] {
    return TracedWork{
        .executable = executable_, .launch = launch.number, .lane = lane_of(launch), .bytes = launch.impl->bytes()};
  });
}

/// Saves the values that are overwritten after the commit point.
void BoundSegment::save_updates(Undo& undo) const {
  const auto& buffers = executable_->plan.buffers;
  for (const plan::BufferId b : in_place_) {
    const Buffer& buffer = buffers[b];
    if (buffer.role != Buffer::Role::update) continue;
    const DType dtype = executable_->program.graph.arena.type(buffer.node).dtype;
    undo.save(device_of(buffer.place), memory_.base[b], base::byte_count(memory_.layouts[b].shape, dtype));
  }
}

std::vector<std::int64_t> BoundSegment::read_fresh() const {
  const plan::Plan& plan = executable_->plan;
  std::vector<std::int64_t> values;
  for (const plan::BufferId b : plan.segments[number_].fresh) {
    const DType dtype = executable_->program.graph.arena.type(plan.buffers[b].node).dtype;
    std::uint64_t bits = 0;  // the bytes of one integer
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
    at->second->memory_.base = memory_.base;  // of the present call; buffers of later segments are set by their start
    last_next_ = at->second.get();
    return *at->second;
  }
  auto bound = std::make_unique<BoundSegment>(executable_, number_.next(), this, fresh, arrays, options, counts);
  if (next_.size() >= max_next_segments) {
    last_next_ = nullptr;
    next_.clear();
  }
  BoundSegment& next = *next_.emplace(std::move(fresh), std::move(bound)).first->second;
  last_next_ = &next;
  return next;
}

void BoundSegment::add_schedules(std::vector<KernelSchedule>& schedules) const {
  for (const BoundLaunch& launch : launches_) launch.impl->add_schedules(schedules);
  if (last_next_ != nullptr) last_next_->add_schedules(schedules);
}

bool BoundSegment::is_tiny() const {
  constexpr std::size_t few_bytes = 1 << 16;
  const bool simple = std::ranges::all_of(launches_, [](const BoundLaunch& launch) { return launch.impl->is_tiny(); });
  if (!simple || launches_.size() > 4 || lanes_) return false;
  std::size_t bytes = 0;
  const plan::Plan& plan = executable_->plan;
  for (const plan::BufferId b : plan.buffers.ids()) {
    if (!base::is_host(plan.buffers[b].place)) return false;
    bytes += bytes_of(b);
  }
  return bytes <= few_bytes;
}

/// Programs read the batches of a data set by number, x[i * n:(i + 1) * n]. Without renumbering, each number would need
/// a separate plan with its own memory, although only the positions at which kernels and loops read differ.
bool BoundSegment::renumber(const CallArrays& arrays) {
  std::optional<SizeTable> sizes = renumbered_sizes(*executable_, arrays, sizes_);
  if (!sizes) return false;
  std::vector<Launch::Renumbering> changes;
  for (const BoundLaunch& launch : launches_) {
    auto change = launch.impl->renumbered(sizes_, *sizes, memory_);
    if (!change) return false;
    if (*change) changes.push_back(*std::move(change));
  }
  for (const Launch::Renumbering& change : changes) change();
  sizes_ = *std::move(sizes);
  return true;
}

}  // namespace croton::runtime
