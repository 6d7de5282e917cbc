// Flags that parts of the runtime keep as settings.
#pragma once

#include <string>

#include "base/config.hpp"

namespace croton::detail {

/// Copies the flags to these parts, if they have changed since the last time.
void apply_settings(const base::Flags& flags = base::config());

/// Records calls from now on, and writes the trace to the file when the process ends (trace.cpp). An empty path
/// changes nothing.
void trace_to(const std::string& path);

}  // namespace croton::detail
