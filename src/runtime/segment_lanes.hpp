// The lanes of a bound segment: which launch runs in which, what it waits for, and whether threads are worth it.
#pragma once

#include "runtime/executable.hpp"
#include "runtime/lanes.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

namespace croton::runtime {

/// What a device computes is one lane, and what is copied to it from others is one, so that it computes meanwhile.
struct LaneName {
  expr::Place place = 0;
  bool copies = false;
  friend auto operator<=>(const LaneName&, const LaneName&) = default;
};

/// How long a launch is reckoned to take, in microseconds: a part that one thread does, and one that several may share.
struct LaunchTime {
  double alone = 0, shared = 0;
  double with_threads(int threads) const;
};

struct SegmentLanes {
  Lanes lanes;
  std::size_t commit;  // the piece that is the commit point, which all others before it have succeeded at; the number
                       // of launches where there is none. Pieces behind it are the launches with the number before.
  bool pays;  // lanes are faster, as far as it can be told
  // Of the present run:
  std::vector<RunCounts> counts = {};                       // per launch
  std::vector<std::array<std::uint32_t, 4>> failures = {};  // per lane, as ct::Failure
  std::size_t launch_of(std::size_t piece) const { return piece > commit ? piece - 1 : piece; }
};

/// Whether lanes are reckoned to beat one thread: `times` is per piece. `cores` work at the same time, `threads` share
/// what a launch does.
bool lanes_pay(const std::vector<LanePiece>& pieces, const std::vector<bool>& computes,
               const std::vector<LaunchTime>& times, int cores, int threads);

}  // namespace croton::runtime
