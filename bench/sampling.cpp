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

/// Samples of `times` calls until the budget is spent, after half a second of work in which clock rates rise.
Spread spread_of(const std::function<void()>& call, const std::function<void()>& wait, int times, double budget) {
  const auto run = [&] {
    const double start = now();
    for (int i = 0; i < times; ++i) call();
    wait();
    return now() - start;
  };
  for (const double end = now() + std::min(0.5, budget / 2); now() < end;) run();
  std::vector<double> samples;
  for (const double end = now() + budget; samples.size() < 20 || (now() < end && samples.size() < 1000);) {
    samples.push_back(run() / times);
    if (now() > end + 10 * budget) break;  // so slow that 20 samples would take the time of others
  }
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), static_cast<int>(samples.size()),
          times};
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

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

Spread sample_waiting_once(const std::function<void()>& call, const std::function<void()>& wait, double budget) {
  for (int i = 0; i < 3; ++i) call();
  wait();
  const double start = now();
  call();
  wait();
  const double one = std::max(now() - start, 1e-7);
  const int least = one > budget / 20 ? 1 : 20;  // a simulated device needs seconds for a call
  return spread_of(call, wait, std::clamp(static_cast<int>(5e-3 / one), least, 20000), budget);
}

Spread sample_waiting_always(const std::function<void()>& call, const std::function<void()>& wait, double budget) {
  return spread_of(call, wait, 1, budget);
}

}  // namespace bench
