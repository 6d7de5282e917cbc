#include "runtime/bound/routine_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/interrupt.hpp"
#include "base/shape.hpp"
#include "runtime/bound/kernel_schedules.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/cuda/nvtx.hpp"

namespace croton::runtime {
namespace {

const plan::Buffer& buffer_at(const Executable& executable, plan::BufferId b) { return executable.plan.buffers[b]; }
DType dtype_of(const Executable& executable, plan::BufferId b) {
  return executable.program.graph.arena.type(buffer_at(executable, b).node).dtype;
}
const codegen::Layout& layout_at(const Memory& memory, plan::BufferId b) { return memory.layouts[b]; }

}  // namespace

codegen::RoutinePart routine_part(const Executable& executable, const plan::Step& step) {
  const expr::Arena& arena = executable.program.graph.arena;
  const fuse::RoutineCall& call = executable.call_of(step).as<fuse::RoutineCall>();
  codegen::RoutinePart part{&arena.op(call.result), {}, arena.type(call.result).dtype, {}};
  std::string operands;
  for (const NodeId read : call.reads) {
    part.inputs.push_back(arena.type(read).dtype);
    operands += fmt::format("{}{}", operands.empty() ? "" : ", ", name_of(arena.type(read).dtype));
  }
  part.comment = {fmt::format("routine {}({}) -> {}", part.op->name, operands, name_of(part.result)),
                  "from " + line_of(call.origin)};
  return part;
}

expr::RoutineWork routine_work(const Executable& executable, const plan::Step& step, const Memory& memory) {
  const expr::Arena& arena = executable.program.graph.arena;
  const NodeId node = executable.call_of(step).as<fuse::RoutineCall>().result;
  expr::RoutineSizes sizes{arena.attrs(node), {}, {}, layout_at(memory, step.writes[0]).shape};
  for (const plan::BufferId b : step.reads) {
    sizes.dtypes.push_back(dtype_of(executable, b));
    sizes.inputs.push_back(layout_at(memory, b).shape);
  }
  return arena.op(node).routine->work(sizes);
}

void find_workspaces(const Executable& executable, fuse::SegmentId segment, Memory& memory) {
  const plan::Plan& plan = executable.plan;
  for (const plan::Step& step : plan.steps) {
    if (step.workspace == plan::no_buffer || plan.buffers[step.workspace].segment != segment) continue;
    memory.layouts[step.workspace] =
        codegen::Layout::contiguous({routine_work(executable, step, memory).workspace_bytes});
  }
}

RoutineLaunch::RoutineLaunch(const Executable& executable, const plan::Step& step, Engine engine, Device& device,
                             std::string_view schedule, const Memory& memory, RunCounts& counts)
    : executable_(&executable),
      step_(&step),
      call_(&executable.call_of(step).as<fuse::RoutineCall>()),
      engine_(engine),
      device_(device),
      text_(codegen::emit_routine(routine_part(executable, step), device.target())),
      overrides_(schedule),
      work_(routine_work(executable, step, memory)) {
  schedule_ = codegen::choose_schedule(kernel::Family::pointwise, machine_of(device), schedule, text_.name);
  parameters_.resize(text_.parameters.size());
  for (std::size_t k = 0; k < work_.numbers.size(); ++k)
    parameters_[step.reads.size() + 2 + k] = static_cast<std::uint64_t>(work_.numbers[k]);
  if (on_host()) return;
  count_prepared(device.prepare(text_, schedule_.threads), counts);
  operands_.resize(step.reads.size() + 2);
}

void RoutineLaunch::add_schedules(std::vector<KernelSchedule>& schedules) const {
  schedules.push_back(describe_schedule(
      routine_family, kernel::Family::pointwise, text_.name, text_,
      {.device = device_.name(), .target = device_.target(), .machine = machine_of(device_), .overrides = overrides_}));
}

void RoutineLaunch::run(const LaunchRun& in) {
  with_lines(call_->origin, [&] {
    if (on_host() && engine_ == Engine::reference) return run_reference(in.memory);
    const cuda::NvtxRange range(text_.name);
    run_phases(in.memory);
  });
  ++in.counts.routines;
}

void RoutineLaunch::run_phases(const Memory& memory) {
  std::size_t next = 0;
  const auto place = [&](plan::BufferId b, std::size_t bytes, bool read, bool written) {
    char* address = memory.base[b];
    parameters_[next] = reinterpret_cast<std::uint64_t>(address);
    if (!on_host()) operands_[next] = {address, bytes, read, written};
    ++next;
  };
  const auto bytes_of = [&](plan::BufferId b) {
    return base::byte_count(layout_at(memory, b).shape, dtype_of(*executable_, b));
  };
  for (const plan::BufferId b : step_->reads) place(b, bytes_of(b), true, false);
  place(step_->writes[0], bytes_of(step_->writes[0]), false, true);
  place(step_->workspace, static_cast<std::size_t>(work_.workspace_bytes), false, true);
  for (const expr::RoutinePhase& phase : work_.phases) {
    if (phase.items == 0) continue;
    if (&phase != work_.phases.data()) base::check_interrupt();
    parameters_[parameters_.size() - 2] = static_cast<std::uint64_t>(phase.phase);
    parameters_[parameters_.size() - 1] = static_cast<std::uint64_t>(phase.step);
    if (!on_host()) {
      device_.launch({.text = &text_,
                      .parameters = parameters_,
                      .items = phase.items,
                      .blocks = codegen::thread_blocks(phase.items, schedule_),
                      .threads = schedule_.threads,
                      .operands = operands_});
      // Later launches may read the results of the first one.
      for (std::size_t i = step_->reads.size(); i < operands_.size(); ++i) operands_[i].read = true;
    } else {
      cpu::ThreadPool::instance().parallel_for(
          phase.items, std::max<std::int64_t>(1, schedule_.grain / std::max<std::int64_t>(1, phase.cost)),
          [](void* context, std::int64_t begin, std::int64_t end) {
            const auto& self = *static_cast<const RoutineLaunch*>(context);
            self.entry_.run(self.parameters_.data(), begin, end);
          },
          this);
    }
  }
}

/// Runs the op's reference implementation, which is slow but correct.
void RoutineLaunch::run_reference(const Memory& memory) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  const plan::BufferId to = step_->writes[0];
  expr::EvaluateContext context{
      arena.attrs(call_->result), {}, dtype_of(*executable_, to), layout_at(memory, to).shape};
  for (const plan::BufferId b : step_->reads) {
    context.inputs.push_back(Array::view_of(static_cast<const void*>(memory.base[b]), dtype_of(*executable_, b),
                                            layout_at(memory, b).shape, {}));
  }
  const Array value = arena.op(call_->result).evaluate(context).contiguous();
  if (value.bytes() > 0) std::memcpy(memory.base[to], std::as_const(value).raw(), value.bytes());
}

}  // namespace croton::runtime
