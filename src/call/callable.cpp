#include "call/callable.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/device_memory.hpp"
#include "base/shape.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "expr/evaluate.hpp"
#include "nan_guard.hpp"
#include "placement_log.hpp"
#include "runtime/bound/trace.hpp"
#include "runtime/cpu/blas/blas.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "settings.hpp"
#include "verification.hpp"

namespace croton::detail {

Callable::Callable(std::shared_ptr<const CompiledFunction> function)
    : function_(std::move(function)), placements_(*function_), shared_(*function_) {}

std::shared_ptr<Callable> Callable::copy() const { return copy_with(function_); }

std::shared_ptr<Callable> Callable::with_schedule(std::string overrides) const {
  auto changed = std::make_shared<CompiledFunction>(*function_);
  changed->schedule = std::move(overrides);
  return copy_with(std::move(changed));
}

/// Plans do not depend on schedules; bound plans do, and are not copied.
std::shared_ptr<Callable> Callable::copy_with(std::shared_ptr<const CompiledFunction> function) const {
  auto other = std::make_shared<Callable>(std::move(function));
  const CallLock::Guard lock(mutex_, function_->name);
  other->placements_.copy_plans(placements_);
  return other;
}

Placed& Callable::placed() {
  const CallLock::Guard lock(mutex_, function_->name);
  const auto homes_stay = shared_.lock_to_read();
  return placements_.find(base::config());
}

/// Reads the present values of the shared variables.
void Callable::read_shared(runtime::CallArrays& arrays) const {
  for (const Variable& variable : function_->shared) {
    builder::SharedState& state = *variable.node()->shared;
    arrays.shared.push_back(&state.value);
    arrays.copies.push_back(static_cast<runtime::SharedCopies*>(state.copies.get()));
    arrays.versions.push_back(state.version);
  }
}

void Callable::with_shapes(std::span<const Sizes> shapes,
                           const std::function<void(const Placed&, const runtime::CallArrays&)>& use) {
  alignas(64) static const char nothing[64] = {};  // the place of all arguments: only their shapes are used
  const CallLock::Guard lock(mutex_, function_->name);
  const auto homes_stay = shared_.lock_to_read();
  const Placed& where = placements_.find(base::config());
  runtime::CallArrays arrays;
  read_shared(arrays);
  std::vector<Argument> given;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const bool known = i < function_->inputs.size();
    if (std::ranges::any_of(shapes[i], [](std::int64_t size) { return size < 0; })) {
      throw ShapeError(fmt::format("{} was given the shape {}: sizes are at least 0",
                                   known ? builder::describe(function_->inputs[i].variable) : "an argument",
                                   base::shape_text(shapes[i])));
    }
    const DType dtype = known ? function_->inputs[i].variable.type().dtype : DType::float32;
    given.emplace_back(Array::view_of(static_cast<const void*>(nothing), dtype, shapes[i]));
  }
  Arguments arguments;
  const SharedLocks none(*function_);  // that no call has used: no update overwrites an argument, which would be copied
  arguments.take(*function_, given, *where.executable, none, arrays.arguments);
  use(where, arrays);
}

/// The values of the graph's inputs on the host, in the graph's order, in which arguments and shared variables may
/// be mixed. Not those of arrays_.shared: in mode=verify these are copies, which in-place work overwrites.
std::vector<Array> Callable::inputs_in_order() const {
  std::vector<Array> inputs;
  std::size_t argument = 0, state = 0;
  for (const expr::GraphInput& input : function_->graph().inputs) {
    inputs.push_back(input.role == expr::Role::argument ? *arrays_.arguments[argument++]
                                                        : function_->shared[state++].node()->shared->value.to_host());
  }
  return inputs;
}

void Callable::run_by_reference() {
  const CompiledFunction& f = *function_;
  const std::vector<Array> given = inputs_in_order();
  if (f.imported && !f.nan_guard.empty()) check_every_node({f.name, *f.imported, given, f.nan_guard});
  const std::vector<Array> results = expr::evaluate(f.graph(), given);
  arrays_.updates.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    (i < f.graph().outputs.size() ? arrays_.outputs : arrays_.updates).push_back(results[i].copy());
  }
  for (std::size_t u = 0; u < f.update_of.size(); ++u) {
    const builder::SharedState& target = *f.shared[f.update_of[u]].node()->shared;
    if (target.pinned) arrays_.updates[u] = base::moved_to(base::device_memory(target.home), arrays_.updates[u]);
  }
}

bool Callable::run_plan(Placed& where, bool briefly) {
  const CompiledFunction& f = *function_;
  runtime::BoundPlan* last = f.verified() ? nullptr : where.plans.find_last(*where.executable, arrays_);
  if (briefly && (last == nullptr || !last->is_tiny())) return false;
  if (f.verified()) {
    // In-place work overwrites copies, so that a rejected result has changed nothing.
    copies_of_updated_.reserve(f.update_of.size());  // pointers to elements must stay valid
    for (const std::size_t i : f.update_of) {
      const Array*& value = arrays_.shared[i];
      value = &copies_of_updated_.emplace_back(base::moved_to(value->device_memory(), value->to_host().copy()));
    }
  }
  runtime::BoundPlan& plan =
      last != nullptr ? *last : where.plans.find_or_bind(f, where.executable, arrays_, run_counts_);
  const bool tiny = plan.is_tiny() && !f.verified();
  if (tiny != is_tiny_.load(std::memory_order_relaxed)) is_tiny_.store(tiny, std::memory_order_relaxed);
  arrays_.reuse_outputs = briefly;
  try {
    plan.run(arrays_, workspace_, run_counts_);
  } catch (const runtime::GuardFailure& failure) {
    raise_nan_error({f.name, *f.imported, inputs_in_order(), f.nan_guard}, failure);
  }
  return true;
}

/// Compares the results of the call, before it changes anything, with those of the imported graph.
void Callable::verify(const Placed& where) {
  const CompiledFunction& f = *function_;
  CallToVerify call{.name = f.name,
                    .imported = *f.imported,
                    .rewriting = f.rewritten.options,
                    .rewrites_specials = false,
                    .inputs = inputs_in_order(),
                    .results = {},
                    .how = {}};
  for (const rewrite::GroupReport& report : f.rewritten.reports)
    call.rewrites_specials = call.rewrites_specials || !report.fired.empty();
  for (const Array& output : arrays_.outputs) call.results.push_back(output.to_host());
  for (const Array& update : arrays_.updates) call.results.push_back(update.to_host());
  call.how = {.join = f.join, .schedule = f.schedule};
  for (const fuse::Call& work : where.executable->program.calls) call.how.place = std::max(call.how.place, work.place);
  verification_ = verify_call(call);
}

/// New values of the copies that were made after the function was compiled, each on its device.
std::vector<Array> Callable::values_of_copies() const {
  std::vector<Array> values;
  for (const SharedLocks::NewCopy& known : shared_.new_copies()) {
    base::DeviceMemory* memory = base::device_memory(known.copy.node()->shared->home);
    const Array& value = arrays_.updates[known.update];
    values.push_back(value.device_memory() == memory ? base::moved_to(memory, value.to_host().copy())
                                                     : base::moved_to(memory, value));
  }
  return values;
}

/// Commits the new values of all shared variables together.
void Callable::commit(std::vector<Array> for_copies) {
  for (std::size_t c = 0; c < for_copies.size(); ++c) {
    builder::SharedState& state = *shared_.new_copies()[c].copy.node()->shared;
    state.value = std::move(for_copies[c]);
    ++state.version;
  }
  for (std::size_t u = 0; u < function_->update_of.size(); ++u) {
    const std::size_t i = function_->update_of[u];
    builder::SharedState& state = *function_->shared[i].node()->shared;
    // The device that computed the new value is the home from now on; the plan has sent pinned values home.
    const base::DeviceMemory* memory = arrays_.updates[u].device_memory();
    const std::uint16_t home = memory == nullptr ? base::host_place : memory->place();
    if (home != state.home) arrays_.copies[i]->forget(arrays_.updates[u]);
    state.home = home;
    if (state.value.address() != arrays_.updates[u].address()) state.exposed = false;
    std::swap(state.value, arrays_.updates[u]);  // a swap allocates no memory, now or in the next call
    ++state.version;
  }
}

/// Releases the arrays and locks of a call at its end; vectors keep their memory.
struct Callable::Release {
  Callable& self;
  ~Release() {
    runtime::CallArrays& arrays = self.arrays_;
    for (Array& array : arrays.updates) array = runtime::CallArrays::nothing();
    arrays.arguments.clear();
    arrays.shared.clear();
    arrays.copies.clear();
    arrays.versions.clear();
    self.arguments_.release();
    self.copies_of_updated_.clear();
    if (!arrays.reuse_outputs) arrays.outputs.clear();
    arrays.held.clear();
    self.shared_.release();
  }
};

bool Callable::call(std::span<const Argument> arguments, bool briefly,
                    const std::function<void(std::vector<Array>&)>& take) {
  const base::Flags& flags = base::config();  // read once: each read takes nanoseconds
  const CompiledFunction& f = *function_;
  apply_settings(flags);
  const CallLock::Guard lock = briefly ? CallLock::Guard(mutex_, std::try_to_lock) : CallLock::Guard(mutex_, f.name);
  if (!lock.owns()) return false;
  const runtime::cuda::NvtxRange range(f.name, flags);
  const runtime::TracedCall traced(f.name);
  const Release release{*this};

  if (!shared_.lock(!briefly)) return false;
  shared_.throw_on_common_memory();
  read_shared(arrays_);
  Placed& where = placements_.find(flags);  // the homes cannot change while the variables are locked
  last_called_ = &where;
  const bool logs = !f.reference() && logs_placement(flags);
  if (logs && !where.logged) {
    log_placement(f.name, where);
    where.logged = true;
  }
  arguments_.take(f, arguments, *where.executable, shared_, arrays_.arguments);

  if (f.reference())
    run_by_reference();
  else if (!run_plan(where, briefly))
    return false;
  if (f.verified()) verify(where);
  ++calls_;
  commit(values_of_copies());  // everything that may fail is done
  if (logs) log_call(f.name, run_counts_.transferred);
  take(arrays_.outputs);
  return true;
}

Verification Callable::verification() const {
  const CallLock::Guard lock(mutex_, function_->name);
  return verification_;
}

std::vector<TransferInfo> Callable::transfers() const {
  const CallLock::Guard lock(mutex_, function_->name);
  return describe_transfers(run_counts_.transferred);
}

std::optional<std::vector<KernelSchedule>> Callable::schedules_of_last_call() {
  const CallLock::Guard lock(mutex_, function_->name);
  const auto homes_stay = shared_.lock_to_read();
  const runtime::BoundPlan* last = last_called_ == nullptr ? nullptr : last_called_->plans.last();
  if (last == nullptr) return std::nullopt;
  std::vector<KernelSchedule> schedules;
  last->add_schedules(schedules);
  return schedules;
}

std::string Callable::loops_of_last_call(const runtime::Executable& executable) const {
  const CallLock::Guard lock(mutex_, function_->name);
  std::string text;
  for (const auto& [at, how] : run_counts_.loops) {
    if (at.first == &executable && how != nullptr) text += fmt::format("  {}: {}\n", at.second, *how);
  }
  return text;
}

CallCounts Callable::counts() const {
  const CallLock::Guard lock(mutex_, function_->name);
  CallCounts c;
  c.calls = calls_;
  c.kernels = run_counts_.kernels;
  c.products = run_counts_.products;
  c.convolutions = run_counts_.convolutions;
  c.routines = run_counts_.routines;
  c.callbacks = run_counts_.callbacks;
  c.reference_kernels = run_counts_.reference_kernels;
  c.compiled = run_counts_.compiled;
  c.cached = run_counts_.cached;
  c.offered_parts = run_counts_.offered_parts;
  c.worker_parts = run_counts_.worker_parts;
  c.transfers = run_counts_.transfers;
  c.transferred_bytes = run_counts_.transferred_bytes;
  c.product_library = runtime::cpu::product_libraries();
  if (function_->simulated()) {
    c.compiler = "none (CUDA text on the simulated GPU)";
  } else if (!runtime::cpu::Compiler::available()) {
    c.compiler = "none (the reference evaluator runs kernels)";
  } else {
    // Without the list of the processor's features.
    const std::string identity = runtime::cpu::Compiler::instance().identity();
    c.compiler = identity.substr(0, std::min(identity.find(" +"), identity.find(" -")));
  }
  return c;
}

}  // namespace croton::detail
