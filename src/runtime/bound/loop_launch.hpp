// bind_loop: binds a loop. It is defined in loops/loop_launch.cpp, which binds bodies by code of this folder.
#pragma once

#include <memory>

#include "runtime/bound/launch.hpp"
#include "runtime/bound/segment.hpp"

namespace croton::runtime {

/// Binds a loop, and allocates the states whose history is not a result. Raises OutOfMemory.
std::unique_ptr<Launch> bind_loop(const Executable& executable, const plan::Step& step, Device& device,
                                  const SizeTable& sizes, const Memory& memory, const BindOptions& options,
                                  RunCounts& counts);

}  // namespace croton::runtime
