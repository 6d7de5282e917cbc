#include "runtime/loop.hpp"

#include <algorithm>
#include <optional>

#include "base/memory.hpp"
#include "base/shape.hpp"

namespace croton::runtime {

using expr::Loop;
using expr::LoopResult;

LoopLaunch::LoopLaunch(const Executable& executable, const plan::Step& step, Device* device, const SizeTable& sizes,
                       const Memory& memory, const BindOptions& options)
    : executable_(&executable),
      step_(&step),
      call_(executable.call_of(step).loop.get()),
      device_(device),
      body_(executable.bodies[static_cast<std::size_t>(step.call)].at(0), device, options) {
  const Loop& loop = call_->loop;
  const expr::Arena& arena = executable.program.graph.arena;
  std::size_t next = 0;
  for (std::size_t i = 0; i < call_->inputs.size(); ++i) {
    const bool is_number = fuse::is_loop_number(*call_, arena, i);
    const bool read = is_number && i != Loop::steps_input;
    inputs_.push_back(is_number ? -1 : step.reads[next++]);
    numbers_.push_back(read ? number_on(device, executable, call_->inputs[i], sizes) : Array());
  }
  steps_ = sizes[arena.representative(call_->inputs[Loop::steps_input])];
  if (const auto value = arena.scalar_value(call_->inputs[Loop::steps_input])) steps_ = value->as_int();
  for (std::size_t j = 0; j < loop.states(); ++j) {
    const bool history = std::ranges::any_of(
        call_->results, [&](const fuse::LoopCall::Result& r) { return r.what == LoopResult::history && r.index == j; });
    const Rows like = rows_of(executable, memory, inputs_[loop.initial_input(j)], 1);
    kept_.push_back(history ? 0 : loop.rows[j] + 1);
    states_.push_back(history ? Rows{} : own_rows(like, loop.rows[j] + 1));
  }
}

Rows LoopLaunch::own_rows(const Rows& like, std::int64_t count) {
  Rows rows = like;
  Sizes shape = like.shape;
  shape.insert(shape.begin(), count);
  const std::size_t bytes = base::byte_count(shape, like.dtype);
  own_memory_.push_back(device_ != nullptr ? device_->allocate(bytes) : base::allocate_shared_memory(bytes));
  rows.base = static_cast<char*>(own_memory_.back().get());
  return rows;
}

void LoopLaunch::copy(const Rows& to, std::int64_t row, const Rows& from, std::int64_t first,
                      std::int64_t count) const {
  if (count * to.bytes > 0)
    copy_between(device_, to.at(row), device_, from.at(first), static_cast<std::size_t>(count * to.bytes));
}

void LoopLaunch::run(const Memory& memory, RunCounts& counts) {
  const Loop& loop = call_->loop;
  const auto rows = [&](int buffer, std::size_t axes_out) { return rows_of(*executable_, memory, buffer, axes_out); };
  // Where rows and results go: to the buffers of those that are wanted, else to memory of our own.
  std::vector<Rows> states = states_;
  std::vector<std::optional<Rows>> stacked(loop.stacked), last(loop.states());
  std::optional<Rows> done;
  for (std::size_t r = 0; r < call_->results.size(); ++r) {
    const auto& [node, what, index] = call_->results[r];
    const Rows result = rows(step_->writes[r], what == LoopResult::steps ? 0 : 1);
    if (what == LoopResult::history) states[index] = result;
    if (what == LoopResult::last) last[index] = result;
    if (what == LoopResult::stacked) stacked[index] = result;
    if (what == LoopResult::steps) done = result;
  }
  const auto row_at = [&](std::size_t j, std::int64_t row) { return kept_[j] == 0 ? row : row % kept_[j]; };
  for (std::size_t j = 0; j < loop.states(); ++j)
    copy(states[j], 0, rows(inputs_[loop.initial_input(j)], 1), 0, loop.rows[j]);
  std::vector<Rows> sequences;
  for (std::size_t i = 0; i < loop.sequences; ++i) sequences.push_back(rows(inputs_[loop.sequence_input(i)], 1));
  std::vector<Array>& given = body_.arguments();
  for (std::size_t k = 0; k < loop.captures; ++k) {
    const std::size_t input = loop.capture_input(k);
    given[loop.captured(k)] = inputs_[input] < 0 ? numbers_[input] : view_of_row(device_, rows(inputs_[input], 0), 0);
  }
  std::int64_t t = 0;
  for (bool stops = false; t < steps_ && !stops; ++t) {
    for (std::size_t i = 0; i < loop.sequences; ++i)
      given[Loop::element_of(i)] = view_of_row(device_, sequences[i], loop.position(t, steps_));
    for (std::size_t at = 0; at < loop.taps.size(); ++at) {
      const auto& [j, offset] = loop.taps[at];
      given[loop.tap_of(at)] = view_of_row(device_, states[j], row_at(j, t + offset));
    }
    std::vector<Array> wanted(body_.executable().program.graph.outputs.size());
    for (std::size_t j = 0; j < loop.states(); ++j)
      wanted[Loop::next_row(j)] = view_of_row(device_, states[j], row_at(j, t + loop.rows[j]));
    for (std::size_t k = 0; k < loop.stacked; ++k) {
      if (stacked[k]) wanted[loop.stacked_output(k)] = view_of_row(device_, *stacked[k], loop.position(t, steps_));
    }
    body_.run(wanted, counts);
    stops = loop.until && body_.results()[loop.condition()].to_host().as_double(0) != 0;
  }
  for (std::size_t j = 0; j < loop.states(); ++j) {
    if (!last[j]) continue;
    for (std::int64_t row = 0; row < loop.rows[j]; ++row) copy(*last[j], row, states[j], row_at(j, t + row), 1);
  }
  if (done) copy_between(device_, done->base, nullptr, &t, sizeof t);
}

}  // namespace croton::runtime
