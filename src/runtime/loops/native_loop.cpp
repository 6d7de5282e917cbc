#include "runtime/loops/native_loop.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

#include "base/config.hpp"
#include "base/device_memory.hpp"
#include "base/interrupt.hpp"
#include "base/memory.hpp"
#include "base/shape.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "expr/evaluate.hpp"
#include "plan/loop_form.hpp"
#include "runtime/bound/user_line.hpp"
#include "runtime/cpu/threads.hpp"
#include "runtime/cuda/inspect/dump.hpp"
#include "runtime/cuda/nvtx.hpp"

namespace croton::runtime {

using codegen::Motion;
using expr::Loop;
using expr::LoopResult;
using plan::Buffer;

namespace {

// What one thread of the host does for all others in a step, in elements and multiplications.
constexpr std::int64_t most_alone_cpu = 4'000'000;
// Multiplications of a product that reads its right matrix against the rows, a line of memory for each.
constexpr std::int64_t most_against_rows = std::int64_t{1} << 18;
// A reduction that is split where it stands alone is no longer than this in a loop where one thread, or one warp, does
// it. All blocks of a GPU share what is longer than two blocks of its tree, which pays for one more meeting.
constexpr std::int64_t longest_row = std::int64_t{1} << 16, longest_row_of_grid = 2 * ct::block_elements;
// A right matrix that a thread multiplies with as many rows, in all steps together, is worth being put in order first
// (cpu/product.hpp).
constexpr std::int64_t fewest_rows_of_panels = 64;
// Two words, in cache lines of their own.
constexpr std::size_t meeting_bytes = 2 * ct::meeting_stride;

// What a part of a step costs besides its elements, in elements.
constexpr std::int64_t elements_of_part = 16;
// Of the words of a motion (value_of).
constexpr int slot_word = 2;

// Of a part: three words, as ct::Failure, and one for the alignment.
constexpr std::size_t bytes_of_failure = 16;

std::int64_t item_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

std::int64_t count_of(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// Whether an access reads or writes row i of its operand at point i of the first axis, and nothing else there.
bool follows_rows(const codegen::Analysis& analysis, const codegen::Access& access) {
  const expr::Arena& body = analysis.kernel.body;
  const auto is = [&](NodeId node, std::int64_t value) {
    const auto known = node == expr::no_node ? std::nullopt : body.scalar_value(node);
    return known && known->as_int() == value;
  };
  if (!access.affine || access.index.empty()) return false;
  for (std::size_t axis = 0; axis < access.coefficient.size(); ++axis) {
    for (std::size_t d = 0; d < access.coefficient[axis].size(); ++d) {
      const NodeId c = access.coefficient[axis][d];
      const bool fits = axis == 0 && d == 0 ? is(c, 1) : axis != 0 && d != 0 ? true : c == expr::no_node || is(c, 0);
      if (!fits) return false;
    }
  }
  return is(access.offset[0], 0);
}

}  // namespace

LoopPieces& loop_pieces() {
  static LoopPieces pieces;
  return pieces;
}

NativeLoop::NativeLoop(std::shared_ptr<const Executable> body, const Loop& loop, std::int64_t steps, Device* device)
    : body_(std::move(body)), loop_(&loop), steps_(steps), device_(device) {}

std::unique_ptr<NativeLoop> NativeLoop::bind(std::shared_ptr<const Executable> body, const Loop& loop,
                                             const LoopPlaces& shapes, const std::vector<Sizes>& captures,
                                             std::int64_t steps, Device* device, std::string_view schedule,
                                             RunCounts& counts, std::string& why) {
  std::unique_ptr<NativeLoop> made(new NativeLoop(std::move(body), loop, steps, device));
  if (!made->find_sizes_of_body(shapes, captures, why)) return nullptr;
  made->find_motions(shapes);
  if (!made->find_parts(why)) return nullptr;
  made->find_meetings();
  made->share_out();
  if (!made->find_shares(schedule, why)) return nullptr;
  made->take_memory();
  if (!made->emit(counts, why)) return nullptr;
  return made;
}

codegen::Text NativeLoop::show(std::shared_ptr<const Executable> body, const fuse::LoopCall& call,
                               codegen::Target target) {
  NativeLoop shown(std::move(body), call.loop, 1, nullptr);
  shown.shown_ = true;
  LoopPlaces shapes;
  const auto wanted = [&](LoopResult what, std::size_t index) {
    return std::ranges::any_of(call.results, [&](const auto& r) { return r.what == what && r.index == index; });
  };
  shapes.sequences.resize(call.loop.sequences);
  shapes.states.resize(call.loop.states());
  for (std::size_t j = 0; j < call.loop.states(); ++j)
    shapes.slots.push_back(wanted(LoopResult::history, j) ? 0 : call.loop.rows[j] + 1);
  for (std::size_t k = 0; k < call.loop.stacked; ++k)
    shapes.stacked.push_back(wanted(LoopResult::stacked, k) ? std::optional<Rows>(Rows{}) : std::nullopt);
  shown.find_motions(shapes);
  for (const plan::Step& step : shown.body_->plan.steps) shown.show_part(step);
  shown.share_out();
  for (Part& part : shown.parts_) {
    for (std::size_t a = 0; a < part.buffers.size(); ++a) part.rows.push_back(shown.row_bytes(part, a));
  }
  shown.find_meetings();
  return shown.emit_for(target);
}

void NativeLoop::show_part(const plan::Step& step) {
  const fuse::Call& call = body_->call_of(step);
  Part& part = parts_.emplace_back();
  part.step = &step;
  const DType dtype =
      body_->program.graph.arena.type(body_->plan.buffers[static_cast<std::size_t>(step.writes[0])].node).dtype;
  if (call.is<fuse::ProductCall>() && (dtype == DType::float32 || dtype == DType::float64)) {
    part.buffers = {step.left.buffer, step.right.buffer, step.writes[0]};
    part.matrix.assign(8, 1);
    return;
  }
  BoundKernel kernel = kernel_of(*body_, step, static_cast<int>(fuse::GeneratedProduct::along_rows));
  kernel.extents = codegen::default_extents(*kernel.analysis);
  kernel.launch = codegen::default_launch(*kernel.analysis, kernel.extents);
  part.kernel = std::move(kernel);
  finish_kernel(part);
}

bool NativeLoop::find_sizes_of_body(const LoopPlaces& shapes, const std::vector<Sizes>& captures, std::string& why) {
  if (!body_->host_inputs.empty()) {
    why = "sizes in it depend on numbers";
    return false;
  }
  CallArrays arrays;
  std::deque<Array> inputs;
  static const std::max_align_t somewhere{};
  const expr::Graph& graph = body_->program.graph;
  const auto add = [&](const Sizes& shape, const Sizes& strides = {}) {
    const DType dtype = graph.arena.type(graph.inputs[arrays.arguments.size()].node).dtype;
    // Only sizes are read, but for numbers, which are of no consequence.
    inputs.push_back(shape.empty() ? Array::zeros(dtype, {})
                                   : Array::view_of(static_cast<const void*>(&somewhere), dtype, shape, strides));
    arrays.arguments.push_back(&inputs.back());
  };
  for (const Rows& sequence : shapes.sequences) add(sequence.shape, sequence.strides);
  for (const Loop::Tap& tap : loop_->taps) add(shapes.states[tap.state].shape);
  for (const Sizes& shape : captures) add(shape);
  find_sizes(*body_, arrays, 0, sizes_);
  check_requirements(*body_, arrays, 0, sizes_);
  find_layouts(*body_, arrays, 0, sizes_, memory_);
  return true;
}

void NativeLoop::find_motions(const LoopPlaces& shapes) {
  const std::vector<Buffer>& buffers = body_->plan.buffers;
  moving_.resize(buffers.size());
  const auto row_of = [&](std::size_t j, std::int64_t offset) {
    const Rows& rows = shapes.states[j];
    const std::int64_t slots = shapes.slots[j];
    if (slots == 0) return Moving{Motion::line, rows.bytes, 0, 0, true};
    return Moving{Motion::ring, rows.bytes, offset % slots, slots, true};
  };
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto number = static_cast<std::size_t>(buffers[b].number);
    Moving& moving = moving_[b];
    if (buffers[b].role == Buffer::Role::argument && number < loop_->sequences) {
      const std::int64_t bytes = shapes.sequences[number].bytes;
      moving = {Motion::line, loop_->reverse ? -bytes : bytes, 0, 0, false};
    } else if (buffers[b].role == Buffer::Role::argument && number < loop_->captured(0)) {
      const Loop::Tap& tap = loop_->taps[number - loop_->sequences];
      moving = row_of(tap.state, tap.offset);
    } else if (buffers[b].role == Buffer::Role::output && number < loop_->states()) {
      moving = row_of(number, loop_->rows[number]);
    } else if (buffers[b].role == Buffer::Role::output) {
      moving = {Motion::rows, 0, 0, 0, true};
      const std::size_t k = number - loop_->states();
      if (k < loop_->stacked && shapes.stacked[k]) {
        const std::int64_t bytes = shapes.stacked[k]->bytes;
        moving = {Motion::line, loop_->reverse ? -bytes : bytes, 0, 0, true};
      }
    } else {
      moving = {Motion::rows, 0, 0, 0, buffers[b].role == Buffer::Role::temporary};
    }
  }
}

bool NativeLoop::find_parts(std::string& why) {
  for (const plan::Step& step : body_->plan.steps) {
    const fuse::Call& call = body_->call_of(step);
    if (call.is<fuse::KernelCall>()) {
      add_kernel(step, -1);
    } else if (const int generated = generated_for(*body_, step, sizes_); generated >= 0) {
      add_kernel(step, generated);
    } else if (!add_product(step, why)) {
      return false;
    }
    const Part& part = parts_.back();
    if (part.as_row && count_of(part.kernel->launch.sizes) > longest_row) {
      why = "a reduction in it is long";
      if (!runs_cuda()) return false;
      work_.too_much_of_rows = why;
    }
  }
  return true;
}

void NativeLoop::add_kernel(const plan::Step& step, int generated) {
  Part& part = parts_.emplace_back();
  part.kernel = bind_kernel(*body_, step, generated, sizes_, memory_);
  part.step = &step;
  finish_kernel(part);
}

void NativeLoop::finish_kernel(Part& part) {
  codegen::Launch& launch = part.kernel->launch;
  launch.variant = launch.variant.without_tiles();
  if (part.kernel->analysis->kernel.family == kernel::Family::split) {
    auto row = std::make_shared<codegen::Analysis>(*part.kernel->analysis);
    row->kernel.family = kernel::Family::row;
    part.as_row = std::move(row);
  }
  for (std::size_t a = 0; a < part.analysis()->accesses.size(); ++a) {
    const auto operand = static_cast<std::size_t>(part.analysis()->accesses[a].operand);
    part.buffers.push_back(part.kernel->operands[operand]);
    part.offsets.push_back(launch.offsets[a] * item_of(part.analysis()->kernel.operands[operand].dtype));
  }
}

bool NativeLoop::add_product(const plan::Step& step, std::string& why) {
  const fuse::ProductCall& call = body_->call_of(step).as<fuse::ProductCall>();
  const ProductSizes sizes = product_sizes(*body_, step, sizes_);
  const DType dtype = body_->program.graph.arena.type(call.result).dtype;
  if (dtype != DType::float32 && dtype != DType::float64) {
    add_kernel(step, generated_always(*body_, step, sizes_));
    return true;
  }
  if (!fits(step, sizes, item_of(dtype), why)) return false;
  Part& part = parts_.emplace_back();
  part.sizes = sizes;
  part.step = &step;
  part.buffers = {step.left.buffer, step.right.buffer, step.writes[0]};
  part.offsets = {0, 0, 0};
  // Elements of sequences may lie in any way, the others are contiguous.
  const auto strides = [&](const plan::MatrixRef& matrix, std::int64_t rows, std::int64_t columns) {
    const std::vector<std::int64_t>& all = memory_.layouts[static_cast<std::size_t>(matrix.buffer)].strides;
    const std::int64_t row = matrix.other_sizes ? (matrix.transposed ? rows : columns) : all[all.size() - 2];
    const std::int64_t column = matrix.other_sizes ? 1 : all.back();
    return matrix.transposed ? std::pair(column, row) : std::pair(row, column);
  };
  const auto left = strides(step.left, sizes.m, sizes.k), right = strides(step.right, sizes.k, sizes.n);
  part.matrix = {sizes.m, sizes.k, sizes.n, left.first, left.second, right.first, right.second, sizes.n};
  return true;
}

/// Whether a product may be in a launch of all steps; on a GPU `work_` has what it may not be in.
bool NativeLoop::fits(const plan::Step& step, const ProductSizes& sizes, std::int64_t item, std::string& why) {
  const auto [m, k, n, batch] = sizes;
  const auto says = [&, m = m, k = k, n = n](std::string& which, std::string_view reason) {
    if (!reason.empty()) which = fmt::format("its product {} x {} x {} {}", m, k, n, reason);
    return reason.empty();
  };
  const std::int64_t right_bytes = k * n * item;
  if (batch != 1) return says(why, "is one of a batch");
  const auto& right_strides = memory_.layouts[static_cast<std::size_t>(step.right.buffer)].strides;
  if ((step.right.transposed || right_strides.back() != 1) && m * k * n > most_against_rows)
    return says(why, "reads its right matrix against the rows");
  if (!runs_cuda()) return says(why, right_bytes > expr::most_right_bytes_cpu ? "is large" : "");
  const auto cache_bytes = static_cast<std::int64_t>(device_->facts().cache_bytes);
  says(work_.too_much_of_rows, plan::product_too_much_of_rows(right_bytes));
  says(work_.too_much_of_grid, plan::product_too_much_of_grid(m, k, n, right_bytes, cache_bytes));
  return true;
}

/// Whether each row of what the part writes needs only the same row of what the loop writes.
bool NativeLoop::walks_rows(const Part& part) const {
  const auto written = [&](std::size_t access) {
    return moving_[static_cast<std::size_t>(part.buffers[access])].written;
  };
  if (!part.kernel)
    return (shown_ || part.sizes.m == rows_) && !written(1) && !(written(0) && part.step->left.transposed);
  const codegen::Analysis& analysis = *part.analysis();
  const codegen::Launch& launch = part.kernel->launch;
  if (launch.variant.parallel.empty() || launch.variant.parallel[0].axes[0] != 0 || analysis.explicit_axes[0])
    return false;
  const std::vector<std::int64_t> values = analysis.host_values(part.kernel->extents);
  if (analysis.kernel.axes[0].inner || (!shown_ && values[analysis.kernel.axes[0].extent] != rows_)) return false;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (written(a) && !follows_rows(analysis, analysis.accesses[a])) return false;
  }
  return true;
}

/// Finds the rows that may be shared out: those along the first axis of all that the loop gives.
void NativeLoop::share_out() {
  std::optional<std::int64_t> rows;
  bool all = !loop_->until && !parts_.empty();
  for (std::size_t b = 0; b < moving_.size(); ++b) {
    const Buffer& buffer = body_->plan.buffers[b];
    if (buffer.role != Buffer::Role::output) continue;
    constexpr std::int64_t some_rows = 2;
    const std::size_t rank = body_->program.graph.arena.type(buffer.node).rank();
    const std::vector<std::int64_t> shape =
        shown_ ? std::vector<std::int64_t>(rank, some_rows) : memory_.layouts[b].shape;
    all = all && !shape.empty() && shape[0] > 1 && rows.value_or(shape[0]) == shape[0];
    if (!shape.empty()) rows = shape[0];
  }
  if (!all || !rows) return;
  rows_ = *rows;
  if (!std::ranges::all_of(parts_, [&](const Part& part) { return walks_rows(part); })) rows_ = 1;
}

/// From row to row of what an access reads or writes.
std::int64_t NativeLoop::row_bytes(const Part& part, std::size_t a) const {
  if (rows_ == 1) return 0;
  if (!part.kernel) {
    const DType dtype =
        body_->program.graph.arena.type(body_->call_of(*part.step).as<fuse::ProductCall>().result).dtype;
    return a == 1 ? 0 : (a == 0 ? part.matrix[3] : part.matrix[7]) * item_of(dtype);
  }
  const codegen::Access& access = part.analysis()->accesses[a];
  if (!access.affine) return 0;
  const DType dtype = part.analysis()->kernel.operands[static_cast<std::size_t>(access.operand)].dtype;
  // Axes that are walked as one lie behind each other: a row is all of the others.
  return part.kernel->launch.strides[a][0] * (part.kernel->launch.sizes[0] / rows_) * item_of(dtype);
}

std::int64_t NativeLoop::Part::split_blocks() const {
  return (count_of(kernel->launch.sizes) + ct::block_elements - 1) / ct::block_elements;
}

/// Warps that have something to do in it, where all blocks of a GPU work on it.
std::int64_t NativeLoop::Part::warps() const {
  if (is_split()) return split_blocks();
  const bool warp_a_point = kernel && analysis()->kernel.family == kernel::Family::row;
  return warp_a_point ? points() : (points() + ct::lanes - 1) / ct::lanes;
}

std::int64_t NativeLoop::work_of_step() const {
  std::int64_t work = 0;
  for (const Part& part : parts_)  // eight multiplications a cycle or more
    work += part.kernel ? count_of(part.kernel->launch.sizes) : part.points() * part.sizes.k / 8;
  return work;
}

/// How many shares there are, and that none is too much.
bool NativeLoop::find_shares(std::string_view schedule, std::string& why) {
  const std::int64_t work = work_of_step();
  schedule_ = choose_launch_schedule(kernel::Family::row, device_, schedule, "loop_");
  work_.together = loop_->until ? "it ends by a condition"
                   : rows_ > 1  ? "its rows are few"
                                : "its rows need each other";
  if (runs_cuda() && !choose_blocks(work, why)) return false;
  for (Part& part : parts_) {
    for (std::size_t a = 0; a < part.buffers.size(); ++a) part.rows.push_back(row_bytes(part, a));
  }
  if (runs_cuda()) return true;
  if (work > most_alone_cpu && rows_ == 1) {
    why = work_.together + ", and a step is long";
    return false;
  }
  const std::int64_t worth = std::max<std::int64_t>(1, work * std::max<std::int64_t>(1, steps_) / schedule_.grain);
  const std::int64_t wanted = std::min<std::int64_t>({cpu::ThreadPool::instance().threads(), worth, rows_});
  share_rows_ = (rows_ + wanted - 1) / wanted;
  shares_ = (rows_ + share_rows_ - 1) / share_rows_;
  return true;
}

/// Whether blocks of a GPU have rows of their own, one has all of them, or all work together.
bool NativeLoop::choose_blocks(std::int64_t work, std::string& why) {
  std::int64_t widest = 1;  // points of a part and row
  for (const Part& part : parts_) widest = std::max(widest, part.points() / rows_);
  // A thread a point of a part, as far as rows are enough.
  share_rows_ = std::clamp<std::int64_t>(schedule_.threads / widest, 1, rows_);
  shares_ = (rows_ + share_rows_ - 1) / share_rows_;
  blocks_ = codegen::tile_blocks(shares_, schedule_);
  work_.elements = work;
  work_.shared_out = rows_ > 1;
  work_.blocks = blocks_;
  work_.meetings = loop_->until ? 1 : 0;
  for (const Part& part : parts_) {
    const bool would_split = part.as_row && count_of(part.kernel->launch.sizes) > longest_row_of_grid;
    work_.meetings += (part.meets ? 1 : 0) + (would_split ? 1 : 0);
  }
  choice_ = choose_loop_form(work_, device_->facts().cooperates, schedule_);
  why = choice_.why;
  if (choice_.form == LoopForm::grid) use_grid();
  return choice_.form != LoopForm::steps;
}

void NativeLoop::use_grid() {
  rows_ = share_rows_ = shares_ = 1;
  for (Part& part : parts_) {
    if (part.as_row && count_of(part.kernel->launch.sizes) > longest_row_of_grid) part.as_row = nullptr;
  }
}

/// How many blocks of the grid run at the same time is known when its text is compiled.
void NativeLoop::find_blocks() {
  const int resident = device_->most_cooperative_blocks(text_, schedule_.threads);
  std::int64_t warps = 1;
  for (const Part& part : parts_) warps = std::max(warps, part.warps());
  blocks_ = resident == 0 ? 0 : grid_blocks(warps, resident, device_->facts().multiprocessors, schedule_);
}

std::string NativeLoop::describe() const {
  const auto many = [](std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (!runs_cuda()) return "one launch of " + many(shares_, "thread");
  if (choice_.form == LoopForm::grid)
    return fmt::format("one cooperative launch of {}: {}", many(blocks_, "block"), choice_.why);
  if (rows_ == 1) return "one launch of one block: " + choice_.why;
  return fmt::format("one launch of {}, each with rows of its own", many(blocks_, "block"));
}

/// What the panels of a product's right matrix take (cpu/product.hpp), of all shares; 0 where there are none.
std::int64_t NativeLoop::panel_bytes(const Part& part) const {
  if (part.kernel || runs_cuda()) return 0;
  const Moving& right = moving_[static_cast<std::size_t>(part.buffers[1])];
  const std::int64_t rows = rows_ > 1 ? share_rows_ : part.sizes.m;
  if (right.written || right.motion != Motion::rows || steps_ < fewest_rows_of_panels / std::max<std::int64_t>(rows, 1))
    return 0;
  constexpr std::int64_t alignment = 64;
  const DType dtype = body_->program.graph.arena.type(body_->call_of(*part.step).as<fuse::ProductCall>().result).dtype;
  const std::int64_t bytes = part.sizes.k * part.sizes.n * item_of(dtype);
  return shares_ * ((bytes + alignment - 1) / alignment * alignment);
}

/// What a step leaves for later parts of it. Shares do not wait for each other, so that no two results take turns in
/// one place, but those that lie row by row in place of another.
void NativeLoop::take_memory() {
  const plan::Plan& plan = body_->plan;
  const expr::Arena& arena = body_->program.graph.arena;
  temporary_offset_.assign(plan.buffers.size(), -1);
  std::int64_t total = 0;
  const auto place = [&](std::int64_t bytes) {
    constexpr std::int64_t alignment = 64;
    const std::int64_t at = total;
    total += (bytes + alignment - 1) / alignment * alignment;
    return at;
  };
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const bool unused = buffer.role == Buffer::Role::output && moving_[b].motion == Motion::rows;
    if ((buffer.role != Buffer::Role::temporary && !unused) || buffer.in_place_of >= 0) continue;
    temporary_offset_[b] =
        place(static_cast<std::int64_t>(base::byte_count(memory_.layouts[b].shape, arena.type(buffer.node).dtype)));
  }
  for (Part& part : parts_) {
    if (part.is_split())
      part.workspace =
          place(part.split_blocks() * static_cast<std::int64_t>(codegen::split_state_bytes(*part.analysis())));
    if (const std::int64_t bytes = panel_bytes(part); bytes > 0) part.workspace = place(bytes);
  }
  const auto take = [&](std::size_t bytes) {
    return device_ != nullptr ? device_->allocate(bytes) : base::allocate_shared_memory(bytes);
  };
  temporary_bytes_ = static_cast<std::size_t>(total);
  if (total > 0) temporaries_ = take(temporary_bytes_);
  if (loop_->until) done_ = take(sizeof(std::int64_t));
  if (choice_.form == LoopForm::grid) meeting_ = take(meeting_bytes);
  if (std::ranges::any_of(parts_, [](const Part& part) { return part.checks(); })) failures_ = take(failure_bytes());
  for (const Array& constant : body_->program.graph.constants) constants_.push_back(base::moved_to(device_, constant));
}

/// Parts that neither wait for each other nor overwrite what another one reads need not meet.
void NativeLoop::find_meetings() {
  std::vector<std::pair<int, bool>> touched;  // since the last meeting: buffer, whether written
  const auto root = [&](int b) {
    const int home = body_->plan.buffers[static_cast<std::size_t>(b)].in_place_of;
    return home >= 0 ? home : b;
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    std::vector<std::pair<int, bool>> own;
    const plan::Step& step = *parts_[i].step;
    const std::size_t writes = step.writes.size();
    for (const int b : parts_[i].buffers) {
      const bool written = std::ranges::find(step.writes, b) != step.writes.end();
      own.emplace_back(root(b), written && writes > 0);
    }
    const bool clash = std::ranges::any_of(own, [&](const auto& mine) {
      return std::ranges::any_of(
          touched, [&](const auto& theirs) { return mine.first == theirs.first && (mine.second || theirs.second); });
    });
    if (i > 0) parts_[i - 1].meets = clash;
    if (clash) touched.clear();
    touched.insert(touched.end(), own.begin(), own.end());
  }
}

codegen::Text NativeLoop::emit_for(codegen::Target target) const {
  codegen::LoopParts loop;
  loop.shared_out = rows_ > 1;
  loop.of_grid = choice_.form == LoopForm::grid;
  if (loop_->until) {
    const auto b = static_cast<std::size_t>(body_->plan.output_buffer[loop_->condition()]);
    loop.condition = body_->program.graph.arena.type(body_->plan.buffers[b].node).dtype;
  }
  for (const Part& part : parts_) {
    codegen::LoopPart& to = loop.parts.emplace_back();
    to.analysis = part.analysis();
    if (part.kernel) {
      to.variant = &part.kernel->launch.variant;
      to.comment = kernel_comment(*part.kernel->call);
    } else {
      const fuse::ProductCall& call = body_->call_of(*part.step).as<fuse::ProductCall>();
      to.dtype = body_->program.graph.arena.type(call.result).dtype;
      to.comment = {"a product", "from " + line_of(call.origin)};
    }
    to.meets = part.meets;
    for (std::size_t a = 0; a < part.buffers.size(); ++a) {
      const Motion motion = moving_[static_cast<std::size_t>(part.buffers[a])].motion;
      to.motions.push_back(motion != Motion::rows || part.rows[a] != 0 ? motion : Motion::none);
    }
  }
  return codegen::emit_loop(loop, target);
}

/// False where the blocks of a grid cannot run at the same time after all.
bool NativeLoop::emit(RunCounts& counts, std::string& why) {
  text_ = emit_for(runs_cuda() ? codegen::Target::cuda : codegen::Target::cpu);
  if (!base::config().dump_kernels.empty())
    cuda::dump(emit_for(codegen::Target::cuda), runs_cuda() ? device_->architecture() : "sm_90");
  if (runs_cuda()) count_prepared(device_->prepare(text_, schedule_.threads), counts);
  if (choice_.form == LoopForm::grid) find_blocks();
  if (blocks_ == 0) {
    why = "its blocks cannot run at the same time";
    return false;
  }
  for (std::size_t i = 0; i < text_.parameters.size(); ++i) {
    const codegen::Parameter& parameter = text_.parameters[i];
    if (parameter.kind == codegen::Parameter::Kind::pointer) {
      const Part& part = parts_[static_cast<std::size_t>(parameter.part)];
      const auto access = static_cast<std::size_t>(parameter.access);
      pointers_.push_back({i, part.buffers[access], part.offsets[access]});
    } else if (parameter.kind == codegen::Parameter::Kind::motion) {
      const int buffer =
          parts_[static_cast<std::size_t>(parameter.part)].buffers[static_cast<std::size_t>(parameter.access)];
      const bool turns = moving_[static_cast<std::size_t>(buffer)].motion == Motion::ring;
      if (turns && parameter.index == slot_word) slots_.emplace_back(i, buffer);
    } else if (parameter.kind == codegen::Parameter::Kind::loop &&
               static_cast<codegen::LoopNumber>(parameter.index) == codegen::LoopNumber::steps) {
      count_parameter_ = i;
    }
    parameters_.push_back(value_of(parameter));
  }
  return true;
}

std::uint64_t NativeLoop::value_of(const codegen::Parameter& parameter) const {
  using Kind = codegen::Parameter::Kind;
  const auto access = static_cast<std::size_t>(parameter.access), index = static_cast<std::size_t>(parameter.index);
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  if (parameter.kind == Kind::loop) {
    switch (static_cast<codegen::LoopNumber>(parameter.index)) {
      case codegen::LoopNumber::steps:
        return number(steps_);
      case codegen::LoopNumber::rows:
        return number(share_rows_);
      case codegen::LoopNumber::all_rows:
        return number(rows_);
      case codegen::LoopNumber::done:
        return number_of(done_.get());
      case codegen::LoopNumber::meeting:
        return number_of(meeting_.get());
      case codegen::LoopNumber::condition:
        break;  // a temporary's place
    }
    const auto b = static_cast<std::size_t>(body_->plan.output_buffer[loop_->condition()]);
    return number_of(static_cast<char*>(temporaries_.get()) + temporary_offset_[b]);
  }
  const Part& part = parts_[static_cast<std::size_t>(parameter.part)];
  // The first axis of what is shared out is counted for one row.
  const std::int64_t first = rows_ > 1 && index == 0 ? rows_ : 1;
  switch (parameter.kind) {
    case Kind::size:
      return number(part.kernel->launch.sizes[index] / first);
    case Kind::stride:
      return number(part.kernel->launch.strides[access][index]);
    case Kind::extent:
      return number(part.kernel->extents[index]);
    case Kind::matrix:
      return number(part.matrix[index] / first);
    case Kind::workspace:
      return part.workspace < 0 ? 0 : number_of(static_cast<char*>(temporaries_.get()) + part.workspace);
    case Kind::failure:
      return number_of(static_cast<char*>(failures_.get()) +
                       bytes_of_failure * static_cast<std::size_t>(parameter.part));
    case Kind::motion: {
      const Moving& moving = moving_[static_cast<std::size_t>(part.buffers[access])];
      const std::int64_t words[] = {part.rows[access], moving.step, moving.slot, moving.slots};
      return number(words[index]);
    }
    default:
      return 0;  // by every call
  }
}

/// Where each buffer of the body begins.
void NativeLoop::find_addresses(const LoopPlaces& places) {
  const std::vector<Buffer>& buffers = body_->plan.buffers;
  const auto behind = [&](const Rows& rows) {
    return rows.at(loop_->reverse ? std::max<std::int64_t>(0, steps_ - 1) : 0);
  };
  const auto row_of = [&](std::size_t j, std::int64_t offset) {
    return places.slots[j] == 0 ? places.states[j].at(offset) : places.states[j].base;
  };
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    const auto number = static_cast<std::size_t>(buffer.number);
    char*& base = memory_.base[b];
    if (temporary_offset_[b] >= 0) {
      base = static_cast<char*>(temporaries_.get()) + temporary_offset_[b];
    } else if (buffer.role == Buffer::Role::constant) {
      base = static_cast<char*>(constants_[number].address());
    } else if (buffer.role == Buffer::Role::output) {
      base = number < loop_->states() ? row_of(number, loop_->rows[number])
                                      : behind(*places.stacked[number - loop_->states()]);
    } else if (buffer.role == Buffer::Role::argument) {
      if (number < loop_->sequences) {
        base = behind(places.sequences[number]);
      } else if (number < loop_->captured(0)) {
        const Loop::Tap& tap = loop_->taps[number - loop_->sequences];
        base = row_of(tap.state, tap.offset);
      } else {
        base = places.captures[number - loop_->captured(0)];
      }
    }
  }
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].in_place_of >= 0) memory_.base[b] = memory_.base[static_cast<std::size_t>(buffers[b].in_place_of)];
  }
}

std::size_t NativeLoop::failure_bytes() const { return parts_.size() * bytes_of_failure; }

void NativeLoop::look_at_failures() const {
  std::vector<std::uint32_t> words(failure_bytes() / sizeof(std::uint32_t));
  copy_between(nullptr, words.data(), device_, failures_.get(), failure_bytes());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::uint32_t* failure = words.data() + i * bytes_of_failure / sizeof(std::uint32_t);  // as ct::Failure
    if (failure[0] == 0) continue;
    const BoundKernel& kernel = *parts_[i].kernel;
    const auto& checks = kernel.call->kernel->checks;
    const auto value = static_cast<std::int64_t>(failure[1] | (std::uint64_t{failure[2]} << 32));
    const std::string message = failure[0] <= checks.size()
                                    ? expr::fill_message(checks[failure[0] - 1].message, value, kernel.extents)
                                    : "a check failed";
    throw IndexError(fmt::format("{} ({}), in a step of a loop", message, lines_of(kernel.call->origins)));
  }
}

/// From which step on a launch runs, and how many.
void NativeLoop::set_steps(std::int64_t first, std::int64_t count) {
  for (const Pointer& pointer : pointers_) {
    const auto b = static_cast<std::size_t>(pointer.buffer);
    const std::int64_t behind = moving_[b].motion == Motion::line ? first * moving_[b].step : 0;
    parameters_[pointer.parameter] = number_of(memory_.base[b]) + static_cast<std::uint64_t>(pointer.offset + behind);
  }
  for (const auto& [parameter, buffer] : slots_) {
    const Moving& moving = moving_[static_cast<std::size_t>(buffer)];
    parameters_[parameter] = static_cast<std::uint64_t>((moving.slot + first) % moving.slots);
  }
  parameters_[count_parameter_] = static_cast<std::uint64_t>(count);
}

bool NativeLoop::condition_holds() const {
  const auto b = static_cast<std::size_t>(body_->plan.output_buffer[loop_->condition()]);
  const DType dtype = body_->program.graph.arena.type(body_->plan.buffers[b].node).dtype;
  const void* const at = static_cast<const char*>(temporaries_.get()) + temporary_offset_[b];
  return Array::view_of(at, dtype, {}).as_double(0) != 0;
}

/// In pieces of some hundredths of a second, between which the call may be interrupted.
std::int64_t NativeLoop::run_on_host() {
  using Clock = std::chrono::steady_clock;
  const LoopPieces limits = loop_pieces();
  const std::int64_t work = work_of_step() + elements_of_part * static_cast<std::int64_t>(parts_.size());
  std::int64_t done = 0, piece = std::max<std::int64_t>(1, limits.elements / work);
  while (done < steps_) {
    if (done > 0) base::check_interrupt();
    const std::int64_t count = std::min(piece, steps_ - done);
    set_steps(done, count);
    const Clock::time_point begin = Clock::now();
    cpu::ThreadPool::instance().parallel_for(
        shares_, 1,
        [](void* context, std::int64_t first, std::int64_t end) {
          const auto& self = *static_cast<const NativeLoop*>(context);
          self.entry_.run(self.parameters_.data(), first, end);
        },
        this);
    if (failures_) look_at_failures();
    done += done_ ? *static_cast<const std::int64_t*>(done_.get()) : count;
    if (done_ && condition_holds()) break;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    piece = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(count) *
                                     std::clamp(limits.seconds / std::max(seconds, 1e-9), 0.125, 8.0)));
  }
  return done;
}

std::int64_t NativeLoop::run(const LoopPlaces& places) {
  if (steps_ == 0) return 0;
  const cuda::NvtxRange range(text_.name);
  find_addresses(places);
  const auto clear = [&](const std::shared_ptr<void>& memory, std::size_t bytes) {
    if (!memory) return;
    const std::vector<char> none(bytes);
    copy_between(device_, memory.get(), nullptr, none.data(), bytes);
  };
  clear(failures_, failure_bytes());
  clear(meeting_, meeting_bytes);  // whatever became of the launch before
  if (!runs_cuda()) return run_on_host();
  set_steps(0, steps_);
  launch(places);
  if (failures_) look_at_failures();
  std::int64_t done = steps_;
  if (done_) copy_between(nullptr, &done, device_, done_.get(), sizeof done);
  return done;
}

void NativeLoop::launch(const LoopPlaces& places) {
  operands_.clear();
  const auto add = [&](void* address, std::size_t bytes, bool read, bool written) {
    operands_.push_back({address, bytes, read, written});
  };
  const auto add_rows = [&](const Rows& rows, std::int64_t count, bool read, bool written) {
    add(rows.base, static_cast<std::size_t>(rows.bytes * count), read, written);
  };
  operands_ = places.read;
  for (std::size_t j = 0; j < loop_->states(); ++j)
    add_rows(places.states[j], places.slots[j] > 0 ? places.slots[j] : loop_->rows[j] + steps_, true, true);
  for (const auto& stacked : places.stacked) {
    if (stacked) add_rows(*stacked, steps_, false, true);
  }
  for (std::size_t b = 0; b < memory_.base.size(); ++b) {
    const Buffer& buffer = body_->plan.buffers[b];
    const bool captured =
        buffer.role == Buffer::Role::argument && static_cast<std::size_t>(buffer.number) >= loop_->captured(0);
    if (!captured && buffer.role != Buffer::Role::constant) continue;
    add(memory_.base[b], base::byte_count(memory_.layouts[b].shape, body_->program.graph.arena.type(buffer.node).dtype),
        true, false);
  }
  if (temporary_bytes_ > 0) add(temporaries_.get(), temporary_bytes_, false, true);
  if (done_) add(done_.get(), sizeof(std::int64_t), false, true);
  if (failures_) add(failures_.get(), failure_bytes(), true, true);
  if (meeting_) add(meeting_.get(), meeting_bytes, true, true);
  device_->launch({.text = &text_,
                   .parameters = parameters_,
                   .items = shares_,
                   .blocks = blocks_,
                   .threads = schedule_.threads,
                   .cooperative = choice_.form == LoopForm::grid,
                   .operands = operands_});
}

}  // namespace croton::runtime
