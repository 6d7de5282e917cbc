// The schedule of split kernels on a GPU.
#pragma once

#include "codegen/schedule.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: the size of a part, so that there are several blocks for each multiprocessor. No packs
/// if the elements are too many, or on several axes whose indices are used as numbers.
void fit_split(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               Reasons* why = nullptr);

}  // namespace croton::codegen
