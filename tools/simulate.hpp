// `croton simulate`: a user's own CUDA kernel, run in the simulator.
#pragma once

#include <string>
#include <vector>

namespace croton::tool {

/// Runs a kernel with these arguments and prints the contents of arrays. Returns 0 if the kernel ran to its end, 1 if
/// it was stopped (the report goes to the standard error), 2 for invalid arguments.
int simulate(const std::vector<std::string>& arguments);

}  // namespace croton::tool
