#include "runtime/lanes/lane_choice.hpp"

#include <algorithm>

namespace croton::runtime {
namespace {

// Microseconds. Until a lane notices what it waits for, where each has a core and where it may sleep; what a call pays
// for lanes at all, and for the thread of each. Measured on two cores: 13 us a call with threads that still spin, 75
// with some asleep.
constexpr double notice_time = 2, sleeper_notice_time = 40, start_time = 10, wake_time = 25;

}  // namespace

double LaunchTime::with_threads(int threads) const {
  return alone + shared / std::clamp(shared / LaunchTime::grain, 1.0, static_cast<double>(std::max(1, threads)));
}

bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads) {
  if (cores < 2) return false;
  const auto sharing = static_cast<int>(std::ranges::count(computes, true));
  const int share = std::max(1, threads / std::max(1, sharing));
  double in_order = 0;
  const double notice = static_cast<int>(computes.size()) <= cores ? notice_time : sleeper_notice_time;
  std::vector<double> lane_end(computes.size(), 0), end(pieces.size(), 0);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    in_order += times[p].with_threads(threads);
    double& lane = lane_end[static_cast<std::size_t>(pieces[p].lane)];
    for (const int other : pieces[p].waits) lane = std::max(lane, end[static_cast<std::size_t>(other)] + notice);
    end[p] = lane += times[p].with_threads(share);
  }
  const double together = *std::ranges::max_element(lane_end);
  return in_order - together > start_time + wake_time * static_cast<double>(computes.size() - 1);
}

}  // namespace croton::runtime
