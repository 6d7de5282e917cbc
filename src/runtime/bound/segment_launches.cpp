// Binds the launches of a segment: a visitor of the kinds of work.
#include <algorithm>

#include "base/device_name.hpp"
#include "runtime/bound/branch_launch.hpp"
#include "runtime/bound/dump_kernels.hpp"
#include "runtime/bound/host_launch.hpp"
#include "runtime/bound/kernel_launch.hpp"
#include "runtime/bound/product_launch.hpp"
#include "runtime/bound/routine_launch.hpp"
#include "runtime/bound/segment.hpp"
#include "runtime/bound/transfer_launch.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/devices.hpp"

namespace croton::runtime {

class BoundSegment::Binder {
 public:
  Binder(BoundSegment& segment, const BindOptions& options, RunCounts& counts)
      : segment_(segment),
        executable_(*segment.executable_),
        plan_(executable_.plan),
        options_(options),
        counts_(counts) {}

  /// Binds the launch with that number.
  void bind(plan::LaunchId number) {
    number_ = number;
    launch_ = plan_.launches[number];
    step_ = &plan_.steps[launch_.first_step];
    const fuse::Call& call = executable_.call_of(*step_);
    device_ = &segment_.device_of(call.place);
    std::visit(*this, call.work);
  }

  void operator()(const fuse::KernelCall&) { add_kernels(-1); }

  void operator()(const fuse::ProductCall& call) {
    if (const int generated = choose_generated(executable_, *step_, sizes()); generated >= 0)
      return add_kernels(generated);
    auto product = with_lines(call.origin, [&] {
      return std::make_unique<ProductLaunch>(executable_, *step_, *device_,
                                             product_sizes(executable_, *step_, sizes()));
    });
    if (!product->has_routine()) return add_kernels(choose_generated_without_library(executable_, *step_, sizes()));
    add(std::move(product));
  }

  void operator()(const fuse::TransferCall&) {
    Device& from = segment_.device_of(plan_.buffers[step_->reads[0]].place);
    const bool ahead = segment_.uploaded_[step_->writes[0]];
    auto transfer = std::make_unique<TransferLaunch>(segment_.executable_, segment_.inside_, *step_, from, *device_,
                                                     segment_.memory_, ahead);
    if (!ahead) return add(std::move(transfer));
    // Copies in advance come before everything that may wait for the device, such as a kernel with checks.
    segment_.launches_.insert(segment_.launches_.begin() + uploads_++,
                              BoundLaunch{std::move(transfer), false, number_});
  }

  void operator()(const fuse::RoutineCall& call) {
    auto routine = with_lines(call.origin, [&] {
      return std::make_unique<RoutineLaunch>(executable_, *step_, segment_.engine_, *device_, options_.schedule,
                                             segment_.memory_, counts_);
    });
    dump_text(
        [&](codegen::Target language) { return codegen::emit_routine(routine_part(executable_, *step_), language); },
        device_->architecture());
    add(std::move(routine));
  }

  void operator()(const fuse::HostCall&) { add(std::make_unique<HostLaunch>(executable_, *step_, sizes())); }

  void operator()(const fuse::LoopCall& call) {
    add(with_lines(call.origin, [&] {
      return options_.bind_loop(executable_, *step_, *device_, sizes(), segment_.memory_, options_, counts_);
    }));
  }

  void operator()(const fuse::BranchCall& call) {
    std::vector<Device*> devices;
    for (const plan::BufferId b : step_->reads) devices.push_back(&segment_.device_of(plan_.buffers[b].place));
    add(with_lines(call.origin, [&] {
      return std::make_unique<BranchLaunch>(executable_, *step_, *device_, devices, sizes(), options_);
    }));
  }

 private:
  const SizeTable& sizes() const { return segment_.sizes_; }
  codegen::Machine machine() const {
    codegen::Machine machine = machine_of(*device_);
    // Operands of a body are rows of others, and begin anywhere. All other memory of devices is aligned to more.
    machine.aligned = !options_.inside;
    return machine;
  }
  void add(std::unique_ptr<Launch> launch) {
    if (launch->has_table()) segment_.with_table_.push_back(launch.get());
    segment_.launches_.push_back({std::move(launch), step_->after_commit, number_});
  }

  /// Adds the kernels of a launch. `generated`: for a product, the index of its generated kernel; else -1.
  void add_kernels(int generated) {
    std::vector<BoundKernel> kernels;
    for (const plan::StepId s : launch_.steps()) {
      kernels.push_back(bind_kernel(executable_, plan_.steps[s], generated, sizes(), segment_.memory_));
      find_unread(kernels.back(), plan_, launch_);
    }
    codegen::Machine for_machine = machine();
    auto launches = schedule_launches(kernels, device_->target(), for_machine, options_.schedule);
    if (!std::ranges::all_of(launches, [&](const auto& launch) { return can_meet(launch); })) {
      for_machine.cooperates = false;
      launches = schedule_launches(std::move(kernels), device_->target(), for_machine, options_.schedule);
    }
    for (auto& launch : launches) add_launch(std::move(launch), for_machine);
  }

  /// Whether all blocks of the launch can run at the same time, if they must.
  bool can_meet(std::span<const BoundKernel> kernels) const {
    const codegen::Schedule& schedule = kernels.front().schedule;
    if (!device_->runs_cuda() || schedule.meets == 0) return true;
    const codegen::Text text = emit_launch(kernels, device_->target());
    const auto shared = static_cast<std::size_t>(schedule.shared_bytes);
    count_prepared(device_->prepare(text, schedule.threads, shared), counts_);
    return gpu_blocks(kernels) <= device_->max_cooperative_blocks(text, schedule.threads, shared);
  }

  void add_launch(std::vector<BoundKernel> kernels, const codegen::Machine& for_machine) {
    codegen::Text text = emit_launch(kernels, device_->target());
    dump_kernels(kernels, device_->target(), device_->architecture());
    const std::vector<expr::Origin>& origins = kernels.front().call->origins;
    auto launch = with_lines(origins, [&] {
      return std::make_unique<KernelLaunch>(std::move(kernels), std::move(text), segment_.engine_, *device_,
                                            segment_.check_words(*device_), for_machine, options_.schedule, counts_);
    });
    if (!step_->after_commit) with_lines(origins, [&] { launch->use_library(segment_.memory_); });
    segment_.may_fail_after_commit_ = segment_.may_fail_after_commit_ || (step_->after_commit && launch->may_fail());
    add(std::move(launch));
  }

  BoundSegment& segment_;
  const Executable& executable_;
  const plan::Plan& plan_;
  const BindOptions& options_;
  RunCounts& counts_;
  std::ptrdiff_t uploads_ = 0;  // the number of copies in advance, which come first
  // The launch that is being bound:
  plan::LaunchId number_;
  plan::Launch launch_;
  const plan::Step* step_ = nullptr;
  Device* device_ = nullptr;
};

CheckWords& BoundSegment::check_words(Device& device) {
  for (const auto& words : check_words_) {
    if (&words->device() == &device) return *words;
  }
  return *check_words_.emplace_back(std::make_unique<CheckWords>(device));
}

void BoundSegment::bind_launches(const CallArrays& arrays, const BindOptions& options, RunCounts& counts) {
  const plan::Segment& segment = executable_->plan.segments[number_];
  Binder binder(*this, options, counts);
  for (const plan::LaunchId l : segment.launches()) binder.bind(l);
  for (const auto& words : check_words_) words->allocate();
  if (engine_ == Engine::compiled) compile_texts(arrays, counts);
}

/// Compiles the texts of all launches on the host together.
void BoundSegment::compile_texts(const CallArrays& arrays, RunCounts& counts) {
  std::vector<Launch*> on_host;
  std::vector<codegen::Text> texts;
  for (const BoundLaunch& launch : launches_) {
    const codegen::Text* text = launch.impl->text();
    if (text == nullptr || !launch.impl->on_host()) continue;
    on_host.push_back(launch.impl.get());
    texts.push_back(*text);
  }
  for (codegen::Text& text : small_products(arrays)) texts.push_back(std::move(text));
  if (texts.empty()) return;
  cpu::KernelCounts kernel_counts;
  const std::vector<cpu::KernelEntry> entries = cpu::get_kernels(texts, kernel_counts);
  counts.compiled += kernel_counts.compiled;
  counts.cached += kernel_counts.cached;
  auto entry = entries.begin();  // in the order of the texts
  for (Launch* launch : on_host) launch->set_entry(*entry++);
}

/// The texts of products that are small for other sizes of the arguments. They are compiled now, so that later sizes
/// need no compilation.
std::vector<codegen::Text> BoundSegment::small_products(const CallArrays& arrays) const {
  std::vector<codegen::Text> texts;
  if (executable_->program.product_count() == 0) return texts;
  const plan::Plan& plan = executable_->plan;
  const plan::Segment& segment = plan.segments[number_];
  const SizeTable smallest = smallest_sizes(*executable_, arrays);
  for (const plan::LaunchId l : segment.launches()) {
    const plan::Step& step = plan.steps[plan.launches[l].first_step];
    const fuse::Call& call = executable_->call_of(step);
    if (!call.is<fuse::ProductCall>() || !base::is_host(call.place) ||
        choose_generated(*executable_, step, sizes_) >= 0)
      continue;
    const auto [m, k, n, batch] = product_sizes(*executable_, step, smallest);
    if (!fuse::is_small_product(m, k, n)) continue;
    const BoundKernel kernel =
        bind_kernel(*executable_, step, static_cast<int>(fuse::GeneratedProduct::along_rows), sizes_, memory_);
    texts.push_back(emit_launch(std::span(&kernel, 1), codegen::Target::cpu));
  }
  return texts;
}

}  // namespace croton::runtime
