// The public interface of devices, and the placement log.
#include <croton/config.hpp>
#include <croton/device.hpp>
#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <set>

#include "base/device_name.hpp"
#include "base/index.hpp"
#include "expr/print.hpp"
#include "placement_log.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/devices.hpp"
#include "settings.hpp"

namespace croton {
namespace {

using runtime::title_of;

// The mutex keeps texts of several threads apart, and guarantees that a stream is not used after it was removed.
struct Log {
  std::mutex mutex;
  std::atomic<std::ostream*> stream{nullptr};
  bool header_written = false;
};
Log& the_log() {
  static auto& log = *new Log;  // never destroyed: functions may be called by destructors of static objects
  return log;
}

/// Writes the result of `text`, if there is a stream or the flag is set.
template <class Text>
void write_log(Text&& text) noexcept {
  try {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    std::ostream* stream = log.stream.load();
    if (stream == nullptr && base::config().log_device_placement) stream = &std::cerr;
    if (stream != nullptr) *stream << text(log) << std::flush;
  } catch (...) {  // an error of the stream or of memory does not stop the call
  }
}

std::string name_of(expr::Place place) { return base::DeviceName::of_place(place).to_string(); }

std::string_view name_of(DeviceInfo::Kind kind) {
  static constexpr std::string_view names[] = {"host", "real", "simulated", "logical"};
  return names[base::ordinal(kind)];
}

DeviceInfo info_of(const runtime::DeviceFacts& facts) {
  DeviceInfo info;
  info.name = facts.name.to_string();
  info.kind = static_cast<DeviceInfo::Kind>(facts.kind);
  info.title = facts.title;
  info.memory = facts.memory;
  if (facts.major > 0) info.compute_capability = fmt::format("{}.{}", facts.major, facts.minor);
  info.pci = facts.pci;
  return info;
}

constexpr int no_step = INT32_MAX;

/// The position of each node in the order of the plan: that of the step that computes it or, if the node is computed
/// inside of others, of the first step that reads it.
std::vector<int> steps_of(const runtime::Executable& executable) {
  const expr::Arena& arena = executable.program.graph.arena;
  std::vector<int> step(arena.size(), no_step);
  int number = 0;
  for (const plan::Step& of_plan : executable.plan.steps) {
    for (const expr::NodeId node : executable.call_of(of_plan).members) step[node] = number;
    ++number;
  }
  std::vector<int> first = step;
  for (expr::NodeId id = arena.size(); id-- > 0;) {
    for (const expr::NodeId input : arena.inputs(id)) {
      // A kept copy has no step: it exists before the first one.
      if (step[input] == no_step && arena.op(input).kind != expr::Kind::Transfer)
        first[input] = std::min(first[input], first[id]);
    }
  }
  return first;
}

/// The reason of each node that placement has seen.
std::vector<std::string_view> reasons_of(const expr::Graph& graph, std::span<const rewrite::Placement> log) {
  std::vector<std::string_view> reasons(graph.arena.size());
  for (const rewrite::Placement& p : log) reasons[p.node] = p.reason;
  return reasons;
}

/// `kept`: whether the result of a transfer is kept for the next call.
std::string placement_line(const expr::Graph& graph, const std::vector<std::string_view>& reasons, expr::NodeId id,
                           bool kept) {
  const expr::Arena& arena = graph.arena;
  const bool sent = arena.op(id).kind == expr::Kind::Transfer;
  const expr::NodeId source = sent ? arena.input(id, 0) : id;
  // A node that was made after placement (such as a product with its sum) has the reason of its inputs.
  std::string_view reason = reasons[id];
  for (std::size_t i = arena.inputs(id).size(); reason.empty() && i-- > 0;) reason = reasons[arena.input(id, i)];
  if (reason.empty()) reason = "default";
  if (sent) reason = kept ? "sent when it has changed" : "sent by every call";
  return fmt::format("  {}: ({}): {}{}  [{}]\n", title_of(graph, id), arena.op(id).name,
                     sent ? name_of(arena.node(source).place) + " -> " : "", name_of(arena.node(id).place), reason);
}

}  // namespace

std::string DeviceInfo::to_string() const {
  std::string text = fmt::format("{}: {}", name, title);
  if (kind == Kind::logical) text += fmt::format(" ({})", name_of(kind));
  if (memory > 0) text += fmt::format(", {:.1f} GiB", static_cast<double>(memory) / (1 << 30));
  if (!compute_capability.empty()) text += ", compute capability " + compute_capability;
  if (!pci.empty()) text += ", PCI " + pci;
  return text;
}

std::vector<DeviceInfo> devices() {
  detail::apply_settings();
  std::vector<DeviceInfo> all;
  for (const runtime::DeviceFacts& facts : runtime::list_devices()) all.push_back(info_of(facts));
  return all;
}

void use(const std::string& device) {
  runtime::place_of(device, base::config().allow_soft_placement);  // raises if there is no such device
  const std::string name = device == "auto" ? device : base::parse_device(device).to_string();
  set_flag("device", name);
  if (!base::config().print_active_device) return;
  for (const DeviceInfo& info : devices()) {
    if (info.name != name) continue;
    std::cerr << fmt::format("Mapped name None to device {}: {} ({})\n", info.name, info.title,
                             info.pci.empty() ? name_of(info.kind) : info.pci);
  }
}

void log_device_placement(std::ostream* stream) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.header_written = false;
  log.stream.store(stream);
}

namespace detail {

bool logs_placement(const base::Flags& flags) {
  return the_log().stream.load(std::memory_order_relaxed) != nullptr || flags.log_device_placement;
}

std::vector<std::string> devices_of(const runtime::Executable& executable) {
  std::set<expr::Place> places;
  for (const plan::Step& step : executable.plan.steps) {
    if (!executable.call_of(step).is<fuse::TransferCall>()) places.insert(executable.call_of(step).place);
  }
  std::vector<std::string> names;
  names.reserve(places.size());
  for (const expr::Place place : places) names.push_back(name_of(place));
  return names;
}

std::string print_placement(const expr::Graph& graph, std::span<const rewrite::Placement> log) {
  const expr::Arena& arena = graph.arena;
  const std::vector<std::string_view> reasons = reasons_of(graph, log);
  // The nodes that the results are computed from, without those of sizes alone.
  std::vector<bool> needed(arena.size(), false);
  for (const expr::NodeId root : graph.roots()) needed[root] = true;
  for (expr::NodeId id = arena.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const expr::NodeId input : arena.inputs(id)) needed[input] = true;
  }
  std::string text;
  for (expr::NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id] || arena.op(id).kind == expr::Kind::Leaf) continue;
    const bool kept = arena.op(id).kind == expr::Kind::Transfer && rewrite::has_kept_copies(graph, arena.input(id, 0));
    text += placement_line(graph, reasons, id, kept);
  }
  return text;
}

std::string print_placement(const Planned& planned) {
  const runtime::Executable& executable = *planned.executable;
  const expr::Graph& graph = executable.program.graph;
  const expr::Arena& arena = graph.arena;
  const std::vector<std::string_view> reasons = reasons_of(graph, planned.log);
  // Transfers without a step are kept copies: they come first, because they exist before the first step.
  std::vector<int> steps = steps_of(executable);
  std::vector<expr::NodeId> order;
  for (expr::NodeId id = 0; id < arena.size(); ++id) {
    const bool kept = arena.op(id).kind == expr::Kind::Transfer && steps[id] == no_step && !reasons[id].empty();
    if (kept) steps[id] = -1;
    if (arena.op(id).kind != expr::Kind::Leaf && steps[id] != no_step) order.push_back(id);
  }
  std::ranges::stable_sort(order, {}, [&](expr::NodeId id) { return steps[id]; });
  std::string text;
  for (const expr::NodeId id : order) text += placement_line(graph, reasons, id, steps[id] < 0);
  return text;
}

void log_placement(const std::string& function, const Planned& planned) noexcept {
  write_log([&](Log& log) {
    std::string text;
    if (!log.header_written) text = fmt::format("devices: {}\n", runtime::describe_devices());
    text += fmt::format("{} runs here:\n", function) + print_placement(planned);
    log.header_written = true;
    return text;
  });
}

void log_call(const std::string& function, std::span<const runtime::Transferred> transfers) noexcept {
  static constexpr std::string_view kinds[] = {"input", "shared variable", "value", "output", "constant"};
  write_log([&](Log&) {
    std::string text;
    for (const TransferInfo& t : describe_transfers(transfers)) {
      text += fmt::format("{}: {} {}: {} -> {}, {} bytes\n", function, kinds[base::ordinal(t.kind)], t.what, t.from,
                          t.to, t.bytes);
    }
    return text;
  });
}

std::vector<TransferInfo> describe_transfers(std::span<const runtime::Transferred> transfers) {
  std::vector<TransferInfo> result;
  for (const runtime::Transferred& t : transfers) {
    result.push_back({title_of(t.executable->program.graph, t.node), name_of(t.from), name_of(t.to), t.bytes,
                      static_cast<TransferInfo::Kind>(t.kind)});
  }
  return result;
}

}  // namespace detail
}  // namespace croton
