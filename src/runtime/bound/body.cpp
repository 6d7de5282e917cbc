#include "runtime/bound/body.hpp"

#include "base/device_memory.hpp"
#include "base/shape.hpp"
#include "expr/evaluate.hpp"

namespace croton::runtime {
namespace {

// The maximal number of bound plans that are kept, one for each set of numbers.
constexpr std::size_t max_bound_plans = 64;

}  // namespace

Rows rows_of(const Executable& executable, const Memory& memory, plan::BufferId buffer, std::size_t axes_out) {
  const DType dtype = executable.program.graph.arena.type(executable.plan.buffers[buffer].node).dtype;
  const std::vector<std::int64_t>& shape = memory.layouts[buffer].shape;
  Rows rows{
      memory.base[buffer], 0, dtype, Sizes(shape.begin() + static_cast<std::ptrdiff_t>(axes_out), shape.end()), {}};
  rows.bytes = static_cast<std::int64_t>(base::byte_count(rows.shape, dtype));
  return rows;
}

Array view_of_row(Device& device, const Rows& rows, std::int64_t row) {
  if (device.is_host()) return Array::view_of(static_cast<void*>(rows.at(row)), rows.dtype, rows.shape, rows.strides);
  return Array::view_on(device, rows.at(row), rows.dtype, rows.shape);
}

Array number_on(Device& device, const Executable& executable, NodeId node, const SizeTable& sizes) {
  const expr::Arena& arena = executable.program.graph.arena;
  const auto value = arena.scalar_value(node);
  const Array here = value ? expr::array_of(std::span(&*value, 1), value->dtype, {})
                           : Array(sizes[arena.representative(node)]).astype(arena.type(node).dtype);
  return base::moved_to(device, here);
}

BodyRun::BodyRun(std::shared_ptr<const Executable> body, Device& device, BindOptions options)
    : body_(std::move(body)), device_(device), options_(std::move(options)) {
  options_.inside = true;
  arguments_.resize(body_->program.graph.inputs.size());
  for (const Array& argument : arguments_) arrays_.arguments.push_back(&argument);
  arrays_.given_outputs = true;
}

BoundPlan& BodyRun::bind(RunCounts& counts) {
  // The arguments have the same sizes in each run of a launch, but not the same values.
  std::vector<std::int64_t> key;
  for (const InputRef input : body_->host_inputs) key.push_back(arrays_.number(input));
  const auto found = bound_.find(key);
  if (found != bound_.end()) return *(last_ = found->second.get());
  last_ = nullptr;
  if (bound_.size() >= max_bound_plans) bound_.clear();
  auto plan = std::make_unique<BoundPlan>(body_, arrays_, options_, counts);
  return *(last_ = bound_.emplace(std::move(key), std::move(plan)).first->second.get());
}

void BodyRun::run(const std::vector<Array>& wanted, RunCounts& counts) {
  BoundPlan& plan = bind(counts);
  arrays_.outputs = wanted;
  plan.run(arrays_, workspace_, counts);
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    // A result that is an argument, or that repeats another result, is in other memory and has to be copied.
    const Array& found = arrays_.outputs[o];
    if (wanted[o].address() == nullptr || found.address() == wanted[o].address() || found.bytes() == 0) continue;
    check_place(wanted[o], found.shape());
    copy_between(device_, wanted[o].address(), device_, found.address(), found.bytes());
  }
}

}  // namespace croton::runtime
