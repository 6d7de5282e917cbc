// Which lane work runs in, and whether several lanes are worth their threads.
#pragma once

#include <compare>
#include <vector>

#include "expr/arena.hpp"
#include "runtime/lanes/lanes.hpp"

namespace croton::runtime {

/// What a device computes is one lane, and what is copied to it from others is one, so that it computes meanwhile.
struct LaneName {
  expr::Place place = 0;
  bool copies = false;
  friend auto operator<=>(const LaneName&, const LaneName&) = default;
};

/// An estimate of a launch's time, in microseconds: a part that one thread does, and one that several may share.
struct LaunchTime {
  static constexpr double grain = 30;  // for which a second thread is woken: the grain of a schedule
  double alone = 0, shared = 0;
  double with_threads(int threads) const;
};

/// Whether lanes are estimated to be faster than one thread: `times` is per piece. `cores` work at the same time,
/// `threads` share what a launch does.
bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads);

}  // namespace croton::runtime
