// Whether there is memory to be had.
#pragma once

#include <cstddef>

namespace croton::base {

/// Whether the process may map so many bytes more now. Nothing is kept: somebody else may take them after the answer.
bool could_map(std::size_t bytes) noexcept;

}  // namespace croton::base
