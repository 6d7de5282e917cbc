// Work that may recurse deeper than the stack of an ordinary thread goes.
#pragma once

#include <cstddef>
#include <functional>

namespace croton::base {

/// Does the work and waits for it, on a thread with a stack of so many bytes; where the system has none, on this one.
/// What the work throws comes out here.
void call_with_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace croton::base
