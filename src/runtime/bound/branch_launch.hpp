// BranchLaunch: a branch in a bound plan. Only the body that runs is bound.
#pragma once

#include "runtime/bound/body.hpp"
#include "runtime/bound/launch_time.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace croton::runtime {

class BranchLaunch final : public Launch {
 public:
  /// `reads`: the device of each buffer that the step reads.
  BranchLaunch(const Executable& executable, const plan::Step& step, Device& device, const std::vector<Device*>& reads,
               const SizeTable& sizes, const BindOptions& options);
  /// Runs the body that the condition selects, and raises its errors.
  void run(const LaunchRun& in) override;
  bool needs_checked_values() const override { return true; }
  std::optional<Renumbering> renumbered(const SizeTable&, const SizeTable&, const Memory&) override { return {}; }
  LaunchTime time(double bytes) const override { return time_of_bytes(device_, bytes); }
  void add_schedules(std::vector<KernelSchedule>& schedules) const override {
    if (last_ != nullptr) last_->add_schedules(schedules);
  }

 private:
  struct Input {
    Device& device;                           // the device that has it
    plan::BufferId buffer = plan::no_buffer;  // no_buffer: a number
    Array number = {};
  };
  bool condition(const Memory& memory) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::BranchCall* call_;
  Device& device_;
  std::vector<BodyRun> bodies_;    // then, else
  const BodyRun* last_ = nullptr;  // that ran last
  std::optional<bool> known_;      // the condition, if the host knows it
  std::vector<Input> inputs_;
};

}  // namespace croton::runtime
