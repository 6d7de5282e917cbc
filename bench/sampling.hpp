// Seconds per call: the rules that all programs of this folder follow (README.md, "Timing").
#pragma once

#include <functional>
#include <vector>

namespace bench {

struct Timing {
  double median = 0, lower_quartile = 0, upper_quartile = 0, lowest = 0;
  int samples = 0, calls_per_sample = 0;
};

/// Seconds since an arbitrary moment.
double now();
/// Calls for about `budget` seconds after a warm-up.
Timing sample(const std::function<void()>& call, double budget);

/// Times of work on a device, which a call may only start: the median, and the first and ninth deciles.
struct Spread {
  double median = 0, low = 0, high = 0;
  int samples = 0, calls_per_sample = 0;
};

/// Samples of at least 20 calls in sequence and 5 ms, each with one wait at its end.
Spread sample_waiting_once(const std::function<void()>& call, const std::function<void()>& wait, double budget);
/// Single calls, each with a wait.
Spread sample_waiting_always(const std::function<void()>& call, const std::function<void()>& wait, double budget);

/// The quantile `q` of the sorted samples, interpolated.
double quantile(const std::vector<double>& sorted, double q);

}  // namespace bench
