// The expected results of the workloads, computed in float64 by plain loops that share no code with Croton.
#pragma once

#include <string_view>
#include <vector>

namespace bench {

/// The number of training steps that are checked.
inline constexpr int checked_steps = 3;

/// One list of elements per result. For a training step: the losses of the first steps, then the weights after them.
/// For a training: the losses, then, for classes, the accuracies.
std::vector<std::vector<double>> reference(std::string_view workload);
/// The largest error allowed: max|got - want| / max|want| of each result.
double tolerance(std::string_view workload);

}  // namespace bench
