#include "plan/loop_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "base/source_place.hpp"

namespace croton::plan {
namespace {

/// Whether steps of the body's own write all of its results, each in a place of its own.
bool writes_all_results(const Plan& plan) {
  for (std::size_t o = 0; o < plan.output_buffer.size(); ++o) {
    const int b = plan.output_buffer[o];
    const bool own = b >= 0 && plan.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::output &&
                     plan.buffers[static_cast<std::size_t>(b)].number == static_cast<int>(o);
    if (!own) return false;
  }
  return true;
}

constexpr const char* gives_on = "it gives on what it was given, or one value twice";
constexpr const char* finds_sizes = "it finds sizes by computing";
constexpr const char* moves_values = "it moves values between devices";
constexpr const char* loop_inside = "it has a loop inside";
constexpr const char* branch_inside = "it has a branch inside";

std::string runs_on_host(const fuse::Program& body, const fuse::HostCall& call) {
  return fmt::format("{} runs on the host", body.graph.arena.op(call.result).name);
}

/// The size of the matrix in bytes where it is stated: of a capture, outside of the loop.
std::optional<std::int64_t> stated_bytes(const fuse::Program& program, const fuse::LoopCall& call,
                                         const Buffer& matrix) {
  const expr::Arena* arena = &call.body->graph.arena;
  NodeId node = matrix.node;
  const auto number = static_cast<std::size_t>(matrix.number);
  if (matrix.role == Buffer::Role::argument && number >= call.loop.captured(0)) {
    arena = &program.graph.arena;
    node = call.inputs[call.loop.capture_input(number - call.loop.captured(0))];
  }
  auto bytes = static_cast<std::int64_t>(size_of(arena->type(node).dtype));
  if (arena->type(node).rank() != 2) return std::nullopt;
  for (const NodeId dim : arena->type(node).shape) {
    const auto size = arena->known(dim);
    if (!size) return std::nullopt;
    bytes *= *size;
  }
  return bytes;
}

/// What a loop has by way of products that a library does better in each step.
struct LargeProducts {
  std::string first;      // the first that is one by its stated sizes
  bool possible = false;  // sizes that are not stated may make another one
};

LargeProducts large_products(const fuse::Program& program, const fuse::LoopCall& call, const Plan& plan, bool on_gpu) {
  const std::int64_t most = on_gpu ? most_right_bytes_gpu : most_right_bytes_cpu;
  LargeProducts found;
  for (const Step& step : plan.steps) {
    const auto& product = call.body->calls[static_cast<std::size_t>(step.call)].product;
    if (!product) continue;
    const auto& shape = call.body->graph.arena.type(product->result).shape;
    // One or two rows: a generated kernel beats the library, whatever the other matrix.
    if (shape.size() != 2 || call.body->graph.arena.known(shape[0]).value_or(3) <= 2) continue;
    const auto bytes = stated_bytes(program, call, plan.buffers[static_cast<std::size_t>(step.right.buffer)]);
    found.possible = found.possible || !bytes;
    if (!bytes || *bytes <= most || !found.first.empty()) continue;
    const Where where = product->origin.where;
    found.first = fmt::format("the product of {} has a right matrix of {:.1f} MiB",
                              where.known() ? base::file_and_line(where) : "an unknown line",
                              static_cast<double>(*bytes) / (1 << 20));
  }
  return found;
}

}  // namespace

std::string why_by_steps(const fuse::Program& body, const Plan& plan) {
  const expr::Arena& arena = body.graph.arena;
  if (plan.segments.size() > 1) return finds_sizes;
  for (const fuse::Call& call : body.calls) {
    if (call.host) return runs_on_host(body, *call.host);
    if (call.routine) return fmt::format("{} takes launches of its own", arena.op(call.routine->result).name);
    if (call.transfer) return moves_values;
    if (call.loop) return loop_inside;
    if (call.branch) return branch_inside;
    if (call.product && (call.product->accumulate != expr::no_node || call.product->alpha != 1))
      return "a product adds to what is there";
  }
  return writes_all_results(plan) ? "" : gives_on;
}

std::string why_not_recorded(const fuse::Program& body, const Plan& plan, const expr::Loop& loop) {
  if (loop.until) return "the host looks after each step whether it was the last";
  if (plan.segments.size() > 1) return finds_sizes;
  for (const fuse::Call& call : body.calls) {
    if (call.host) return runs_on_host(body, *call.host);
    if (call.transfer) return moves_values;
    if (call.loop) return loop_inside;
    if (call.branch) return branch_inside;
    if (call.kernel && !call.kernel->kernel->checks.empty())
      return "the host looks after each kernel that checks values";
  }
  return writes_all_results(plan) ? "" : gives_on;
}

std::int64_t count_launches(const fuse::Program& body, const Plan& plan) {
  std::int64_t count = 0;
  for (const Launch& launch : plan.launches) {
    const Step& first = plan.steps[static_cast<std::size_t>(launch.first_step)];
    const fuse::Call& call = body.calls[static_cast<std::size_t>(first.call)];
    constexpr int of_routine = 10;  // of a sort a few more, of a running sum fewer
    count += call.routine ? of_routine : 1;
    if (call.kernel && call.kernel->kernel->family == kernel::Family::split) ++count;
    if (first.accumulate >= 0) ++count;
  }
  return count;
}

std::string describe_loop(const fuse::Program& program, const fuse::Call& call, const Plan& body_plan) {
  const fuse::LoopCall& loop = *call.loop;
  const bool on_gpu = call.place != 0 && base::DeviceName::of_place(call.place).kind == base::DeviceName::Kind::cuda;
  const LargeProducts large = large_products(program, loop, body_plan, on_gpu);
  const std::string form = why_by_steps(*loop.body, body_plan), why = form.empty() ? large.first : form;
  if (why.empty() && !(on_gpu && large.possible)) return "all steps in one launch";
  if (!on_gpu) return "by the host, a step at a time: " + why;
  const std::string why_not =
      base::config().cuda_graphs ? why_not_recorded(*loop.body, body_plan, loop.loop) : "the flag cuda_graphs is off";
  if (why.empty())
    return fmt::format("all steps in one launch ({} where a right matrix is more than {} KiB)",
                       why_not.empty() ? "as a CUDA graph" : "by the host", most_right_bytes_gpu >> 10);
  if (why_not.empty()) return "a step at a time, as a CUDA graph: " + why;
  return fmt::format("by the host, a step at a time: {}{}", why,
                     why_not == why ? "" : fmt::format("; no CUDA graph: {}", why_not));
}

}  // namespace croton::plan
