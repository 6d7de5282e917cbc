// The workloads of README.md, "On a GPU", on Croton's public interface: inputs and outputs are shared variables, so
// that calls copy nothing between the host and the device.
#pragma once

#include <croton/croton.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench::gpu {

struct Work {
  croton::Function step;                        ///< without arguments and outputs
  std::vector<croton::SharedVariable> results;  ///< the outputs of a step
  double build_s = 0;                           ///< seconds for the graph and croton::function
  double bytes = 0;                             ///< minimum of bytes that a step reads and writes; 0 if products count
  double flop = 0;                              ///< of matrix products
  /// How far the results are from a reference in float64 after `checked_steps` steps, over a sample (checks.hpp).
  std::function<double()> error;
  int checked_steps = 1;
  double tolerance = 1e-5;
};

/// The names of all workloads, in the order of the report.
std::vector<std::string> names();
/// Makes the inputs and compiles. `scale` divides the number of rows or elements (of layers: all sizes), for trials on
/// small machines. Throws std::invalid_argument for a name that is not one of names().
Work make(std::string_view name, std::int64_t scale);

}  // namespace bench::gpu
