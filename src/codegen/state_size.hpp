// The size of the states of reductions in shared memory.
#pragma once

#include <cstdint>

#include "codegen/analysis.hpp"

namespace croton::codegen {

/// The bytes of one state of each group of stages (kernel::stage_groups), added up: for an array of n states each, n
/// times as many. At most 16 bytes for each stage but for padding.
std::int64_t state_bytes_of_groups(const Analysis& analysis);

}  // namespace croton::codegen
