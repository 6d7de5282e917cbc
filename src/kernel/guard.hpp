// The checks of nan_guard among those of a kernel.
#pragma once

#include <string_view>

namespace croton::kernel {

/// Their message. What they find is gathered in a register and reported when a work item ends, so that loops around
/// them still vectorise; they show no value.
inline constexpr std::string_view guard_message = "nan_guard";

}  // namespace croton::kernel
