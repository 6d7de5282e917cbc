// Binding a loop (loops/loop_launch.cpp, which uses what is bound here for its steps).
#pragma once

#include <memory>

#include "runtime/bound/launch.hpp"
#include "runtime/bound/segment.hpp"

namespace croton::runtime {

/// Memory for states that nobody keeps is taken here. OutOfMemory.
std::unique_ptr<Launch> bind_loop(const Executable& executable, const plan::Step& step, Device& device,
                                  const SizeTable& sizes, const Memory& memory, const BindOptions& options,
                                  RunCounts& counts);

}  // namespace croton::runtime
