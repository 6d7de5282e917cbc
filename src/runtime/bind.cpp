#include "runtime/bind.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "base/interrupt.hpp"
#include "base/shape.hpp"
#include "base/stage.hpp"
#include "runtime/branch.hpp"
#include "runtime/cuda/dump.hpp"
#include "runtime/loop.hpp"
#include "runtime/user_line.hpp"

namespace croton::runtime {

using plan::Buffer;

namespace {

// Messages name so many lines that memory is for.
constexpr std::size_t most_lines = 4;

std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t alignment = 64;
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

BoundSegment::BoundSegment(std::shared_ptr<const Executable> executable, int number, const BoundSegment* before,
                           std::span<const std::int64_t> fresh, const CallArrays& arrays, const BindOptions& options,
                           RunCounts& counts)
    : executable_(std::move(executable)), number_(number), inside_(options.inside), engine_(options.engine) {
  const base::NamedFunction named(options.name);
  const base::StageTimer timer(base::Stage::bind);
  const plan::Plan& plan = executable_->plan;
  if (before != nullptr) {
    sizes_ = before->sizes_;
    memory_ = before->memory_;
    const std::vector<int>& found = plan.segments[static_cast<std::size_t>(number) - 1].fresh;
    for (std::size_t i = 0; i < found.size(); ++i)
      sizes_.set(plan.buffers[static_cast<std::size_t>(found[i])].node, fresh[i]);
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.segment == number_) (buffer.in_place_of < 0 ? own_ : in_place_).push_back(b);
    if (buffer.place != 0) devices_.try_emplace(buffer.place, &device_at(buffer.place, options.simulated));
  }
  const expr::Place results = executable_->program.graph.results;
  if (results != 0) devices_.try_emplace(results, &device_at(results, options.simulated));
  find_sizes(*executable_, arrays, number, sizes_);
  check_requirements(*executable_, arrays, number, sizes_);
  find_layouts(*executable_, arrays, number, sizes_, memory_);
  find_workspaces();
  find_uploads();
  place_temporaries();
  base::check_interrupt();  // kernels may have to be compiled
  const plan::Segment& segment = plan.segments[static_cast<std::size_t>(number)];
  const bool has_work = segment.first_launch < segment.end_launch;
  if (engine_ == Engine::compiled && has_work && !cpu::can_compile()) engine_ = Engine::reference;
  bind_launches(arrays, options, counts);
  if (!options.inside) lanes_ = find_lanes();
  if (base::shows("launches")) base::show("launches", print());
  if (base::shows("texts")) base::show("texts", texts());
}

BoundSegment::~BoundSegment() = default;

const codegen::Text* BoundSegment::text_of(const BoundLaunch& launch) {
  if (const auto* kernel = std::get_if<std::unique_ptr<KernelLaunch>>(&launch.what)) return &(*kernel)->text();
  if (const auto* routine = std::get_if<std::unique_ptr<RoutineLaunch>>(&launch.what)) return &(*routine)->text();
  if (const auto* loop = std::get_if<std::unique_ptr<LoopLaunch>>(&launch.what))
    return (*loop)->native() != nullptr ? &(*loop)->native()->text() : nullptr;
  return nullptr;
}

/// A line for the temporaries of each device, and for each launch.
std::string BoundSegment::print() const {
  std::string text;
  for (const auto& [place, temporaries] : temporaries_) {
    if (temporaries.bytes > 0)
      text += fmt::format("  {}: {} bytes of temporaries\n", base::DeviceName::of_place(place).to_string(),
                          temporaries.bytes);
  }
  static constexpr std::string_view kinds[] = {"kernel",   "product", "transfer", "routine",
                                               "callback", "loop",    "branch"};
  for (const BoundLaunch& launch : launches_) {
    const codegen::Text* code = text_of(launch);
    text += fmt::format("  launch {}: {}{}{}\n", launch.number, kinds[launch.what.index()],
                        code != nullptr ? " " + code->name : "", launch.after_commit ? ", after the commit point" : "");
  }
  return text;
}

/// What the compiler gets, without the prelude.
std::string BoundSegment::texts() const {
  std::string all;
  for (const BoundLaunch& launch : launches_) {
    if (const codegen::Text* code = text_of(launch)) all += code->code + "\n";
  }
  return all;
}

Device* BoundSegment::device_of(expr::Place place) const { return place == 0 ? nullptr : devices_.at(place); }

/// A routine's workspace is laid out in bytes, once its operands are.
void BoundSegment::find_workspaces() {
  const plan::Plan& plan = executable_->plan;
  for (const plan::Step& step : plan.steps) {
    if (step.workspace < 0 || plan.buffers[static_cast<std::size_t>(step.workspace)].segment != number_) continue;
    memory_.layouts[static_cast<std::size_t>(step.workspace)] =
        codegen::Layout::contiguous({routine_work(*executable_, step, memory_).workspace_bytes});
  }
}

std::size_t BoundSegment::bytes_of(std::size_t b) const {
  const Buffer& buffer = executable_->plan.buffers[b];
  const Sizes& shape = memory_.layouts[b].shape;
  if (buffer.role == Buffer::Role::workspace) return static_cast<std::size_t>(shape[0]);
  return base::byte_count(shape, executable_->program.graph.arena.type(buffer.node).dtype);
}

/// Arguments that a device gets ahead lie apart from temporaries: the device still computes in these when they come. In
/// later segments none do, as the device is waited for in between.
void BoundSegment::find_uploads() {
  const std::vector<Buffer>& buffers = executable_->plan.buffers;
  temporary_offset_.assign(buffers.size(), 0);
  uploaded_.assign(buffers.size(), false);
  if (number_ != 0) return;
  for (const plan::Step& step : executable_->plan.steps) {
    if (!executable_->call_of(step).transfer) continue;
    const auto b = static_cast<std::size_t>(step.writes[0]);
    const Buffer &source = buffers[static_cast<std::size_t>(step.reads[0])], &target = buffers[b];
    if (source.role != Buffer::Role::argument || source.place != 0) continue;
    if (target.role != Buffer::Role::temporary || target.in_place_of >= 0 || target.segment != 0) continue;
    const Device* device = device_of(target.place);
    if (device == nullptr || !device->facts().copies_ahead) continue;
    Temporaries& arguments = arguments_[target.place];
    uploaded_[b] = true;
    temporary_offset_[b] = static_cast<std::int64_t>(arguments.bytes);
    arguments.bytes += static_cast<std::size_t>(aligned(static_cast<std::int64_t>(bytes_of(b))));
    if (arguments.for_what.size() < most_lines)
      arguments.for_what.push_back(executable_->program.graph.arena.origin(target.node));
  }
}

/// First fit by lifetime: a temporary takes the lowest place that is free from its first step to its last.
void BoundSegment::place_temporaries() {
  const std::vector<Buffer>& buffers = executable_->plan.buffers;
  const expr::Arena& arena = executable_->program.graph.arena;
  struct Placed {
    std::int64_t begin, end;
    int last;
  };
  std::map<expr::Place, std::vector<Placed>> placed_on;
  std::map<expr::Place, std::int64_t> totals;
  std::vector<std::size_t> temporaries;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    const bool is_temporary = buffer.role == Buffer::Role::temporary || buffer.role == Buffer::Role::workspace;
    if (is_temporary && buffer.in_place_of < 0 && buffer.segment == number_ && !uploaded_[b]) temporaries.push_back(b);
  }
  // In the order in which they are born, so that those that have died are forgotten.
  std::ranges::stable_sort(temporaries, {}, [&](std::size_t b) { return buffers[b].first_step; });
  for (const std::size_t b : temporaries) {
    const Buffer& buffer = buffers[b];
    const auto bytes = static_cast<std::int64_t>(bytes_of(b));
    std::int64_t& total = totals[buffer.place];
    if (bytes > INT64_MAX / 2 - total)
      throw OutOfMemory(fmt::format("temporaries of {} bytes could not be allocated ({})", bytes,
                                    line_of(arena.origin(buffer.node))));
    const std::int64_t size = aligned(bytes);
    std::vector<Placed>& placed = placed_on[buffer.place];
    std::erase_if(placed, [&](const Placed& other) { return other.last < buffer.first_step; });
    std::ranges::sort(placed, {}, &Placed::begin);
    std::int64_t at = 0;
    for (const Placed& other : placed) {
      if (other.begin - at >= size) break;
      at = std::max(at, other.end);
    }
    placed.push_back({at, at + size, buffer.last_step});
    temporary_offset_[b] = at;
    total = std::max(total, at + size);
    std::vector<expr::Origin>& origins = temporaries_[buffer.place].for_what;
    if (origins.size() < most_lines) origins.push_back(arena.origin(buffer.node));
  }
  for (const auto& [place, total] : totals) temporaries_[place].bytes = static_cast<std::size_t>(total);
}

void BoundSegment::bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts) {
  const plan::Plan& plan = executable_->plan;
  const plan::Segment& segment = plan.segments[static_cast<std::size_t>(number_)];
  std::ptrdiff_t uploads = 0;
  std::vector<KernelLaunch*> on_host;
  std::vector<RoutineLaunch*> routines_on_host;
  std::vector<NativeLoop*> loops_on_host;
  const auto add_kernels = [&](std::vector<BoundKernel> kernels, Device* device, bool after_commit, int l) {
    std::vector<std::size_t> count;
    const codegen::Target target =
        device != nullptr && device->runs_cuda() ? codegen::Target::cuda : codegen::Target::cpu;
    std::vector<codegen::Text> emitted = emit_launch(kernels, target, count);
    cuda::dump(kernels, device != nullptr && device->runs_cuda() ? device->architecture() : "sm_90");
    auto next = kernels.begin();
    for (std::size_t t = 0; t < emitted.size(); ++t) {
      const auto end = next + static_cast<std::ptrdiff_t>(count[t]);
      const std::vector<expr::Origin>& origins = next->call->origins;
      auto launch = with_lines(origins, [&] {
        return std::make_unique<KernelLaunch>(
            std::vector<BoundKernel>(std::move_iterator(next), std::move_iterator(end)), std::move(emitted[t]), engine_,
            device, options.schedule, counts);
      });
      next = end;
      if (!after_commit) with_lines(origins, [&] { launch->use_library(memory_); });
      if (!launch->runs_cuda()) on_host.push_back(launch.get());
      fails_late_ = fails_late_ || (after_commit && launch->may_fail());
      launches_.push_back({std::move(launch), after_commit, l});
    }
  };
  for (int l = segment.first_launch; l < segment.end_launch; ++l) {
    const plan::Launch& launch = plan.launches[static_cast<std::size_t>(l)];
    const plan::Step& first = plan.steps[static_cast<std::size_t>(launch.first_step)];
    const fuse::Call& call = executable_->call_of(first);
    Device* device = device_of(call.place);
    if (call.transfer) {
      Device* from = device_of(plan.buffers[static_cast<std::size_t>(first.reads[0])].place);
      auto transfer = std::make_unique<TransferLaunch>(*executable_, first, from, device, memory_);
      if (uploaded_[static_cast<std::size_t>(first.writes[0])]) {
        // In front of everything that may wait for the device: a kernel with checks.
        launches_.insert(launches_.begin() + uploads++, BoundLaunch{std::move(transfer), false, l});
      } else {
        launches_.push_back({std::move(transfer), first.after_commit, l});
      }
      continue;
    }
    if (call.host) {
      launches_.push_back({std::make_unique<HostLaunch>(*executable_, first, sizes_), first.after_commit, l});
      continue;
    }
    if (call.loop) {
      auto loop = with_lines(call.loop->origin, [&] {
        return std::make_unique<LoopLaunch>(*executable_, first, device, sizes_, memory_, options, counts);
      });
      if (loop->native() != nullptr && !loop->native()->runs_cuda()) loops_on_host.push_back(loop->native());
      launches_.push_back({std::move(loop), first.after_commit, l});
      continue;
    }
    if (call.branch) {
      std::vector<Device*> devices;
      for (const int b : first.reads) devices.push_back(device_of(plan.buffers[static_cast<std::size_t>(b)].place));
      auto branch = with_lines(call.branch->origin, [&] {
        return std::make_unique<BranchLaunch>(*executable_, first, device, devices, sizes_, options);
      });
      launches_.push_back({std::move(branch), first.after_commit, l});
      continue;
    }
    if (call.routine) {
      auto routine = with_lines(call.routine->origin, [&] {
        return std::make_unique<RoutineLaunch>(*executable_, first, engine_, device, options.schedule, memory_, counts);
      });
      if (!base::config().dump_kernels.empty())
        cuda::dump(codegen::emit_routine(routine_part(*executable_, first), codegen::Target::cuda),
                   routine->runs_cuda() ? device->architecture() : "sm_90");
      if (!routine->runs_cuda()) routines_on_host.push_back(routine.get());
      launches_.push_back({std::move(routine), first.after_commit, l});
      continue;
    }
    int generated = call.product ? generated_for(*executable_, first, sizes_) : -1;
    if (call.product && generated < 0) {
      auto product = with_lines(call.product->origin, [&] {
        return std::make_unique<ProductLaunch>(*executable_, first, device, product_sizes(*executable_, first, sizes_));
      });
      if (product->has_routine()) {
        launches_.push_back({std::move(product), first.after_commit, l});
        continue;
      }
      generated = generated_always(*executable_, first, sizes_);
    }
    std::vector<BoundKernel> kernels;
    for (int s = launch.first_step; s < launch.end_step; ++s) {
      kernels.push_back(bind_kernel(*executable_, plan.steps[static_cast<std::size_t>(s)], generated, sizes_, memory_));
    }
    add_kernels(std::move(kernels), device, first.after_commit, l);
  }
  if (engine_ != Engine::compiled) return;

  std::vector<codegen::Text> texts;
  for (const KernelLaunch* launch : on_host) texts.push_back(launch->text());
  for (const RoutineLaunch* launch : routines_on_host) texts.push_back(launch->text());
  for (const NativeLoop* launch : loops_on_host) texts.push_back(launch->text());
  // A product that is small for other sizes of the arguments has its kernel compiled now, so that later sizes compile
  // nothing.
  const SizeTable smallest = executable_->program.product_count() > 0 ? smallest_sizes(*executable_, arrays) : sizes_;
  for (int l = segment.first_launch; l < segment.end_launch; ++l) {
    const plan::Step& step =
        plan.steps[static_cast<std::size_t>(plan.launches[static_cast<std::size_t>(l)].first_step)];
    const fuse::Call& call = executable_->call_of(step);
    if (!call.product || call.place != 0 || generated_for(*executable_, step, sizes_) >= 0) continue;
    const auto [m, k, n, batch] = product_sizes(*executable_, step, smallest);
    if (!fuse::is_small_product(m, k, n)) continue;
    const BoundKernel kernel =
        bind_kernel(*executable_, step, static_cast<int>(fuse::GeneratedProduct::along_rows), sizes_, memory_);
    std::vector<std::size_t> count;
    texts.push_back(std::move(emit_launch(std::span(&kernel, 1), codegen::Target::cpu, count).front()));
  }
  if (texts.empty()) return;
  cpu::KernelCounts kernel_counts;
  const std::vector<cpu::KernelEntry> entries = cpu::get_kernels(texts, kernel_counts);
  counts.compiled += kernel_counts.compiled;
  counts.cached += kernel_counts.cached;
  auto entry = entries.begin();  // in the order of the texts
  for (KernelLaunch* launch : on_host) launch->set_entry(*entry++);
  for (RoutineLaunch* launch : routines_on_host) launch->set_entry(*entry++);
  for (NativeLoop* launch : loops_on_host) launch->set_entry(*entry++);
}

}  // namespace croton::runtime
