// The schedule of pointwise kernels on a GPU.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/schedule_overrides.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: packs as wide as sizes, alignment and strides allow, so that a thread moves 16 bytes
/// of the widest operand; as few threads on a line as reach over it; the narrowest integers that hold all offsets. That
/// the launch sizes decide only about classes of them keeps the number of texts small.
void fit_pointwise(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                   const Overrides& wanted, Reasons* why);

/// Whether a second copy of the body, without conditions, costs little to compile.
bool is_short_body(const Analysis& analysis);

}  // namespace croton::codegen
