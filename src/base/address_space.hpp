// A check whether the process can map more memory.
#pragma once

#include <cstddef>

namespace croton::base {

/// Whether the process could map `bytes` more bytes now. Nothing is reserved: another thread or process may take the
/// memory after the answer.
bool could_map(std::size_t bytes) noexcept;

}  // namespace croton::base
