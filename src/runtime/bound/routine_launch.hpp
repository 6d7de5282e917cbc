// RoutineLaunch: a routine (expr/routine.hpp) of a bound plan. Its launches run one after the other, on the host or on
// a device.
#pragma once

#include "codegen/routine.hpp"
#include "codegen/schedule.hpp"
#include "runtime/bound/bound_kernel.hpp"
#include "runtime/bound/launch.hpp"
#include "runtime/bound/launch_time.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime {

/// The routine of a step as input of the emitter, with its expression and the user's line as comment.
codegen::RoutinePart routine_part(const Executable& executable, const plan::Step& step);
/// The work of the routine for the sizes of its operands.
expr::RoutineWork routine_work(const Executable& executable, const plan::Step& step, const Memory& memory);

/// Finds the layouts of the workspaces of the routines of a segment, from those of their operands.
void find_workspaces(const Executable& executable, fuse::SegmentId segment, Memory& memory);

class RoutineLaunch final : public Launch {
 public:
  RoutineLaunch(const Executable& executable, const plan::Step& step, Engine engine, Device& device,
                std::string_view schedule, const Memory& memory, RunCounts& counts);

  void run(const LaunchRun& in) override;
  const codegen::Text* text() const override { return &text_; }
  bool on_host() const override { return device_.on_host(); }
  void set_entry(cpu::KernelEntry entry) override { entry_ = entry; }
  LaunchTime time(double bytes) const override { return time_of_bytes(device_, bytes); }
  void add_schedules(std::vector<KernelSchedule>& schedules) const override;

 private:
  void run_phases(const Memory& memory);
  void run_reference(const Memory& memory) const;

  const Executable* executable_;
  const plan::Step* step_;
  const fuse::RoutineCall* call_;
  Engine engine_;
  Device& device_;
  codegen::Text text_;
  std::string overrides_;
  codegen::Schedule schedule_;
  cpu::KernelEntry entry_;
  expr::RoutineWork work_;
  std::vector<std::uint64_t> parameters_;
  std::vector<Operand> operands_;  // on a device: the operands that it reads, the result, the workspace
};

}  // namespace croton::runtime
