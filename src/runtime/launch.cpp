#include "runtime/launch.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory.hpp"
#include "base/shape.hpp"
#include "kernel/evaluate.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/simulate.hpp"

namespace croton::runtime {
namespace {

// Few threads and blocks, so that kernels walk the rest in their grid loops, which is part of what is tested.
constexpr codegen::Schedule simulated_schedule{.threads = 64, .blocks = 8};

// Beyond this index arithmetic might overflow.
constexpr std::int64_t max_elements = std::int64_t{1} << 62;

DType dtype_of(const BoundKernel& kernel, std::size_t operand) {
  return kernel.analysis->kernel.operands[operand].dtype;
}

std::int64_t tiles_of(const BoundKernel& kernel) {
  return (codegen::point_count(kernel.launch) + codegen::group_tile - 1) / codegen::group_tile;
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
  std::vector<codegen::Layout> layouts;
  for (const int b : result.operands) layouts.push_back(memory.layouts[static_cast<std::size_t>(b)]);
  result.launch = codegen::specialise(*result.analysis, result.extents, layouts);
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
  return {size(call.result, 0), size(call.left, 1), size(call.result, 1)};
}

int generated_for(const Executable& executable, const plan::Step& step, const SizeTable& sizes) {
  const auto [m, k, n] = product_sizes(executable, step, sizes);
  const auto form = fuse::generated_product(*executable.call_of(step).product, m, k, n);
  return form ? static_cast<int>(*form) : -1;
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

KernelLaunch::KernelLaunch(std::vector<BoundKernel> kernels, codegen::Text text, Engine engine,
                           std::string_view schedule)
    : kernels_(std::move(kernels)), text_(std::move(text)), engine_(engine) {
  const kernel::Family family = kernels_[0].analysis->kernel.family;
  schedule_ = codegen::choose_schedule(family, schedule, text_.name);
  if (engine == Engine::simulated && schedule.empty()) schedule_ = simulated_schedule;
  if (kernels_.size() > 1) {
    for (const BoundKernel& kernel : kernels_) work_.items += tiles_of(kernel);
    work_.grain = std::max<std::int64_t>(1, schedule_.grain / codegen::group_tile);
  } else if (engine == Engine::simulated) {
    work_.items = codegen::gpu_items(*kernels_[0].analysis, kernels_[0].launch);
  } else {
    work_ = codegen::cpu_work(*kernels_[0].analysis, kernels_[0].launch, schedule_);
  }
  if (engine == Engine::compiled && text_.state_bytes > 0) {
    workspace_ = base::allocate_shared_memory(static_cast<std::size_t>(std::max<std::int64_t>(1, work_.items)) *
                                              text_.state_bytes);
  }
  if (engine != Engine::reference) fill_parameters();
}

void KernelLaunch::fill_parameters() {
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
        value = last_tile += tiles_of(kernel);
        break;
      case Kind::points:
        value = codegen::point_count(kernel.launch);
        break;
    }
    parameters_.push_back(static_cast<std::uint64_t>(value));
  }
}

void KernelLaunch::run(const Memory& memory, std::uint32_t* failure,
                       std::vector<std::unique_ptr<PendingResult>>* pending) {
  if (engine_ != Engine::compiled) {
    auto result = engine_ == Engine::reference ? run_reference(memory) : run_simulated(memory, failure);
    if (pending != nullptr)
      pending->push_back(std::move(result));
    else
      result->write();
    return;
  }
  for (const Pointer& pointer : pointers_) {
    parameters_[pointer.parameter] =
        reinterpret_cast<std::uint64_t>(memory.base[static_cast<std::size_t>(pointer.buffer)] + pointer.offset);
  }
  if (!kernels_[0].analysis->kernel.checks.empty()) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (text_.parameters[i].kind == codegen::Parameter::Kind::failure)
        parameters_[i] = reinterpret_cast<std::uint64_t>(failure);
    }
  }
  if (work_.items > 0) {
    cpu::ThreadPool::instance().parallel_for(
        work_.items, work_.grain,
        [](void* context, std::int64_t begin, std::int64_t end) {
          const auto& self = *static_cast<const KernelLaunch*>(context);
          self.entry_.run(self.parameters_.data(), begin, end);
        },
        this);
  }
  if (entry_.finish != nullptr) entry_.finish(parameters_.data());
}

std::unique_ptr<PendingResult> KernelLaunch::run_simulated(const Memory& memory, std::uint32_t* failure) const {
  std::vector<SimulatedOperand> operands;
  for (const BoundKernel& kernel : kernels_) {
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const auto b = static_cast<std::size_t>(kernel.operands[i]);
      operands.push_back({memory.base[b], base::byte_count(memory.layouts[b].shape, dtype_of(kernel, i)),
                          kernel.analysis->kernel.operands[i].written});
    }
  }
  std::vector<SimulatedPointer> pointers;
  for (const Pointer& pointer : pointers_)
    pointers.push_back({pointer.parameter, memory.base[static_cast<std::size_t>(pointer.buffer)], pointer.offset});
  const kernel::Family family = kernels_[0].analysis->kernel.family;
  // A block takes a tile of a group.
  const int blocks = kernels_.size() > 1 ? static_cast<int>(std::clamp<std::int64_t>(work_.items, 1, schedule_.blocks))
                                         : codegen::gpu_blocks(family, work_.items, schedule_);
  return simulate({.text = &text_,
                   .operands = operands,
                   .pointers = pointers,
                   .parameters = parameters_,
                   .items = work_.items,
                   .blocks = blocks,
                   .threads = schedule_.threads},
                  failure);
}

namespace {

/// Arrays in C order, and where their bytes go.
class EvaluatedRun final : public PendingResult {
 public:
  void add(Array value, char* to) { results_.emplace_back(std::move(value), to); }
  void write() noexcept override {
    for (const auto& [value, to] : results_) {
      if (value.bytes() > 0) std::memcpy(to, value.raw(), value.bytes());
    }
  }

 private:
  std::vector<std::pair<const Array, char*>> results_;
};

}  // namespace

/// The same by the reference evaluator: slow, and right.
std::unique_ptr<PendingResult> KernelLaunch::run_reference(const Memory& memory) const {
  auto run = std::make_unique<EvaluatedRun>();
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
      run->add(results[i].contiguous(), memory.base[static_cast<std::size_t>(kernel.operands[first_written + i])]);
    }
  }
  return run;
}

ProductLaunch::ProductLaunch(const Executable& executable, const plan::Step& step, const Memory& memory)
    : step_(&step) {
  const fuse::ProductCall& call = *executable.call_of(step).product;
  const auto shape_of = [&](int b) -> const std::vector<std::int64_t>& {
    return memory.layouts[static_cast<std::size_t>(b)].shape;
  };
  cpu::MatrixProduct& p = product_;
  const int result = step.writes[0];
  p.dtype = executable.program.graph.arena.type(call.result).dtype;
  p.transpose_a = step.left.transposed;
  p.transpose_b = step.right.transposed;
  p.m = shape_of(result)[0];
  p.n = shape_of(result)[1];
  p.k = shape_of(step.left.buffer)[p.transpose_a ? 0 : 1];
  p.alpha = call.alpha;
  p.beta = call.beta;
  p.lda = std::max<std::int64_t>(1, shape_of(step.left.buffer)[1]);
  p.ldb = std::max<std::int64_t>(1, shape_of(step.right.buffer)[1]);
  p.ldc = std::max<std::int64_t>(1, p.n);
  result_bytes_ = p.m * p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

void ProductLaunch::run(const Memory& memory) const {
  cpu::MatrixProduct product = product_;
  const auto at = [&](int b) { return memory.base[static_cast<std::size_t>(b)]; };
  product.a = at(step_->left.buffer);
  product.b = at(step_->right.buffer);
  product.c = at(step_->writes[0]);
  if (step_->accumulate >= 0 && at(step_->accumulate) != product.c && result_bytes_ > 0) {
    std::memcpy(product.c, at(step_->accumulate), static_cast<std::size_t>(result_bytes_));
  }
  cpu::gemm(product);
}

}  // namespace croton::runtime
