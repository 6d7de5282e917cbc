#include "sampling.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

namespace {

double seconds_of(const std::function<void()>& call, int times) {
  const double start = now();
  for (int i = 0; i < times; ++i) call();
  return now() - start;
}

/// The value below which the share `q` of the sorted samples lies, interpolated.
double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Timing sample(const std::function<void()>& call, double budget) {
  constexpr double shortest_sample = 2e-3;
  const double one = std::max(seconds_of(call, 1), 1e-7);
  const int times = std::clamp(static_cast<int>(shortest_sample / one), 1, 20000);
  seconds_of(call, std::min(3 * times, std::max(1, static_cast<int>(0.2 * budget / one))));
  std::vector<double> samples;
  const double end = now() + budget;
  while (samples.size() < 5 || (now() < end && samples.size() < 400))
    samples.push_back(seconds_of(call, times) / times);
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.25),          quantile(samples, 0.75),
          samples.front(),        static_cast<int>(samples.size()), times};
}

}  // namespace bench
