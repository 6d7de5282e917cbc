#include "runtime/segment_lanes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/shape.hpp"
#include "runtime/bind.hpp"
#include "runtime/branch.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/loop.hpp"

namespace croton::runtime {
namespace {

using plan::Buffer;

// Microseconds. A second thread is woken for this much work (the grain of a schedule); a launch on a GPU returns after
// about as long as that takes to be asked for; a copy to the host waits besides.
constexpr double grain_time = 30, ask_time = 5, host_copy_time = 20;
constexpr double simulated_item_time = 1, step_time = 2, callback_time = 10;
constexpr double copied_bytes = 8000, walked_bytes = 8000, computed_bytes = 1000,
                 multiplications = 10000;  // in a microsecond, of one thread
// Until a lane notices what it waits for, where each has a core and where it may sleep; what a call pays for lanes at
// all, and for the thread of each. Measured on two cores: 13 us a call with threads that still spin, 75 with some
// asleep.
constexpr double notice_time = 2, sleeper_notice_time = 40, start_time = 10, wake_time = 25;

/// Whether anything inside calls the user's functions: those run in the thread that calls.
bool calls_host(const fuse::Program& program);
bool calls_host(const fuse::Call& call) {
  if (call.host) return true;
  return std::ranges::any_of(call.bodies(), [](const auto& body) { return calls_host(*body); });
}
bool calls_host(const fuse::Program& program) {
  return std::ranges::any_of(program.calls, [](const fuse::Call& call) { return calls_host(call); });
}

/// Whether its work is asked for and runs elsewhere, not on the host's cores.
bool is_gpu(const Device* device) {
  return device != nullptr && device->runs_cuda() && device->facts().kind != DeviceFacts::Kind::simulated;
}

LaneName lane_of(const fuse::Call& call) {
  if (call.transfer) return {call.place, true};
  return calls_host(call) ? LaneName{} : LaneName{call.place, false};
}

}  // namespace

double LaunchTime::with_threads(int threads) const {
  return alone + shared / std::clamp(shared / grain_time, 1.0, static_cast<double>(std::max(1, threads)));
}

bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads) {
  if (cores < 2) return false;
  const auto sharing = static_cast<int>(std::ranges::count(computes, true));
  const int share = std::max(1, threads / std::max(1, sharing));
  double in_order = 0;
  const double notice = static_cast<int>(computes.size()) <= cores ? notice_time : sleeper_notice_time;
  std::vector<double> lane_end(computes.size(), 0), end(pieces.size(), 0);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    in_order += times[p].with_threads(threads);
    double& lane = lane_end[static_cast<std::size_t>(pieces[p].lane)];
    for (const int other : pieces[p].waits) lane = std::max(lane, end[static_cast<std::size_t>(other)] + notice);
    end[p] = lane += times[p].with_threads(share);
  }
  const double together = *std::ranges::max_element(lane_end);
  return in_order - together > start_time + wake_time * static_cast<double>(computes.size() - 1);
}

LaneName BoundSegment::lane_of(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  const auto first = static_cast<std::size_t>(plan.launches[static_cast<std::size_t>(launch.number)].first_step);
  return runtime::lane_of(executable_->call_of(plan.steps[first]));
}

/// The memory that the steps of a launch touch.
std::vector<LaneOrder::Touch> BoundSegment::touches(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  std::vector<LaneOrder::Touch> all;
  const auto add = [&](int buffer, bool written) {
    auto b = static_cast<std::size_t>(buffer);
    while (plan.buffers[b].in_place_of >= 0) b = static_cast<std::size_t>(plan.buffers[b].in_place_of);
    const Buffer& home = plan.buffers[b];
    const bool shares = home.role == Buffer::Role::temporary || home.role == Buffer::Role::workspace;
    if (shares && !uploaded_[b]) {
      // Temporaries of a device, which lie in the memory of others that are not needed any more.
      const auto begin = static_cast<std::size_t>(temporary_offset_[b]);
      all.push_back({home.segment * (1L << 16) + home.place, begin, begin + bytes_of(b), written});
    } else {
      all.push_back({-1 - static_cast<long>(b), 0, 1, written});
    }
  };
  const plan::Launch& steps = plan.launches[static_cast<std::size_t>(launch.number)];
  for (int s = steps.first_step; s < steps.end_step; ++s) {
    const plan::Step& step = plan.steps[static_cast<std::size_t>(s)];
    for (const int b : step.reads) add(b, false);
    for (const auto& reads : step.generated_reads) {
      for (const int b : reads) add(b, false);
    }
    for (const int b : step.writes) add(b, true);
    if (step.workspace >= 0) add(step.workspace, true);
  }
  return all;
}

LaunchTime BoundSegment::time_of(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  const plan::Launch& steps = plan.launches[static_cast<std::size_t>(launch.number)];
  const plan::Step& first = plan.steps[static_cast<std::size_t>(steps.first_step)];
  const fuse::Call& call = executable_->call_of(first);
  const Device* device = device_of(call.place);
  double bytes = 0;
  for (const int b : first.reads) bytes += static_cast<double>(bytes_of(static_cast<std::size_t>(b)));
  for (const int b : first.writes) bytes += static_cast<double>(bytes_of(static_cast<std::size_t>(b)));
  if (call.transfer) {
    const Device* from = device_of(plan.buffers[static_cast<std::size_t>(first.reads[0])].place);
    const double copy = bytes / 2 / copied_bytes;
    if (is_gpu(from) && device == nullptr) return {host_copy_time + copy};
    return {is_gpu(from) || is_gpu(device) ? ask_time : copy};
  }
  if (call.host) return {callback_time + bytes / computed_bytes};
  if (const auto* loop = std::get_if<std::unique_ptr<LoopLaunch>>(&launch.what))
    return {static_cast<double>((*loop)->steps()) * step_time + bytes / computed_bytes};
  // A check is read back before the next launch.
  if (is_gpu(device)) return {call.kernel && !call.kernel->kernel->checks.empty() ? host_copy_time : ask_time};
  if (const auto* kernel = std::get_if<std::unique_ptr<KernelLaunch>>(&launch.what)) {
    const codegen::Work& work = (*kernel)->work();
    if ((*kernel)->runs_cuda()) return {static_cast<double>(work.items) * simulated_item_time};
    const double time =
        static_cast<double>(work.items) / static_cast<double>(std::max<std::int64_t>(1, work.grain)) * grain_time;
    // Few elements are a whole item of these too.
    const kernel::Family family = (*kernel)->kernels()[0].analysis->kernel.family;
    const bool in_parts = family == kernel::Family::split || family == kernel::Family::column;
    return {0, in_parts ? std::min(time, bytes / walked_bytes) : time};
  }
  if (call.product) {
    const auto [m, k, n, batch] = product_sizes(*executable_, first, sizes_);
    return {0, static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n * batch) / multiplications};
  }
  return {0, bytes / computed_bytes};
}

/// Null where there is one lane.
std::unique_ptr<SegmentLanes> BoundSegment::find_lanes() const {
  if (devices_.empty() || launches_.size() < 2) return nullptr;
  std::vector<LaneName> names;  // of launches
  for (const BoundLaunch& launch : launches_) names.push_back(lane_of(launch));
  // The thread that calls runs the lane of the host; where that has no work, that of another device.
  LaneName own = names.front();
  if (const auto found = std::ranges::find(names, false, &LaneName::copies); found != names.end()) own = *found;
  if (std::ranges::find(names, LaneName{}) != names.end()) own = {};
  std::map<LaneName, int> numbers{{own, 0}};
  for (const LaneName name : names) numbers.try_emplace(name, static_cast<int>(numbers.size()));
  if (numbers.size() < 2) return nullptr;
  std::vector<bool> computes(numbers.size());
  for (const auto& [name, number] : numbers)
    computes[static_cast<std::size_t>(number)] = !name.copies && !is_gpu(device_of(name.place));

  LaneOrder order;
  std::vector<LaunchTime> times;
  std::size_t commit = launches_.size();
  std::vector<int> on_gpus;  // behind the commit point
  for (std::size_t l = 0; l < launches_.size(); ++l) {
    const BoundLaunch& launch = launches_[l];
    std::vector<int> after;
    if (launch.after_commit) {
      if (commit == launches_.size()) {
        commit = l;
        after.resize(l);
        std::iota(after.begin(), after.end(), 0);
        order.add(0, {}, std::move(after));
        times.push_back({});
      }
      after = {static_cast<int>(commit)};
      // What the host runs cannot fail, and so comes last, as in the plan.
      const Device* device = device_of(names[l].place);
      if (device != nullptr && device->runs_cuda())
        on_gpus.push_back(static_cast<int>(l + 1));
      else
        after.insert(after.end(), on_gpus.begin(), on_gpus.end());
    }
    order.add(numbers.at(names[l]), touches(launch), std::move(after));
    times.push_back(time_of(launch));
  }
  const int cores = cpu::ThreadPool::usable_cores(), threads = cpu::ThreadPool::instance().threads();
  const bool pays = lanes_pay(order.pieces(), computes, times, cores, threads);
  auto lanes = std::make_unique<SegmentLanes>(Lanes(order.pieces(), computes), commit, pays);
  lanes->counts.resize(launches_.size());
  lanes->failures.resize(numbers.size());
  return lanes;
}

}  // namespace croton::runtime
