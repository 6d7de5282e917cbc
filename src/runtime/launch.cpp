#include "runtime/launch.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/interrupt.hpp"
#include "base/memory.hpp"
#include "base/shape.hpp"
#include "kernel/evaluate.hpp"
#include "runtime/bound_convolution.hpp"
#include "runtime/cpu/dnn.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/nvtx.hpp"

namespace croton::runtime {
namespace {

// On simulated devices few threads and blocks, so that kernels walk the rest in their grid loops, which is part of what
// is tested.
constexpr codegen::Schedule simulated_schedule{.threads = 64, .blocks = 8};

// Beyond this index arithmetic might overflow.
constexpr std::int64_t max_elements = std::int64_t{1} << 62;

// A grain is 10 to 300 us of work.
constexpr std::int64_t uninterrupted_grains = 500;

constexpr std::size_t failure_bytes = 3 * sizeof(std::uint32_t);

DType dtype_of(const BoundKernel& kernel, std::size_t operand) {
  return kernel.analysis->kernel.operands[operand].dtype;
}

}  // namespace

void find_layouts(const Executable& executable, const CallArrays& arrays, int segment, const SizeTable& sizes,
                  Memory& memory) {
  using plan::Buffer;
  const expr::Arena& arena = executable.program.graph.arena;
  const std::vector<Buffer>& buffers = executable.plan.buffers;
  memory.layouts.resize(buffers.size());
  memory.base.resize(buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    if (buffer.segment != segment || buffer.role == Buffer::Role::workspace) continue;
    std::vector<std::int64_t> shape;
    for (const NodeId dim : arena.type(buffer.node).shape) shape.push_back(sizes[arena.representative(dim)]);
    base::byte_count(shape, arena.type(buffer.node).dtype);  // raises before anything is allocated
    codegen::Layout layout = codegen::Layout::contiguous(shape);
    if (buffer.role == Buffer::Role::argument) {
      const Array& array = *arrays.arguments[static_cast<std::size_t>(buffer.number)];
      if (!array.is_contiguous()) {
        const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
        for (std::size_t d = 0; d < shape.size(); ++d) layout.strides[d] = array.strides()[d] / item;
      }
    }
    memory.layouts[b] = std::move(layout);
  }
}

namespace {
codegen::Launch specialise_kernel(const BoundKernel& kernel, const Memory& memory) {
  std::vector<codegen::Layout> layouts;
  layouts.reserve(kernel.operands.size());
  for (const int b : kernel.operands) layouts.push_back(memory.layouts[static_cast<std::size_t>(b)]);
  return codegen::specialise(*kernel.analysis, kernel.extents, layouts);
}
}  // namespace

BoundKernel bind_kernel(const Executable& executable, const plan::Step& step, int generated, const SizeTable& sizes,
                        const Memory& memory) {
  const fuse::Call& call = executable.call_of(step);
  const std::size_t which = generated < 0 ? 0 : static_cast<std::size_t>(generated);
  BoundKernel result;
  result.call = call.kernel ? call.kernel.get() : call.product->generated[which].get();
  result.analysis = executable.analyses[static_cast<std::size_t>(step.call)][which].get();
  result.operands = call.kernel ? step.reads : step.generated_reads[which];
  result.operands.insert(result.operands.end(), step.writes.begin(), step.writes.end());
  for (const NodeId extent : result.call->extents) result.extents.push_back(sizes[extent]);
  result.launch = specialise_kernel(result, memory);
  std::int64_t elements = 1;
  for (const std::int64_t size : result.launch.sizes) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(1, size), &elements) || elements > max_elements) {
      throw ShapeError(fmt::format("a kernel would walk more than {} elements ({})", max_elements,
                                   result.call->origins.empty() ? "line unknown" : line_of(result.call->origins[0])));
    }
  }
  return result;
}

ProductSizes product_sizes(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const fuse::ProductCall& call = *executable.call_of(step).product;
  const expr::Arena& arena = executable.program.graph.arena;
  const auto size = [&](NodeId node, std::size_t axis) {
    return sizes[arena.representative(arena.type(node).shape[axis])];
  };
  const std::size_t rank = arena.type(call.result).rank();
  std::int64_t batch = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) batch *= size(call.result, axis);
  return {size(call.result, rank - 2), size(call.left, rank - 1), size(call.result, rank - 1), batch};
}

int generated_for(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const auto [m, k, n, batch] = product_sizes(executable, step, sizes);
  const auto form = fuse::generated_product(*executable.call_of(step).product, m, k, n);
  return form ? static_cast<int>(*form) : -1;
}

int generated_always(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const int chosen = generated_for(executable, step, sizes);
  return chosen >= 0 ? chosen : static_cast<int>(fuse::GeneratedProduct::along_rows);
}

std::vector<codegen::Text> emit_launch(std::span<const BoundKernel> kernels, codegen::Target target,
                                       std::vector<std::size_t>& count) {
  std::vector<codegen::Part> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back({kernel.analysis, &kernel.launch.variant, kernel_comment(*kernel.call)});
  if (parts.size() == 1) {
    count.push_back(1);
    return {codegen::emit(parts[0], target)};
  }
  codegen::Text text = codegen::emit_group(parts, target);  // its entry takes the number of tiles besides
  if ((text.parameters.size() + 1) * sizeof(std::uint64_t) <= codegen::max_parameter_bytes) {
    count.push_back(kernels.size());
    return {std::move(text)};
  }
  std::vector<codegen::Text> texts = emit_launch(kernels.first(kernels.size() / 2), target, count);
  for (codegen::Text& half : emit_launch(kernels.subspan(kernels.size() / 2), target, count))
    texts.push_back(std::move(half));
  return texts;
}

codegen::Schedule choose_launch_schedule(kernel::Family family, const Device* device, std::string_view overrides,
                                         std::string_view kernel_name) {
  const bool simulated = device != nullptr && device->facts().kind == DeviceFacts::Kind::simulated;
  return simulated && overrides.empty() ? simulated_schedule : codegen::choose_schedule(family, overrides, kernel_name);
}

void count_prepared(Prepared prepared, RunCounts& counts) {
  switch (prepared) {
    case Prepared::before:
      break;
    case Prepared::from_cache:
      ++counts.cached;
      break;
    case Prepared::compiled:
      ++counts.compiled;
      break;
  }
}

KernelLaunch::KernelLaunch(std::vector<BoundKernel> kernels, codegen::Text text, Engine engine, Device* device,
                           std::string_view schedule, RunCounts& counts)
    : kernels_(std::move(kernels)), text_(std::move(text)), engine_(engine), device_(device) {
  const codegen::Analysis& first = *kernels_[0].analysis;
  schedule_ = choose_launch_schedule(first.kernel.family, device, schedule, text_.name);
  if (kernels_.size() > 1) {
    std::int64_t tiles = 0;
    for (const BoundKernel& kernel : kernels_) tiles += codegen::group_tiles(kernel.launch);
    work_ = codegen::group_work(tiles, schedule_);
  } else if (runs_cuda()) {
    work_.items = codegen::gpu_items(first, kernels_[0].launch);
  } else {
    work_ = codegen::cpu_work(first, kernels_[0].launch, schedule_);
  }
  if (by_reference()) return;
  if (text_.state_bytes > 0) {
    workspace_bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(1, work_.items)) * text_.state_bytes;
    workspace_ =
        device != nullptr ? device->allocate(workspace_bytes_) : base::allocate_shared_memory(workspace_bytes_);
  }
  if (runs_cuda()) prepare_device(counts);
  fill_parameters();
}

void KernelLaunch::prepare_device(RunCounts& counts) {
  count_prepared(device_->prepare(text_, schedule_.threads), counts);
  if (has_checks()) device_failure_ = device_->allocate(failure_bytes);
  operands_.reserve(kernels_.size() * 4 + 2);
}

std::optional<std::map<std::size_t, BoundKernel>> KernelLaunch::renumbered(const SizeTable& sizes,
                                                                           const Memory& memory) const {
  std::map<std::size_t, BoundKernel> changed;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const BoundKernel& kernel = kernels_[i];
    const std::vector<NodeId>& nodes = kernel.call->extents;
    if (std::ranges::equal(nodes, kernel.extents, {}, [&](NodeId node) { return sizes[node]; })) continue;
    if (uses_library()) return {};
    BoundKernel& other = changed.emplace(i, kernel).first->second;
    std::ranges::transform(nodes, other.extents.begin(), [&](NodeId node) { return sizes[node]; });
    other.launch = specialise_kernel(other, memory);
    if (other.launch.variant != kernel.launch.variant || other.launch.sizes != kernel.launch.sizes) return {};
  }
  return changed;
}

void KernelLaunch::renumber(std::map<std::size_t, BoundKernel> kernels) {
  for (auto& [i, kernel] : kernels) kernels_[i] = std::move(kernel);
  if (!by_reference()) fill_parameters();
}

void KernelLaunch::fill_parameters() {
  parameters_.clear();
  pointers_.clear();
  std::int64_t last_tile = 0;
  for (std::size_t i = 0; i < text_.parameters.size(); ++i) {
    const codegen::Parameter& parameter = text_.parameters[i];
    const BoundKernel& kernel = kernels_[static_cast<std::size_t>(parameter.part)];
    const auto access = static_cast<std::size_t>(parameter.access), index = static_cast<std::size_t>(parameter.index);
    std::int64_t value = 0;
    using Kind = codegen::Parameter::Kind;
    switch (parameter.kind) {
      case Kind::pointer: {
        const auto operand = static_cast<std::size_t>(kernel.analysis->accesses[access].operand);
        const auto item = static_cast<std::int64_t>(size_of(dtype_of(kernel, operand)));
        pointers_.push_back({i, kernel.operands[operand], kernel.launch.offsets[access] * item});
        break;
      }
      case Kind::failure:
        break;  // by every call
      case Kind::workspace:
        value = static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(workspace_.get()));
        break;
      case Kind::size:
        value = kernel.launch.sizes[index];
        break;
      case Kind::stride:
        value = kernel.launch.strides[access][index];
        break;
      case Kind::extent:
        value = kernel.extents[index];
        break;
      case Kind::last_tile:
        value = last_tile += codegen::group_tiles(kernel.launch);
        break;
      case Kind::points:
        value = codegen::point_count(kernel.launch);
        break;
      case Kind::matrix:
      case Kind::motion:
      case Kind::loop:
        break;  // of loops (native_loop.cpp)
    }
    parameters_.push_back(static_cast<std::uint64_t>(value));
  }
}

void KernelLaunch::use_library(const Memory& memory) {
  if (by_reference() || kernels_.size() != 1) return;
  std::optional<BoundConvolution> found = as_convolution(kernels_[0], memory);
  if (!found || !found->pays()) return;
  if (runs_cuda()) {
    if (!device_->prepare(found->what)) return;
  } else {
    dnn_ = cpu::Dnn::instance().prepare(found->what);
    if (dnn_ == nullptr) return;
  }
  convolution_ = std::make_shared<const BoundConvolution>(*found);
  if (convolution_->result >= 0) return;
  workspace_bytes_ = static_cast<std::size_t>(convolution_->sums) * size_of(convolution_->what.dtype);
  workspace_ =
      device_ != nullptr ? device_->allocate(workspace_bytes_) : base::allocate_shared_memory(workspace_bytes_);
  for (std::size_t i = 0; i < text_.parameters.size(); ++i) {
    if (text_.parameters[i].kind == codegen::Parameter::Kind::workspace)
      parameters_[i] = reinterpret_cast<std::uint64_t>(workspace_.get());
  }
}

void KernelLaunch::run_library(const Memory& memory) const {
  const auto at = [&](int b) { return memory.base[static_cast<std::size_t>(b)]; };
  const ConvolutionArrays arrays{at(convolution_->x), at(convolution_->filters) + convolution_->filters_offset,
                                 convolution_->result >= 0 ? at(convolution_->result) : workspace_.get()};
  if (dnn_ != nullptr)
    dnn_->run(arrays);
  else
    device_->convolve(convolution_->what, arrays);
}

void KernelLaunch::run(const Memory& memory, std::uint32_t* failure) {
  if (by_reference()) return run_reference(memory);
  if (uses_library()) {
    run_library(memory);
    if (convolution_->result >= 0) return;
  }
  const cuda::NvtxRange range(text_.name);
  for (const Pointer& pointer : pointers_) {
    // As numbers: an array without elements is at no address.
    parameters_[pointer.parameter] =
        reinterpret_cast<std::uint64_t>(memory.base[static_cast<std::size_t>(pointer.buffer)]) +
        static_cast<std::uint64_t>(pointer.offset);
  }
  if (has_checks()) {
    void* where = runs_cuda() ? device_failure_.get() : failure;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (text_.parameters[i].kind == codegen::Parameter::Kind::failure)
        parameters_[i] = reinterpret_cast<std::uint64_t>(where);
    }
  }
  if (runs_cuda()) return run_on_device(memory, failure);
  cpu::ThreadPool& pool = cpu::ThreadPool::instance();
  // Long work in pieces, between which it may be interrupted. Items do not depend on each other.
  const std::int64_t piece = std::max<std::int64_t>(1, work_.grain) * uninterrupted_grains * pool.threads();
  for (std::int64_t first = 0; first < work_.items; first += piece) {
    if (first > 0) base::check_interrupt();
    const auto run_items = [this, first](std::int64_t begin, std::int64_t end) {
      entry_.run(parameters_.data(), first + begin, first + end);
    };
    pool.parallel_for(std::min(piece, work_.items - first), work_.grain, run_items);
  }
  if (entry_.finish != nullptr) entry_.finish(parameters_.data());
}

bool KernelLaunch::may_fail() const {
  return runs_cuda() ? device_->facts().kind == DeviceFacts::Kind::simulated : by_reference();
}

void KernelLaunch::run_on_device(const Memory& memory, std::uint32_t* failure) {
  operands_.clear();
  for (const BoundKernel& kernel : kernels_) {
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const auto b = static_cast<std::size_t>(kernel.operands[i]);
      const bool written = kernel.analysis->kernel.operands[i].written;
      operands_.push_back(
          {memory.base[b], base::byte_count(memory.layouts[b].shape, dtype_of(kernel, i)), !written, written});
    }
  }
  // Of a library's sums nothing is written, of partial results nothing is there before.
  if (workspace_bytes_ > 0) operands_.push_back({workspace_.get(), workspace_bytes_, uses_library(), !uses_library()});
  if (has_checks()) {
    operands_.push_back({device_failure_.get(), failure_bytes, true, true});
    device_->copy_in(device_failure_.get(), failure, failure_bytes);
  }
  const int blocks = kernels_.size() > 1 ? codegen::tile_blocks(work_.items, schedule_)
                                         : codegen::gpu_blocks(*kernels_[0].analysis, kernels_[0].launch.variant,
                                                               work_.items, schedule_);
  device_->launch({.text = &text_,
                   .parameters = parameters_,
                   .items = work_.items,
                   .blocks = blocks,
                   .threads = schedule_.threads,
                   .operands = operands_});
  if (has_checks()) device_->copy_out(failure, device_failure_.get(), failure_bytes);
}

/// The same by the reference evaluator: slow, and right.
void KernelLaunch::run_reference(const Memory& memory) const {
  for (const BoundKernel& kernel : kernels_) {
    std::vector<Array> reads;
    std::vector<Sizes> shapes;
    const std::size_t first_written = kernel.operands.size() - kernel.call->writes.size();
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const auto b = static_cast<std::size_t>(kernel.operands[i]);
      if (i >= first_written) {
        shapes.push_back(memory.layouts[b].shape);
        continue;
      }
      const DType dtype = dtype_of(kernel, i);
      Sizes strides;
      for (const std::int64_t s : memory.layouts[b].strides)
        strides.push_back(s * static_cast<std::int64_t>(size_of(dtype)));
      reads.push_back(
          Array::view_of(static_cast<const void*>(memory.base[b]), dtype, memory.layouts[b].shape, strides));
    }
    const std::vector<Array> results = kernel::evaluate(*kernel.call->kernel, reads, kernel.extents, shapes);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Array value = results[i].contiguous();
      char* to = memory.base[static_cast<std::size_t>(kernel.operands[first_written + i])];
      if (value.bytes() > 0) std::memcpy(to, std::as_const(value).raw(), value.bytes());
    }
  }
}

ProductLaunch::ProductLaunch(const Executable& executable, const plan::Step& step, Device* device,
                             const ProductSizes& sizes)
    : step_(&step), device_(device), origin_(&executable.call_of(step).product->origin) {
  const fuse::ProductCall& call = *executable.call_of(step).product;
  cpu::MatrixProduct& p = product_;
  p.dtype = executable.program.graph.arena.type(call.result).dtype;
  p.transpose_a = step.left.transposed;
  p.transpose_b = step.right.transposed;
  p.m = sizes.m;
  p.n = sizes.n;
  p.k = sizes.k;
  p.alpha = call.alpha;
  p.beta = call.beta;
  p.lda = std::max<std::int64_t>(1, p.transpose_a ? p.m : p.k);
  p.ldb = std::max<std::int64_t>(1, p.transpose_b ? p.k : p.n);
  p.ldc = std::max<std::int64_t>(1, p.n);
  p.batch = sizes.batch;
  p.stride_a = call.left_repeated ? 0 : p.m * p.k;
  p.stride_b = call.right_repeated ? 0 : p.k * p.n;
  p.stride_c = p.m * p.n;
  if (device != nullptr) has_routine_ = device->prepare(p);
  result_bytes_ = p.batch * p.m * p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

void ProductLaunch::run(const Memory& memory) const {
  cpu::MatrixProduct product = product_;
  const auto at = [&](int b) { return memory.base[static_cast<std::size_t>(b)]; };
  product.a = at(step_->left.buffer);
  product.b = at(step_->right.buffer);
  product.c = at(step_->writes[0]);
  if (step_->accumulate >= 0 && at(step_->accumulate) != product.c && result_bytes_ > 0) {
    copy_between(device_, product.c, device_, at(step_->accumulate), static_cast<std::size_t>(result_bytes_));
  }
  if (device_ != nullptr) return device_->gemm(product);
  cpu::gemm(product);
}

void copy_between(Device* to, void* target, Device* from, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (to != nullptr && from != nullptr) return to->copy_from(*from, target, source, bytes);
  if (to != nullptr) return to->copy_in(target, source, bytes);
  if (from != nullptr) return from->copy_out(target, source, bytes);
  std::memcpy(target, source, bytes);
}

TransferLaunch::TransferLaunch(const Executable& executable, const plan::Step& step, Device* from, Device* to,
                               const Memory& memory)
    : step_(&step), origin_(nullptr), from_(from), to_(to) {
  using Role = plan::Buffer::Role;
  const auto at = [&](int b) -> const plan::Buffer& { return executable.plan.buffers[static_cast<std::size_t>(b)]; };
  const plan::Buffer &source = at(step.reads[0]), &target = at(step.writes[0]);
  origin_ = &executable.program.graph.arena.origin(target.node);
  record_.node = target.node;
  record_.from = source.place;
  record_.to = target.place;
  record_.kind = target.role == Role::output     ? Transferred::Kind::output
                 : source.role == Role::argument ? Transferred::Kind::input
                                                 : Transferred::Kind::value;
  record_.bytes = base::byte_count(memory.layouts[static_cast<std::size_t>(step.reads[0])].shape,
                                   executable.program.graph.arena.type(source.node).dtype);
}

void TransferLaunch::run(const Memory& memory, Uploads* uploads) const {
  void* target = memory.base[static_cast<std::size_t>(step_->writes[0])];
  const void* source = memory.base[static_cast<std::size_t>(step_->reads[0])];
  if (uploads == nullptr) return copy_between(to_, target, from_, source, record_.bytes);
  if (record_.bytes > 0) uploads->copy_in(target, source, record_.bytes);
}

}  // namespace croton::runtime
