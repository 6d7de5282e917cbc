#include "runtime/loops/loop_parameters.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "codegen/division.hpp"

namespace croton::runtime {

using codegen::LoopNumber;
using codegen::Motion;
using Kind = codegen::Parameter::Kind;

namespace {

// The index of the slot among the words of a motion (value_of).
constexpr std::size_t slot_word = 2;

std::uint64_t word_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
std::uint64_t word_of(std::int64_t number) { return static_cast<std::uint64_t>(number); }

}  // namespace

LoopParameters::LoopParameters(const LoopLayout& layout, const LoopMemory& memory, const codegen::Text& text)
    : layout_(layout), memory_(memory) {
  for (const codegen::Parameter& parameter : text.parameters) {
    record_variable(values_.size(), parameter);
    values_.push_back(value_of(parameter));
  }
}

const StepPart& LoopParameters::part_of(const codegen::Parameter& parameter) const {
  return layout_.parts[parameter.part];
}

/// Records the parameters that every call sets.
void LoopParameters::record_variable(std::size_t number, const codegen::Parameter& parameter) {
  const std::size_t access = parameter.access;
  if (parameter.kind == Kind::pointer) {
    const StepPart& part = part_of(parameter);
    pointers_.push_back({number, part.buffers[access], part.offsets[access]});
  } else if (parameter.kind == Kind::motion) {
    const plan::BufferId buffer = part_of(parameter).buffers[access];
    const bool is_ring = layout_.motions[buffer].kind == Motion::ring;
    if (is_ring && parameter.index == slot_word) slots_.emplace_back(number, buffer);
  } else if (parameter.kind == Kind::loop && static_cast<LoopNumber>(parameter.index) == LoopNumber::steps) {
    count_parameter_ = number;
  }
}

std::uint64_t LoopParameters::value_of_loop(LoopNumber number) const {
  switch (number) {
    case LoopNumber::steps:
      return word_of(layout_.steps);
    case LoopNumber::rows:
      return word_of(layout_.shares.share_rows);
    case LoopNumber::all_rows:
      return word_of(layout_.shares.rows);
    case LoopNumber::done:
      return word_of(memory_.done());
    case LoopNumber::grid_barrier:
      return word_of(memory_.grid_barrier());
    case LoopNumber::condition:
      break;
  }
  return word_of(memory_.condition());
}

std::uint64_t LoopParameters::value_of(const codegen::Parameter& parameter) const {
  if (parameter.kind == Kind::loop) return value_of_loop(static_cast<LoopNumber>(parameter.index));
  const std::size_t access = parameter.access, index = parameter.index;
  const StepPart& part = part_of(parameter);
  // If rows are partitioned, the size of the first axis is passed for one row.
  const std::int64_t first = layout_.shares.rows > 1 && index == 0 ? layout_.shares.rows : 1;
  switch (parameter.kind) {
    case Kind::size:
      return word_of(part.kernel->launch.sizes[index] / first);
    case Kind::stride:
      return word_of(part.kernel->launch.strides[access][index]);
    case Kind::extent:
      return word_of(part.kernel->extents[index]);
    case Kind::divisor:
      return word_of(
          codegen::position_parameter(parameter, *part.analysis(), part.kernel->launch, layout_.shares.schedule));
    case Kind::matrix:
      return word_of(part.matrix[index] / first);
    case Kind::matrix_divisor:
      return codegen::make_divisor(
          std::max<std::int64_t>(1, part.matrix[base::ordinal(codegen::MatrixNumber::columns)]),
          layout_.shares.schedule.index)[access];
    case Kind::workspace:
      return word_of(memory_.workspace(parameter.part));
    case Kind::failure:
      return word_of(memory_.failure(parameter.part));
    case Kind::motion: {
      const BufferMotion& motion = layout_.motions[part.buffers[access]];
      const std::int64_t words[] = {part.row_strides[access], motion.step, motion.slot, motion.slots};
      return word_of(words[index]);
    }
    default:
      return 0;  // every call sets it
  }
}

void LoopParameters::set_steps(std::int64_t first, std::int64_t count) {
  for (const Pointer& pointer : pointers_) {
    const BufferMotion& motion = layout_.motions[pointer.buffer];
    const std::int64_t walked = motion.kind == Motion::line ? first * motion.step : 0;
    values_[pointer.parameter] = word_of(memory_.base(pointer.buffer)) + word_of(pointer.offset + walked);
  }
  for (const auto& [parameter, buffer] : slots_) {
    const BufferMotion& motion = layout_.motions[buffer];
    values_[parameter] = word_of((motion.slot + first) % motion.slots);
  }
  values_[count_parameter_] = word_of(count);
}

}  // namespace croton::runtime
