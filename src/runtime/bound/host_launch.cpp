#include "runtime/bound/host_launch.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/rethrow.hpp"
#include "base/running_callback.hpp"
#include "expr/evaluate.hpp"
#include "runtime/bound/launch_time.hpp"

namespace croton::runtime {

HostLaunch::HostLaunch(const Executable& executable, const plan::Step& step, const SizeTable& sizes)
    : executable_(&executable), step_(&step), call_(&executable.call_of(step).as<fuse::HostCall>()) {
  numbers_ = numbers_at(sizes);
}

std::vector<Array> HostLaunch::numbers_at(const SizeTable& sizes) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  std::vector<Array> numbers;
  for (const NodeId argument : call_->arguments) {
    Array& number = numbers.emplace_back();
    if (!fuse::is_number(arena, argument)) continue;
    const auto value = arena.scalar_value(argument);
    number =
        value ? expr::array_of(std::span(&*value, 1), value->dtype, {}) : Array(sizes[arena.representative(argument)]);
  }
  return numbers;
}

std::optional<Launch::Renumbering> HostLaunch::renumbered(const SizeTable&, const SizeTable& sizes, const Memory&) {
  return [this, numbers = numbers_at(sizes)]() mutable { numbers_ = std::move(numbers); };
}

LaunchTime HostLaunch::time(double bytes) const {
  return {launch_time::callback + bytes / launch_time::computed_bytes};
}

void HostLaunch::run(const LaunchRun& in) {
  run_callback(in.memory, in.host_results);
  ++in.counts.callbacks;
}

std::vector<Array> HostLaunch::arguments(const Memory& memory) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  std::vector<Array> given;
  std::size_t next = 0;
  for (std::size_t i = 0; i < call_->arguments.size(); ++i) {
    const NodeId node = call_->arguments[i];
    if (fuse::is_number(arena, node)) {
      given.push_back(numbers_[i]);
      continue;
    }
    const plan::BufferId b = step_->reads[next++];
    given.push_back(
        Array::view_of(static_cast<const void*>(memory.base[b]), arena.type(node).dtype, memory.layouts[b].shape, {}));
  }
  return given;
}

void HostLaunch::run_callback(const Memory& memory, HostResults& results) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  const expr::Op& op = arena.op(call_->result);
  Application application{&op, arena.attrs(call_->result).integer("application"), call_->arguments};
  auto at = results.find(application);
  try {
    const base::RunningCallback running;
    if (at == results.end()) at = results.emplace(std::move(application), op.host->compute(arguments(memory))).first;
  } catch (...) {
    base::rethrow_with("", fmt::format(" ({})", line_of(call_->origin)));
  }
  const plan::BufferId b = step_->writes[0];
  const Array value = expr::host_result(op, arena.attrs(call_->result), at->second, arena.type(call_->result).dtype,
                                        memory.layouts[b].shape, line_of(call_->origin))
                          .contiguous();
  if (value.bytes() > 0) std::memcpy(memory.base[b], std::as_const(value).raw(), value.bytes());
}

}  // namespace croton::runtime
