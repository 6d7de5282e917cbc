#include "runtime/bind.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/memory.hpp"
#include "base/shape.hpp"
#include "expr/evaluate.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cuda/dump.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

// Segments are kept for so many different sets of numbers; more come from data, which need not repeat itself.
constexpr std::size_t kept_segments = 64;

char* address_of(const Array& array) { return const_cast<char*>(static_cast<const char*>(array.raw())); }

std::int64_t read_integer(const char* address, DType dtype) {
  return Array::view_of(const_cast<char*>(address), dtype, {}, {}).astype(DType::int64).item<std::int64_t>();
}

}  // namespace

// ---- binding ----

BoundSegment::BoundSegment(std::shared_ptr<const Executable> executable, int number, const BoundSegment* before,
                           std::span<const std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                           RunCounts& counts)
    : executable_(std::move(executable)), number_(number), engine_(options.engine) {
  const plan::Plan& plan = executable_->plan;
  if (before != nullptr) {
    sizes_ = before->sizes_;
    memory_ = before->memory_;
    const std::vector<int>& found = plan.segments[static_cast<std::size_t>(number) - 1].fresh;
    for (std::size_t i = 0; i < found.size(); ++i)
      sizes_[plan.buffers[static_cast<std::size_t>(found[i])].node] = fresh[i];
  }
  find_sizes(*executable_, arrays, number, sizes_);
  check_requirements(*executable_, arrays, number, sizes_);
  find_layouts(arrays);
  place_temporaries();
  const plan::Segment& segment = plan.segments[static_cast<std::size_t>(number)];
  const bool has_work = segment.first_launch < segment.end_launch;
  if (engine_ == Engine::compiled && has_work && !cpu::can_compile()) engine_ = Engine::reference;
  bind_launches(arrays, options, counts);
}

void BoundSegment::find_layouts(const CallArrays& arrays) {
  const expr::Arena& arena = executable_->program.graph.arena;
  const std::vector<Buffer>& buffers = executable_->plan.buffers;
  memory_.layouts.resize(buffers.size());
  memory_.base.resize(buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    if (buffer.segment != number_) continue;
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
    memory_.layouts[b] = std::move(layout);
  }
}

/// First fit by lifetime: a temporary takes the lowest place that is free from its first step to its last.
void BoundSegment::place_temporaries() {
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
    if (buffer.role != Buffer::Role::temporary || buffer.in_place_of >= 0 || buffer.segment != number_) continue;
    const std::int64_t bytes =
        static_cast<std::int64_t>(base::byte_count(memory_.layouts[b].shape, arena.type(buffer.node).dtype));
    if (bytes > INT64_MAX / 2 - total) throw OutOfMemory(fmt::format("temporaries of more than {} bytes", total));
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
  temporary_bytes_ = static_cast<std::size_t>(total);
}

void BoundSegment::bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const plan::Segment& segment = plan.segments[static_cast<std::size_t>(number_)];
  const codegen::Target target = engine_ == Engine::simulated ? codegen::Target::cuda : codegen::Target::cpu;
  std::vector<KernelLaunch*> made;
  std::vector<codegen::Text> texts;
  const auto add_kernels = [&](std::vector<BoundKernel> kernels, bool after_commit) {
    std::vector<std::size_t> count;
    std::vector<codegen::Text> emitted = emit_launch(kernels, target, count);
    cuda::dump(kernels);
    auto next = kernels.begin();
    for (std::size_t t = 0; t < emitted.size(); ++t) {
      const auto end = next + static_cast<std::ptrdiff_t>(count[t]);
      auto launch =
          std::make_unique<KernelLaunch>(std::vector<BoundKernel>(std::move_iterator(next), std::move_iterator(end)),
                                         std::move(emitted[t]), engine_, options.schedule);
      next = end;
      made.push_back(launch.get());
      launches_.push_back({std::move(launch), after_commit});
    }
  };
  for (int l = segment.first_launch; l < segment.end_launch; ++l) {
    const plan::Launch& launch = plan.launches[static_cast<std::size_t>(l)];
    const plan::Step& first = plan.steps[static_cast<std::size_t>(launch.first_step)];
    const bool product = executable_->call_of(first).product != nullptr;
    const int generated = product ? generated_for(*executable_, first, sizes_) : -1;
    if (product && generated < 0) {
      launches_.push_back({std::make_unique<ProductLaunch>(*executable_, first, memory_), first.after_commit});
      continue;
    }
    std::vector<BoundKernel> kernels;
    for (int s = launch.first_step; s < launch.end_step; ++s) {
      kernels.push_back(bind_kernel(*executable_, plan.steps[static_cast<std::size_t>(s)], generated, sizes_, memory_));
    }
    add_kernels(std::move(kernels), first.after_commit);
  }
  if (engine_ != Engine::compiled) return;

  for (const KernelLaunch* launch : made) texts.push_back(launch->text());
  // A product that is small for other sizes of the arguments has its kernel compiled now, so that later sizes compile
  // nothing.
  const SizeTable smallest = executable_->program.product_count() > 0 ? smallest_sizes(*executable_, arrays) : sizes_;
  for (int l = segment.first_launch; l < segment.end_launch; ++l) {
    const plan::Step& step =
        plan.steps[static_cast<std::size_t>(plan.launches[static_cast<std::size_t>(l)].first_step)];
    if (!executable_->call_of(step).product || generated_for(*executable_, step, sizes_) >= 0) continue;
    const auto [m, k, n] = product_sizes(*executable_, step, smallest);
    if (!fuse::is_small_product(m, k, n)) continue;
    const BoundKernel kernel =
        bind_kernel(*executable_, step, static_cast<int>(fuse::GeneratedProduct::along_rows), sizes_, memory_);
    std::vector<std::size_t> count;
    texts.push_back(std::move(emit_launch(std::span(&kernel, 1), target, count).front()));
  }
  cpu::KernelCounts kernel_counts;
  const std::vector<cpu::KernelEntry> entries = cpu::get_kernels(texts, kernel_counts);
  counts.compiled += kernel_counts.compiled;
  counts.cached += kernel_counts.cached;
  for (std::size_t i = 0; i < made.size(); ++i) made[i]->set_entry(entries[i]);
}

// ---- calls ----

char* Workspace::block(std::size_t segment, std::size_t bytes) {
  if (blocks_.size() <= segment) blocks_.resize(segment + 1);
  Block& block = blocks_[segment];
  if (block.bytes < bytes) {
    block = {};  // what is in it is of no use: give it back before the larger one is asked for
    block = {base::allocate_shared_memory(bytes), bytes};
  }
  return static_cast<char*>(block.memory.get());
}

void BoundSegment::start(CallArrays& arrays, Workspace& workspace) {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  char* const temporaries = workspace.block(static_cast<std::size_t>(number_), temporary_bytes_);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const auto number = static_cast<std::size_t>(buffer.number);
    if (buffer.segment != number_ || buffer.in_place_of >= 0) continue;
    const DType dtype = graph.arena.type(buffer.node).dtype;
    char*& base = memory_.base[b];
    switch (buffer.role) {
      case Buffer::Role::argument:
        base = address_of(arrays.arguments[number]);
        break;
      case Buffer::Role::shared:
        base = address_of(arrays.shared[number]);
        break;
      case Buffer::Role::constant:
        base = address_of(graph.constants[number]);
        break;
      case Buffer::Role::temporary:
        base = temporaries + temporary_offset_[b];
        break;
      case Buffer::Role::output:
        arrays.outputs[number] = Array::empty(dtype, memory_.layouts[b].shape);
        base = static_cast<char*>(arrays.outputs[number].raw());
        break;
      case Buffer::Role::update:
        arrays.updates[number] = Array::empty(dtype, memory_.layouts[b].shape);
        base = address_of(arrays.updates[number]);
        break;
    }
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.segment != number_ || buffer.in_place_of < 0) continue;
    memory_.base[b] = memory_.base[static_cast<std::size_t>(buffer.in_place_of)];
    const Buffer& home = plan.buffers[static_cast<std::size_t>(buffer.in_place_of)];
    if (buffer.role == Buffer::Role::update)
      arrays.updates[static_cast<std::size_t>(buffer.number)] = arrays.shared[static_cast<std::size_t>(home.number)];
  }
}

void BoundSegment::run(RunCounts& counts) {
  failure_[0] = 0;
  // Results behind the commit point, where nothing may fail any more.
  std::vector<std::unique_ptr<PendingResult>> pending;
  for (BoundLaunch& launch : launches_) {
    if (auto* product = std::get_if<std::unique_ptr<ProductLaunch>>(&launch.what)) {
      if (engine_ != Engine::compiled && launch.after_commit) continue;  // below: products cannot fail
      (*product)->run(memory_);
      ++counts.products;
      continue;
    }
    KernelLaunch& kernel = *std::get<std::unique_ptr<KernelLaunch>>(launch.what);
    kernel.run(memory_, failure_, launch.after_commit ? &pending : nullptr);
    ++(engine_ == Engine::reference ? counts.reference_kernels : counts.kernels);
    if (failure_[0] != 0) fail(kernel);
  }
  if (engine_ == Engine::compiled) return;
  for (const auto& result : pending) result->write();
  for (BoundLaunch& launch : launches_) {
    auto* product = std::get_if<std::unique_ptr<ProductLaunch>>(&launch.what);
    if (product == nullptr || !launch.after_commit) continue;
    (*product)->run(memory_);
    ++counts.products;
  }
}

void BoundSegment::fail(const KernelLaunch& launch) const {
  const std::uint32_t check = failure_[0];
  const auto value = static_cast<std::int64_t>(failure_[1] | (std::uint64_t{failure_[2]} << 32));
  const fuse::KernelCall& call = *launch.kernels()[0].call;
  const auto& checks = call.kernel->checks;
  const std::string message =
      check >= 1 && check <= checks.size() ? expr::fill_message(checks[check - 1].message, value) : "a check failed";
  std::string lines;
  for (const expr::Origin& origin : call.origins) {
    if (lines.size() < 200) lines += (lines.empty() ? "" : "; ") + line_of(origin);
  }
  throw IndexError(fmt::format("{} ({})", message, lines));
}

std::vector<std::int64_t> BoundSegment::read_fresh() const {
  const plan::Plan& plan = executable_->plan;
  std::vector<std::int64_t> values;
  for (const int b : plan.segments[static_cast<std::size_t>(number_)].fresh) {
    const DType dtype = executable_->program.graph.arena.type(plan.buffers[static_cast<std::size_t>(b)].node).dtype;
    values.push_back(read_integer(memory_.base[static_cast<std::size_t>(b)], dtype));
  }
  return values;
}

BoundSegment& BoundSegment::next(std::vector<std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                                 RunCounts& counts) {
  const auto at = next_.find(fresh);
  if (at != next_.end()) {
    at->second->memory_.base = memory_.base;  // of the present call; what comes after sets its own
    return *at->second;
  }
  auto bound = std::make_unique<BoundSegment>(executable_, number_ + 1, this, fresh, arrays, options, counts);
  if (next_.size() >= kept_segments) next_.clear();
  return *next_.emplace(std::move(fresh), std::move(bound)).first->second;
}

BoundPlan::BoundPlan(std::shared_ptr<const Executable> executable, const CallArrays& arrays, BindOptions options,
                     RunCounts& counts)
    : executable_(std::move(executable)),
      options_(std::move(options)),
      first_(executable_, 0, nullptr, {}, arrays, options_, counts) {}

void BoundPlan::run(CallArrays& arrays, Workspace& workspace, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const expr::Graph& graph = executable_->program.graph;
  static const Array placeholder(0.f);  // without dimensions, so that a copy allocates nothing
  arrays.outputs.assign(graph.outputs.size(), placeholder);
  arrays.updates.resize(graph.updates.size());
  BoundSegment* segment = &first_;
  for (std::size_t k = 0; k + 1 < plan.segments.size(); ++k) {
    segment->start(arrays, workspace);
    segment->run(counts);
    segment = &segment->next(segment->read_fresh(), arrays, options_, counts);
  }
  segment->start(arrays, workspace);

  // Results that no step of their own computes: inputs, constants and sizes as they are now, before anything is
  // overwritten; and those that repeat another result, whose memory is taken now and filled at the end.
  const auto is_own = [&](int b, Buffer::Role role, std::size_t i) {
    return b >= 0 && plan.buffers[static_cast<std::size_t>(b)].role == role &&
           static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(b)].number) == i;
  };
  struct Repeated {
    char* to;
    const char* from;
    std::size_t bytes;
  };
  std::vector<Repeated> repeated;
  const auto add = [&](Array& result, NodeId node, int b) {
    const DType dtype = graph.arena.type(node).dtype;
    if (b < 0) {
      const auto value = graph.arena.scalar_value(node);
      const Array number =
          value && is_float(value->dtype) ? Array(value->d) : Array(value ? value->i : segment->sizes()[node]);
      result = number.astype(dtype);
      return;
    }
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    const auto number = static_cast<std::size_t>(buffer.number);
    switch (buffer.role) {
      case Buffer::Role::argument:
        result = arrays.arguments[number].copy();
        break;
      case Buffer::Role::shared:
        result = arrays.shared[number].copy();
        break;
      case Buffer::Role::constant:
        result = graph.constants[number].copy();
        break;
      default: {
        const Array& from = buffer.role == Buffer::Role::output ? arrays.outputs[number] : arrays.updates[number];
        result = Array::empty(dtype, from.shape());
        repeated.push_back({address_of(result), address_of(from), from.bytes()});
      }
    }
  };
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!is_own(plan.output_buffer[i], Buffer::Role::output, i))
      add(arrays.outputs[i], graph.outputs[i], plan.output_buffer[i]);
  }
  for (std::size_t i = 0; i < graph.updates.size(); ++i) {
    if (!is_own(plan.update_buffer[i], Buffer::Role::update, i))
      add(arrays.updates[i], graph.updates[i].value, plan.update_buffer[i]);
  }
  segment->run(counts);
  for (const Repeated& r : repeated) {
    if (r.bytes > 0) std::memcpy(r.to, r.from, r.bytes);
  }
}

}  // namespace croton::runtime
