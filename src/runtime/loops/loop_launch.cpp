#include "runtime/loops/loop_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/config.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/shape.hpp"
#include "codegen/index_width.hpp"
#include "plan/loop_form.hpp"
#include "runtime/bound/kernel_schedules.hpp"
#include "runtime/bound/launch_time.hpp"
#include "runtime/cuda/nvtx.hpp"

namespace croton::runtime {

using expr::Loop;
using expr::LoopResult;

namespace {

// Steps are recorded in pieces: the GPU runs one piece while the host enqueues the next, instead of waiting for a long
// recording. The driver needs some hundred to some thousand bytes for each recorded launch (a node of a CUDA graph).
// Longer loops are not recorded, because the time that the host saves does not justify that memory.
constexpr std::int64_t max_launches_per_piece = 2048, max_recorded_launches = 32768;

}  // namespace

LoopLaunch::LoopLaunch(const Executable& executable, const plan::Step& step, Device& device, const SizeTable& sizes,
                       const Memory& memory, const BindOptions& options, RunCounts& counts)
    : executable_(&executable),
      step_(&step),
      call_(&executable.call_of(step).as<fuse::LoopCall>()),
      device_(device),
      body_(executable.bodies[step.call].at(0), device, options),
      overrides_(options.schedule) {
  const Loop& loop = call_->loop;
  const expr::Arena& arena = executable.program.graph.arena;
  std::size_t next = 0;
  for (std::size_t i = 0; i < call_->inputs.size(); ++i) {
    const bool is_number = fuse::is_loop_number(*call_, arena, i);
    inputs_.push_back(is_number ? plan::no_buffer : step.reads[next++]);
  }
  find_numbers(sizes);
  steps_ = steps_for(sizes);
  for (std::size_t j = 0; j < loop.states(); ++j) {
    const bool history = std::ranges::any_of(
        call_->results, [&](const fuse::LoopCall::Result& r) { return r.kind == LoopResult::history && r.index == j; });
    const Rows like = rows_of(executable, memory, inputs_[loop.initial_input(j)], 1);
    places_.slots.push_back(history ? 0 : loop.rows[j] + 1);
    own_states_.push_back(history ? Rows{} : allocate_rows(like, loop.rows[j] + 1));
  }
  sequences_ = find_sequences(sizes, memory);
  bind_native(memory, options, counts);
  if (!native_) prepare_recording();
}

namespace {
/// The first position of x[start::step], as in NumPy, if the slice has elements.
std::int64_t first_of_slice(std::optional<std::int64_t> start, std::int64_t step, std::int64_t size) {
  std::int64_t first = start.value_or(step > 0 ? 0 : size - 1);
  if (first < 0) first += size;
  return std::clamp<std::int64_t>(first, 0, std::max<std::int64_t>(0, size - 1));
}
}  // namespace

std::int64_t LoopLaunch::steps_for(const SizeTable& sizes) const {
  const expr::Arena& arena = executable_->program.graph.arena;
  const NodeId steps = call_->inputs[Loop::steps_input];
  const auto value = arena.scalar_value(steps);
  return value ? value->as_int() : sizes[arena.representative(steps)];
}

void LoopLaunch::find_numbers(const SizeTable& sizes) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const bool read = inputs_[i] == plan::no_buffer && i != Loop::steps_input;
    numbers_.push_back(read ? number_on(device_, *executable_, call_->inputs[i], sizes) : Array());
  }
}

std::optional<Launch::Renumbering> LoopLaunch::renumbered(const SizeTable& before, const SizeTable& sizes,
                                                          const Memory& memory) {
  const auto same = [](const Rows& a, const Rows& b) {
    return a.bytes == b.bytes && a.shape == b.shape && a.strides == b.strides;
  };
  Sequences sequences = find_sequences(sizes, memory);
  if (steps_for(sizes) != steps_ || !std::ranges::equal(sequences.rows, sequences_.rows, same)) return {};
  const expr::Arena& arena = executable_->program.graph.arena;
  std::vector<Array> numbers = numbers_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    // Unchanged numbers keep their addresses, because recordings depend on addresses.
    const NodeId node = arena.representative(call_->inputs[i]);
    if (inputs_[i] == plan::no_buffer && i != Loop::steps_input && sizes[node] != before[node])
      numbers[i] = number_on(device_, *executable_, call_->inputs[i], sizes);
  }
  return [this, sequences = std::move(sequences), numbers = std::move(numbers)]() mutable {
    sequences_ = std::move(sequences);
    numbers_ = std::move(numbers);
  };
}

LaunchTime LoopLaunch::time(double bytes) const {
  return {static_cast<double>(steps_) * launch_time::step_of_loop + bytes / launch_time::computed_bytes};
}

void LoopLaunch::add_schedules(std::vector<KernelSchedule>& schedules) const {
  if (!native_) return body_.add_schedules(schedules);
  // The name of a loop's text depends on its schedule, so overrides are for the family (loop_shares.cpp).
  schedules.push_back(describe_schedule(
      loop_family, kernel::Family::row, loop_name, native_->text(),
      {.device = device_.name(), .target = device_.target(), .machine = machine_of(device_), .overrides = overrides_}));
  if (device_.runs_cuda()) schedules.back().schedule += fmt::format(" index={}", name_of(native_->index()));
  schedules.back().reasons.push_back(native_->describe());
}

/// The layouts of sequences in their buffers. A sequence can be a view of its buffer (fuse::is_sequence_view).
LoopLaunch::Sequences LoopLaunch::find_sequences(const SizeTable& sizes, const Memory& memory) const {
  Sequences found;
  const expr::Arena& arena = executable_->program.graph.arena;
  for (std::size_t i = 0; i < call_->loop.sequences; ++i) {
    const std::size_t input = call_->loop.sequence_input(i);
    const plan::BufferId b = inputs_[input];
    std::vector<NodeId> views;
    for (NodeId node = call_->inputs[input]; node != executable_->plan.buffers[b].node; node = arena.input(node, 0))
      views.push_back(node);
    const DType dtype = arena.type(call_->inputs[input]).dtype;
    Sizes shape = memory.layouts[b].shape, strides = base::c_strides(shape, dtype);
    std::int64_t offset = 0;
    for (; !views.empty(); views.pop_back()) {
      const NodeId node = views.back();
      const Sizes before = shape, steps = strides;
      if (arena.op(node).is(expr::Core::dimshuffle)) {
        const expr::Ints& pattern = arena.attrs(node).ints("pattern");
        for (std::size_t axis = 0; axis < pattern.size(); ++axis) {
          shape[axis] = base::nth(before, pattern[axis]);
          strides[axis] = base::nth(steps, pattern[axis]);
        }
        continue;
      }
      const expr::Ints& spec = arena.attrs(node).ints("spec");
      std::optional<std::int64_t> start;
      if (spec[1] != 0) {
        const NodeId bound = arena.input(node, 1);
        const auto value = arena.scalar_value(bound);
        start = value ? value->as_int() : sizes[bound];
      }
      shape[0] = sizes[arena.representative(arena.type(node).shape[0])];
      if (const auto known = arena.known(arena.type(node).shape[0])) shape[0] = *known;
      offset += first_of_slice(start, spec[3], before[0]) * steps[0];
      strides[0] = spec[3] * steps[0];
    }
    Rows rows{nullptr, strides[0], dtype, Sizes(shape.begin() + 1, shape.end()), {}};
    if (Sizes own(strides.begin() + 1, strides.end()); own != base::c_strides(rows.shape, dtype)) rows.strides = own;
    found.rows.push_back(std::move(rows));
    found.offsets.push_back(offset);
  }
  return found;
}

void LoopLaunch::bind_native(const Memory& memory, const BindOptions& options, RunCounts& counts) {
  const bool on_gpu = device_.runs_cuda();
  const bool compiles = options.engine == Engine::compiled && cpu::can_compile();
  const Executable& body = body_.executable();
  const auto set_description = [&](std::string how) {
    description_ = std::make_shared<const std::string>(std::move(how));
  };
  if (steps_ == 0) return set_description("no steps");
  std::string why = plan::why_by_steps(body.program, body.plan);
  if (!on_gpu && !compiles) why = "nothing is compiled";
  if (!on_gpu && !device_.on_host()) why = device_.name() + " is called for each step";
  if (why.empty()) {
    find_places(memory);
    std::vector<Sizes> captures;
    for (std::size_t k = 0; k < call_->loop.captures; ++k) {
      const plan::BufferId b = inputs_[call_->loop.capture_input(k)];
      captures.push_back(b == plan::no_buffer ? Sizes{} : rows_of(*executable_, memory, b, 0).shape);
    }
    native_ = NativeLoop::bind(executable_->bodies[step_->call].at(0), call_->loop, places_, captures, steps_, device_,
                               options.schedule, counts, why);
  }
  if (native_) return set_description(native_->describe());
  const auto describe = [&](std::string_view why_no_graphs) {
    return std::make_shared<const std::string>(plan::describe_steps(*call_, body.plan, why, on_gpu, why_no_graphs));
  };
  description_ = describe("");
  description_without_graphs_ = describe(plan::graphs_are_off);
  description_with_tables_ = describe("a kernel of the body has more parameters than a launch takes");
}

std::shared_ptr<const std::string> LoopLaunch::how_it_runs() const {
  if (description_without_graphs_ == nullptr) return description_;  // its steps are not started by the host
  if (!base::config().cuda_graphs) return description_without_graphs_;
  return body_.has_tables() ? description_with_tables_ : description_;
}

Rows LoopLaunch::allocate_rows(const Rows& like, std::int64_t count) {
  Rows rows = like;
  Sizes shape = like.shape;
  shape.insert(shape.begin(), count);
  const std::size_t bytes = base::byte_count(shape, like.dtype);
  own_memory_.push_back(device_.allocate(bytes));
  rows.base = static_cast<char*>(own_memory_.back().get());
  return rows;
}

void LoopLaunch::copy(const Rows& to, std::int64_t row, const Rows& from, std::int64_t first,
                      std::int64_t count) const {
  if (count * to.bytes > 0)
    copy_between(device_, to.at(row), device_, from.at(first), static_cast<std::size_t>(count * to.bytes));
}

/// The index of row `row` of a state's history among its slots.
std::int64_t LoopLaunch::slot_of(std::size_t state, std::int64_t row) const {
  return places_.slots[state] == 0 ? row : row % places_.slots[state];
}

/// Finds the addresses of rows and results: those of the results that are needed, else those in the
/// launch's own memory.
void LoopLaunch::find_places(const Memory& memory) {
  const Loop& loop = call_->loop;
  const auto rows = [&](plan::BufferId buffer, std::size_t axes_out) {
    return rows_of(*executable_, memory, buffer, axes_out);
  };
  places_.states = own_states_;
  places_.stacked.assign(loop.stacked, {});
  last_.assign(loop.states(), {});
  done_.reset();
  for (std::size_t r = 0; r < call_->results.size(); ++r) {
    const auto& [node, what, index] = call_->results[r];
    const Rows result = rows(step_->writes[r], what == LoopResult::steps ? 0 : 1);
    if (what == LoopResult::history) places_.states[index] = result;
    if (what == LoopResult::last) last_[index] = result;
    if (what == LoopResult::stacked) places_.stacked[index] = result;
    if (what == LoopResult::steps) done_ = result;
  }
  places_.sequences = sequences_.rows;
  places_.read.clear();
  for (std::size_t i = 0; i < loop.sequences; ++i) {
    const Rows whole = rows(inputs_[loop.sequence_input(i)], 0);
    places_.sequences[i].base = whole.base + sequences_.offsets[i];
    places_.read.push_back({whole.base, static_cast<std::size_t>(whole.bytes), true, false});
  }
  places_.captures.clear();
  for (std::size_t k = 0; k < loop.captures; ++k) {
    const std::size_t input = loop.capture_input(k);
    places_.captures.push_back(inputs_[input] == plan::no_buffer ? static_cast<char*>(numbers_[input].address())
                                                                 : rows(inputs_[input], 0).base);
  }
}

void LoopLaunch::run(const LaunchRun& in) {
  const Memory& memory = in.memory;
  RunCounts& counts = in.counts;
  const Loop& loop = call_->loop;
  find_places(memory);
  for (std::size_t j = 0; j < loop.states(); ++j)
    copy(places_.states[j], 0, rows_of(*executable_, memory, inputs_[loop.initial_input(j)], 1), 0, loop.rows[j]);
  const std::int64_t t = native_ ? native_->run(places_) : run_by_steps(memory, counts);
  if (native_) ++counts.kernels;
  counts.loops[{executable_, executable_->plan.steps.id_of(*step_)}] = how_it_runs();
  for (std::size_t j = 0; j < loop.states(); ++j) {
    if (!last_[j]) continue;
    for (std::int64_t row = 0; row < loop.rows[j]; ++row)
      copy(*last_[j], row, places_.states[j], slot_of(j, t + row), 1);
  }
  if (done_) device_.copy_in(done_->base, &t, sizeof t);
}

/// The element of a sequence as the body reads it.
Array LoopLaunch::element(std::size_t sequence, std::int64_t position) const {
  const Array array = view_of_row(device_, places_.sequences[sequence], position);
  const bool contiguous = body_.executable().needs_contiguous[Loop::element_of(sequence)];
  return contiguous && device_.is_host() ? array.contiguous() : array;  // those on a device are contiguous
}

void LoopLaunch::prepare_recording() {
  const Executable& body = body_.executable();
  if (!device_.runs_cuda() || !body.host_inputs.empty()) return;
  if (!plan::why_not_recorded(body.program, body.plan, call_->loop).empty()) return;
  const std::int64_t launches = plan::count_launches(body.program, body.plan);
  if (launches == 0 || steps_ * launches < 2 || steps_ > max_recorded_launches / launches) return;
  steps_per_piece_ = std::max<std::int64_t>(1, max_launches_per_piece / launches);
  repeated_.emplace(device_, call_->origin);
}

/// All addresses that steps read and write, except the memory of the launch and of the body, whose addresses
/// do not change.
RepeatedWork::Addresses LoopLaunch::addresses() const {
  RepeatedWork::Addresses all;
  for (const Rows& rows : places_.sequences) all.push_back(rows.base);
  for (const Rows& rows : places_.states) all.push_back(rows.base);
  for (const auto& stacked : places_.stacked) {
    if (stacked) all.push_back(stacked->base);
  }
  all.insert(all.end(), places_.captures.begin(), places_.captures.end());
  return all;
}

void LoopLaunch::run_step(std::int64_t t, RunCounts& counts) {
  const Loop& loop = call_->loop;
  std::vector<Array>& given = body_.arguments();
  for (std::size_t i = 0; i < loop.sequences; ++i) given[Loop::element_of(i)] = element(i, loop.position(t, steps_));
  for (std::size_t at = 0; at < loop.taps.size(); ++at) {
    const auto& [j, offset] = loop.taps[at];
    given[loop.tap_of(at)] = view_of_row(device_, places_.states[j], slot_of(j, t + offset));
  }
  std::vector<Array> wanted = unused_results_;
  wanted.resize(body_.executable().program.graph.outputs.size());
  for (std::size_t j = 0; j < loop.states(); ++j)
    wanted[Loop::next_row(j)] = view_of_row(device_, places_.states[j], slot_of(j, t + loop.rows[j]));
  for (std::size_t k = 0; k < loop.stacked; ++k) {
    if (places_.stacked[k])
      wanted[loop.stacked_output(k)] = view_of_row(device_, *places_.stacked[k], loop.position(t, steps_));
  }
  body_.run(wanted, counts);
  if (repeated_) unused_results_ = body_.results();
}

std::int64_t LoopLaunch::run_by_steps(const Memory& memory, RunCounts& counts) {
  const Loop& loop = call_->loop;
  for (std::size_t k = 0; k < loop.captures; ++k) {
    const std::size_t input = loop.capture_input(k);
    body_.arguments()[loop.captured(k)] =
        inputs_[input] == plan::no_buffer ? numbers_[input]
                                          : view_of_row(device_, rows_of(*executable_, memory, inputs_[input], 0), 0);
  }
  const RepeatedWork::Addresses where = addresses();
  // The body allocates arrays without an address (without elements) in each step, so such steps are not recorded.
  if (repeated_ && base::config().cuda_graphs && !body_.has_tables() &&
      std::ranges::find(where, nullptr) == where.end()) {
    const cuda::NvtxRange range("steps of a loop");
    const auto piece = [&](std::int64_t number, RunCounts& of_piece) {
      const std::int64_t end = std::min(steps_, (number + 1) * steps_per_piece_);
      for (std::int64_t t = number * steps_per_piece_; t < end; ++t) run_step(t, of_piece);
    };
    repeated_->run(where, base::ceil_div(steps_, steps_per_piece_), piece, counts);
    return steps_;
  }
  std::int64_t t = 0;
  for (bool stops = false; t < steps_ && !stops; ++t) {
    run_step(t, counts);
    stops = loop.until && body_.results()[loop.condition()].to_host().as_double(0) != 0;
  }
  return t;
}

std::unique_ptr<Launch> bind_loop(const Executable& executable, const plan::Step& step, Device& device,
                                  const SizeTable& sizes, const Memory& memory, const BindOptions& options,
                                  RunCounts& counts) {
  return std::make_unique<LoopLaunch>(executable, step, device, sizes, memory, options, counts);
}

}  // namespace croton::runtime
