#include "plan/loop_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "base/shape.hpp"
#include "base/source_place.hpp"

namespace croton::plan {
namespace {

/// Whether the steps of the body write all of its results, each to a separate buffer.
bool writes_all_results(const Plan& plan) {
  for (std::size_t o = 0; o < plan.output_buffer.size(); ++o) {
    const BufferId b = plan.output_buffer[o];
    const bool own = b != no_buffer && plan.buffers[b].role == Buffer::Role::output && plan.buffers[b].number == o;
    if (!own) return false;
  }
  return true;
}

constexpr const char* passes_through = "it returns an input unchanged, or one value twice";
constexpr const char* finds_sizes = "it finds sizes by computing";
constexpr const char* moves_values = "it moves values between devices";
constexpr const char* loop_inside = "it has a loop inside";
constexpr const char* branch_inside = "it has a branch inside";

std::string runs_on_host(const fuse::Program& body, const fuse::HostCall& call) {
  return fmt::format("{} runs on the host", body.graph.arena.op(call.result).name);
}

/// The stated sizes of a matrix. Those of a captured matrix are stated outside of the loop.
std::vector<std::optional<std::int64_t>> stated_sizes(const fuse::Program& program, const fuse::LoopCall& call,
                                                      const Buffer& matrix) {
  const expr::Arena* arena = &call.body->graph.arena;
  NodeId node = matrix.node;
  if (matrix.role == Buffer::Role::argument && matrix.number >= call.loop.captured(0)) {
    arena = &program.graph.arena;
    node = call.inputs[call.loop.capture_input(matrix.number - call.loop.captured(0))];
  }
  std::vector<std::optional<std::int64_t>> sizes;
  for (const NodeId dim : arena->type(node).shape) sizes.push_back(arena->known(dim));
  return sizes;
}

/// Describes the first product for which calls of a library are faster, whatever the sizes that are not stated; empty
/// if there is none.
std::string large_product(const fuse::Program& program, const fuse::LoopCall& call, const Plan& plan, bool on_gpu) {
  for (const Step& step : plan.steps) {
    const auto* product = std::get_if<fuse::ProductCall>(&call.body->calls[step.call].work);
    if (product == nullptr) continue;
    const expr::Arena& arena = call.body->graph.arena;
    const auto& shape = arena.type(product->result).shape;
    // With one or two rows a generated kernel is faster than the library for every right matrix.
    const std::int64_t rows = arena.known(shape[0]).value_or(3);
    if (shape.size() != 2 || rows <= 2) continue;
    const auto sizes = stated_sizes(program, call, plan.buffers[step.right.buffer]);
    if (sizes.size() != 2 || !sizes[0] || !sizes[1]) continue;
    const std::int64_t k = step.right.transposed ? *sizes[1] : *sizes[0],
                       n = step.right.transposed ? *sizes[0] : *sizes[1],
                       bytes = k * n * base::element_size(arena.type(product->result).dtype);
    const bool large = on_gpu ? !why_not_product_in_rows(bytes).empty() &&
                                    !why_not_product_in_grid(rows, k, n, bytes, 2 * bytes).empty()
                              : bytes > expr::most_right_bytes_cpu;
    if (!large) continue;
    return fmt::format("the product of {} has a right matrix of {:.1f} MiB", base::file_and_line(product->origin.where),
                       static_cast<double>(bytes) / (1 << 20));
  }
  return "";
}

// Each block reads the whole right matrix in each step. A matrix that does not fit in the multiprocessor's first-level
// cache of 256 KiB is loaded from the second-level cache or from memory every time.
constexpr std::int64_t most_right_bytes_gpu = std::int64_t{1} << 18;

// A thread computes one element of a product, with two loads for each multiplication. A library with tiles in
// shared memory is several times as fast: above 2^24 multiplications (256 x 256 x 256) it saves more than its
// launch costs. Long sums limit the speed of products with few elements: 512 multiplications, one after the other,
// take about ten microseconds.
constexpr std::int64_t max_multiplications = std::int64_t{1} << 24, longest_sum = 512;

}  // namespace

std::string why_not_product_in_rows(std::int64_t right_bytes) {
  return right_bytes > most_right_bytes_gpu ? "is large for one multiprocessor" : "";
}

std::string why_not_product_in_grid(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t right_bytes,
                                    std::int64_t cache_bytes) {
  // The other half of the cache is for the other values that a step reads and writes.
  const bool fits = m * k * n <= max_multiplications && k <= longest_sum && right_bytes <= cache_bytes / 2;
  return fits ? "" : "is large";
}

namespace {

/// Why a body with this call can neither be one launch nor be recorded; empty if the call does not prevent that.
struct NeedsHost {
  const fuse::Program& body;
  std::string operator()(const fuse::HostCall& call) const { return runs_on_host(body, call); }
  std::string operator()(const fuse::TransferCall&) const { return moves_values; }
  std::string operator()(const fuse::LoopCall&) const { return loop_inside; }
  std::string operator()(const fuse::BranchCall&) const { return branch_inside; }
  std::string operator()(const fuse::KernelCall&) const { return ""; }
  std::string operator()(const fuse::ProductCall&) const { return ""; }
  std::string operator()(const fuse::RoutineCall&) const { return ""; }
};

/// Why a body with this call cannot be one launch of all steps; empty if the call does not prevent that.
struct NeedsLaunches : NeedsHost {
  using NeedsHost::operator();
  std::string operator()(const fuse::RoutineCall& call) const {
    return fmt::format("{} needs separate launches", body.graph.arena.op(call.result).name);
  }
  std::string operator()(const fuse::KernelCall& call) const {
    return call.kernel->family == kernel::Family::contract
               ? "windows are multiplied by filters in the tiles of a separate launch"
               : "";
  }
  std::string operator()(const fuse::ProductCall& call) const {
    return call.accumulate != expr::no_node || call.alpha != 1 ? "a product adds to its result" : "";
  }
};

}  // namespace

std::string why_by_steps(const fuse::Program& body, const Plan& plan) {
  if (plan.segments.size() > 1) return finds_sizes;
  for (const fuse::Call& call : body.calls) {
    std::string why = std::visit(NeedsLaunches{{body}}, call.work);
    if (!why.empty()) return why;
  }
  return writes_all_results(plan) ? "" : passes_through;
}

std::string why_not_recorded(const fuse::Program& body, const Plan& plan, const expr::Loop& loop) {
  if (loop.until) return "the host checks after each step whether it was the last";
  if (plan.segments.size() > 1) return finds_sizes;
  for (const fuse::Call& call : body.calls) {
    std::string why = std::visit(NeedsHost{body}, call.work);
    if (!why.empty()) return why;
    if (call.has_checks()) return "the host reads the result of each kernel that checks values";
  }
  return writes_all_results(plan) ? "" : passes_through;
}

std::int64_t count_launches(const fuse::Program& body, const Plan& plan) {
  std::int64_t count = 0;
  for (const Launch& launch : plan.launches) {
    const Step& first = plan.steps[launch.first_step];
    const fuse::Call& call = body.calls[first.call];
    constexpr int launches_of_routine = 10;  // a sort has a few more, a running sum fewer
    count += call.is<fuse::RoutineCall>() ? launches_of_routine : 1;
    if (call.is_kernel(kernel::Family::split)) ++count;
    if (first.accumulate != no_buffer) ++count;
  }
  return count;
}

std::string describe_steps(const fuse::LoopCall& call, const Plan& body_plan, std::string_view why, bool on_gpu,
                           std::string_view why_no_graphs) {
  const std::string by_host = fmt::format("by the host, a step at a time: {}", why);
  if (!on_gpu) return by_host;
  const std::string why_not =
      why_no_graphs.empty() ? why_not_recorded(*call.body, body_plan, call.loop) : std::string(why_no_graphs);
  if (why_not.empty()) return fmt::format("a step at a time, as a CUDA graph: {}", why);
  return why_not == why ? by_host : fmt::format("{}; no CUDA graph: {}", by_host, why_not);
}

std::string describe_loop(const fuse::Program& program, const fuse::Call& call, const Plan& body_plan) {
  const auto& loop = call.as<fuse::LoopCall>();
  const bool on_gpu = base::DeviceName::of_place(call.place).is_gpu();
  const std::string form = why_by_steps(*loop.body, body_plan),
                    why = form.empty() ? large_product(program, loop, body_plan, on_gpu) : form;
  return why.empty() ? "all steps in one launch"
                     : describe_steps(loop, body_plan, why, on_gpu, base::config().cuda_graphs ? "" : graphs_are_off);
}

}  // namespace croton::plan
