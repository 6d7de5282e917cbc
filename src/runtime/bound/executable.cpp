#include "runtime/bound/executable.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/shape.hpp"
#include "base/source_place.hpp"

namespace croton::runtime {
namespace {

using plan::Buffer;

/// The integer scalar inputs that sizes or numbers of kernels depend on. Other inputs may change from call to call.
std::vector<InputRef> find_host_inputs(const Executable& executable) {
  const expr::Graph& graph = executable.program.graph;
  const expr::Arena& arena = graph.arena;
  std::vector<bool> used(arena.size(), false);
  for (const fuse::Call& call : executable.program.calls) {
    // Numbers that a launch is bound to: the number of steps of a loop, the condition of a branch.
    if (const auto* loop = std::get_if<fuse::LoopCall>(&call.work)) {
      used[loop->inputs[expr::Loop::steps_input]] = true;
    } else if (const auto* branch = std::get_if<fuse::BranchCall>(&call.work)) {
      if (fuse::is_branch_number(executable.program, *branch, expr::Branch::condition_input))
        used[branch->inputs[expr::Branch::condition_input]] = true;
    } else if (const auto* kernel = std::get_if<fuse::KernelCall>(&call.work)) {
      for (const NodeId extent : kernel->extents) used[extent] = true;
    }
  }
  for (const Buffer& buffer : executable.plan.buffers) {
    for (const NodeId dim : arena.type(buffer.node).shape) used[arena.representative(dim)] = true;
  }
  for (const expr::Requirement& r : arena.requirements()) used[r.left] = used[r.right] = true;
  for (NodeId id = arena.size(); id-- > 0;) {
    if (!used[id] || executable.program.host.is_fresh(id)) continue;
    for (const NodeId input : arena.inputs(id)) used[input] = true;
  }
  std::vector<InputRef> result;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const NodeId node = graph.inputs[i].node;
    // An input on a device is a fresh size: it is read back and known later.
    if (used[node] && executable.program.host.known_at_once(node)) result.push_back(executable.inputs[i]);
  }
  return result;
}

Numbered find_numbered(const Executable& executable) {
  const expr::Graph& graph = executable.program.graph;
  const expr::Arena& arena = graph.arena;
  const fuse::HostValues& host = executable.program.host;
  std::vector<bool> depends(arena.size(), false), is_size(arena.size(), false);
  for (const expr::GraphInput& input : graph.inputs) {
    const InputRef ref = executable.inputs[static_cast<std::size_t>(&input - graph.inputs.data())];
    depends[input.node] = std::ranges::find(executable.host_inputs, ref) != executable.host_inputs.end();
  }
  Numbered result;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!host.known_at_once(id)) continue;
    const bool computed = std::ranges::any_of(arena.inputs(id), [&](NodeId input) { return depends[input]; });
    depends[id] = depends[id] || computed;
    if (depends[id]) result.nodes.push_back(id);
  }
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!executable.needed[id]) continue;
    for (const NodeId dim : arena.type(id).shape) is_size[arena.representative(dim)] = true;
  }
  std::ranges::copy_if(result.nodes, std::back_inserter(result.sizes), [&](NodeId id) { return is_size[id]; });
  for (std::size_t r = 0; r < arena.requirements().size(); ++r) {
    const expr::Requirement& requirement = arena.requirements()[r];
    if (depends[requirement.left] || depends[requirement.right]) result.requirements.push_back(r);
  }
  return result;
}

}  // namespace

void RunCounts::add(const RunCounts& more) {
  kernels += more.kernels;
  products += more.products;
  convolutions += more.convolutions;
  routines += more.routines;
  callbacks += more.callbacks;
  reference_kernels += more.reference_kernels;
  compiled += more.compiled;
  cached += more.cached;
  offered_parts += more.offered_parts;
  worker_parts += more.worker_parts;
  transfers += more.transfers;
  transferred_bytes += more.transferred_bytes;
  transferred.insert(transferred.end(), more.transferred.begin(), more.transferred.end());
  for (const auto& [at, how] : more.loops) loops[at] = how;
}

const Array& CallArrays::nothing() {
  static float zero = 0;
  static const Array array = Array::view_of(&zero, DType::float32, {});
  return array;
}

void check_place(const Array& place, std::span<const std::int64_t> shape) {
  if (std::ranges::equal(place.shape(), shape)) return;
  throw ShapeError(fmt::format("a result of a loop or branch has the shape {}, its place {}", base::shape_text(shape),
                               base::shape_text(place.shape())));
}

std::string line_of(const expr::Origin& origin) {
  if (origin.name.empty()) return base::file_and_line(origin.where);
  return origin.where.known() ? origin.name + ", " + base::file_and_line(origin.where) : origin.name;
}

std::shared_ptr<const Executable> make_executable(fuse::Program program, plan::Plan plan) {
  auto result = std::make_shared<Executable>();
  result->plan = std::move(plan);
  result->program = std::move(program);
  for (const fuse::Call& call : result->program.calls) {
    auto& analyses = result->analyses.emplace_back();
    if (const auto* kernel = std::get_if<fuse::KernelCall>(&call.work)) {
      analyses.push_back(codegen::analyse(*kernel->kernel));
    } else if (const auto* product = std::get_if<fuse::ProductCall>(&call.work)) {
      for (const auto& generated : product->generated) analyses.push_back(codegen::analyse(*generated->kernel));
    }
  }
  result->bodies.resize(result->program.calls.size());
  for (const plan::Step& step : result->plan.steps) {
    const auto programs = result->call_of(step).bodies();
    for (std::size_t i = 0; i < programs.size(); ++i)
      result->bodies[step.call].push_back(make_executable(*programs[i], *step.bodies[i]));
  }
  result->needed = expr::reachable(result->program.graph);
  std::size_t arguments = 0, shared = 0;
  for (const expr::GraphInput& input : result->program.graph.inputs) {
    const bool is_shared = input.role == expr::Role::shared;
    result->inputs.push_back({is_shared, is_shared ? shared++ : arguments++});
  }
  result->host_inputs = find_host_inputs(*result);
  result->numbered = find_numbered(*result);
  result->needs_contiguous.assign(arguments, false);
  for (const plan::Step& step : result->plan.steps) {
    if (result->call_of(step).is<fuse::KernelCall>()) continue;
    for (const plan::BufferId b : step.reads) {
      const Buffer& buffer = result->plan.buffers[b];
      if (buffer.role == Buffer::Role::argument) result->needs_contiguous[buffer.number] = true;
    }
  }
  return result;
}

std::vector<std::string> kernel_comment(const fuse::KernelCall& call) {
  std::vector<std::string> lines;
  std::string text = kernel::print(*call.kernel);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  for (const expr::Origin& origin : call.origins) lines.push_back("from " + line_of(origin));
  return lines;
}

}  // namespace croton::runtime
