#include "runtime/bind.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory.hpp"
#include "base/shape.hpp"
#include "base/source_place.hpp"
#include "expr/evaluate.hpp"
#include "kernel/evaluate.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/simulate.hpp"

namespace croton::runtime {

using expr::NodeId;
using plan::Buffer;

namespace {

// Below this much work a region is not worth waking a second thread for (about 30 microseconds).
constexpr std::int64_t grain_elements = 32768;

std::string line_of(const expr::Origin& origin) {
  if (origin.where.line() == 0) return origin.name.empty() ? "line unknown" : origin.name;
  return fmt::format("{}{}{}", origin.name, origin.name.empty() ? "" : ", ", base::file_and_line(origin.where));
}

}  // namespace

std::shared_ptr<const Executable> make_executable(fuse::Program program) {
  auto result = std::make_shared<Executable>();
  result->plan = plan::make_plan(program);
  for (const fuse::Call& call : program.calls) {
    result->analyses.push_back(codegen::analyse(call.kernel ? *call.kernel->kernel : *call.product->small->kernel));
  }
  const expr::Graph& graph = program.graph;
  result->host = fuse::host_values(graph);
  // Only arguments that sizes or kernels' numbers depend on; others may change freely from call to call.
  std::vector<bool> used(graph.arena.size(), false);
  for (const fuse::Call& call : program.calls) {
    if (call.kernel) {
      for (const NodeId extent : call.kernel->extents) used[extent] = true;
    }
  }
  for (const Buffer& buffer : result->plan.buffers) {
    for (const NodeId dim : graph.arena.type(buffer.node).shape) used[graph.arena.representative(dim)] = true;
  }
  for (const expr::Requirement& r : graph.arena.requirements()) used[r.left] = used[r.right] = true;
  for (NodeId id = static_cast<NodeId>(graph.arena.size()); id-- > 0;) {
    if (!used[id]) continue;
    for (const NodeId input : graph.arena.inputs(id)) used[input] = true;
  }
  int argument = 0;
  for (const expr::GraphInput& input : graph.inputs) {
    if (input.role != expr::Role::argument) continue;
    if (used[input.node] && result->host[input.node]) result->host_arguments.push_back(argument);
    result->needs_contiguous.push_back(false);
    ++argument;
  }
  for (const plan::Step& step : result->plan.steps) {
    if (program.calls[static_cast<std::size_t>(step.call)].kernel) continue;
    for (const int b : step.reads) {
      const Buffer& buffer = result->plan.buffers[static_cast<std::size_t>(b)];
      if (buffer.role == Buffer::Role::argument) result->needs_contiguous[static_cast<std::size_t>(buffer.number)] = true;
    }
  }
  result->program = std::move(program);
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

struct BoundPlan::Step {
  const plan::Step* plan = nullptr;
  std::vector<int> reads;  // buffers of a kernel
  // kernels
  const fuse::KernelCall* kernel = nullptr;
  cpu::KernelEntry entry;
  std::vector<std::uint64_t> parameters;
  std::int64_t points = 0, grain = 1;  // of CPU work items: points, tiles or parts
  std::int64_t parallel_points = 0;    // of GPU work items: points or parts
  std::shared_ptr<void> workspace;
  std::vector<std::int64_t> extents;
  codegen::Launch launch;  // kept for the simulator
  // products
  cpu::MatrixProduct product;
  std::uint64_t left = 0, right = 0, result = 0, accumulate = 0;  // addresses, patched
  std::int64_t result_bytes = 0;
};

BoundPlan::~BoundPlan() = default;

BoundPlan::BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, bool simulated, RunCounts& counts)
    : executable_(std::move(executable)), simulated_(simulated) {
  sizes_ = evaluate_sizes(arrays, false);
  check_requirements(arrays);
  find_layouts(arrays);
  allocate_temporaries();
  const fuse::Program& program = executable_->program;
  std::vector<codegen::Text> texts;
  for (const plan::Step& step : executable_->plan.steps) {
    steps_.push_back(std::make_unique<Step>());
    steps_.back()->plan = &step;
    const fuse::Call& call = program.calls[static_cast<std::size_t>(step.call)];
    if (call.kernel) texts.push_back(bind_kernel(step, *call.kernel, step.reads));
    else if (is_small(step, sizes_)) texts.push_back(bind_kernel(step, *call.product->small, step.small_reads));
    else bind_product(step);
  }
  if (!simulated_ && cpu::can_compile()) {
    // A product that is small for other sizes of the arguments has its kernel compiled now, so that later sizes compile nothing.
    const std::vector<std::int64_t> smallest = program.product_count() > 0 ? evaluate_sizes(arrays, true) : sizes_;
    for (const plan::Step& step : executable_->plan.steps) {
      const bool product = program.calls[static_cast<std::size_t>(step.call)].product != nullptr;
      if (product && !is_small(step, sizes_) && is_small(step, smallest)) texts.push_back(small_product_text(step));
    }
    cpu::KernelCounts made;
    const std::vector<cpu::KernelEntry> entries = cpu::get_kernels(texts, made);
    counts.compiled += made.compiled;
    counts.cached += made.cached;
    std::size_t next = 0;
    for (const auto& step : steps_) {
      if (step->kernel != nullptr) step->entry = entries[next++];
    }
  }
  base_.assign(executable_->plan.buffers.size(), nullptr);
  spare_updates_.resize(executable_->plan.update_buffer.size());
}

std::vector<std::int64_t> BoundPlan::evaluate_sizes(const CallArrays& arrays, bool smallest) const {
  const expr::Graph& graph = executable_->program.graph;
  const expr::Arena& arena = graph.arena;
  std::vector<std::int64_t> sizes(arena.size(), 0);
  // Arguments and shared variables keep their own counts, as the graph's inputs are mixed.
  std::vector<const Array*> of_input;
  std::size_t argument = 0, shared = 0;
  for (const expr::GraphInput& input : graph.inputs) {
    of_input.push_back(input.role == expr::Role::argument ? &arrays.arguments[argument++] : &arrays.shared[shared++]);
  }
  std::vector<expr::Scalar> operands;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!executable_->host[id]) continue;
    const expr::Op& op = arena.op(id);
    if (const auto value = arena.scalar_value(id)) {
      sizes[id] = value->as_int();
    } else if (op.name == "size") {
      const expr::Attrs& attrs = arena.attrs(id);
      const bool of_argument = graph.inputs[static_cast<std::size_t>(attrs.integer("input"))].role == expr::Role::argument;
      sizes[id] = smallest && of_argument ? 1 : of_input[static_cast<std::size_t>(attrs.integer("input"))]->shape()[static_cast<std::size_t>(attrs.integer("axis"))];
    } else if (op.name == "input") {
      sizes[id] = of_input[static_cast<std::size_t>(arena.attrs(id).integer("index"))]->astype(DType::int64).item<std::int64_t>();
    } else {
      operands.clear();
      for (const NodeId input : arena.inputs(id)) {
        operands.push_back(expr::Scalar::of_int(sizes[input], arena.type(input).dtype));
      }
      if (op.name == "cast") {
        sizes[id] = operands[0].cast(arena.type(id).dtype).i;
      } else {
        sizes[id] = op.map->reference(operands, arena.type(id).dtype).as_int();
      }
    }
  }
  return sizes;
}

std::string BoundPlan::describe(const CallArrays& arrays) const {
  std::string text;
  std::size_t argument = 0, shared = 0;
  for (const expr::GraphInput& input : executable_->program.graph.inputs) {
    const Array& array = input.role == expr::Role::argument ? arrays.arguments[argument++] : arrays.shared[shared++];
    const expr::Origin& origin = executable_->program.graph.arena.origin(input.node);
    text += fmt::format("{}{} is {} ({})", text.empty() ? "" : ", ", input.name.empty() ? "an unnamed input" : input.name,
                        Type{array.dtype(), array.shape()}.to_string(), line_of({"", origin.where}));
  }
  return text;
}

void BoundPlan::check_requirements(const CallArrays& arrays) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  for (const expr::Requirement& r : arena.requirements()) {
    const std::int64_t left = sizes_[r.left], right = sizes_[r.right];
    if (r.kind == expr::Requirement::Kind::index) {
      if (left >= -right && left < right) continue;
      throw IndexError(fmt::format("{}: index {} of an axis of size {} ({}); {}", r.why, left, right, line_of(arena.origin_of(r.origin)), describe(arrays)));
    }
    if (left == right) continue;
    throw ShapeError(fmt::format("{}: {} is not {} ({}); {}", r.why, left, right, line_of(arena.origin_of(r.origin)), describe(arrays)));
  }
  // Sizes that types state or ops computed must be sizes; and what has no elements has no largest one.
  for (NodeId id = 0; id < arena.size(); ++id) {
    for (const NodeId dim : arena.type(id).shape) {
      if (sizes_[arena.representative(dim)] < 0) {
        throw ShapeError(fmt::format("{} ({}): a size of {}; {}", arena.op(id).name, line_of(arena.origin(id)), sizes_[arena.representative(dim)], describe(arrays)));
      }
    }
    const expr::Op& op = arena.op(id);
    if (op.reduce == nullptr || !op.reduce->needs_elements) continue;
    const auto& shape = arena.type(arena.input(id, 0)).shape;
    for (const std::int64_t axis : arena.attrs(id).ints("axes")) {
      if (sizes_[arena.representative(shape[static_cast<std::size_t>(axis)])] == 0) {
        throw ValueError(fmt::format("{} ({}): axis {} has no elements, and {} of nothing is not defined; {}", op.name, line_of(arena.origin(id)), axis,
                                     op.name, describe(arrays)));
      }
    }
  }
}

void BoundPlan::find_layouts(const CallArrays& arrays) {
  const expr::Arena& arena = executable_->program.graph.arena;
  for (const Buffer& buffer : executable_->plan.buffers) {
    std::vector<std::int64_t> shape;
    for (const NodeId dim : arena.type(buffer.node).shape) shape.push_back(sizes_[arena.representative(dim)]);
    base::byte_count(shape, arena.type(buffer.node).dtype);  // raises before anything is allocated
    codegen::Layout layout = codegen::Layout::contiguous(shape);
    if (buffer.role == Buffer::Role::argument) {
      const Array& array = arrays.arguments[static_cast<std::size_t>(buffer.number)];
      if (!array.is_contiguous()) {
        const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
        for (std::size_t d = 0; d < shape.size(); ++d) layout.strides[d] = array.strides()[d] / item;
      }
    }
    layouts_.push_back(std::move(layout));
  }
}

/// First fit by lifetime: a temporary takes the lowest place that is free from its first step to its last.
void BoundPlan::allocate_temporaries() {
  constexpr std::int64_t alignment = 64;
  const std::vector<Buffer>& buffers = executable_->plan.buffers;
  const expr::Arena& arena = executable_->program.graph.arena;
  temporary_offset_.assign(buffers.size(), 0);
  struct Placed {
    std::int64_t begin, end;
    int first, last;
  };
  std::vector<Placed> placed;
  std::int64_t total = 0;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    if (buffer.role != Buffer::Role::temporary || buffer.in_place_of >= 0) continue;
    const std::int64_t bytes = static_cast<std::int64_t>(base::byte_count(layouts_[b].shape, arena.type(buffer.node).dtype));
    const std::int64_t size = (bytes + alignment - 1) / alignment * alignment;
    std::ranges::sort(placed, {}, &Placed::begin);
    std::int64_t at = 0;
    for (const Placed& other : placed) {
      if (other.last < buffer.first_step || other.first > buffer.last_step) continue;
      if (other.begin - at >= size) break;
      at = std::max(at, other.end);
    }
    placed.push_back({at, at + size, buffer.first_step, buffer.last_step});
    temporary_offset_[b] = at;
    total = std::max(total, at + size);
  }
  if (total > 0) temporaries_ = base::allocate_shared_memory(static_cast<std::size_t>(total));
}

/// Small products run as kernels.
bool BoundPlan::is_small(const plan::Step& step, const std::vector<std::int64_t>& sizes) const {
  const fuse::ProductCall& call = *executable_->program.calls[static_cast<std::size_t>(step.call)].product;
  const expr::Arena& arena = executable_->program.graph.arena;
  const auto size = [&](NodeId node, std::size_t axis) { return sizes[arena.representative(arena.type(node).shape[axis])]; };
  return fuse::is_small(size(call.result, 0), size(call.left, 1), size(call.result, 1));
}

/// The text of a product's kernel for contiguous operands.
codegen::Text BoundPlan::small_product_text(const plan::Step& step) const {
  const fuse::KernelCall& call = *executable_->program.calls[static_cast<std::size_t>(step.call)].product->small;
  const codegen::Analysis& analysis = *executable_->analyses[static_cast<std::size_t>(step.call)];
  std::vector<int> operands(step.small_reads);
  operands.push_back(step.writes[0]);
  return codegen::emit(analysis, launch_of(analysis, extents_of(call), operands).variant, codegen::Target::cpu, kernel_comment(call));
}

std::vector<std::int64_t> BoundPlan::extents_of(const fuse::KernelCall& call) const {
  std::vector<std::int64_t> extents;
  for (const NodeId extent : call.extents) extents.push_back(sizes_[extent]);
  return extents;
}

codegen::Launch BoundPlan::launch_of(const codegen::Analysis& analysis, std::span<const std::int64_t> extents, std::span<const int> operands) const {
  std::vector<codegen::Layout> layouts;
  for (const int b : operands) layouts.push_back(layouts_[static_cast<std::size_t>(b)]);
  return codegen::specialise(analysis, extents, layouts);
}

codegen::Text BoundPlan::bind_kernel(const plan::Step& plan_step, const fuse::KernelCall& call, const std::vector<int>& reads) {
  Step& step = *steps_.back();
  const codegen::Analysis& analysis = *executable_->analyses[static_cast<std::size_t>(plan_step.call)];
  step.reads = reads;
  step.kernel = &call;
  step.extents = extents_of(call);
  std::vector<int> operands(reads);
  operands.insert(operands.end(), plan_step.writes.begin(), plan_step.writes.end());
  const codegen::Launch launch = launch_of(analysis, step.extents, operands);
  codegen::Text text = codegen::emit(analysis, launch.variant, codegen::Target::cpu, kernel_comment(call));

  step.parameters.assign(text.parameters.size(), 0);
  for (std::size_t i = 0; i < text.parameters.size(); ++i) {
    const codegen::Parameter& parameter = text.parameters[i];
    std::uint64_t& slot = step.parameters[i];
    const auto access = static_cast<std::size_t>(parameter.access), index = static_cast<std::size_t>(parameter.index);
    using Kind = codegen::Parameter::Kind;
    switch (parameter.kind) {
      case Kind::pointer: {
        const auto operand = static_cast<std::size_t>(analysis.accesses[access].operand);
        const auto item = static_cast<std::int64_t>(size_of(analysis.kernel.operands[operand].dtype));
        patches_.push_back({&slot, operands[operand], launch.offsets[access] * item});
        break;
      }
      case Kind::failure: slot = reinterpret_cast<std::uint64_t>(failure_); break;
      case Kind::workspace: break;  // below, when the number of parts is known
      case Kind::size: slot = static_cast<std::uint64_t>(launch.sizes[index]); break;
      case Kind::stride: slot = static_cast<std::uint64_t>(launch.strides[access][index]); break;
      case Kind::extent: slot = static_cast<std::uint64_t>(step.extents[index]); break;
    }
  }

  const std::size_t parallel = launch.variant.parallel.size();
  std::int64_t points = 1, length = 1;
  for (std::size_t m = 0; m < launch.sizes.size(); ++m) (m < parallel ? points : length) *= launch.sizes[m];
  switch (analysis.kernel.family) {
    case kernel::Family::pointwise:
      step.points = points;
      step.grain = grain_elements;
      break;
    case kernel::Family::row:
      step.points = points;
      step.grain = std::max<std::int64_t>(1, grain_elements / std::max<std::int64_t>(1, length));
      break;
    case kernel::Family::column: {
      const std::int64_t width = launch.sizes[parallel - 1];
      const std::int64_t tiles = (width + codegen::tile_points - 1) / codegen::tile_points;
      step.points = width == 0 ? 0 : points / width * tiles;
      step.grain = std::max<std::int64_t>(1, grain_elements / codegen::tile_points / std::max<std::int64_t>(1, length));
      break;
    }
    case kernel::Family::split: {
      step.points = (length + codegen::part_elements - 1) / codegen::part_elements;
      step.grain = 2;
      step.workspace = base::allocate_shared_memory(static_cast<std::size_t>(std::max<std::int64_t>(1, step.points)) * text.state_bytes);
      for (std::size_t i = 0; i < text.parameters.size(); ++i) {
        if (text.parameters[i].kind == codegen::Parameter::Kind::workspace) step.parameters[i] = reinterpret_cast<std::uint64_t>(step.workspace.get());
      }
      break;
    }
  }
  step.parallel_points = analysis.kernel.family == kernel::Family::split ? step.points : points;
  step.launch = launch;
  return text;
}

void BoundPlan::bind_product(const plan::Step& plan_step) {
  Step& step = *steps_.back();
  const fuse::ProductCall& call = *executable_->program.calls[static_cast<std::size_t>(plan_step.call)].product;
  const expr::Arena& arena = executable_->program.graph.arena;
  const auto shape_of = [&](int b) -> const std::vector<std::int64_t>& { return layouts_[static_cast<std::size_t>(b)].shape; };
  cpu::MatrixProduct& p = step.product;
  const int result = plan_step.writes[0];
  p.dtype = arena.type(call.result).dtype;
  p.transpose_a = plan_step.left.transposed;
  p.transpose_b = plan_step.right.transposed;
  p.m = shape_of(result)[0];
  p.n = shape_of(result)[1];
  p.k = shape_of(plan_step.left.buffer)[p.transpose_a ? 0 : 1];
  p.alpha = call.alpha;
  p.beta = call.beta;
  p.lda = std::max<std::int64_t>(1, shape_of(plan_step.left.buffer)[1]);
  p.ldb = std::max<std::int64_t>(1, shape_of(plan_step.right.buffer)[1]);
  p.ldc = std::max<std::int64_t>(1, p.n);
  step.result_bytes = p.m * p.n * static_cast<std::int64_t>(size_of(p.dtype));
  patches_.push_back({&step.left, plan_step.left.buffer, 0});
  patches_.push_back({&step.right, plan_step.right.buffer, 0});
  patches_.push_back({&step.result, result, 0});
  if (plan_step.accumulate >= 0) patches_.push_back({&step.accumulate, plan_step.accumulate, 0});
}

void BoundPlan::run_kernel(const Step& step) {
  if (step.points > 0) {
    cpu::ThreadPool::instance().parallel_for(
        step.points, step.grain,
        [](void* context, std::int64_t begin, std::int64_t end) {
          const Step& s = *static_cast<const Step*>(context);
          s.entry.run(s.parameters.data(), begin, end);
        },
        const_cast<Step*>(&step));
  }
  if (step.entry.finish != nullptr) step.entry.finish(step.parameters.data());
}

void BoundPlan::run_simulated(const Step& step) {
  const codegen::Analysis& analysis = *executable_->analyses[static_cast<std::size_t>(step.plan->call)];
  std::vector<int> buffers(step.reads);
  buffers.insert(buffers.end(), step.plan->writes.begin(), step.plan->writes.end());
  std::vector<SimulatedOperand> operands;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const DType dtype = analysis.kernel.operands[i].dtype;
    operands.push_back({base_[static_cast<std::size_t>(buffers[i])], base::byte_count(layouts_[static_cast<std::size_t>(buffers[i])].shape, dtype),
                        analysis.kernel.operands[i].written});
  }
  simulate({.analysis = &analysis, .launch = &step.launch, .extents = step.extents, .operands = operands, .points = step.parallel_points}, failure_);
}

/// The same step by the reference evaluator: slow, and right.
void BoundPlan::run_reference(const Step& step) {
  const expr::Arena& arena = executable_->program.graph.arena;
  const auto view = [&](int b) {
    const codegen::Layout& layout = layouts_[static_cast<std::size_t>(b)];
    const DType dtype = arena.type(executable_->plan.buffers[static_cast<std::size_t>(b)].node).dtype;
    Sizes strides;
    for (const std::int64_t s : layout.strides) strides.push_back(s * static_cast<std::int64_t>(size_of(dtype)));
    return Array::view_of(base_[static_cast<std::size_t>(b)], dtype, layout.shape, strides);
  };
  std::vector<Array> reads;
  std::vector<Sizes> shapes;
  for (const int b : step.reads) reads.push_back(view(b));
  for (const int b : step.plan->writes) shapes.push_back(layouts_[static_cast<std::size_t>(b)].shape);
  const std::vector<Array> results = kernel::evaluate(*step.kernel->kernel, reads, step.extents, shapes);
  for (std::size_t i = 0; i < results.size(); ++i) view(step.plan->writes[i]).copy_from(results[i]);
}

void BoundPlan::fail(const Step& step) const {
  const std::uint32_t check = failure_[0];
  const auto value = static_cast<std::int64_t>(failure_[1] | (std::uint64_t{failure_[2]} << 32));
  const auto& checks = step.kernel->kernel->checks;
  const std::string message = check >= 1 && check <= checks.size() ? expr::fill_message(checks[check - 1].message, value) : "a check failed";
  std::string lines;
  for (const expr::Origin& origin : step.kernel->origins) {
    if (lines.size() < 200) lines += (lines.empty() ? "" : "; ") + line_of(origin);
  }
  throw IndexError(fmt::format("{} ({})", message, lines));
}

void BoundPlan::run(CallArrays& arrays, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  const expr::Arena& arena = graph.arena;
  const bool compiled = steps_.empty() || cpu::can_compile();

  const auto is_own = [&](int b, Buffer::Role role, std::size_t i) {
    return b >= 0 && plan.buffers[static_cast<std::size_t>(b)].role == role && static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(b)].number) == i;
  };
  // Everything that may fail to be allocated comes first. Outputs are the only memory that a steady call allocates.
  arrays.outputs.clear();
  arrays.outputs.reserve(graph.outputs.size());
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const int b = plan.output_buffer[i];
    if (is_own(b, Buffer::Role::output, i)) {
      arrays.outputs.push_back(Array::empty(arena.type(graph.outputs[i]).dtype, layouts_[static_cast<std::size_t>(b)].shape));
    } else {
      arrays.outputs.emplace_back();  // filled in below
    }
  }
  arrays.updates.resize(graph.updates.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const auto number = static_cast<std::size_t>(buffer.number);
    switch (buffer.role) {
      case Buffer::Role::argument: base_[b] = const_cast<char*>(static_cast<const char*>(std::as_const(arrays.arguments[number]).raw())); break;
      case Buffer::Role::shared: base_[b] = const_cast<char*>(static_cast<const char*>(std::as_const(arrays.shared[number]).raw())); break;
      case Buffer::Role::constant: base_[b] = const_cast<char*>(static_cast<const char*>(std::as_const(graph.constants[number]).raw())); break;
      case Buffer::Role::temporary: base_[b] = static_cast<char*>(temporaries_.get()) + temporary_offset_[b]; break;
      case Buffer::Role::output: base_[b] = static_cast<char*>(arrays.outputs[number].raw()); break;
      case Buffer::Role::update: {
        if (buffer.in_place_of >= 0) break;
        Array& memory = spare_updates_[number];
        if (memory.dtype() != arena.type(buffer.node).dtype || memory.shape() != layouts_[b].shape || memory.owner().use_count() != 1) {
          memory = Array::empty(arena.type(buffer.node).dtype, layouts_[b].shape);
        }
        arrays.updates[number] = memory;
        base_[b] = static_cast<char*>(memory.raw());
        break;
      }
    }
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.in_place_of < 0) continue;
    base_[b] = base_[static_cast<std::size_t>(buffer.in_place_of)];
    const Buffer& home = plan.buffers[static_cast<std::size_t>(buffer.in_place_of)];
    if (buffer.role == Buffer::Role::update) arrays.updates[static_cast<std::size_t>(buffer.number)] = arrays.shared[static_cast<std::size_t>(home.number)];
  }
  for (const Patch& patch : patches_) *patch.slot = reinterpret_cast<std::uint64_t>(base_[static_cast<std::size_t>(patch.buffer)] + patch.offset);

  failure_[0] = 0;
  for (const auto& step : steps_) {
    if (step->kernel != nullptr) {
      if (simulated_) {
        run_simulated(*step);
        ++counts.kernels;
      } else if (compiled) {
        run_kernel(*step);
        ++counts.kernels;
      } else {
        run_reference(*step);
        ++counts.reference_kernels;
      }
      if (failure_[0] != 0) fail(*step);
      continue;
    }
    cpu::MatrixProduct product = step->product;
    product.a = reinterpret_cast<const void*>(step->left);
    product.b = reinterpret_cast<const void*>(step->right);
    product.c = reinterpret_cast<void*>(step->result);
    if (step->accumulate != 0 && step->accumulate != step->result && step->result_bytes > 0) {
      std::memcpy(product.c, reinterpret_cast<const void*>(step->accumulate), static_cast<std::size_t>(step->result_bytes));
    }
    cpu::gemm(product);
    ++counts.products;
  }

  // Outputs and updates that no step of their own computed.
  const auto value_of = [&](NodeId node, int b) {
    if (b < 0) {
      if (const auto value = arena.scalar_value(node)) {
        return is_float(value->dtype) ? Array(value->d).astype(value->dtype) : Array(value->i).astype(value->dtype);
      }
      return Array(sizes_[node]).astype(arena.type(node).dtype);
    }
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    const auto number = static_cast<std::size_t>(buffer.number);
    switch (buffer.role) {
      case Buffer::Role::argument: return arrays.arguments[number].copy();
      case Buffer::Role::shared: return arrays.shared[number].copy();
      case Buffer::Role::constant: return graph.constants[number].copy();
      case Buffer::Role::output: return arrays.outputs[number].copy();
      default: return arrays.updates[number].copy();
    }
  };
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!is_own(plan.output_buffer[i], Buffer::Role::output, i)) arrays.outputs[i] = value_of(graph.outputs[i], plan.output_buffer[i]);
  }
  for (std::size_t i = 0; i < graph.updates.size(); ++i) {
    if (!is_own(plan.update_buffer[i], Buffer::Role::update, i)) arrays.updates[i] = value_of(graph.updates[i].value, plan.update_buffer[i]);
  }
}

}  // namespace croton::runtime
