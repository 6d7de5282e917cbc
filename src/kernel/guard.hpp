// Marks the checks of a kernel that belong to nan_guard.
#pragma once

#include <string_view>

namespace croton::kernel {

/// The message of these checks. A failure is recorded in a register and reported at the end of a work item, so that
/// loops around the checks are still vectorised. The message shows no value.
inline constexpr std::string_view guard_message = "nan_guard";

}  // namespace croton::kernel
