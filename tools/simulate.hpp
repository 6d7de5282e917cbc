// `croton simulate`: a user's own CUDA kernel, run in the simulator.
#pragma once

#include <string>
#include <vector>

namespace croton::tool {

/// Runs what the arguments say and prints what arrays hold then. 0 where the kernel ran to its end, 1 where it was
/// stopped (the report goes to the standard error), 2 where the arguments were not understood.
int simulate(const std::vector<std::string>& arguments);

}  // namespace croton::tool
