// The work that a call gives to the driver, counted by the driver for tests (tests/fake_cuda), for steps of training.
#pragma once

#include <string>
#include <vector>

namespace croton::kernel_table {

struct StepCounts {
  std::string name;
  long long kernels = 0;   ///< launches of kernels
  long long graphs = 0;    ///< launches of recorded work
  long long products = 0;  ///< products and convolutions by libraries
  long long copies = 0;    ///< copies and fills of memory
  long long waits = 0;     ///< of the host, for a stream, an event or the whole device
  long long calls = 0;     ///< of the driver, with all of these but those of libraries
};

/// The counts of a call after the first ones, for small sizes: they do not depend on the sizes. The driver for tests
/// must be in that folder.
std::vector<StepCounts> count_steps(const std::string& fake_cuda_folder);

}  // namespace croton::kernel_table
