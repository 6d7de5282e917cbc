#include "runtime/bound/segment_lanes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/shape.hpp"
#include "runtime/bound/launch_time.hpp"
#include "runtime/bound/segment.hpp"
#include "runtime/cpu/threads/threads.hpp"

namespace croton::runtime {
namespace {

using plan::Buffer;

/// Whether a call or its bodies call the user's functions, which must run in the calling thread.
bool calls_host(const fuse::Program& program);
bool calls_host(const fuse::Call& call) {
  if (call.is<fuse::HostCall>()) return true;
  return std::ranges::any_of(call.bodies(), [](const auto& body) { return calls_host(*body); });
}
bool calls_host(const fuse::Program& program) {
  return std::ranges::any_of(program.calls, [](const fuse::Call& call) { return calls_host(call); });
}

LaneName lane_of(const fuse::Call& call) {
  if (call.is<fuse::TransferCall>()) return {call.place, true};
  return calls_host(call) ? LaneName{} : LaneName{call.place, false};
}

}  // namespace

LaneName BoundSegment::lane_of(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  return runtime::lane_of(executable_->call_of(plan.steps[plan.launches[launch.number].first_step]));
}

/// The memory that the steps of a launch read or write.
std::vector<LaneOrder::Touch> BoundSegment::touches(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  std::vector<LaneOrder::Touch> all;
  const auto add = [&](plan::BufferId b, bool written) {
    while (plan.buffers[b].in_place_of != plan::no_buffer) b = plan.buffers[b].in_place_of;
    const Buffer& home = plan.buffers[b];
    const bool shares = home.role == Buffer::Role::temporary || home.role == Buffer::Role::workspace;
    if (shares && !uploaded_[b]) {
      // The temporaries of a device share memory with others whose lifetime has ended.
      const auto begin = static_cast<std::size_t>(temporary_offset_[b]);
      all.push_back({home.segment.number() * (1L << 16) + home.place, begin, begin + bytes_of(b), written});
    } else {
      all.push_back({-1 - b.number(), 0, 1, written});
    }
  };
  const plan::Launch& steps = plan.launches[launch.number];
  for (const plan::StepId s : steps.steps()) {
    const plan::Step& step = plan.steps[s];
    for (const plan::BufferId b : step.reads) add(b, false);
    for (const auto& reads : step.generated_reads) {
      for (const plan::BufferId b : reads) add(b, false);
    }
    for (const plan::BufferId b : step.writes) add(b, true);
    if (step.workspace != plan::no_buffer) add(step.workspace, true);
  }
  return all;
}

LaunchTime BoundSegment::time_of(const BoundLaunch& launch) const {
  const plan::Plan& plan = executable_->plan;
  const plan::Launch& steps = plan.launches[launch.number];
  const plan::Step& first = plan.steps[steps.first_step];
  double bytes = 0;
  for (const plan::BufferId b : first.reads) bytes += static_cast<double>(bytes_of(b));
  for (const plan::BufferId b : first.writes) bytes += static_cast<double>(bytes_of(b));
  return launch.impl->time(bytes);
}

/// Null if there is only one lane.
std::unique_ptr<SegmentLanes> BoundSegment::find_lanes() const {
  if (devices_.size() == 1 || launches_.size() < 2) return nullptr;
  std::vector<LaneName> names;  // per launch
  for (const BoundLaunch& launch : launches_) names.push_back(lane_of(launch));
  // The calling thread runs the lane of the host or, if the host has no work, the lane of another device.
  LaneName own = names.front();
  if (const auto found = std::ranges::find(names, false, &LaneName::copies); found != names.end()) own = *found;
  if (std::ranges::find(names, LaneName{}) != names.end()) own = {};
  std::map<LaneName, std::size_t> numbers{{own, 0}};
  for (const LaneName name : names) numbers.try_emplace(name, numbers.size());
  if (numbers.size() < 2) return nullptr;
  std::vector<bool> computes(numbers.size());
  for (const auto& [name, number] : numbers)
    computes[number] = !name.copies && !device_of(name.place).facts().has_processor;

  LaneOrder order;
  std::vector<LaunchTime> times;
  std::size_t commit = launches_.size();
  std::vector<std::size_t> device_updates;  // launches on devices after the commit point
  for (std::size_t l = 0; l < launches_.size(); ++l) {
    const BoundLaunch& launch = launches_[l];
    std::vector<std::size_t> after;
    if (launch.after_commit) {
      if (commit == launches_.size()) {
        commit = l;
        after.resize(l);
        std::iota(after.begin(), after.end(), std::size_t{0});
        order.add(0, {}, std::move(after));
        times.push_back({});
      }
      after = {commit};
      // Updates on the host cannot fail, so they come after those on devices, as in the plan.
      if (!device_of(names[l].place).on_host())
        device_updates.push_back(l + 1);
      else
        after.insert(after.end(), device_updates.begin(), device_updates.end());
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
