// The size of the states of reductions.
#pragma once

#include <cstdint>

#include "codegen/analysis.hpp"

namespace croton::codegen {

/// The bytes of one state of each group of stages (kernel::stage_groups), added up: for an array of n states each, n
/// times as many. At most 16 bytes for each stage but for padding.
std::int64_t state_bytes_of_groups(const Analysis& analysis);
/// The slots of 16 bytes for a state of the group; for one of each group.
std::int64_t slots_of_state(const Analysis& analysis, const kernel::StageGroup& group);
std::int64_t slots_of_states(const Analysis& analysis);

}  // namespace croton::codegen
