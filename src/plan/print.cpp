#include <fmt/format.h>

#include <algorithm>

#include "base/device_name.hpp"
#include "base/index.hpp"
#include "expr/print.hpp"
#include "plan/loop_form.hpp"
#include "plan/plan.hpp"

namespace croton::plan {
namespace {

using fuse::Program;

std::string_view name_of(Buffer::Role role) {
  static constexpr std::string_view names[] = {"argument", "shared", "constant", "temporary",
                                               "output",   "update", "resident", "workspace"};
  return names[base::ordinal(role)];
}

std::string on_device(expr::Place place) {
  return base::is_host(place) ? "" : " on " + base::DeviceName::of_place(place).to_string();
}

std::string list(const std::vector<BufferId>& buffers) {
  std::string joined;
  for (const BufferId b : buffers) joined += fmt::format("{}b{}", joined.empty() ? "" : ", ", b);
  return joined;
}

std::string indented(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += fmt::format("       {}\n", text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

std::string buffer_line(const Plan& plan, BufferId b, const expr::Names& names) {
  const Buffer& buffer = plan.buffers[b];
  std::string text =
      buffer.role == Buffer::Role::workspace
          ? fmt::format("  b{}: workspace of {}", b, names(buffer.node))
          : fmt::format("  b{}: {} {} {}", b, names.type(buffer.node), name_of(buffer.role), names(buffer.node));
  text += on_device(buffer.place);
  if (buffer.in_place_of != no_buffer) text += fmt::format(" in the memory of b{}", buffer.in_place_of);
  if (buffer.first_step != no_step) text += fmt::format(", steps {} to {}", buffer.first_step, buffer.last_step);
  return text + '\n';
}

/// Prints the right side of a step: a visitor of the kinds of work.
struct StepText {
  const Program& program;
  const fuse::Call& call;
  const Step& step;

  std::string operator()(const fuse::KernelCall& kernel) const {
    return fmt::format("{} kernel({}){}\n", kernel::name_of(kernel.kernel->family), list(step.reads),
                       kernel.kernel->checks.empty() ? "" : ", checks values");
  }
  std::string operator()(const fuse::ProductCall& product) const {
    const std::string sum = step.accumulate == no_buffer ? "" : fmt::format(" + {} b{}", product.beta, step.accumulate);
    return fmt::format("{} b{}{} b{}{}{}\n", product.alpha, step.left.buffer, step.left.transposed ? "^T" : "",
                       step.right.buffer, step.right.transposed ? "^T" : "", sum);
  }
  std::string operator()(const fuse::TransferCall&) const { return fmt::format("transfer({})\n", list(step.reads)); }
  std::string operator()(const fuse::RoutineCall& routine) const {
    return fmt::format("{} routine({})\n", op_name(routine.result), list(step.reads));
  }
  std::string operator()(const fuse::HostCall& host) const {
    return fmt::format("host {}({})\n", op_name(host.result), list(step.reads));
  }
  std::string operator()(const fuse::LoopCall& loop) const {
    const Plan& body = *step.bodies.front();
    return fmt::format("loop({}), {}:\n{}", list(step.reads), describe_loop(program, call, body),
                       indented(print(body, *loop.body)));
  }
  std::string operator()(const fuse::BranchCall& branch) const {
    const bool known = fuse::is_branch_number(program, branch, expr::Branch::condition_input);
    return fmt::format("branch({}), one of two{}:\n{}     else\n{}", list(step.reads),
                       known ? ", by a number of the host" : "", indented(print(*step.bodies[0], *branch.then)),
                       indented(print(*step.bodies[1], *branch.otherwise)));
  }

 private:
  std::string_view op_name(NodeId node) const { return program.graph.arena.op(node).name; }
};

}  // namespace

std::string print(const Plan& plan, const Program& program) {
  const expr::Names names(program.graph);
  std::string text = "buffers\n";
  for (const BufferId b : plan.buffers.ids()) text += buffer_line(plan, b, names);
  text += "steps\n";
  SegmentId segment = fuse::first_segment;
  const auto end_segments = [&](LaunchId launch) {
    for (; segment.next() < plan.segments.end_id() && launch == plan.segments[segment].end_launch;
         segment = segment.next()) {
      text += fmt::format("  -- read back {} --\n", list(plan.segments[segment].fresh));
    }
  };
  for (const LaunchId l : plan.launches.ids()) {
    end_segments(l);
    const Launch& launch = plan.launches[l];
    if (launch.first_step == plan.commit_step) text += "  -- commit: nothing below can fail --\n";
    if (launch.size() > 1) text += fmt::format("  one launch of {} kernels:\n", launch.size());
    for (const StepId s : launch.steps()) {
      const Step& step = plan.steps[s];
      const fuse::Call& call = program.calls[step.call];
      text += fmt::format("{}  {}: {}{} = {}", launch.size() > 1 ? "  " : "", s, list(step.writes),
                          on_device(call.place), std::visit(StepText{program, call, step}, call.work));
    }
  }
  end_segments(plan.launches.end_id());
  return text;
}

}  // namespace croton::plan
