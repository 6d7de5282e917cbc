#include "runtime/bound/sized_plan.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "runtime/bound/routine_launch.hpp"

namespace croton::runtime {
namespace {

/// "n, train.cpp:12": an input, for messages.
std::string name_of_input(const Executable& executable, InputRef ref) {
  const auto at = std::ranges::find(executable.inputs, ref);
  const expr::GraphInput& input =
      executable.program.graph.inputs[static_cast<std::size_t>(at - executable.inputs.begin())];
  const std::string line = line_of({"", executable.program.graph.arena.origin(input.node).where});
  return fmt::format("{} ({})", input.name.empty() ? "an unnamed input" : input.name, line);
}

/// Raises ValueError if shapes do not determine all sizes.
void require_sizes_from_shapes(const Executable& executable) {
  const plan::Plan& plan = executable.plan;
  const std::vector<plan::BufferId>& fresh = plan.segments[fuse::first_segment].fresh;
  if (!fresh.empty()) {
    const NodeId node = plan.buffers[fresh.front()].node;
    throw ValueError(
        fmt::format("a size is known only when the function runs ({}), so the shapes of arguments do not "
                    "give its launches; without shapes, example sizes are shown",
                    line_of(executable.program.graph.arena.origin(node))));
  }
  if (executable.numbered.sizes.empty()) return;
  for (const InputRef input : executable.host_inputs) {
    if (input.shared) continue;
    throw ValueError(
        fmt::format("sizes depend on the value of {}, which the shapes of arguments do not give; without "
                    "shapes, example sizes are shown",
                    name_of_input(executable, input)));
  }
}

}  // namespace

SizedPlan size_plan(const Executable& executable, const CallArrays& arrays) {
  require_sizes_from_shapes(executable);
  SizedPlan result;
  find_sizes(executable, arrays, fuse::first_segment, result.sizes);
  check_requirements(executable, arrays, fuse::first_segment, result.sizes);
  find_layouts(executable, arrays, fuse::first_segment, result.sizes, result.memory);
  find_workspaces(executable, fuse::first_segment, result.memory);
  return result;
}

}  // namespace croton::runtime
