// The explanation of a function: its launches as `shown_kernels` gives them, with the model of their times.
#include <croton/device.hpp>
#include <croton/explain.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "builder/node.hpp"
#include "codegen/machine_constants.hpp"
#include "codegen/schedule_overrides.hpp"
#include "explain.hpp"
#include "explain_host.hpp"
#include "runtime/bound/product_launch.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/inspect/entry_code.hpp"
#include "runtime/cuda/inspect/launch_model.hpp"
#include "settings.hpp"
#include "shown_kernels.hpp"

namespace croton {
namespace {

namespace cuda = runtime::cuda;
using codegen::MachineConstants;

/// The times of work on a machine.
struct Machine : detail::ExplainedMachine {
  double copy_seconds(double bytes, double working_set) const {
    if (gpu != nullptr) return bytes / (gpu->attainable_share * gpu->copy_bytes_per_second);
    // Each core has caches of its own, but all share the memory.
    constexpr double own_cache = 1 << 20;
    const double rate = detail::host_copy_rate(working_set);
    return bytes / (working_set <= own_cache * threads ? rate * threads : rate);
  }
  double product_seconds(double operations, std::size_t element) const {
    if (gpu == nullptr) return operations / (detail::host_product_rate * threads);
    const double rate = element >= 8   ? gpu->product_rate_64
                        : element == 4 ? gpu->product_rate_32
                                       : gpu->product_rate_16;
    return operations / rate;
  }
  double launch_seconds() const { return gpu != nullptr ? gpu->launch_seconds : detail::host_launch_seconds; }
};

class Explainer {
 public:
  Explainer(const runtime::Executable& executable, const runtime::SizedPlan& sized,
            const detail::ExplainedMachine& machine, const std::map<plan::LaunchId, double>& measured)
      : executable_(executable), program_(executable.program), sized_(sized), machine_{machine}, measured_(measured) {}

  void explain(const detail::ShowOptions& show, Explanation& result) {
    const detail::ShownLaunches shown = detail::show_launches(executable_, show);
    plan_ = &shown.plan;
    result_ = &result;
    for (const detail::ShownLaunches::Launch& launch : shown.launches) explain_launch(launch);
    find_floor();
  }

 private:
  // ---- sizes ----

  double buffer_bytes(plan::BufferId b) const {
    if (plan_->buffers[b].role == plan::Buffer::Role::workspace) return 0;
    const codegen::Layout& layout = sized_.memory.layouts[b];
    double elements = 1;
    for (const std::int64_t size : layout.shape) elements *= static_cast<double>(size);
    return elements * static_cast<double>(size_of(arena().type(plan_->buffers[b].node).dtype));
  }
  double bytes_of(const std::vector<plan::BufferId>& buffers) const {
    double bytes = 0;
    for (const plan::BufferId b : std::set(buffers.begin(), buffers.end())) bytes += buffer_bytes(b);
    return bytes;
  }
  const expr::Arena& arena() const { return program_.graph.arena; }

  // ---- launches ----

  void explain_launch(const detail::ShownLaunches::Launch& launch) {
    const plan::Launch& steps = plan_->launches[launch.number];
    const fuse::Call& call = executable_.call_of(plan_->steps[steps.first_step]);
    const std::size_t first = result_->steps.size();
    if (call.is<fuse::KernelCall>() || call.is<fuse::RoutineCall>() ||
        (call.is<fuse::ProductCall>() && !launch.kernels.empty())) {
      for (const detail::ShownLaunches::Kernel& kernel : launch.kernels) explain_kernel(kernel.info);
    } else {
      explain_other(plan_->steps[steps.first_step], call);
    }
    if (first == result_->steps.size()) return;
    for (std::size_t i = first; i < result_->steps.size(); ++i) {
      ExplainedStep& shown = result_->steps[i];
      for (const plan::StepId step : steps.steps()) {
        const fuse::Call& of_step = executable_.call_of(plan_->steps[step]);
        const auto* kernel = std::get_if<fuse::KernelCall>(&of_step.work);
        if (kernel == nullptr) continue;
        const auto& calls = launch.kernels[i - first].calls;
        if (std::ranges::find(calls, kernel) != calls.end()) explain_fusion(of_step, shown);
      }
      // Kernels of one plan's launch that are several launches for these sizes are measured together.
      const auto time = measured_.find(launch.number);
      if (time != measured_.end() && first + 1 == result_->steps.size()) shown.measured_seconds = time->second;
      finish(shown);
    }
  }

  void explain_kernel(const KernelInfo& kernel) {
    ExplainedStep& step = result_->steps.emplace_back();
    step.what = kernel.expression.starts_with("routine ") ? "routine" : "kernel";
    step.name = kernel.name;
    step.lines = kernel.lines;
    step.launches = std::max<std::int64_t>(1, kernel.launches);
    step.blocks = kernel.blocks;
    step.threads = kernel.threads;
    for (const KernelOperand& operand : kernel.operands) step.least_bytes += static_cast<double>(operand.bytes);
    step.bytes = step.least_bytes;
    step.floor_seconds = machine_.copy_seconds(step.least_bytes, step.least_bytes) + machine_.launch_seconds();
    if (machine_.gpu == nullptr)
      model_on_host(kernel, step);
    else
      model_on_gpu(kernel, step);
  }

  void model_on_host(const KernelInfo& kernel, ExplainedStep& step) const {
    if (kernel.items == 0 && kernel.grain > 0) {  // without elements nothing runs
      step.launches = 0;
      step.seconds = step.floor_seconds = 0;
      return;
    }
    const double elements =
        static_cast<double>(kernel.points) * static_cast<double>(std::max<std::int64_t>(1, kernel.length));
    const double grains =
        kernel.grain > 0 ? std::ceil(static_cast<double>(kernel.items) / static_cast<double>(kernel.grain)) : 1;
    const double arithmetic =
        elements * kernel.cost / (detail::host_operations_per_second * std::min(machine_.threads, grains));
    set_time(step, machine_.copy_seconds(step.bytes, step.bytes), arithmetic);
  }

  /// The time of work whose memory and arithmetic overlap, and its limiter.
  void set_time(ExplainedStep& step, double memory, double arithmetic) const {
    const double launches = static_cast<double>(step.launches) * machine_.launch_seconds();
    step.seconds = std::max(memory, arithmetic) + launches;
    step.limiter = launches > std::max(memory, arithmetic) ? "launch" : memory >= arithmetic ? "memory" : "arithmetic";
  }

  void model_on_gpu(const KernelInfo& kernel, ExplainedStep& step) {
    const MachineConstants& gpu = *machine_.gpu;
    const std::string architecture(gpu.architecture);
    cuda::ModelledTime time;
    if (const auto codes = machine_code(kernel)) {
      double seconds = 0;
      for (const cuda::EntryCode& code : *codes) {
        const cuda::ModelledTime of_entry = cuda::model_launch(kernel, code, architecture, gpu);
        seconds += of_entry.seconds() * static_cast<double>(codes->size() == 1 ? step.launches : 1);
        if (cuda::is_finish(code)) continue;
        time = of_entry;
        step.bytes = static_cast<double>(cuda::memory_bytes(kernel, code, architecture, gpu));
        step.registers = code.facts.registers;
        const cuda::Occupancy occupancy = cuda::occupancy_of(kernel, code, architecture);
        step.occupancy = occupancy.share;
        step.occupancy_limiter = occupancy.limiter;
        if (const double instructions = code.code.instructions_per_element(); instructions > 0) {
          const double elements = static_cast<double>(kernel.points) * static_cast<double>(kernel.length);
          step.instructions_per_element = instructions;
          if (step.bytes > 0) step.instructions_per_byte = instructions * elements / step.bytes;
        }
      }
      if (step.what == "routine") seconds = time.memory;  // its operands' passes count all of its launches
      step.seconds = seconds;
    } else {
      time.memory = machine_.copy_seconds(step.bytes, step.bytes);
      step.seconds = time.memory;
    }
    if (!kernel.schedules.empty() && kernel.schedules[0].family == "contract") {
      // Its elements are used many times: the model of machine code knows its bytes alone.
      step.operations = 2.0 * static_cast<double>(kernel.points) * static_cast<double>(kernel.length);
      const double arithmetic = machine_.product_seconds(step.operations, sizeof(float));
      step.floor_seconds = std::max(step.floor_seconds, arithmetic + gpu.launch_seconds);
      return set_time(step, *step.seconds, arithmetic);
    }
    const double launches = static_cast<double>(step.launches) * gpu.launch_seconds;
    step.limiter = limiter(time, *step.seconds, launches, kernel.blocks);
    *step.seconds += launches;
  }

  std::string limiter(const cuda::ModelledTime& time, double seconds, double launches, std::int64_t blocks) const {
    if (launches > seconds) return "launch";
    const std::string_view longest = time.limiter();
    if (longest == "memory" || longest == "meetings") return std::string(longest);
    if (blocks > 0 && blocks < machine_.gpu->multiprocessors) return "parallelism";
    return longest == "chain" ? "latency" : "issue";
  }

  /// Nothing if a tool is missing; the reason is then in the explanation.
  std::optional<std::vector<cuda::EntryCode>> machine_code(const KernelInfo& kernel) {
    if (!result_->machine_code.empty()) return std::nullopt;
    try {
      const std::vector<std::byte> cubin =
          cuda::compile(kernel.unit, kernel.digest, codegen::prelude(codegen::Target::cuda), kernel.target.substr(5),
                        cuda::Form::lined_cubin, kernel.name);
      return cuda::entry_codes(kernel, kernel.facts(), cubin);
    } catch (const DeviceError& error) {
      result_->machine_code = error.what();
      return std::nullopt;
    }
  }

  /// Work that is not by generated kernels of this level.
  void explain_other(const plan::Step& of_plan, const fuse::Call& call) {
    ExplainedStep& step = result_->steps.emplace_back();
    step.what = fuse::name_of(call.work);
    step.name = step.what;
    step.launches = 1;
    for (const fuse::NodeId member : call.members) {
      std::string line = runtime::title_of(program_.graph, member);
      if (std::ranges::find(step.lines, line) == step.lines.end()) step.lines.push_back(std::move(line));
    }
    if (call.is<fuse::ProductCall>()) {
      std::vector<plan::BufferId> buffers{of_plan.left.buffer, of_plan.right.buffer, of_plan.writes[0]};
      if (of_plan.accumulate != plan::no_buffer) buffers.push_back(of_plan.accumulate);
      step.least_bytes = step.bytes = bytes_of(buffers);
      const auto [m, k, n, batch] = runtime::product_sizes(executable_, of_plan, sized_.sizes);
      step.name = fmt::format("product {} x {} x {}{}", m, k, n, batch > 1 ? fmt::format(", {} times", batch) : "");
      step.operations =
          2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) * static_cast<double>(batch);
      const double arithmetic = machine_.product_seconds(step.operations, size_of(arena().type(call.members[0]).dtype));
      products_ += arithmetic;
      set_time(step, machine_.copy_seconds(step.bytes, step.bytes), arithmetic);
      step.floor_seconds = *step.seconds;  // no more is known of a library
    } else {
      std::vector<plan::BufferId> buffers = of_plan.reads;
      buffers.insert(buffers.end(), of_plan.writes.begin(), of_plan.writes.end());
      step.least_bytes = step.bytes = bytes_of(buffers);
      ++result_->unknown;
    }
  }

  // ---- reasons ----

  /// "exp (train.cpp:12)", with the user's name instead of the line if there is one.
  std::string title(fuse::NodeId node) const {
    return fmt::format("{} ({})", arena().op(node).name, runtime::title_of(program_.graph, node));
  }

  void explain_fusion(const fuse::Call& call, ExplainedStep& step) const {
    if (call.members.empty()) return;  // a check of nan_guard
    constexpr std::size_t most = 12;
    std::vector<std::string_view> ops;
    for (std::size_t i = 0; i < std::min(most, call.members.size()); ++i)
      ops.push_back(arena().op(call.members[i]).name);
    const std::size_t more = call.members.size() - ops.size();
    step.fusion.push_back(
        fmt::format("computes {}{}", fmt::join(ops, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
    for (const fuse::NodeId node : call.as<fuse::KernelCall>().writes) {
      step.fusion.push_back(fmt::format("stores {}: {}", title(node), reason_of(program_.stored[node])));
    }
    for (const fuse::Separation& apart : call.apart)
      step.fusion.push_back(
          fmt::format("apart from the kernel of {}: {}", title(apart.value), reason_of(apart.reason)));
  }

  void finish(ExplainedStep& step) const {
    if (!step.seconds) {
      step.change = step.measured_seconds || machine_.gpu != nullptr
                        ? "its time depends on what it runs inside: explain that by itself"
                        : "its time is not known before a call: record one with a trace";
      return;
    }
    result_->seconds += *step.seconds;
    step.change = change_of(step);
  }

  std::string change_of(const ExplainedStep& step) const {
    constexpr double near = 1.1;
    if (step.what == "product") {
      if (step.limiter == "arithmetic") return "a smaller product, or float32 instead of float64 on most machines";
      return step.limiter == "memory" ? "its operands are read once: only fewer bytes help" : "a larger product";
    }
    if (step.what == "routine") return "its launches are a fixed sequence: fewer elements";
    if (step.limiter == "launch")
      return "its launch takes longer than its work: larger sizes, or fewer launches (see what it is apart from)";
    if (step.bytes > near * step.least_bytes)
      return fmt::format(
          "its loops read operands again from memory, {:.1f} times the least bytes: smaller rows stay in "
          "the cache",
          step.bytes / step.least_bytes);
    if (step.limiter == "parallelism")
      return fmt::format("{} for {} multiprocessors: larger sizes", base::counted(step.blocks, "block"),
                         machine_.gpu->multiprocessors);
    if (step.limiter == "meetings") return "its blocks wait for each other after each reduction: longer rows";
    if (step.limiter == "issue") return "cheaper functions, or fewer of them for an element";
    if (step.limiter == "arithmetic") return "cheaper functions, or fewer of them for an element; more threads";
    if (step.limiter == "latency")
      return step.occupancy_limiter == "registers" ? "fewer registers, so that more warps wait at the same time"
                                                   : "more elements under way at the same time: larger sizes";
    return "it is at the limit of memory: only fewer bytes help, such as elements of 16 bits";
  }

  /// The least bytes of the whole call: inputs that are read, and results. A part that is read of a large input, as by
  /// positions, is counted by the steps.
  void find_floor() {
    using Role = plan::Buffer::Role;
    std::set<plan::BufferId> used;
    for (const plan::Step& step : plan_->steps) {
      used.insert(step.reads.begin(), step.reads.end());
      used.insert(step.writes.begin(), step.writes.end());
    }
    double outside = 0, of_steps = 0;
    for (const plan::BufferId b : used) {
      const Role role = plan_->buffers[b].role;
      if (role != Role::temporary && role != Role::workspace) outside += buffer_bytes(b);
    }
    for (const ExplainedStep& step : result_->steps) of_steps += step.least_bytes;
    result_->least_bytes = std::min(outside, of_steps);
    const double floor = std::max(machine_.copy_seconds(result_->least_bytes, result_->least_bytes), products_) +
                         machine_.launch_seconds();
    // On the host the bytes of a step may be in a cache that is too small for those of the whole.
    result_->floor_seconds = result_->unknown == 0 ? std::min(floor, result_->seconds) : floor;
  }

  const runtime::Executable& executable_;
  const fuse::Program& program_;
  const runtime::SizedPlan& sized_;
  const Machine machine_;
  const std::map<plan::LaunchId, double>& measured_;
  const plan::Plan* plan_ = nullptr;
  Explanation* result_ = nullptr;
  double products_ = 0;  // seconds of arithmetic
};

}  // namespace

void detail::explain_steps(const runtime::Executable& executable, const detail::ShowOptions& show,
                           const ExplainedMachine& machine, const std::map<plan::LaunchId, double>& measured,
                           Explanation& result) {
  Explainer(executable, *show.sized, machine, measured).explain(show, result);
}

std::vector<std::string> known_gpus() {
  std::vector<std::string> names;
  for (const MachineConstants& machine : codegen::known_machines()) names.emplace_back(machine.name);
  return names;
}

std::optional<double> Explanation::measured_by_modelled() const {
  double measured = 0, modelled = 0;
  for (const ExplainedStep& step : steps) {
    if (!step.measured_seconds || !step.seconds) continue;
    measured += *step.measured_seconds;
    modelled += *step.seconds;
  }
  if (modelled <= 0) return std::nullopt;
  return measured / modelled;
}

}  // namespace croton
