#include "runtime/lanes/lane_choice.hpp"

#include <algorithm>
#include <iterator>

namespace croton::runtime {
namespace {

// Microseconds. The first two are the delay before a lane notices the end of a piece, where each lane has a core and
// where it may sleep; the others are the cost of lanes for a call, and of the thread of each. Measured on two cores:
// 13 us a call with threads that still spin, 75 with some asleep.
constexpr double notice_time = 2, sleeper_notice_time = 40, start_time = 10, wake_time = 25;

}  // namespace

double LaunchTime::with_threads(int threads) const {
  return alone + shared / std::clamp<double>(shared / LaunchTime::grain, 1, std::max(1, threads));
}

bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads) {
  if (cores < 2) return false;
  int sharing = 0;
  for (const bool one : computes) sharing += one ? 1 : 0;
  const int threads_of_lane = std::max(1, threads / std::max(1, sharing));
  double in_order = 0;
  const double notice = std::ssize(computes) <= cores ? notice_time : sleeper_notice_time;
  std::vector<double> lane_end(computes.size(), 0), end(pieces.size(), 0);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    in_order += times[p].with_threads(threads);
    double& lane = lane_end[pieces[p].lane];
    for (const std::size_t other : pieces[p].waits) lane = std::max(lane, end[other] + notice);
    end[p] = lane += times[p].with_threads(threads_of_lane);
  }
  const double together = *std::ranges::max_element(lane_end);
  return in_order - together > start_time + wake_time * static_cast<double>(computes.size() - 1);
}

}  // namespace croton::runtime
