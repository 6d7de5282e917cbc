#include "runtime/bound/kernel_launch.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/index.hpp"
#include "base/shape.hpp"
#include "codegen/division.hpp"
#include "expr/evaluate.hpp"
#include "fuse/guard.hpp"
#include "kernel/evaluate.hpp"
#include "runtime/bound/bound_convolution.hpp"
#include "runtime/bound/failures.hpp"
#include "runtime/bound/kernel_schedules.hpp"
#include "runtime/bound/launch_time.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "runtime/support/pieces.hpp"

namespace croton::runtime {
namespace {

// Of each thread in the first piece of a launch that may be interrupted. A grain is 10 to 300 us of work, and some
// tens of times as much where kernels are not optimised.
constexpr std::int64_t first_grains = 32;

DType dtype_of(const BoundKernel& kernel, std::size_t operand) {
  return kernel.analysis->kernel.operands[operand].dtype;
}

}  // namespace

KernelLaunch::KernelLaunch(std::vector<BoundKernel> kernels, codegen::Text text, Engine engine, Device& device,
                           CheckWords& words, const codegen::Machine& machine, std::string_view overrides,
                           RunCounts& counts)
    : kernels_(std::move(kernels)),
      text_(std::move(text)),
      has_user_text_(codegen::has_user_text(text_.code)),
      engine_(engine),
      device_(device),
      machine_(machine),
      overrides_(overrides),
      table_(device, text_),
      words_(words) {
  if (device.runs_cuda()) {
    work_.items = gpu_items(kernels_);
    gpu_blocks(kernels_);  // raises now, rather than in a call
  } else {
    work_ = cpu_work(kernels_);
  }
  if (by_reference()) return;
  allocate_memory();
  if (!on_host()) prepare_device(counts);
  fill_parameters();
}

void KernelLaunch::allocate_memory() {
  if (!device_.runs_cuda()) {
    workspace_bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(1, work_.items)) * text_.state_bytes;
    if (text_.state_bytes > 0) workspace_ = device_.allocate(workspace_bytes_);
    return;
  }
  codegen::LaunchMemory memory;
  for (const BoundKernel& kernel : kernels_) {
    memory_begin_.push_back(memory);
    memory.add(codegen::launch_memory(*kernel.analysis, kernel.launch, kernel.schedule));
    if (is_epilogue(kernels_, kernel)) ++memory.counters;  // of finished reductions
  }
  workspace_bytes_ = static_cast<std::size_t>(memory.state_bytes);
  if (workspace_bytes_ > 0) workspace_ = device_.allocate(workspace_bytes_);
  counter_bytes_ = static_cast<std::size_t>(memory.counters) * sizeof(std::uint32_t);
  if (counter_bytes_ == 0) return;
  counters_ = device_.allocate(counter_bytes_);
  clear_counters();
}

void KernelLaunch::clear_counters() {
  const std::vector<std::uint32_t> zeros(counter_bytes_ / sizeof(std::uint32_t));
  device_.copy_in(counters_.get(), zeros.data(), counter_bytes_);
}

void KernelLaunch::prepare_device(RunCounts& counts) {
  count_prepared(device_.prepare(text_, schedule().threads, base::to_size(schedule().shared_bytes)), counts);
  if (has_checks()) number_ = words_.add();
  operands_.reserve(kernels_.size() * 4 + 3);
}

/// Whether the kernel keeps its schedule with other offsets, which decide whether packs are aligned.
bool KernelLaunch::keeps_schedule(const BoundKernel& kernel) const {
  if (!device_.runs_cuda()) return true;
  if (is_inner_outer(kernels_)) return true;  // both together: keeps_pass
  const codegen::NameOf group =
      kernels_.size() > 1 ? codegen::NameOf([this] { return text_.name; }) : codegen::NameOf();
  return codegen::choose_schedule(*kernel.analysis, kernel.launch, machine_, overrides_, group) == kernel.schedule;
}

/// Whether a row kernel and a column kernel remain one launch with the same text.
bool KernelLaunch::keeps_pass(const std::map<std::size_t, BoundKernel>& changed) const {
  std::vector<BoundKernel> kernels = kernels_;
  for (const auto& [i, kernel] : changed) kernels[i] = kernel;
  const auto launches = schedule_launches(kernels, device_.target(), machine_, overrides_);
  return launches.size() == 1 &&
         std::ranges::equal(launches.front(), kernels_, {}, &BoundKernel::schedule, &BoundKernel::schedule) &&
         shared_operands(launches.front()[0], launches.front()[1]) == shared_operands(kernels_[0], kernels_[1]);
}

std::optional<Launch::Renumbering> KernelLaunch::renumbered(const SizeTable&, const SizeTable& sizes,
                                                            const Memory& memory) {
  std::map<std::size_t, BoundKernel> changed;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const BoundKernel& kernel = kernels_[i];
    const std::vector<NodeId>& nodes = kernel.call->extents;
    if (std::ranges::equal(nodes, kernel.extents, {}, [&](NodeId node) { return sizes[node]; })) continue;
    if (uses_library()) return {};
    BoundKernel& other = changed.emplace(i, kernel).first->second;
    std::ranges::transform(nodes, other.extents.begin(), [&](NodeId node) { return sizes[node]; });
    other.launch = specialise_kernel(other, memory);
    if (kernels_.size() > 1 && device_.runs_cuda()) other.launch.variant = other.launch.variant.without_tiles();
    if (other.launch.variant != kernel.launch.variant || other.launch.sizes != kernel.launch.sizes) return {};
    if (!keeps_schedule(other)) return {};
  }
  if (changed.empty()) return Renumbering();
  if (is_inner_outer(kernels_) && !keeps_pass(changed)) return {};
  return [this, changed = std::move(changed)]() mutable { renumber(std::move(changed)); };
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
    if (parameter.kind == codegen::Parameter::Kind::pointer) {  // every call sets it
      const BoundKernel& kernel = kernels_[parameter.part];
      const std::size_t operand = kernel.analysis->accesses[parameter.access].operand;
      const auto item = static_cast<std::int64_t>(size_of(dtype_of(kernel, operand)));
      pointers_.push_back({i, kernel.operands[operand], kernel.launch.offsets[parameter.access] * item});
    }
    parameters_.push_back(static_cast<std::uint64_t>(value_of(parameter, last_tile)));
  }
}

/// The value of a parameter that no call sets, else 0. `last_tile`: that of the kernel before.
std::int64_t KernelLaunch::value_of(const codegen::Parameter& parameter, std::int64_t& last_tile) const {
  const BoundKernel& kernel = kernels_[parameter.part];
  const auto address = [](const std::shared_ptr<void>& memory) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(memory.get()));
  };
  using Kind = codegen::Parameter::Kind;
  switch (parameter.kind) {
    case Kind::pointer:
    case Kind::failure:
    case Kind::matrix:
    case Kind::matrix_divisor:
    case Kind::motion:
    case Kind::loop:  // only in loops (loop_parameters.cpp)
      return 0;
    case Kind::workspace:
      return address(workspace_) + (memory_begin_.empty() ? 0 : memory_begin_[parameter.part].state_bytes);
    case Kind::counters: {
      constexpr auto word = static_cast<std::int64_t>(sizeof(std::uint32_t));
      return address(counters_) + memory_begin_[parameter.part].counters * word;
    }
    case Kind::size:
      return kernel.launch.sizes[parameter.index];
    case Kind::stride:
      return kernel.launch.strides[parameter.access][parameter.index];
    case Kind::extent:
      return kernel.extents[parameter.index];
    case Kind::last_tile:
      return last_tile += device_.runs_cuda() ? gpu_items(std::span(&kernel, 1)) : codegen::group_tiles(kernel.launch);
    case Kind::points:
      return codegen::point_count(kernel.launch);
    case Kind::divisor:
    case Kind::tiles_of_line:
    case Kind::tiles_divisor:
    case Kind::lines:
    case Kind::parts:
    case Kind::parts_divisor:
    case Kind::bands:
    case Kind::bands_divisor:
    case Kind::side_divisor:
    case Kind::side_tiles_divisor:
      return codegen::position_parameter(parameter, *kernel.analysis, kernel.launch, kernel.schedule);
  }
  throw InternalError("a parameter of no kind");
}

void KernelLaunch::use_library(const Memory& memory) {
  if (by_reference() || kernels_.size() != 1) return;
  std::optional<BoundConvolution> found = as_convolution(kernels_[0], memory);
  if (!found || !found->pays()) return;
  library_ = device_.prepare(found->description);
  if (library_ == nullptr) return;
  convolution_ = std::make_shared<const BoundConvolution>(*found);
  if (convolution_->result != plan::no_buffer) return;
  workspace_bytes_ = static_cast<std::size_t>(convolution_->sums) * size_of(convolution_->description.dtype);
  workspace_ = device_.allocate(workspace_bytes_);
  for (std::size_t i = 0; i < text_.parameters.size(); ++i) {
    if (text_.parameters[i].kind == codegen::Parameter::Kind::workspace)
      parameters_[i] = reinterpret_cast<std::uint64_t>(workspace_.get());
  }
}

void KernelLaunch::run_library(const Memory& memory) const {
  const auto at = [&](plan::BufferId b) { return memory.base[b]; };
  const ConvolutionArrays arrays{at(convolution_->x), at(convolution_->filters) + convolution_->filters_offset,
                                 convolution_->result != plan::no_buffer ? at(convolution_->result) : workspace_.get()};
  library_->run(arrays);
}

void KernelLaunch::run(const LaunchRun& in) {
  bool failed = false;
  with_lines(kernels_[0].call->origins, [&] {
    run_kernels(in.memory, in.failure);
    failed = has_check_words() && !in.defers_checks && words_.read(number_);
  });
  ++(by_reference() ? in.counts.reference_kernels : in.counts.kernels);
  if (uses_library()) ++in.counts.convolutions;
  if (failed) report_checks(in.executable);
  if (in.failure[0] != 0) fail({in.failure, 3}, in.executable);
}

void KernelLaunch::report_checks(const std::shared_ptr<const Executable>& executable) const {
  if (const auto failure = words_.of(number_); failure[0] != 0) fail(failure, executable);
}

void KernelLaunch::fail(std::span<const std::uint32_t> failure,
                        const std::shared_ptr<const Executable>& executable) const {
  const std::uint32_t check = failure[0];
  const auto value = static_cast<std::int64_t>(failure[1] | (std::uint64_t{failure[2]} << 32));
  const fuse::KernelCall& call = *kernels_[0].call;
  const auto& checks = call.kernel->checks;
  if (check >= 1 && check <= checks.size() && checks[check - 1].message == kernel::guard_message)
    throw GuardFailure{executable, &call, fuse::guarded_node(call, check - 1)};
  const std::string message = check >= 1 && check <= checks.size()
                                  ? expr::fill_message(checks[check - 1].message, value, kernels_[0].extents)
                                  : "a check failed";
  throw CheckFailure{fmt::format("{} ({})", message, lines_of(call.origins))};
}

void KernelLaunch::add_schedules(std::vector<KernelSchedule>& schedules) const {
  if (uses_library() && convolution_->result != plan::no_buffer) return;  // the kernel does not run
  const ScheduledFor chosen{
      .device = device_.name(), .target = device_.target(), .machine = machine_, .overrides = overrides_};
  std::ranges::move(describe_schedules(kernels_, text_, chosen), std::back_inserter(schedules));
}

LaunchTime KernelLaunch::time(double bytes) const {
  // With lanes the result of a check is read back before the next launch.
  if (device_.facts().has_processor) return {has_checks() ? launch_time::host_copy : launch_time::enqueue};
  if (device_.runs_cuda()) {
    double points = 0;
    for (const BoundKernel& kernel : kernels_) points += static_cast<double>(codegen::point_count(kernel.launch));
    return {points * launch_time::simulated_item};
  }
  const double time = static_cast<double>(work_.items) / static_cast<double>(std::max<std::int64_t>(1, work_.grain)) *
                      LaunchTime::grain;
  // In these families even a few elements are a whole item, so the estimate is limited by the number of bytes.
  const kernel::Family family = kernels_[0].analysis->kernel.family;
  const bool in_parts = family == kernel::Family::split || family == kernel::Family::column;
  return {0, in_parts ? std::min(time, bytes / launch_time::walked_bytes) : time};
}

void KernelLaunch::prepare(const Memory& memory) {
  set_addresses(memory, nullptr);
  with_lines(kernels_[0].call->origins, [&] { table_.upload(parameters_); });
}

/// Sets the parameters that depend on the call. `failure`: the words of checks on the host.
void KernelLaunch::set_addresses(const Memory& memory, std::uint32_t* failure) {
  for (const Pointer& pointer : pointers_) {
    // Added as integers: an array without elements has a null address.
    parameters_[pointer.parameter] =
        reinterpret_cast<std::uint64_t>(memory.base[pointer.buffer]) + static_cast<std::uint64_t>(pointer.offset);
  }
  if (!has_checks()) return;
  const void* where = on_host() ? failure : words_.operand(number_).address;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (text_.parameters[i].kind == codegen::Parameter::Kind::failure)
      parameters_[i] = reinterpret_cast<std::uint64_t>(where);
  }
}

void KernelLaunch::run_kernels(const Memory& memory, std::uint32_t* failure) {
  if (by_reference()) return run_reference(memory);
  if (uses_library()) {
    run_library(memory);
    if (convolution_->result != plan::no_buffer) return;
  }
  const cuda::NvtxRange range(text_.name);
  if (!table_) set_addresses(memory, failure);
  if (!on_host()) return run_on_device(memory);
  run_on_threads();
  if (entry_.finish != nullptr) entry_.finish(parameters_.data());
}

/// Items do not depend on each other. A piece has whole grains for all threads.
void KernelLaunch::run_on_threads() {
  const std::int64_t grain = std::max<std::int64_t>(1, work_.grain);
  if (work_.items == 0) return;                                                     // kernels divide by extents
  if (work_.items <= grain) return entry_.run(parameters_.data(), 0, work_.items);  // one thread, in one piece
  cpu::ThreadPool& pool = cpu::ThreadPool::instance();
  const std::int64_t step = grain * pool.threads();
  const auto run_piece = [&](std::int64_t first, std::int64_t count) {
    const auto run_items = [this, first](std::int64_t begin, std::int64_t end) {
      entry_.run(parameters_.data(), first + begin, first + end);
    };
    pool.parallel_for(count, grain, run_items);
    return true;
  };
  run_in_pieces(work_.items, first_grains * step, seconds_of_piece, run_piece, step);
}

bool KernelLaunch::may_fail() const { return on_host() ? by_reference() : !device_.facts().has_processor; }

void KernelLaunch::run_on_device(const Memory& memory) {
  operands_.clear();
  for (const BoundKernel& kernel : kernels_) {
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const plan::BufferId b = kernel.operands[i];
      const bool written = kernel.analysis->kernel.operands[i].written;
      operands_.push_back(
          {memory.base[b], base::byte_count(memory.layouts[b].shape, dtype_of(kernel, i)), !written, written});
    }
  }
  // The kernel only reads the sums of a library, and only writes partial results.
  if (workspace_bytes_ > 0) operands_.push_back({workspace_.get(), workspace_bytes_, uses_library(), !uses_library()});
  if (counter_bytes_ > 0) operands_.push_back({counters_.get(), counter_bytes_, true, true});
  if (has_checks()) operands_.push_back(words_.operand(number_));
  const std::span<std::uint64_t> parameters = table_.to_launch(parameters_, operands_);
  const DeviceLaunch launch{.text = &text_,
                            .parameters = parameters,
                            .items = work_.items,
                            .blocks = base::to_int(gpu_blocks(kernels_)),
                            .threads = schedule().threads,
                            .shared_bytes = base::to_size(schedule().shared_bytes),
                            .cooperative = schedule().meets > 0,
                            .operands = operands_};
  if (counters_are_dirty_) clear_counters();
  counters_are_dirty_ = false;
  try {
    device_.launch(launch);
  } catch (...) {
    // Blocks that ran have counted themselves. While launches are recorded, nothing runs, and nothing can be cleared.
    try {
      if (counter_bytes_ > 0) clear_counters();
    } catch (...) {
      counters_are_dirty_ = true;
    }
    throw;
  }
}

/// Runs the kernels by the reference evaluator, which is slow but correct.
void KernelLaunch::run_reference(const Memory& memory) const {
  for (const BoundKernel& kernel : kernels_) {
    std::vector<Array> reads;
    std::vector<Sizes> shapes;
    const std::size_t first_written = kernel.operands.size() - kernel.call->writes.size();
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const plan::BufferId b = kernel.operands[i];
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
      char* to = memory.base[kernel.operands[first_written + i]];
      if (value.bytes() > 0) std::memcpy(to, std::as_const(value).raw(), value.bytes());
    }
  }
}

}  // namespace croton::runtime
