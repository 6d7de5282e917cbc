// Seconds per call: the rules that all programs of this folder follow (README.md, "What is timed").
#pragma once

#include <functional>

namespace bench {

struct Timing {
  double median = 0, lower_quartile = 0, upper_quartile = 0, lowest = 0;
  int samples = 0, calls_per_sample = 0;
};

/// Seconds since an arbitrary moment.
double now();
/// Calls for about `budget` seconds after a warm-up.
Timing sample(const std::function<void()>& call, double budget);

}  // namespace bench
