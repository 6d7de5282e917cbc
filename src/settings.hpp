// Flags that parts of the runtime keep as settings of their own.
#pragma once

#include <string>

#include "base/config.hpp"

namespace croton::detail {

/// Hands the flags to these parts, where they have changed since the last time.
void apply_settings(const base::Flags& flags = base::config());

/// From now on calls are recorded, and the trace is written to the file when the process ends (trace.cpp). Empty: as it
/// was.
void trace_to(const std::string& path);

}  // namespace croton::detail
