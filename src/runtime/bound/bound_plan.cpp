#include "runtime/bound/bound_plan.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include "base/device_memory.hpp"
#include "expr/evaluate.hpp"
#include "runtime/bound/failures.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/device.hpp"

namespace croton::runtime {

using plan::Buffer;

BoundPlan::BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
                     RunCounts& counts)
    : executable_(std::move(executable)),
      options_(std::move(options)),
      first_(executable_, fuse::first_segment, nullptr, {}, arrays, options_, counts),
      tiny_(executable_->plan.segments.size() == 1 && first_.is_tiny()) {
  find_results_without_step();
}

bool BoundPlan::renumber(const CallArrays& arrays) {
  return executable_->plan.segments.size() == 1 && first_.renumber(arrays);
}

void BoundPlan::run(CallArrays& arrays, Workspace& workspace, RunCounts& counts) {
  const expr::Graph& graph = executable_->program.graph;
  if (arrays.reuse_outputs)
    arrays.outputs.resize(graph.outputs.size(), CallArrays::nothing());
  else if (!arrays.given_outputs)
    arrays.outputs.assign(graph.outputs.size(), CallArrays::nothing());
  arrays.updates.resize(graph.updates.size());
  if (!arrays.given_outputs) counts.transferred.clear();
  BoundSegment* segment = &first_;
  for (std::size_t k = 0; k + 1 < executable_->plan.segments.size(); ++k) {
    start(*segment, arrays, workspace, counts);
    run(*segment, arrays, counts);
    segment = &segment->next(segment->read_fresh(), arrays, options_, counts);
  }
  start(*segment, arrays, workspace, counts);
  const std::vector<DuplicateResult> duplicates = add_results(*segment, arrays);
  run(*segment, arrays, counts);
  try {
    for (const DuplicateResult& r : duplicates)
      copy_between(r.device, r.to->address(), r.device, r.from->address(), r.from->bytes());
  } catch (...) {
    segment->mark_devices_lost();
    throw;
  }
}

void BoundPlan::start(BoundSegment& segment, CallArrays& arrays, Workspace& workspace, RunCounts& counts) const {
  try {
    segment.start(arrays, workspace, counts);
  } catch (const OutOfMemory&) {
    if (!workspace.save_memory()) throw;
    segment.start(arrays, workspace, counts);
  }
}

void BoundPlan::run(BoundSegment& segment, const CallArrays& arrays, RunCounts& counts) const {
  try {
    segment.run(counts);
  } catch (const CheckFailure& failure) {
    throw IndexError(fmt::format("{}; {}", failure.message, describe_inputs(*executable_, arrays, {})));
  }
}

void BoundPlan::find_results_without_step() {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  const auto is_own = [&](plan::BufferId b, Buffer::Role role, std::size_t i) {
    return b != plan::no_buffer && plan.buffers[b].role == role && plan.buffers[b].number == i;
  };
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (!is_own(plan.output_buffer[i], Buffer::Role::output, i)) outputs_without_step_.push_back(i);
  for (std::size_t i = 0; i < graph.updates.size(); ++i)
    if (!is_own(plan.update_buffer[i], Buffer::Role::update, i)) updates_without_step_.push_back(i);
}

/// Adds the results that no step computes. Inputs, constants and sizes are copied now, before anything is overwritten.
/// Results that repeat another one get memory now and are copied at the end.
std::vector<BoundPlan::DuplicateResult> BoundPlan::add_results(const BoundSegment& segment, CallArrays& arrays) const {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  std::vector<DuplicateResult> duplicates;
  const auto add = [&](Array& result, NodeId node, plan::BufferId b, expr::Place home) {
    with_lines(graph.arena.origin(node), [&] {
      if (b == plan::no_buffer)
        result = number(segment, node, home);
      else if (auto again = copy_input(segment, arrays, b))
        result = *std::move(again);
      else
        duplicates.push_back(allocate_duplicate(segment, arrays, result, b));
    });
  };
  for (const std::size_t i : outputs_without_step_)
    add(arrays.outputs[i], graph.outputs[i], plan.output_buffer[i], graph.results);
  for (const std::size_t i : updates_without_step_) {
    const expr::Update& update = graph.updates[i];
    add(arrays.updates[i], update.value, plan.update_buffer[i], graph.inputs[update.input].place);
  }
  return duplicates;
}

/// A number that the host knows, as an array on the result's device.
Array BoundPlan::number(const BoundSegment& segment, NodeId node, expr::Place home) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  const auto value = arena.scalar_value(node);
  const Array here = value ? expr::array_of(std::span(&*value, 1), value->dtype, {}) : Array(segment.sizes()[node]);
  return base::moved_to(segment.device_of(home), here.astype(arena.type(node).dtype));
}

/// A copy of an input of the call, or of a constant; nothing if the buffer is a result.
std::optional<Array> BoundPlan::copy_input(const BoundSegment& segment, const CallArrays& arrays,
                                           plan::BufferId b) const {
  const plan::Plan& plan = executable_->plan;
  const Buffer& buffer = plan.buffers[b];
  const std::size_t number = buffer.number;
  Device& device = segment.device_of(buffer.place);
  switch (buffer.role) {
    case Buffer::Role::argument:
      return copy_to(device, device, *arrays.arguments[number]);
    case Buffer::Role::shared:
      return copy_to(device, device, *arrays.shared[number]);
    case Buffer::Role::constant:
      return copy_to(device, host_device(), executable_->program.graph.constants[number]);
    case Buffer::Role::resident: {
      const Array& value = *arrays.shared[plan.buffers[buffer.copy_of].number];
      Array copy = Array::empty_on(device, value.dtype(), value.shape());
      copy_between(device, copy.address(), device, segment.address(b), value.bytes());
      return copy;
    }
    default:
      return std::nullopt;
  }
}

/// Allocates a result that repeats another one.
BoundPlan::DuplicateResult BoundPlan::allocate_duplicate(const BoundSegment& segment, const CallArrays& arrays,
                                                         Array& result, plan::BufferId b) const {
  const Buffer& buffer = executable_->plan.buffers[b];
  const std::size_t number = buffer.number;
  const Array& from = buffer.role == Buffer::Role::output ? arrays.outputs[number] : arrays.updates[number];
  Device& device = segment.device_of(buffer.place);
  result = Array::empty_on(device, from.dtype(), from.shape());
  return {&result, &from, device};
}

}  // namespace croton::runtime
