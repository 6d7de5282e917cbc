// What a call does with a bound plan: buffers get their addresses, launches run, and everything that may fail does so
// before a shared variable changes.
#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "base/config.hpp"
#include "base/interrupt.hpp"
#include "base/memory.hpp"
#include "base/shape.hpp"
#include "expr/evaluate.hpp"
#include "fuse/guard.hpp"
#include "runtime/bind.hpp"
#include "runtime/branch.hpp"
#include "runtime/guard_failure.hpp"
#include "runtime/loop.hpp"
#include "runtime/sizes.hpp"
#include "runtime/trace.hpp"
#include "runtime/user_line.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

/// A kernel met a position that is outside; whoever knows what the call was given makes an error of it.
struct CheckFailure {
  std::string message;
};

// Segments are kept for so many different sets of numbers; more come from data, which need not repeat itself.
constexpr std::size_t kept_segments = 64;

char* address_of(const Array& array) { return static_cast<char*>(array.address()); }

Array empty_array(Device* device, DType dtype, const Sizes& shape) {
  return device != nullptr ? Array::empty_on(*device, dtype, shape) : Array::empty(dtype, shape);
}

/// A copy in the memory of `to`; null is the host.
Array copied_to(Device* to, Device* from, const Array& value) {
  const Array whole = from == nullptr ? value.contiguous() : value;
  Array result = empty_array(to, value.dtype(), value.shape());
  copy_between(to, address_of(result), from, address_of(whole), value.bytes());
  return result;
}

std::int64_t read_integer(const char* address, DType dtype) {
  return Array::view_of(const_cast<char*>(address), dtype, {}, {}).astype(DType::int64).item<std::int64_t>();
}

}  // namespace

void Undo::keep(Device* device, char* address, std::size_t bytes) {
  if (bytes == 0) return;
  Kept value{device, address, bytes, base::allocate_shared_memory(bytes)};
  copy_between(nullptr, value.copy.get(), device, address, bytes);
  kept_.push_back(std::move(value));
}

void Undo::put_back() noexcept {
  for (const Kept& value : kept_) {
    try {
      copy_between(value.device, value.address, nullptr, value.copy.get(), value.bytes);
    } catch (const Error& error) {
      value.device->lose(error.what());
    }
  }
}

char* Workspace::block(Device* device, std::size_t segment, std::size_t bytes) {
  if (blocks_.size() <= segment) blocks_.resize(segment + 1);
  Block& block = blocks_[segment][device];
  if (block.bytes < bytes) {
    block = {};  // what is in it is of no use: give it back before the larger one is asked for
    block = {device != nullptr ? device->allocate(bytes) : base::allocate_shared_memory(bytes), bytes};
  }
  return static_cast<char*>(block.memory.get());
}

Uploads& Workspace::uploads(Device& device) {
  std::unique_ptr<Uploads>& found = uploads_[&device];
  if (!found) found = device.make_uploads();
  return *found;
}

bool Workspace::save_memory() {
  bool saved = false;
  for (const auto& [device, uploads] : uploads_) saved = (uploads && uploads->save_memory()) || saved;
  return saved;
}

/// Null where nobody records this segment's launches as events of their own.
const TracedCall* BoundSegment::traced() const { return inside_ ? nullptr : TracedCall::current(); }

TracedWork BoundSegment::sent(const Buffer& to, std::size_t bytes) const {
  return {.executable = executable_,
          .node = to.node,
          .kind = TraceKind::transfer,
          .lane = {to.place, true},
          .bytes = bytes};
}

/// The constant's copy on this device, sent when it is first asked for.
void BoundSegment::send_constant(std::size_t b, RunCounts& counts) {
  const Buffer& buffer = executable_->plan.buffers[b];
  Device* to = device_of(buffer.place);
  DeviceConstants& constants = *executable_->device_constants;
  const std::lock_guard lock(constants.mutex);  // copies of a function share them
  const auto key = std::pair<int, base::DeviceMemory*>(buffer.number, to);
  auto found = constants.arrays.find(key);
  if (found == constants.arrays.end()) {
    const Array& value = executable_->program.graph.constants[static_cast<std::size_t>(buffer.number)];
    TracedCall::record(
        traced(), [&] { found = constants.arrays.emplace(key, copied_to(to, nullptr, value)).first; },
        [&] { return sent(buffer, value.bytes()); });
    counts.add({buffer.node, 0, buffer.place, Transferred::Kind::constant, value.bytes()});
  }
  memory_.base[b] = address_of(found->second);
}

/// The value, which must lie where the plan takes it to be: names of devices mean others when flags change.
const Array& BoundSegment::at_home(const Array& value, const Device* home, NodeId node) const {
  if (value.device_memory() == home) return value;
  throw DeviceError(
      fmt::format("{} lies on another {} than the one that the flags now name: it was put there while mode, "
                  "cuda_simulator, cuda_driver or logical_devices had other values. Give them back those values, or "
                  "move it: x.set_value(x.get_value())",
                  lines_of(executable_->program.graph.arena.origin(node)), value.device()));
}

/// The shared variable's copy on this device: sent if the value has changed since it was last here.
void BoundSegment::send_copy(std::size_t b, CallArrays& arrays, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const Buffer& buffer = plan.buffers[b];
  const auto number = static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(buffer.number)].number);
  const Array& value = *arrays.shared[number];
  SharedCopies& copies = *arrays.copies[number];
  const std::lock_guard lock(copies.mutex);  // another call may read the variable at the same time
  Device* to = device_of(buffer.place);
  SharedCopies::Copy& copy = copies.by_device[to];
  if (copy.version != arrays.versions[number] + 1) {  // 0: never sent
    Array fresh = empty_array(to, value.dtype(), value.shape());
    Device* from = device_of(plan.buffers[static_cast<std::size_t>(buffer.number)].place);
    TracedCall::record(
        traced(),
        [&] {
          copy_between(to, address_of(fresh), from, address_of(at_home(value, from, buffer.node)), value.bytes());
        },
        [&] { return sent(buffer, value.bytes()); });
    copy = {std::move(fresh), arrays.versions[number] + 1};
    counts.add({buffer.node, plan.buffers[static_cast<std::size_t>(buffer.number)].place, buffer.place,
                Transferred::Kind::shared, value.bytes()});
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
    block.address = with_lines(block.for_what, [&, place = place] {
      return workspace.block(device_of(place), static_cast<std::size_t>(number_), block.bytes);
    });
  }
  for (auto& [place, block] : arguments_) {
    with_lines(block.for_what, [&, place = place] {
      Uploads& uploads = workspace.uploads(*device_of(place));
      block.address = uploads.begin(block.bytes);
      uploads_[place] = &uploads;
    });
  }
  for (const std::size_t b : own_) {
    const Buffer& buffer = plan.buffers[b];
    const auto number = static_cast<std::size_t>(buffer.number);
    const auto dtype = [&] { return graph.arena.type(buffer.node).dtype; };
    char*& base = memory_.base[b];
    Device* device = device_of(buffer.place);
    switch (buffer.role) {
      case Buffer::Role::argument:
        base = address_of(*arrays.arguments[number]);
        break;
      case Buffer::Role::shared:
        base = address_of(at_home(*arrays.shared[number], device, buffer.node));
        break;
      case Buffer::Role::constant:
        if (device == nullptr)
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
          arrays.outputs[number] = with_lines(graph.arena.origin(buffer.node),
                                              [&] { return empty_array(device, dtype(), memory_.layouts[b].shape); });
        base = address_of(arrays.outputs[number]);
        break;
      case Buffer::Role::update:
        arrays.updates[number] = with_lines(graph.arena.origin(buffer.node),
                                            [&] { return empty_array(device, dtype(), memory_.layouts[b].shape); });
        base = address_of(arrays.updates[number]);
        break;
    }
  }
  for (const std::size_t b : in_place_) {
    const Buffer& buffer = plan.buffers[b];
    memory_.base[b] = memory_.base[static_cast<std::size_t>(buffer.in_place_of)];
    const Buffer& home = plan.buffers[static_cast<std::size_t>(buffer.in_place_of)];
    if (buffer.role == Buffer::Role::update)
      arrays.updates[static_cast<std::size_t>(buffer.number)] = *arrays.shared[static_cast<std::size_t>(home.number)];
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
  // What a run in order would have counted: launches behind one that failed are not.
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
    const auto lane = static_cast<std::size_t>(lanes.lanes.pieces()[piece].lane);
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
  if (in.traced == nullptr) return run_untraced(launch, in);
  TracedCall::record(
      in.traced, [&] { run_untraced(launch, in); },
      [&] {
        static constexpr TraceKind kinds[] = {TraceKind::kernel,  TraceKind::product, TraceKind::transfer,
                                              TraceKind::routine, TraceKind::host,    TraceKind::loop,
                                              TraceKind::branch};
        TracedWork work{.executable = executable_,
                        .launch = launch.number,
                        .kind = kinds[launch.what.index()],
                        .lane = lane_of(launch)};
        if (const auto* transfer = std::get_if<std::unique_ptr<TransferLaunch>>(&launch.what))
          work.bytes = (*transfer)->record().bytes;
        return work;
      });
}

void BoundSegment::run_untraced(BoundLaunch& launch, const InLane& in) {
  RunCounts& counts = in.counts;
  if (auto* product = std::get_if<std::unique_ptr<ProductLaunch>>(&launch.what)) {
    with_lines((*product)->origin(), [&] { (*product)->run(memory_); });
    ++counts.products;
  } else if (auto* transfer = std::get_if<std::unique_ptr<TransferLaunch>>(&launch.what)) {
    const bool ahead = uploaded_[static_cast<std::size_t>((*transfer)->target())];
    Uploads* uploads = ahead ? uploads_.at((*transfer)->record().to) : nullptr;
    with_lines((*transfer)->origin(), [&] { (*transfer)->run(memory_, uploads); });
    counts.add((*transfer)->record());
  } else if (auto* routine = std::get_if<std::unique_ptr<RoutineLaunch>>(&launch.what)) {
    with_lines((*routine)->origin(), [&] { (*routine)->run(memory_); });
    ++counts.routines;
  } else if (auto* loop = std::get_if<std::unique_ptr<LoopLaunch>>(&launch.what)) {
    (*loop)->run(memory_, counts);
  } else if (auto* branch = std::get_if<std::unique_ptr<BranchLaunch>>(&launch.what)) {
    (*branch)->run(memory_, counts);
  } else if (auto* host = std::get_if<std::unique_ptr<HostLaunch>>(&launch.what)) {
    (*host)->run(memory_, host_results_);
    ++counts.callbacks;
  } else {
    KernelLaunch& kernel = *std::get<std::unique_ptr<KernelLaunch>>(launch.what);
    with_lines(kernel.origins(), [&] { kernel.run(memory_, in.failure); });
    ++(kernel.by_reference() ? counts.reference_kernels : counts.kernels);
    if (kernel.uses_library()) ++counts.convolutions;
    if (in.failure[0] != 0) fail(kernel, in.failure);
  }
}

/// The values that are about to be overwritten.
void BoundSegment::keep_updates(Undo& undo) const {
  const std::vector<Buffer>& buffers = executable_->plan.buffers;
  for (const std::size_t b : in_place_) {
    const Buffer& buffer = buffers[b];
    if (buffer.role != Buffer::Role::update) continue;
    const DType dtype = executable_->program.graph.arena.type(buffer.node).dtype;
    undo.keep(device_of(buffer.place), memory_.base[b], base::byte_count(memory_.layouts[b].shape, dtype));
  }
}

void BoundSegment::fail(const KernelLaunch& launch, const std::uint32_t* failure) const {
  const std::uint32_t check = failure[0];
  const auto value = static_cast<std::int64_t>(failure[1] | (std::uint64_t{failure[2]} << 32));
  const fuse::KernelCall& call = *launch.kernels()[0].call;
  const auto& checks = call.kernel->checks;
  if (check >= 1 && check <= checks.size() && checks[check - 1].message == kernel::guard_message)
    throw GuardFailure{executable_, &call, fuse::guarded_node(call, check - 1)};
  const std::string message = check >= 1 && check <= checks.size()
                                  ? expr::fill_message(checks[check - 1].message, value, launch.kernels()[0].extents)
                                  : "a check failed";
  throw CheckFailure{fmt::format("{} ({})", message, lines_of(call.origins))};
}

std::vector<std::int64_t> BoundSegment::read_fresh() const {
  const plan::Plan& plan = executable_->plan;
  std::vector<std::int64_t> values;
  for (const int b : plan.segments[static_cast<std::size_t>(number_)].fresh) {
    const DType dtype = executable_->program.graph.arena.type(plan.buffers[static_cast<std::size_t>(b)].node).dtype;
    std::uint64_t bits = 0;  // of one integer, in whichever memory
    const plan::Buffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    with_lines(executable_->program.graph.arena.origin(buffer.node), [&] {
      copy_between(nullptr, &bits, device_of(buffer.place), memory_.base[static_cast<std::size_t>(b)], size_of(dtype));
    });
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
  auto bound = std::make_unique<BoundSegment>(executable_, number_ + 1, this, fresh, arrays, options, counts);
  if (next_.size() >= kept_segments) next_.clear();
  return *next_.emplace(std::move(fresh), std::move(bound)).first->second;
}

void check_place(const Array& place, std::span<const std::int64_t> shape) {
  if (std::ranges::equal(place.shape(), shape)) return;
  throw ShapeError(fmt::format("a result of a loop or branch has the shape {}, its place {}", base::shape_text(shape),
                               base::shape_text(place.shape())));
}

BoundPlan::BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
                     RunCounts& counts)
    : executable_(std::move(executable)),
      options_(std::move(options)),
      first_(executable_, 0, nullptr, {}, arrays, options_, counts),
      brief_(executable_->plan.segments.size() == 1 && first_.is_brief()) {}

bool BoundSegment::is_brief() const {
  constexpr std::size_t few_bytes = 1 << 16;
  const bool simple = std::ranges::all_of(launches_, [](const BoundLaunch& launch) {
    return std::holds_alternative<std::unique_ptr<KernelLaunch>>(launch.what) ||
           std::holds_alternative<std::unique_ptr<ProductLaunch>>(launch.what);
  });
  if (!simple || launches_.size() > 4 || lanes_) return false;
  std::size_t bytes = 0;
  const plan::Plan& plan = executable_->plan;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].place != 0) return false;
    bytes += bytes_of(b);
  }
  return bytes <= few_bytes;
}

void BoundPlan::run(CallArrays& arrays, Workspace& workspace, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  static const Array placeholder(0.f);  // without dimensions, so that a copy allocates nothing
  if (arrays.kept_outputs)
    arrays.outputs.resize(graph.outputs.size(), placeholder);
  else if (!arrays.given_outputs)
    arrays.outputs.assign(graph.outputs.size(), placeholder);
  arrays.updates.resize(graph.updates.size());
  if (!arrays.given_outputs) counts.transferred.clear();
  BoundSegment* segment = &first_;
  const auto run = [&](BoundSegment& part) {
    try {
      part.run(counts);
    } catch (const CheckFailure& failure) {
      throw IndexError(fmt::format("{}; {}", failure.message, describe_inputs(*executable_, arrays, {})));
    }
  };
  const auto start = [&](BoundSegment& part) {
    try {
      part.start(arrays, workspace, counts);
    } catch (const OutOfMemory&) {
      if (!workspace.save_memory()) throw;
      part.start(arrays, workspace, counts);
    }
  };
  for (std::size_t k = 0; k + 1 < plan.segments.size(); ++k) {
    start(*segment);
    run(*segment);
    segment = &segment->next(segment->read_fresh(), arrays, options_, counts);
  }
  start(*segment);

  // Results that no step of their own computes: inputs, constants and sizes as they are now, before anything is
  // overwritten; and those that repeat another result, whose memory is taken now and filled at the end.
  const auto is_own = [&](int b, Buffer::Role role, std::size_t i) {
    return b >= 0 && plan.buffers[static_cast<std::size_t>(b)].role == role &&
           static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(b)].number) == i;
  };
  struct Repeated {
    Array* to;
    const Array* from;
    Device* device;
  };
  std::vector<Repeated> repeated;
  const auto add_here = [&](Array& result, NodeId node, int b, expr::Place home) {
    const DType dtype = graph.arena.type(node).dtype;
    if (b < 0) {
      const auto value = graph.arena.scalar_value(node);
      const Array number =
          value ? expr::array_of(std::span(&*value, 1), value->dtype, {}) : Array(segment->sizes()[node]);
      result = base::moved_to(segment->device_of(home), number.astype(dtype));
      return;
    }
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    const auto number = static_cast<std::size_t>(buffer.number);
    Device* device = segment->device_of(buffer.place);
    switch (buffer.role) {
      case Buffer::Role::argument:
        result = copied_to(device, device, *arrays.arguments[number]);
        break;
      case Buffer::Role::shared:
        result = copied_to(device, device, *arrays.shared[number]);
        break;
      case Buffer::Role::constant:
        result = copied_to(device, nullptr, graph.constants[number]);
        break;
      case Buffer::Role::resident: {
        const Array& value = *arrays.shared[static_cast<std::size_t>(plan.buffers[number].number)];
        result = empty_array(device, dtype, value.shape());
        copy_between(device, address_of(result), device, segment->address(b), value.bytes());
        break;
      }
      default: {
        const Array& from = buffer.role == Buffer::Role::output ? arrays.outputs[number] : arrays.updates[number];
        result = empty_array(device, dtype, from.shape());
        repeated.push_back({&result, &from, device});
      }
    }
  };
  const auto add = [&](Array& result, NodeId node, int b, expr::Place home) {
    with_lines(graph.arena.origin(node), [&] { add_here(result, node, b, home); });
  };
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!is_own(plan.output_buffer[i], Buffer::Role::output, i))
      add(arrays.outputs[i], graph.outputs[i], plan.output_buffer[i], graph.results);
  }
  for (std::size_t i = 0; i < graph.updates.size(); ++i) {
    if (is_own(plan.update_buffer[i], Buffer::Role::update, i)) continue;
    const expr::Update& update = graph.updates[i];
    add(arrays.updates[i], update.value, plan.update_buffer[i], graph.inputs[update.input].place);
  }
  run(*segment);
  try {
    for (const Repeated& r : repeated)
      copy_between(r.device, address_of(*r.to), r.device, address_of(*r.from), r.from->bytes());
  } catch (...) {
    segment->give_up();
    throw;
  }
}

}  // namespace croton::runtime
