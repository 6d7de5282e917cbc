// Runs CUDA texts for the fake driver: by the simulator's programs, in the memory of the fake device.
#pragma once

#include "fake_cuda/control.hpp"

namespace croton::test {

/// A runner (control.hpp): compiles the text with the simulator's header instead of the GPU's. An error that the
/// simulator finds is the launch's fault.
fake_cuda::Launch launch_in_simulator(const std::string& text, const std::string& kernel,
                                      const fake_cuda::LaunchConfiguration& configuration, void** parameters);

}  // namespace croton::test
