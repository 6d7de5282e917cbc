#include "plan/loop_form.hpp"

#include <fmt/format.h>

namespace croton::plan {

std::string why_by_steps(const fuse::Program& body, const Plan& plan) {
  const expr::Arena& arena = body.graph.arena;
  if (plan.segments.size() > 1) return "it finds sizes by computing";
  for (const fuse::Call& call : body.calls) {
    if (call.host) return fmt::format("{} runs on the host", arena.op(call.host->result).name);
    if (call.routine) return fmt::format("{} takes launches of its own", arena.op(call.routine->result).name);
    if (call.transfer) return "it moves values between devices";
    if (call.loop) return "it has a loop inside";
    if (call.branch) return "it has a branch inside";
    if (call.product && (call.product->accumulate != expr::no_node || call.product->alpha != 1))
      return "a product adds to what is there";
  }
  for (std::size_t o = 0; o < plan.output_buffer.size(); ++o) {
    const int b = plan.output_buffer[o];
    const bool own = b >= 0 && plan.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::output &&
                     plan.buffers[static_cast<std::size_t>(b)].number == static_cast<int>(o);
    if (!own) return "it gives on what it was given, or one value twice";
  }
  return "";
}

}  // namespace croton::plan
