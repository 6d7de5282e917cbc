#include "call.hpp"

#include <fmt/format.h>

#include <atomic>

#include "base/compilation.hpp"
#include "base/config.hpp"
#include "base/device_memory.hpp"
#include "base/device_name.hpp"
#include "builder/mirrors.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "expr/evaluate.hpp"
#include "expr/verify.hpp"
#include "nan_guard.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/dnn.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvtx.hpp"
#include "runtime/cuda/toolkit.hpp"
#include "runtime/trace.hpp"
#include "verification.hpp"

namespace croton {
namespace detail {

using builder::describe;

namespace {

/// The array in the input's dtype, by the three states of casting.
Array convert(const InputRules& rules, const Argument& argument) {
  const Type& type = rules.variable.type();
  const Array& array = argument.array();
  const auto refuse = [&](const std::string& why) {
    throw TypeError(fmt::format("{} was given {}: {}", describe(rules.variable),
                                Type{array.dtype(), array.shape()}.to_string(), why));
  };
  if (array.rank() != static_cast<int>(type.rank())) {
    refuse(fmt::format("it takes {} dimension(s), not {}", type.rank(), array.rank()));
  }
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    if (type.shape[axis] != unknown_size && type.shape[axis] != array.shape()[axis]) {
      throw ShapeError(fmt::format("{} was given {}: axis {} must have size {}", describe(rules.variable),
                                   Type{array.dtype(), array.shape()}.to_string(), axis, type.shape[axis]));
    }
  }
  if (array.dtype() == type.dtype) return array;
  if (rules.strict) refuse("the input is strict: pass exactly its dtype");
  if (is_complex(array.dtype()) && !is_complex(type.dtype))
    refuse("complex numbers are not taken; pass the part that is meant");
  if (rules.allow_downcast.value_or(false) || can_cast_safely(array.dtype(), type.dtype))
    return array.astype(type.dtype);
  if (argument.is_number()) {
    const bool single = type.dtype == DType::float32 || type.dtype == DType::complex64;
    const bool float_literal = !rules.allow_downcast.has_value() && !is_discrete(array.dtype()) && single &&
                               base::config().float_x() == DType::float32;
    if (float_literal) return array.astype(type.dtype);
    if (is_discrete(array.dtype())) {
      // A whole number is taken where its value fits.
      const Array converted = array.astype(type.dtype);
      if (converted.as_double(0) == array.as_double(0)) return converted;
      refuse(fmt::format("{} does not fit into {}", array.to_string(), name_of(type.dtype)));
    }
  }
  refuse(fmt::format("converting {} to {} may lose precision; pass allow_input_downcast, or convert with astype to {}",
                     name_of(array.dtype()), name_of(type.dtype), name_of(type.dtype)));
  return array;
}

}  // namespace

std::shared_ptr<CompiledFunction> CompiledFunction::copy() const {
  auto other = std::make_shared<CompiledFunction>();
  other->name = name;
  other->inputs = inputs;
  other->single = single;
  other->shared = shared;
  other->update_of = update_of;
  other->graph = graph;
  other->reports = reports;
  other->reference = reference;
  other->simulated = simulated;
  other->join = join;
  other->names_devices = names_devices;
  other->written = written;
  other->nan_guard = nan_guard;
  other->verified = verified;
  other->rewriting = rewriting;
  const CallLock::Guard lock(mutex_, name);  // what was planned; not what was bound, which is a call's
  for (const auto& [key, placed] : placed_)
    other->placed_[key] = {placed.executable, placed.log, placed.reports, placed.logged, {}, {}};
  other->schedule = schedule;
  return other;
}

bool CompiledFunction::read_devices(const base::Flags& now) {
  const std::uint64_t generation = base::config_generation();
  const std::string& scope = base::scoped_device();
  if (devices_read_ && last_flags_ == &now && last_generation_ == generation && last_scope_ == scope) return false;
  const base::Flags& process = base::process_config();
  const bool soft = now.allow_soft_placement;
  scoped_ = 0;
  // A scope of the call decides for all free work; the process's flag only for what no pinned input decides.
  if (simulated) {
    scoped_ = simulated_place;
  } else if (!scope.empty() && scope != "auto") {
    scoped_ = runtime::place_of(scope, soft);
  }
  fallback_ = runtime::place_of(process.device, soft);
  device_set_ = runtime::device_set();
  // What is asked for in the graph is there or not, by these. A graph that asks for nothing asks no driver either.
  there_ = names_devices ? static_cast<std::uint16_t>(runtime::places().size() * 2 + (soft ? 1 : 0)) : 0;
  last_flags_ = &now;
  last_generation_ = generation;
  last_scope_ = scope;
  devices_read_ = true;
  return true;
}

/// Shared variables are locked in the order of their ids, so that two calls never wait for each other in a circle.
const std::vector<std::size_t>& CompiledFunction::lock_order() {
  if (lock_order_.size() != shared.size()) {
    lock_order_.resize(shared.size());
    for (std::size_t i = 0; i < shared.size(); ++i) lock_order_[i] = i;
    std::ranges::sort(lock_order_, {}, [&](std::size_t i) { return shared[i].node()->shared->id; });
  }
  return lock_order_;
}

/// Copies that were made since the last look, of what the function updates.
void CompiledFunction::find_new_copies() {
  mirror_generation_ = builder::mirror_generation();
  new_copies_.clear();
  const auto is_updated = [&](const Variable& v) {
    return std::ranges::any_of(update_of, [&](std::size_t i) { return shared[i] == v; }) ||
           std::ranges::any_of(new_copies_, [&](const NewCopy& known) { return known.copy == v; });
  };
  for (std::size_t u = 0; u < update_of.size(); ++u) {
    for (const SharedVariable& copy : builder::with_copies(shared[update_of[u]])) {
      if (!is_updated(copy)) new_copies_.push_back({copy, u});
    }
  }
}

/// Of the present call: all shared variables, those that are updated for writing. False where that would wait and may
/// not.
bool CompiledFunction::lock_shared(bool waits) {
  const auto lock = [waits](auto& locks, builder::StateLock& mutex) {
    if (waits)
      locks.emplace_back(mutex);
    else
      locks.emplace_back(mutex, std::try_to_lock);
    return locks.back().owns_lock();
  };
  for (;;) {
    if (mirror_generation_ != builder::mirror_generation()) find_new_copies();
    std::vector<const Variable*> copies;
    copies.reserve(new_copies_.size());
    for (const NewCopy& known : new_copies_) copies.push_back(&known.copy);
    std::ranges::sort(copies, {}, [](const Variable* v) { return v->node()->shared->id; });
    auto next = copies.begin();
    const auto lock_copies = [&](std::uint64_t below) {
      for (; next != copies.end() && (*next)->node()->shared->id < below; ++next) {
        if (!lock(written_, (*next)->node()->shared->mutex)) return false;
      }
      return true;
    };
    for (const std::size_t i : lock_order()) {
      builder::SharedState& state = *shared[i].node()->shared;
      if (!lock_copies(state.id)) return false;
      const bool writes = std::ranges::find(update_of, i) != update_of.end();
      if (!(writes ? lock(written_, state.mutex) : lock(read_, state.mutex))) return false;
    }
    if (!lock_copies(UINT64_MAX)) return false;
    // From here on nobody copies what is updated.
    if (mirror_generation_ == builder::mirror_generation()) return true;
    written_.clear();
    read_.clear();
  }
}

namespace {

/// Whether two arrays on the host have bytes in common, or may have: holes between strides are not looked at.
bool may_overlap(const Array& a, const Array& b) {
  const auto range = [](const Array& array) {
    auto first = reinterpret_cast<std::intptr_t>(array.address()), last = first;
    for (std::size_t axis = 0; axis < array.shape().size(); ++axis)
      (array.strides()[axis] < 0 ? first : last) += (array.shape()[axis] - 1) * array.strides()[axis];
    return std::pair(first, last + static_cast<std::intptr_t>(size_of(array.dtype())));
  };
  if (a.size() == 0 || b.size() == 0) return false;
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace

/// ValueError where the function updates a variable whose memory is another one's too: both would change. Only values
/// that were borrowed or given away can be such.
void CompiledFunction::refuse_common_memory() {
  exposed_.clear();
  const auto state = [&](std::size_t i) -> builder::SharedState& { return *shared[i].node()->shared; };
  const auto is_exposed = [&](std::size_t i) { return state(i).exposed && state(i).value.device_memory() == nullptr; };
  const auto place = [&](std::size_t i) {
    return std::pair(static_cast<const void*>(state(i).value.address()), state(i).value.bytes());
  };
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (is_exposed(i)) exposed_.push_back(i);
  }
  if (exposed_.size() < 2 || std::ranges::equal(exposed_, exposed_at_, {}, place)) return;
  exposed_at_.clear();
  for (const std::size_t updated : update_of) {
    if (!is_exposed(updated)) continue;
    for (const std::size_t other : exposed_) {
      if (other == updated || !may_overlap(state(updated).value, state(other).value)) continue;
      throw ValueError(fmt::format(
          "{}: {} and {} have memory in common, because it was borrowed, and an update would change both: give one of "
          "them a copy",
          name, describe(shared[updated]), describe(shared[other])));
    }
  }
  std::ranges::transform(exposed_, std::back_inserter(exposed_at_), place);
}

Placed& CompiledFunction::placed() {
  const CallLock::Guard lock(mutex_, name);
  std::vector<std::shared_lock<builder::StateLock>> read;  // homes stay as they are
  for (const std::size_t i : lock_order()) read.emplace_back(shared[i].node()->shared->mutex);
  return find_placed(base::config());
}

/// With the function and its shared variables locked.
Placed& CompiledFunction::find_placed(const base::Flags& flags) {
  const auto home_of = [](const Variable& variable) { return variable.node()->shared->home; };
  const bool devices_changed = !reference && read_devices(flags);
  if (last_placed_ != nullptr && !devices_changed &&
      (reference || std::ranges::equal(shared, last_homes_, {}, home_of)))
    return *last_placed_;
  std::vector<std::uint16_t> key;
  last_placed_ = nullptr;
  last_homes_.clear();
  if (!reference) {
    std::ranges::transform(shared, std::back_inserter(last_homes_), home_of);
    key = {scoped_, fallback_, simulated ? std::uint16_t{0} : device_set_, there_};
    key.insert(key.end(), last_homes_.begin(), last_homes_.end());
  }
  const auto [at, fresh] = placed_.try_emplace(key);
  if (fresh) {
    try {
      place(at->second);
    } catch (...) {
      placed_.erase(at);
      throw;
    }
  }
  last_ = nullptr;
  return *(last_placed_ = &at->second);
}

/// Places the graph by the devices that were read and the homes of its shared variables, and plans it.
void CompiledFunction::place(Placed& to) const {
  const base::Compilation compilation;
  expr::Graph program_graph = *graph;
  if (reference) {  // all of it runs on the host, whatever was asked for
    for (expr::GraphInput& input : program_graph.inputs) {
      input.place = 0;
      input.pinned = false;
    }
    rewrite::PlaceOptions options;
    options.soft = true;
    if (rewrite::uses_devices(program_graph, options)) program_graph = rewrite::place(program_graph, options);
  } else {
    std::size_t next = 0;
    for (expr::GraphInput& input : program_graph.inputs) {
      if (input.role != expr::Role::shared) continue;
      const builder::SharedState& state = *shared[next++].node()->shared;
      input.place = state.home;
      input.bytes = state.value.bytes();
    }
    rewrite::PlaceOptions options{.scoped = scoped_,
                                  .fallback = fallback_,
                                  .devices = {},
                                  .soft = base::config().allow_soft_placement,
                                  .homes_stay = simulated};
    const bool uses_devices = rewrite::uses_devices(program_graph, options);
    if (uses_devices) {
      options.devices = runtime::places();
      if (simulated && std::ranges::find(options.devices, simulated_place) == options.devices.end())
        options.devices.push_back(simulated_place);
    }
    to.reports = rewrite::run_where_placed(program_graph, options, rewriting);
    if (uses_devices) {
      program_graph = rewrite::place(program_graph, options, &to.log);
      if (base::config().verify) expr::verify(program_graph);
    }
  }
  to.executable = runtime::make_executable(fuse::fuse(
      std::move(program_graph), {.join = join, .special_values = rewriting.special_values, .nan_guard = nan_guard}));
}

/// Gives `visit` what a plan of this call is bound to: the sizes of what it reads, strides of what is not contiguous,
/// and the numbers that the host reads.
void CompiledFunction::visit_key(const runtime::Executable& executable, const auto& visit) const {
  for (const Array* array : arrays_.arguments) {
    for (const std::int64_t size : array->shape()) visit(size);
    if (array->is_contiguous()) continue;
    visit(-2);  // no size: strides follow
    for (const std::int64_t stride : array->strides()) visit(stride);
  }
  for (const Array* array : arrays_.shared) {
    for (const std::int64_t size : array->shape()) visit(size);
  }
  for (const runtime::InputRef input : executable.host_inputs) visit(arrays_.number(input));
}

/// The plan of the call before, where it is this one's too: most calls are like the one before. Null where it is not.
runtime::BoundPlan* CompiledFunction::find_bound(const Placed& where) {
  if (last_ == nullptr) return nullptr;
  auto known = last_key_.begin();
  bool same = true;
  visit_key(*where.executable, [&](std::int64_t k) {  // compared where they are
    same = same && known != last_key_.end() && *known == k;
    if (same) ++known;
  });
  return same && known == last_key_.end() ? last_ : nullptr;
}

runtime::BoundPlan& CompiledFunction::bind(Placed& where) {
  const base::Compilation compilation;
  key_.clear();
  visit_key(*where.executable, [&](std::int64_t k) { key_.push_back(k); });
  // A program whose sizes never repeat must not fill the memory with plans for them.
  if (where.bound.size() >= max_bound_plans) {
    where.bound.clear();
    where.moved.clear();
    last_ = nullptr;
  }
  if (!where.bound.contains(key_)) renumber(where);
  auto& plan = where.bound[key_];
  if (!plan) {
    try {
      const runtime::BindOptions options{.simulated = simulated, .schedule = schedule};
      plan = std::make_unique<runtime::BoundPlan>(where.executable, arrays_, options, run_counts_);
    } catch (...) {
      where.bound.erase(key_);
      throw;
    }
  }
  last_key_ = key_;
  last_ = plan.get();
  return *plan;
}

/// Makes a plan for the same sizes and other numbers that of the present call, where one can be: the last one, or one
/// that was made another call's before. A data set has batches of one size, and often a smaller one in the end.
void CompiledFunction::renumber(Placed& where) {
  const std::size_t numbers = where.executable->host_inputs.size();
  if (numbers == 0) return;
  const auto same_sizes = [&](const std::vector<std::int64_t>& other) {
    const auto sizes = static_cast<std::ptrdiff_t>(key_.size() - numbers);
    return other.size() == key_.size() && std::equal(key_.begin(), key_.begin() + sizes, other.begin());
  };
  const auto take = [&](const std::vector<std::int64_t>& from) {
    auto entry = where.bound.extract(from);
    if (entry.empty()) return false;
    const bool taken = entry.mapped()->renumber(arrays_);  // what it leaves halfway, by an error, is not kept
    if (taken) entry.key() = key_;
    where.bound.insert(std::move(entry));
    return taken;
  };
  auto& moved = where.moved;
  const bool is_new = last_ != nullptr && std::ranges::find(moved, last_key_) == moved.end();
  last_ = nullptr;
  if (is_new) moved.push_back(last_key_);
  for (std::size_t i = moved.size(); i-- > 0;) {
    if (!same_sizes(moved[i]) || !take(moved[i])) continue;
    moved[i] = key_;
    if (moved.size() > max_moved_plans) moved.erase(moved.begin());
    return;
  }
  if (is_new) moved.pop_back();
}

void apply_settings(const base::Flags& flags) {
  static constinit std::atomic<const base::Flags*> applied{nullptr};
  if (applied.load(std::memory_order_acquire) == &flags) return;
  runtime::place_of(flags.device, flags.allow_soft_placement);  // raises where there is no such device
  runtime::cpu::ThreadPool::instance().set_threads(static_cast<int>(flags.threads));
  runtime::cpu::Blas::configure(flags.blas);
  runtime::cpu::Dnn::configure(flags.dnn);
  runtime::cuda::set_toolkit(flags);
  runtime::cuda::set_driver_library(flags.cuda_driver);
  trace_to(flags.trace);
  applied.store(&flags, std::memory_order_release);
}

/// Whether the array can be taken as it is.
bool fits(const InputRules& rules, const Array& array) {
  const Type& type = rules.variable.type();
  if (array.dtype() != type.dtype || array.shape().size() != type.shape.size()) return false;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] != unknown_size && type.shape[axis] != array.shape()[axis]) return false;
  }
  return true;
}

/// Whether it has to be copied for kernels, which take strides in whole elements; products, and the simulated GPU, take
/// rows without gaps.
bool needs_copy(const Array& array, bool needs_contiguous) {
  const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
  if (reinterpret_cast<std::uintptr_t>(array.raw()) % static_cast<std::uintptr_t>(item) != 0) return true;
  if (array.is_contiguous()) return false;
  return needs_contiguous || std::ranges::any_of(array.strides(), [&](std::int64_t s) { return s % item != 0; });
}

/// The arguments as the plan takes them: as they are, or converted.
void CompiledFunction::take_arguments(std::span<const Argument> arguments, const runtime::Executable& executable) {
  if (arguments.size() > inputs.size()) {
    std::string taken;
    for (const InputRules& rules : inputs) taken += (taken.empty() ? ": " : ", ") + describe(rules.variable);
    throw TypeError(fmt::format("{}: {} arguments for {} input(s){}", name, arguments.size(), inputs.size(), taken));
  }
  const auto keep = [&](Array array) {
    converted_.reserve(2 * inputs.size());  // elements are pointed at
    return &converted_.emplace_back(std::move(array));
  };
  // A kernel may write an update over what a later one reads as an argument.
  const auto is_written = [&](const Array& array) {
    return std::ranges::any_of(exposed_, [&](std::size_t i) {
      return std::ranges::find(update_of, i) != update_of.end() && may_overlap(*arrays_.shared[i], array);
    });
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputRules& rules = inputs[i];
    std::optional<Argument> standard;
    if (i >= arguments.size()) {
      if (!rules.value)
        throw TypeError(fmt::format("{}: the input {} is missing", name, builder::describe(rules.variable)));
      standard.emplace(*rules.value);
    }
    const Argument& argument = standard ? *standard : arguments[i];
    const Array* array = &argument.array();
    if (!fits(rules, *array)) array = keep(convert(rules, argument));
    if (needs_copy(*array, executable.needs_contiguous[i]) || is_written(*array)) array = keep(array->copy());
    arrays_.arguments.push_back(array);
  }
}

/// The values of the graph's inputs on the host, in its own order: arguments and shared variables may be mixed.
std::vector<Array> CompiledFunction::inputs_in_order() const {
  std::vector<Array> inputs_of_graph;
  std::size_t argument = 0, state = 0;
  for (const expr::GraphInput& input : graph->inputs) {
    inputs_of_graph.push_back(input.role == expr::Role::argument ? *arrays_.arguments[argument++]
                                                                 : arrays_.shared[state++]->to_host());
  }
  return inputs_of_graph;
}

void CompiledFunction::run_by_reference() {
  const std::vector<Array> given = inputs_in_order();
  if (written && !nan_guard.empty()) check_every_node({name, *written, given, nan_guard});
  const std::vector<Array> results = expr::evaluate(*graph, given);
  arrays_.updates.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    (i < graph->outputs.size() ? arrays_.outputs : arrays_.updates).push_back(results[i].copy());
  }
  for (std::size_t u = 0; u < update_of.size(); ++u) {
    const builder::SharedState& target = *shared[update_of[u]].node()->shared;
    if (target.pinned) arrays_.updates[u] = base::moved_to(base::device_memory(target.home), arrays_.updates[u]);
  }
}

bool CompiledFunction::run_plan(Placed& where, bool briefly) {
  runtime::BoundPlan* bound = verified ? nullptr : find_bound(where);
  if (briefly && (bound == nullptr || !bound->brief())) return false;
  if (verified) {
    // In-place work writes over copies, so that a result that is refused has changed nothing.
    spared_.reserve(update_of.size());  // of which elements are pointed at
    for (const std::size_t i : update_of) {
      const Array*& value = arrays_.shared[i];
      value = &spared_.emplace_back(base::moved_to(value->device_memory(), value->to_host().copy()));
    }
  }
  runtime::BoundPlan& plan = bound != nullptr ? *bound : bind(where);
  if (last_run_ != where.executable) last_run_ = where.executable;
  const bool brief = plan.brief() && !verified;
  if (brief != brief_.load(std::memory_order_relaxed)) brief_.store(brief, std::memory_order_relaxed);
  arrays_.kept_outputs = briefly;
  try {
    plan.run(arrays_, workspace_, run_counts_);
  } catch (const runtime::GuardFailure& failure) {
    raise_nan_error({name, *written, inputs_in_order(), nan_guard}, failure);
  }
  return true;
}

/// The results of the call, which has not changed anything yet, against the graph as it was written.
void CompiledFunction::verify(const Placed& where) {
  CallToVerify call{.name = name,
                    .written = *written,
                    .rewriting = rewriting,
                    .rewrites_specials = false,
                    .inputs = {},
                    .results = {},
                    .how = {}};
  for (const rewrite::GroupReport& report : reports)
    call.rewrites_specials = call.rewrites_specials || !report.fired.empty();
  std::size_t argument = 0, state = 0;
  for (const expr::GraphInput& input : graph->inputs) {
    call.inputs.push_back(input.role == expr::Role::argument ? *arrays_.arguments[argument++]
                                                             : shared[state++].node()->shared->value.to_host());
  }
  for (const Array& output : arrays_.outputs) call.results.push_back(output.to_host());
  for (const Array& update : arrays_.updates) call.results.push_back(update.to_host());
  call.how = {.join = join, .schedule = schedule};
  for (const fuse::Call& work : where.executable->program.calls) call.how.place = std::max(call.how.place, work.place);
  verification_ = verify_call(call);
}

Verification CompiledFunction::verification() const {
  const CallLock::Guard lock(mutex_, name);
  return verification_;
}

bool CompiledFunction::call(std::span<const Argument> arguments, bool briefly,
                            const std::function<void(std::vector<Array>&)>& take) {
  const base::Flags& flags = base::config();  // asked for once: each time takes nanoseconds
  apply_settings(flags);
  const CallLock::Guard lock = briefly ? CallLock::Guard(mutex_, std::try_to_lock) : CallLock::Guard(mutex_, name);
  if (!lock.owns()) return false;
  const runtime::cuda::NvtxRange range(name, flags);
  const runtime::TracedCall traced(name);
  struct Release {  // nothing of the call is kept alive, and locks are given back; vectors keep their memory
    CompiledFunction& self;
    ~Release() {
      static const Array nothing(0.f);  // without dimensions: assigning it allocates nothing, which could fail here
      for (Array& array : self.arrays_.updates) array = nothing;
      self.arrays_.arguments.clear();
      self.arrays_.shared.clear();
      self.arrays_.copies.clear();
      self.arrays_.versions.clear();
      self.converted_.clear();
      self.spared_.clear();
      if (!self.arrays_.kept_outputs) self.arrays_.outputs.clear();
      self.arrays_.held.clear();
      self.written_.clear();
      self.read_.clear();
    }
  } release{*this};

  if (!lock_shared(!briefly)) return false;
  refuse_common_memory();
  for (const Variable& variable : shared) {
    builder::SharedState& state = *variable.node()->shared;
    arrays_.shared.push_back(&state.value);
    arrays_.copies.push_back(static_cast<runtime::SharedCopies*>(state.copies.get()));
    arrays_.versions.push_back(state.version);
  }
  Placed& where = find_placed(flags);  // the homes cannot change now that the variables are locked
  const bool logs = !reference && logs_placement(flags);
  if (logs && !where.logged) {
    log_placement(*this, where);
    where.logged = true;
  }
  take_arguments(arguments, *where.executable);

  if (reference)
    run_by_reference();
  else if (!run_plan(where, briefly))
    return false;
  if (verified) verify(where);
  ++calls_;
  std::vector<Array> for_copies;
  for (const NewCopy& known : new_copies_) {
    base::DeviceMemory* memory = base::device_memory(known.copy.node()->shared->home);
    const Array& value = arrays_.updates[known.update];
    for_copies.push_back(value.device_memory() == memory ? base::moved_to(memory, value.to_host().copy())
                                                         : base::moved_to(memory, value));
  }
  // The commit point: new values of shared variables become theirs, all together.
  for (std::size_t c = 0; c < new_copies_.size(); ++c) {
    builder::SharedState& state = *new_copies_[c].copy.node()->shared;
    state.value = std::move(for_copies[c]);
    ++state.version;
  }
  for (std::size_t u = 0; u < update_of.size(); ++u) {
    builder::SharedState& state = *shared[update_of[u]].node()->shared;
    // Where the new value was computed is the home from now on; what is pinned was sent home by the plan.
    const base::DeviceMemory* memory = arrays_.updates[u].device_memory();
    const std::uint16_t home = memory == nullptr ? 0 : memory->place();
    if (home != state.home) arrays_.copies[update_of[u]]->by_device.erase(arrays_.updates[u].device_memory());
    state.home = home;
    if (state.value.address() != arrays_.updates[u].address()) state.exposed = false;
    std::swap(state.value, arrays_.updates[u]);  // wants no memory, now or in the next call
    ++state.version;
  }
  if (logs) log_call(*this, run_counts_.transferred, *where.executable);
  take(arrays_.outputs);
  return true;
}

std::vector<TransferInfo> CompiledFunction::transfers() const {
  const CallLock::Guard lock(mutex_, name);
  if (!last_run_) return {};
  return describe_transfers(run_counts_.transferred, *last_run_);
}

std::string CompiledFunction::loops_of_last_call(const runtime::Executable& executable) const {
  const CallLock::Guard lock(mutex_, name);
  std::string text;
  for (const auto& [at, how] : run_counts_.loops) {
    if (at.first == &executable && how != nullptr) text += fmt::format("  {}: {}\n", at.second, *how);
  }
  return text;
}

CallCounts CompiledFunction::counts() const {
  const CallLock::Guard lock(mutex_, name);
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
  c.transfers = run_counts_.transfers;
  c.transferred_bytes = run_counts_.transferred_bytes;
  c.product_library = runtime::cpu::product_libraries();
  if (simulated) {
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

}  // namespace detail

using builder::describe;

detail::CompiledFunction& Function::impl() const {
  if (!impl_) throw TypeError("an empty Function was used; make one with function(inputs, outputs)");
  return *impl_;
}

Outputs Function::call(std::span<const Argument> arguments) const {
  std::vector<Array> results;
  impl().call(arguments, false, [&](std::vector<Array>& outputs) { results = std::move(outputs); });
  return Outputs(std::move(results), impl_->single);
}

bool Function::call_briefly(std::span<const Argument> arguments,
                            const std::function<void(std::span<const Array>)>& read) const {
  return impl().brief() && impl().call(arguments, true, [&](const std::vector<Array>& outputs) { read(outputs); });
}

Outputs Function::call_named(const std::map<std::string, Argument>& arguments) const {
  std::vector<Argument> ordered;
  std::size_t found = 0;
  for (const detail::InputRules& rules : impl().inputs) {
    std::size_t same_name = 0;
    for (const detail::InputRules& other : impl_->inputs) same_name += other.name == rules.name ? 1 : 0;
    const auto at = arguments.find(rules.name);
    if (at != arguments.end() && same_name > 1) {
      throw TypeError(fmt::format("{}: two inputs are called '{}'; call with positions", impl_->name, rules.name));
    }
    if (at == arguments.end() && !rules.value)
      throw TypeError(fmt::format("{}: the input {} is missing", impl_->name, describe(rules.variable)));
    if (at != arguments.end()) ++found;
    ordered.push_back(at != arguments.end() ? at->second : Argument(*rules.value));
  }
  for (const auto& [name, value] : arguments) {
    const bool known = std::ranges::any_of(impl_->inputs, [&](const auto& rules) { return rules.name == name; });
    if (known) continue;
    std::string names;
    for (const detail::InputRules& rules : impl_->inputs)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", rules.name);
    throw TypeError(fmt::format("{}: there is no input called '{}'; there are {}", impl_->name, name,
                                names.empty() ? "none" : names));
  }
  return call(ordered);
}

Function Function::copy() const { return impl_ ? Function(impl_->copy()) : Function(); }
const std::string& Function::name() const { return impl().name; }
CallCounts Function::counts() const { return impl().counts(); }
Verification Function::verification() const { return impl().verification(); }

const Array& Outputs::only() const {
  if (arrays_.size() != 1)
    throw TypeError(fmt::format("the function gives {} outputs; take them by index", arrays_.size()));
  return arrays_[0];
}

}  // namespace croton
