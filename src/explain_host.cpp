#include "explain_host.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/device_name.hpp"
#include "runtime/bound/trace.hpp"

namespace croton::detail {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double measure_copy(std::size_t bytes) {
  constexpr double budget = 0.004;
  std::vector<char> from(bytes, 'a'), to(bytes, 'b');
  double fastest = 1;
  const Clock::time_point begin = Clock::now();
  for (std::size_t round = 0; round < 3 || seconds_since(begin) < budget; ++round) {
    // Small copies are repeated, so that reading the clock does not count; each copy depends on the one before.
    const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < repeats; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      to.swap(from);
    }
    fastest = std::min(fastest, seconds_since(start) / static_cast<double>(repeats));
  }
  return 2 * static_cast<double>(bytes) / std::max(fastest, 1e-9);
}

}  // namespace

double host_copy_rate(double bytes) {
  static std::mutex mutex;
  static std::map<std::size_t, double> rates;
  constexpr std::size_t smallest = 4096, largest = std::size_t{32} << 20;  // of one of the two arrays
  const double half = std::clamp(bytes / 2, static_cast<double>(smallest), static_cast<double>(largest));
  const std::size_t size = std::bit_ceil(static_cast<std::size_t>(half));
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = rates.try_emplace(size);
  if (is_new) at->second = measure_copy(size);
  return at->second;
}

std::map<plan::LaunchId, double> measured_launches(const Trace& trace, const runtime::Executable& executable) {
  std::map<plan::LaunchId, std::vector<double>> times;
  for (const runtime::RecordedEvent& event : recorded_events(trace)) {
    if (event.work.executable.get() == &executable && event.work.launch != plan::no_launch &&
        base::is_host(event.work.lane.place))
      times[event.work.launch].push_back(std::chrono::duration<double>(event.end - event.start).count());
  }
  std::map<plan::LaunchId, double> medians;
  for (auto& [launch, all] : times) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle);
    medians[launch] = *middle;
  }
  return medians;
}

std::map<plan::LaunchId, double> measure_launches(const Function& function, const runtime::Executable& executable,
                                                  const std::vector<DType>& dtypes, const std::vector<Sizes>& shapes) {
  constexpr int most = 50;
  constexpr double budget = 0.3;
  std::vector<Argument> arguments;
  // Integers may be positions: zero is valid in every array that has elements.
  for (std::size_t i = 0; i < shapes.size(); ++i)
    arguments.emplace_back(Array::full(dtypes[i], shapes[i], is_float(dtypes[i]) ? 1.0 : 0.0));
  Trace trace;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < most && (i < 3 || seconds_since(start) < budget); ++i) function.call(arguments);
  trace.stop();
  return measured_launches(trace, executable);
}

}  // namespace croton::detail
