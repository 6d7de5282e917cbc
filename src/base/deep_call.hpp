// Calls with a large stack, for work that may recurse deeper than the stack of an ordinary thread allows.
#pragma once

#include <cstddef>
#include <functional>

namespace croton::base {

/// Runs `work` on a thread with a stack of `bytes` bytes and waits for it; runs it on this thread if the system has no
/// such thread. Exceptions of the work are rethrown here.
void call_with_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace croton::base
