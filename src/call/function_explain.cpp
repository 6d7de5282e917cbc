// Function::explain: the sizes of a call, the machine, and measured times of the host.
#include <croton/device.hpp>
#include <croton/explain.hpp>
#include <croton/trace.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "builder/node.hpp"
#include "call/callable.hpp"
#include "codegen/schedule_overrides.hpp"
#include "explain.hpp"
#include "explain_host.hpp"
#include "runtime/bound/sized_plan.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "settings.hpp"

namespace croton {
namespace {

/// Whether a callback of the user would run.
bool has_callback(const fuse::Program& program) {
  return std::ranges::any_of(program.calls.ids(), [&](fuse::CallId id) {
    const fuse::Call& call = program.calls[id];
    return call.is<fuse::HostCall>() ||
           std::ranges::any_of(call.bodies(), [](const auto& body) { return has_callback(*body); });
  });
}

/// Why a function on the host is not called to measure it; empty if it may be.
std::string why_not_called(const detail::CompiledFunction& function, const runtime::Executable& executable,
                           bool on_host) {
  if (!on_host || function.simulated()) return "it does not run on the host";
  if (function.reference() || function.verified()) return "its mode is not that of compiled kernels";
  if (!executable.program.graph.updates.empty()) return "it changes shared variables: record calls with a trace";
  if (has_callback(executable.program)) return "it calls functions of the user: record calls with a trace";
  return "";
}

/// The table's row of the function's first GPU, else that of the H200.
const codegen::MachineConstants& gpu_of(const std::vector<std::string>& used) {
  for (const DeviceInfo& device : croton::devices()) {
    if (device.kind == DeviceInfo::Kind::host || std::ranges::find(used, device.name) == used.end()) continue;
    for (const codegen::MachineConstants& known : codegen::known_machines()) {
      if (known.name == device.title) return known;
    }
  }
  return codegen::h200;
}

/// The plan of a call with these shapes, without its locks: what is made of it takes time.
struct SizedCall {
  std::shared_ptr<const runtime::Executable> executable;
  runtime::SizedPlan sized;
};
SizedCall size_call(detail::Callable& callable, const std::vector<Sizes>& shapes) {
  SizedCall call;
  callable.with_shapes(shapes, [&](const detail::Placed& where, const runtime::CallArrays& arrays) {
    call.executable = where.executable;
    call.sized = runtime::size_plan(*where.executable, arrays);
  });
  return call;
}

}  // namespace

Explanation Function::explain() const { return explain({}); }

Explanation Function::explain(const ExplainOptions& options) const {
  detail::apply_settings();
  const detail::CompiledFunction& function = impl().function();
  if (options.shapes.empty() && std::ranges::any_of(function.inputs, [](const auto& in) { return !in.value; })) {
    std::vector<std::string> inputs;
    for (const detail::InputRules& in : function.inputs) inputs.push_back(builder::describe(in.variable));
    throw ValueError(fmt::format("{}: explain() needs the shapes of the arguments of a call, one for each input: {}",
                                 name(), fmt::join(inputs, ", ")));
  }
  const std::vector<std::string> used = this->devices();
  const bool on_host = std::ranges::all_of(used, [](const std::string& device) { return device.starts_with("cpu"); });
  const bool host = options.machine.empty() ? on_host : options.machine == "cpu";
  detail::ExplainedMachine machine;
  if (host)
    machine.threads = runtime::cpu::ThreadPool::instance().threads();
  else
    machine.gpu = options.machine.empty() ? &gpu_of(used) : &codegen::find_machine(options.machine);

  Explanation result;
  result.function = name();
  result.machine = host ? "cpu" : std::string(machine.gpu->name);
  if (!host) result.architecture = machine.gpu->architecture;
  result.source = host ? "measured copies, and estimates of arithmetic" : std::string(machine.gpu->report);

  const SizedCall call = size_call(impl(), options.shapes);
  std::map<plan::LaunchId, double> measured;
  if (host && options.trace != nullptr) {
    measured = detail::measured_launches(*options.trace, *call.executable);
    if (measured.empty()) result.unmeasured = "the trace has no calls of this function on the host";
  } else if (host) {
    result.unmeasured = why_not_called(function, *call.executable, on_host);
    if (result.unmeasured.empty()) {
      std::vector<DType> dtypes;
      for (const detail::InputRules& in : function.inputs) dtypes.push_back(in.variable.type().dtype);
      try {
        measured = detail::measure_launches(copy(), *call.executable, dtypes, options.shapes);
      } catch (const Error& error) {  // such as a check of values
        result.unmeasured = fmt::format("a call with made-up arguments failed: {}", error.what());
      }
    }
  }
  const std::string schedule = codegen::joined_overrides(function.schedule, options.schedule);
  detail::explain_steps(*call.executable,
                        {.target = host ? "cpu" : "cuda:" + result.architecture,
                         .schedule = schedule,
                         .gpus = function.gpus(),
                         .sized = &call.sized,
                         .gpu = machine.gpu},
                        machine, measured, result);
  return result;
}

}  // namespace croton
