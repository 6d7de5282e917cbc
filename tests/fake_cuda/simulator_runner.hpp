// Runs CUDA texts for the fake driver: by the simulator's programs, in the memory that the fake device has.
#pragma once

#include "fake_cuda/control.hpp"

namespace croton::test {

/// A runner (control.hpp): the text is compiled with the simulator's header in the place of the GPU's. What the
/// simulator finds wrong is the launch's fault.
fake_cuda::Launch launch_in_simulator(const std::string& text, const std::string& kernel, unsigned blocks,
                                      unsigned threads, bool cooperative, void** parameters);

}  // namespace croton::test
