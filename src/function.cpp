// The compiler on one page: a function is compiled by the stages of `compile` below, in that order; each can be printed
// (CROTON_FLAGS=print=...), verified and timed. Calls bind the plan to their sizes and run it.
#include <croton/function.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/config.hpp"
#include "builder/import.hpp"
#include "builder/node.hpp"
#include "builder/shared.hpp"
#include "expr/evaluate.hpp"
#include "expr/print.hpp"
#include "expr/verify.hpp"
#include "fuse/program.hpp"
#include "rewrite/pipeline.hpp"
#include "runtime/bind.hpp"
#include "runtime/cpu/blas.hpp"
#include "runtime/cpu/compiler.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/compile.hpp"
#include "runtime/cuda/toolkit.hpp"

namespace croton {
namespace detail {

/// Prints a stage's result and the time it took, where the flags ask for it.
class StageLog {
 public:
  explicit StageLog(std::string name) : name_(std::move(name)) {}
  template <class Text>
  void done(std::string_view stage, Text text) {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    const base::Flags& flags = base::config();
    if (flags.print_timings) std::cerr << fmt::format("croton: {}: {:10} {:8.3f} ms\n", name_, stage, ms);
    if (base::prints_stage(flags, stage)) std::cerr << fmt::format("---- {}: {}\n{}", name_, stage, text());
    last_ = std::chrono::steady_clock::now();
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct InputRules {
  Variable variable;
  std::string name;
  std::optional<Array> value;
  bool strict = false;
  std::optional<bool> allow_downcast;
};

struct KeyHash {
  std::size_t operator()(const std::vector<std::int64_t>& key) const {
    std::size_t seed = key.size();
    for (const std::int64_t k : key) seed = (seed ^ static_cast<std::size_t>(k)) * 0x9E3779B97F4A7C15ull + 17;
    return seed;
  }
};

constexpr std::size_t max_bound_plans = 1024;

class CompiledFunction {
 public:
  std::string name;
  std::vector<InputRules> inputs;
  bool single = false;
  std::vector<Variable> shared;        // in the order of the graph
  std::vector<std::size_t> update_of;  // per update: index in `shared`
  std::shared_ptr<const runtime::Executable> executable;
  std::shared_ptr<const expr::Graph> graph;  // after rewriting, for the reference mode and for print
  std::vector<rewrite::GroupReport> reports;
  bool reference = false, simulated = false;  // mode
  std::string schedule;                       // overrides

  std::shared_ptr<CompiledFunction> copy() const;
  std::vector<Array> call(std::span<const Argument> arguments);
  CallCounts counts() const;

 private:
  runtime::BoundPlan& bind(const runtime::CallArrays& arrays);
  void take_arguments(std::span<const Argument> arguments);

  mutable std::mutex mutex_;
  std::unordered_map<std::vector<std::int64_t>, std::unique_ptr<runtime::BoundPlan>, KeyHash> bound_;
  std::vector<std::int64_t> key_, last_key_;
  runtime::BoundPlan* last_ = nullptr;
  runtime::RunCounts run_counts_;
  std::uint64_t calls_ = 0;
  runtime::CallArrays arrays_;
  std::vector<std::size_t> lock_order_;                       // shared variables by id
  std::vector<std::unique_lock<std::shared_mutex>> written_;  // of the present call
  std::vector<std::shared_lock<std::shared_mutex>> read_;
};

// ---- compilation
// ------------------------------------------------------------------------------------------------------------

/// `on_import` sees which inputs the graph uses before anything else is done.
std::shared_ptr<CompiledFunction> compile(const std::string& name, const builder::ImportRequest& request,
                                          const std::function<void(const std::vector<bool>&)>& on_import) {
  const base::Flags& flags = base::config();
  auto result = std::make_shared<CompiledFunction>();
  StageLog log(name);
  const auto verify = [&](const expr::Graph& graph) {
    if (flags.verify) expr::verify(graph);
  };

  // The user's expressions become a graph; sizes become nodes.
  builder::Imported imported = builder::import(request);
  on_import(imported.used);
  expr::Graph graph = std::move(imported.graph);
  verify(graph);
  log.done("graph", [&] { return expr::print(graph, {.origins = true}); });

  // Canonical form, stability, expansion, algebra.
  const rewrite::Options options{.special_values = flags.special_values == base::SpecialValues::theano,
                                 .optimizer = flags.optimizer == base::OptimizerMode::fast_run       ? "fast_run"
                                              : flags.optimizer == base::OptimizerMode::fast_compile ? "fast_compile"
                                                                                                     : "none"};
  result->reports = rewrite::run(graph, options, [&](const rewrite::GroupReport&, const expr::Graph& g) { verify(g); });
  log.done("rewrites", [&] { return expr::print(graph, {.origins = true}); });
  result->graph = std::make_shared<const expr::Graph>(graph);

  // Regions of the graph become kernels; the rest are products.
  fuse::Program program = fuse::fuse(std::move(graph), {.join = flags.optimizer != base::OptimizerMode::none});
  log.done("kernels", [&] { return fuse::print(program); });

  // Steps in order, buffers with lifetimes, in-place work. Text is made when the plan is bound to sizes.
  result->executable = runtime::make_executable(std::move(program));
  log.done("plan", [&] { return plan::print(result->executable->plan, result->executable->program); });

  codegen::choose_schedule(kernel::Family::pointwise, flags.schedule);  // raises for one that cannot be read
  result->schedule = flags.schedule;
  result->name = name;
  result->shared = std::move(imported.shared);
  result->reference = flags.mode == base::RunMode::reference;
  result->simulated = flags.mode == base::RunMode::simulate;
  for (const auto& [target, value] : request.updates) {
    const auto at = std::ranges::find(result->shared, target);
    result->update_of.push_back(static_cast<std::size_t>(at - result->shared.begin()));
  }
  return result;
}

// ---- calls
// ----------------------------------------------------------------------------------------------------------------------

std::shared_ptr<CompiledFunction> CompiledFunction::copy() const {
  auto other = std::make_shared<CompiledFunction>();
  other->name = name;
  other->inputs = inputs;
  other->single = single;
  other->shared = shared;
  other->update_of = update_of;
  other->executable = executable;
  other->graph = graph;
  other->reports = reports;
  other->reference = reference;
  other->simulated = simulated;
  other->schedule = schedule;
  return other;
}

runtime::BoundPlan& CompiledFunction::bind(const runtime::CallArrays& arrays) {
  key_.clear();
  for (const Array& array : arrays.arguments) {
    key_.insert(key_.end(), array.shape().begin(), array.shape().end());
    if (!array.is_contiguous()) {
      key_.push_back(-2);  // no size: strides follow
      key_.insert(key_.end(), array.strides().begin(), array.strides().end());
    }
  }
  for (const Array& array : arrays.shared) key_.insert(key_.end(), array.shape().begin(), array.shape().end());
  for (const runtime::InputRef input : executable->host_inputs)
    key_.push_back(arrays.of(input).astype(DType::int64).item<std::int64_t>());
  if (last_ != nullptr && key_ == last_key_) return *last_;
  // A program whose sizes never repeat must not fill the memory with plans for them.
  if (bound_.size() >= max_bound_plans) {
    bound_.clear();
    last_ = nullptr;
  }
  auto& plan = bound_[key_];
  if (!plan) {
    try {
      const runtime::BindOptions options{simulated ? runtime::Engine::simulated : runtime::Engine::compiled, schedule};
      plan = std::make_unique<runtime::BoundPlan>(executable, arrays, options, run_counts_);
    } catch (...) {
      bound_.erase(key_);
      throw;
    }
  }
  last_key_ = key_;
  last_ = plan.get();
  return *plan;
}

/// Hands flags to the parts of the runtime that keep settings of their own, where they have changed since the last
/// time.
void apply_settings() {
  static std::atomic<const base::Flags*> applied{nullptr};
  const base::Flags* flags = &base::config();
  if (applied.load(std::memory_order_acquire) == flags) return;
  if (flags->device != "auto" && flags->device != "cpu" && flags->device != "cpu0" && flags->device != "/cpu:0") {
    throw DeviceError(fmt::format("device={}: there is no such device; this build has: cpu", flags->device));
  }
  runtime::cpu::ThreadPool::instance().set_threads(static_cast<int>(flags->threads));
  runtime::cpu::Blas::configure(flags->blas);
  runtime::cuda::set_cuda_root(flags->cuda_root);
  applied.store(flags, std::memory_order_release);
}

Array convert(const InputRules& rules, const Argument& argument);

/// Whether the array can be taken as it is.
bool fits(const InputRules& rules, const Array& array) {
  const Type& type = rules.variable.type();
  if (array.dtype() != type.dtype || array.shape().size() != type.shape.size()) return false;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] != unknown_size && type.shape[axis] != array.shape()[axis]) return false;
  }
  return true;
}

/// The converted arguments, in memory that is kept from call to call.
void CompiledFunction::take_arguments(std::span<const Argument> arguments) {
  if (arguments.size() > inputs.size()) {
    throw TypeError(fmt::format("{}: {} arguments for {} input(s)", name, arguments.size(), inputs.size()));
  }
  arrays_.arguments.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputRules& rules = inputs[i];
    Array& array = arrays_.arguments[i];
    if (i < arguments.size() && fits(rules, arguments[i].array())) {
      array = arguments[i].array();
    } else if (i < arguments.size()) {
      array = convert(rules, arguments[i]);
    } else if (rules.value) {
      array = convert(rules, Argument(*rules.value));
    } else {
      throw TypeError(fmt::format("{}: the input {} is missing", name, builder::describe(rules.variable)));
    }
    // Kernels take strides in whole elements; products, and the simulated GPU, take rows without gaps.
    const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
    bool needs_copy =
        reinterpret_cast<std::uintptr_t>(std::as_const(array).raw()) % static_cast<std::uintptr_t>(item) != 0;
    if (!array.is_contiguous()) {
      needs_copy = needs_copy || executable->needs_contiguous[i] || simulated;
      for (const std::int64_t stride : array.strides()) needs_copy = needs_copy || stride % item != 0;
    }
    if (needs_copy) array = array.copy();
  }
}

std::vector<Array> CompiledFunction::call(std::span<const Argument> arguments) {
  apply_settings();
  const std::lock_guard lock(mutex_);
  struct Release {  // nothing of the call is kept alive, and locks are given back; vectors keep their memory
    CompiledFunction& self;
    ~Release() {
      static const Array nothing;
      for (auto* arrays : {&self.arrays_.arguments, &self.arrays_.shared, &self.arrays_.updates}) {
        for (Array& array : *arrays) array = nothing;
      }
      self.arrays_.outputs.clear();
      self.written_.clear();
      self.read_.clear();
    }
  } release{*this};
  take_arguments(arguments);

  // Shared variables are locked in the order of their ids, so that two calls never wait for each other in a circle.
  if (lock_order_.size() != shared.size()) {
    lock_order_.resize(shared.size());
    for (std::size_t i = 0; i < shared.size(); ++i) lock_order_[i] = i;
    std::ranges::sort(lock_order_, {}, [&](std::size_t i) { return shared[i].node()->shared->id; });
  }
  for (const std::size_t i : lock_order_) {
    std::shared_mutex& mutex = shared[i].node()->shared->mutex;
    if (std::ranges::find(update_of, i) != update_of.end())
      written_.emplace_back(mutex);
    else
      read_.emplace_back(mutex);
  }
  arrays_.shared.resize(shared.size());
  for (std::size_t i = 0; i < shared.size(); ++i) arrays_.shared[i] = shared[i].node()->shared->value;

  if (reference) {
    // The graph's inputs in its own order: arguments and shared variables may be mixed.
    std::vector<Array> inputs_in_order;
    std::size_t argument = 0, state = 0;
    for (const expr::GraphInput& input : graph->inputs) {
      inputs_in_order.push_back(input.role == expr::Role::argument ? arrays_.arguments[argument++]
                                                                   : arrays_.shared[state++]);
    }
    const std::vector<Array> results = expr::evaluate(*graph, inputs_in_order);
    arrays_.updates.clear();
    for (std::size_t i = 0; i < results.size(); ++i) {
      (i < graph->outputs.size() ? arrays_.outputs : arrays_.updates).push_back(results[i].copy());
    }
  } else {
    bind(arrays_).run(arrays_, run_counts_);
  }
  ++calls_;
  // The commit point: new values of shared variables become theirs, all together.
  for (std::size_t u = 0; u < update_of.size(); ++u) {
    builder::SharedState& state = *shared[update_of[u]].node()->shared;
    state.value = arrays_.updates[u];
    ++state.version;
  }
  return std::move(arrays_.outputs);
}

CallCounts CompiledFunction::counts() const {
  const std::lock_guard lock(mutex_);
  CallCounts c;
  c.calls = calls_;
  c.kernels = run_counts_.kernels;
  c.products = run_counts_.products;
  c.reference_kernels = run_counts_.reference_kernels;
  c.compiled = run_counts_.compiled;
  c.cached = run_counts_.cached;
  c.product_library = runtime::cpu::Blas::instance().name();
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

namespace detail {

using builder::describe;

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
  if (is_complex(array.dtype())) refuse("complex numbers are not taken; pass real and imaginary parts");
  if (rules.allow_downcast.value_or(false) || can_cast_safely(array.dtype(), type.dtype))
    return array.astype(type.dtype);
  if (argument.is_number() && !rules.allow_downcast.has_value()) {
    const bool float_literal =
        is_float(array.dtype()) && type.dtype == DType::float32 && base::config().float_x() == DType::float32;
    if (float_literal) return array.astype(type.dtype);
    if (is_discrete(array.dtype())) {
      // A whole number is taken where its value fits.
      const Array converted = array.astype(type.dtype);
      if (converted.as_double(0) == array.as_double(0)) return converted;
      refuse(fmt::format("the value does not fit into {}", name_of(type.dtype)));
    }
  }
  refuse(fmt::format(
      "converting {} to {} may lose precision; pass allow_input_downcast, or convert with .astype(DType::{})",
      name_of(array.dtype()), name_of(type.dtype), name_of(type.dtype)));
  return array;
}

}  // namespace detail

namespace {

using builder::describe;

std::string in_line(std::source_location where) { return fmt::format("function ({})", describe(where)); }

void check_update(const Variable& target, const Variable& value, std::source_location where) {
  if (!target.defined() || !target.node()->shared) {
    throw TypeError(fmt::format("{}: an update must change a shared variable, but {}", in_line(where),
                                target.defined() ? describe(target) : "the variable is empty"));
  }
  if (!value.defined()) throw TypeError(fmt::format("{}: the update of {} is empty", in_line(where), describe(target)));
  if (target.dtype() != value.dtype()) {
    throw TypeError(fmt::format(
        "{}: the update of {} has dtype {}; it must be {}: set floatX={}, or cast it with .astype(DType::{})",
        in_line(where), describe(target), name_of(value.dtype()), name_of(target.dtype()), name_of(target.dtype()),
        name_of(target.dtype())));
  }
  if (target.rank() != value.rank()) {
    throw TypeError(
        fmt::format("{}: the update of {} has {} dimension(s)", in_line(where), describe(target), value.rank()));
  }
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (value.type().broadcasts(static_cast<std::size_t>(axis)) &&
        !target.type().broadcasts(static_cast<std::size_t>(axis))) {
      throw TypeError(fmt::format("{}: the update of {} is {}: its broadcastable axis {} does not fit the variable's",
                                  in_line(where), describe(target), value.type().to_string(), axis));
    }
  }
}

/// Default updates of all shared variables that the outputs and updates use, as far as nothing else updates them.
void add_default_updates(builder::ImportRequest& request) {
  std::vector<Variable> roots = request.outputs;
  for (const auto& [target, value] : request.updates) roots.push_back(value);
  for (const auto& [from, to] : request.givens) roots.push_back(to);
  for (std::size_t done = 0; done < roots.size();) {
    std::vector<Variable> fresh(roots.begin() + static_cast<std::ptrdiff_t>(done), roots.end());
    done = roots.size();
    for (builder::Node* node : builder::topological_order(fresh)) {
      if (!node->shared || !node->shared->default_update.defined()) continue;
      const Variable target(node->shared_from_this());
      const bool updated =
          std::ranges::any_of(request.updates, [&](const auto& update) { return update.first == target; });
      if (updated) continue;
      request.updates.emplace_back(target, node->shared->default_update);
      roots.push_back(node->shared->default_update);
    }
  }
}

}  // namespace

Function function(std::vector<In> inputs, OutputList outputs, FunctionOptions options, std::source_location where) {
  builder::ImportRequest request;
  for (const In& in : inputs) {
    if (!in.variable.defined()) throw TypeError(fmt::format("{}: an input is an empty Variable", in_line(where)));
    if (in.variable.node()->shared) {
      throw TypeError(
          fmt::format("{}: {} is a shared variable; use givens to replace it", in_line(where), describe(in.variable)));
    }
    request.inputs.push_back(in.variable);
  }
  for (const Out& out : outputs.outputs) {
    if (!out.variable.defined())
      throw TypeError(
          fmt::format("{}: an output is an empty Variable; was the symbolic variable overwritten?", in_line(where)));
    request.outputs.push_back(out.variable);
  }
  for (std::size_t i = 0; i < options.updates.size(); ++i) {
    const auto& [target, value] = options.updates[i];
    check_update(target, value, where);
    for (std::size_t j = 0; j < i; ++j) {
      if (options.updates[j].first == target)
        throw ValueError(fmt::format("{}: {} is updated twice", in_line(where), describe(target)));
    }
    request.updates.emplace_back(target, value);
  }
  for (const auto& [from, to] : options.givens) {
    if (!from.defined() || !to.defined())
      throw TypeError(fmt::format("{}: givens hold an empty Variable", in_line(where)));
    if (from.type() != to.type()) {
      throw TypeError(fmt::format("{}: givens: {} cannot stand in for {}: the types must be equal", in_line(where),
                                  describe(to), describe(from)));
    }
    if (std::ranges::find(request.inputs, from) != request.inputs.end()) {
      throw ValueError(
          fmt::format("{}: givens replace the input {}; leave it out of the inputs", in_line(where), describe(from)));
    }
    request.givens.emplace_back(from, to);
  }
  if (!options.no_default_updates) add_default_updates(request);

  const base::Flags& flags = base::config();
  const UnusedInput on_unused =
      options.on_unused_input.value_or(flags.on_unused_input == base::UnusedInput::raise  ? UnusedInput::raise
                                       : flags.on_unused_input == base::UnusedInput::warn ? UnusedInput::warn
                                                                                          : UnusedInput::ignore);
  const auto check_unused = [&](const std::vector<bool>& used) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (used[i] || on_unused == UnusedInput::ignore) continue;
      const std::string message = fmt::format(
          "{}: nothing depends on the input {}; leave it out, or pass on_unused_input = UnusedInput::ignore",
          in_line(where), describe(inputs[i].variable));
      if (on_unused == UnusedInput::raise) throw ValueError(message);
      std::cerr << "croton: warning: " << message << "\n";
    }
  };

  auto compiled = detail::compile(options.name.empty() ? "function" : options.name, request, check_unused);
  for (const In& in : inputs) {
    compiled->inputs.push_back({in.variable, in.name.empty() ? in.variable.name() : in.name, in.value, in.strict,
                                in.allow_downcast ? in.allow_downcast : options.allow_input_downcast});
  }
  compiled->single = outputs.single;
  return Function(std::move(compiled));
}

Outputs Function::call(std::span<const Argument> arguments) const {
  if (!impl_) throw TypeError("an empty Function was called");
  return Outputs(impl_->call(arguments), impl_->single);
}

Outputs Function::call_named(const std::map<std::string, Argument>& arguments) const {
  if (!impl_) throw TypeError("an empty Function was called");
  std::vector<Argument> ordered;
  std::size_t found = 0;
  for (const detail::InputRules& rules : impl_->inputs) {
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
    if (!known) throw TypeError(fmt::format("{}: there is no input called '{}'", impl_->name, name));
  }
  return call(ordered);
}

Function Function::copy() const { return Function(impl_->copy()); }
const std::string& Function::name() const { return impl_->name; }
CallCounts Function::counts() const { return impl_->counts(); }
std::string Function::graph() const { return expr::print(impl_->executable->program.graph, {.origins = true}); }
std::string Function::plan() const { return plan::print(impl_->executable->plan, impl_->executable->program); }
std::size_t Function::product_count() const { return impl_->executable->program.product_count(); }

std::string Function::rewrites() const {
  std::string text;
  for (const rewrite::GroupReport& report : impl_->reports) {
    text += fmt::format("{} ({:.2f} ms, {} nodes)\n", report.group, report.milliseconds, report.nodes);
    for (const auto& [rule, count] : report.fired) text += fmt::format("  {:24} {}\n", rule, count);
  }
  return text;
}

std::vector<KernelInfo> Function::kernels(const std::string& target) const {
  const std::string where = target.empty() ? "cpu" : target;
  const bool cuda = where.starts_with("cuda");
  detail::apply_settings();
  if (where != "cpu" && !cuda) throw ValueError(fmt::format("kernels(\"{}\"): targets are cpu and cuda:sm_XX", target));
  std::vector<KernelInfo> result;
  const runtime::Executable& executable = *impl_->executable;
  for (const plan::Launch& launch : executable.plan.launches) {
    std::vector<runtime::BoundKernel> kernels;
    for (int step = launch.first_step; step < launch.end_step; ++step) {
      const plan::Step& s = executable.plan.steps[static_cast<std::size_t>(step)];
      const fuse::Call& call = executable.call_of(s);
      if (!call.kernel) continue;
      const codegen::Analysis& analysis = *executable.analyses[static_cast<std::size_t>(s.call)].front();
      kernels.push_back({.call = call.kernel.get(),
                         .analysis = &analysis,
                         .operands = {},
                         .extents = {},
                         .launch = codegen::default_launch(analysis)});
    }
    if (kernels.empty()) continue;
    const codegen::Target to = cuda ? codegen::Target::cuda : codegen::Target::cpu;
    std::vector<std::size_t> count;
    std::size_t next = 0;
    const std::vector<codegen::Text> texts = runtime::emit_launch(kernels, to, count);
    for (std::size_t t = 0; t < texts.size(); ++t) {
      KernelInfo info;
      info.name = texts[t].name;
      info.source = texts[t].code;
      info.unit = codegen::prelude(to) + texts[t].code;
      for (std::size_t end = next + count[t]; next < end; ++next) {
        info.expression += kernel::print(*kernels[next].call->kernel);
        for (const expr::Origin& origin : kernels[next].call->origins) {
          info.lines.push_back(
              fmt::format("{}{}{}", describe(origin.where), origin.name.empty() ? "" : " ", origin.name));
        }
      }
      info.target = where == "cuda" ? "cuda:sm_90" : where;
      info.digest = texts[t].digest;
      info.schedule =
          codegen::print(codegen::choose_schedule(kernels[next - 1].analysis->kernel.family, impl_->schedule));
      result.push_back(std::move(info));
    }
  }
  return result;
}

std::string Function::source(const std::string& target) const {
  const bool cuda = target.starts_with("cuda");
  std::string text = codegen::prelude(cuda ? codegen::Target::cuda : codegen::Target::cpu);
  for (const KernelInfo& kernel : kernels(target)) text += kernel.source + "\n";
  return text;
}

namespace {
std::string architecture(const KernelInfo& kernel) {
  if (!kernel.target.starts_with("cuda:"))
    throw ValueError("PTX and cubin are for CUDA targets: ask for kernels(\"cuda:sm_90\")");
  return kernel.target.substr(5);
}
}  // namespace

std::string KernelInfo::ptx() const {
  const auto code = runtime::cuda::compile(unit, digest, codegen::prelude(codegen::Target::cuda), architecture(*this),
                                           runtime::cuda::Form::ptx);
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}
std::vector<std::byte> KernelInfo::cubin() const {
  return runtime::cuda::compile(unit, digest, codegen::prelude(codegen::Target::cuda), architecture(*this),
                                runtime::cuda::Form::cubin);
}
std::string KernelInfo::assembly() const {
  if (target != "cpu") throw ValueError("assembly is for the cpu target; CUDA kernels have ptx()");
  return runtime::cpu::Compiler::instance().assembly(unit);
}

const Array& Outputs::only() const {
  if (arrays_.size() != 1)
    throw TypeError(fmt::format("the function gives {} outputs; take them by index", arrays_.size()));
  return arrays_[0];
}

std::ostream& operator<<(std::ostream& out, const Outputs& outputs) {
  if (!outputs.is_list()) return out << outputs.only();
  out << "[";
  for (std::size_t i = 0; i < outputs.size(); ++i) out << (i > 0 ? ", " : "") << outputs[i];
  return out << "]";
}

Array Variable::eval(std::initializer_list<Binding> values) const {
  std::vector<In> inputs;
  std::vector<Argument> arguments;
  for (const auto& [variable, array] : values) {
    inputs.emplace_back(variable);
    arguments.emplace_back(array);
  }
  const Function f = function(inputs, *this, {.name = "eval", .on_unused_input = UnusedInput::ignore});
  return f.call(arguments).only();
}

namespace {

void print_tree(const Variable& v, int depth, std::unordered_map<const builder::Node*, int>& ids, std::string& text) {
  const auto [at, fresh] = ids.try_emplace(v.node(), static_cast<int>(ids.size()));
  const builder::Node& node = *v.node();
  std::string label = node.name.empty() ? std::string(node.op->name) : node.name;
  if (v.is_constant() && v.rank() == 0) label = node.value.to_string();
  std::string attrs;
  for (const auto& [key, value] : node.attrs.items())
    attrs += fmt::format("{}{}={}", attrs.empty() ? "{" : ", ", key, expr::to_string(value));
  if (!attrs.empty()) attrs += "}";
  text += fmt::format("{:{}}{}{} [id {}] {}\n", "", depth * 2, label, attrs, at->second, v.type().to_string());
  if (!fresh && !node.inputs.empty()) {
    text += fmt::format("{:{}}...\n", "", depth * 2 + 2);
    return;
  }
  constexpr int max_depth = 200;  // a printout, not a traversal: deep graphs are cut
  if (depth >= max_depth && !node.inputs.empty()) {
    text += fmt::format("{:{}}... (deeper)\n", "", depth * 2 + 2);
    return;
  }
  for (const Variable& input : node.inputs) print_tree(input, depth + 1, ids, text);
}

}  // namespace

std::string debugprint(const Variable& variable) {
  std::unordered_map<const builder::Node*, int> ids;
  std::string text;
  print_tree(variable, 0, ids, text);
  return text;
}

std::string debugprint(const Function& function) { return function.graph(); }

}  // namespace croton
