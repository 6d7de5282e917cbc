#include "codegen/state_size.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace croton::codegen {
namespace {

struct Size {
  std::int64_t bytes, alignment;
};

Size size_of_state(const Analysis& analysis, const kernel::Stage& stage) {
  if (stage.op->reduce->combiner.starts_with("Arg")) return {16, 8};  // ct::Placed: a value and its position
  const auto bytes = static_cast<std::int64_t>(size_of(compute_dtype(analysis.kernel.body.type(stage.value).dtype)));
  return {bytes, bytes};  // complex numbers are aligned to less
}

std::int64_t bytes_of_group(const Analysis& analysis, const kernel::StageGroup& group) {
  // ct::Both of the first state and of the Both of the others.
  Size all = size_of_state(analysis, analysis.kernel.stages[group.end - 1]);
  for (std::size_t s = group.end - 1; s-- > group.begin;) {
    const Size own = size_of_state(analysis, analysis.kernel.stages[s]);
    const std::int64_t alignment = std::max(own.alignment, all.alignment);
    all = {base::round_up(base::round_up(own.bytes, all.alignment) + all.bytes, alignment), alignment};
  }
  return all.bytes;
}

}  // namespace

std::int64_t state_bytes_of_groups(const Analysis& analysis) {
  std::int64_t total = 0;
  for (const kernel::StageGroup& group : kernel::stage_groups(analysis.kernel))
    total += bytes_of_group(analysis, group);
  return total;
}

std::int64_t slots_of_state(const Analysis& analysis, const kernel::StageGroup& group) {
  constexpr std::int64_t slot = 16;
  return base::ceil_div(bytes_of_group(analysis, group), slot);
}

std::int64_t slots_of_states(const Analysis& analysis) {
  std::int64_t slots = 0;
  for (const kernel::StageGroup& group : kernel::stage_groups(analysis.kernel))
    slots += slots_of_state(analysis, group);
  return slots;
}

}  // namespace croton::codegen
