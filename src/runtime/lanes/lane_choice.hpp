// Lanes by name, and whether several lanes are worth their threads.
#pragma once

#include <compare>
#include <vector>

#include "expr/arena.hpp"
#include "runtime/lanes/lanes.hpp"

namespace croton::runtime {

/// The work of a device is one lane, and the copies to it from other devices are one, so that it can compute meanwhile.
struct LaneName {
  expr::Place place = base::host_place;
  bool copies = false;
  friend auto operator<=>(const LaneName&, const LaneName&) = default;
};

/// An estimate of a launch's time, in microseconds: a part for one thread, and a part that several may share.
struct LaunchTime {
  static constexpr double grain = 30;  // of a schedule: from so much time on a second thread is woken
  double alone = 0, shared = 0;
  double with_threads(int threads) const;
};

/// Whether lanes are estimated to be faster than one thread. `times`: per piece. `cores` may work at the same time, and
/// `threads` share the work of a launch.
bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads);

}  // namespace croton::runtime
