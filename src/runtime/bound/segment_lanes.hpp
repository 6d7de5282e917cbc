// The lanes of a bound segment: which launch runs in which, what it waits for, and whether threads are worth it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/bound/executable.hpp"
#include "runtime/lanes/lane_choice.hpp"
#include "runtime/lanes/lanes.hpp"

namespace croton::runtime {

struct SegmentLanes {
  Lanes lanes;
  std::size_t commit;  // the piece that is the commit point, which all others before it have succeeded at; the number
                       // of launches where there is none. Pieces after it are the launches with the number before.
  bool pays;           // lanes are faster, as far as it can be told
  // Of the present run:
  std::vector<RunCounts> counts = {};                       // per launch
  std::vector<std::array<std::uint32_t, 4>> failures = {};  // per lane, as ct::Failure
  std::size_t launch_of(std::size_t piece) const { return piece > commit ? piece - 1 : piece; }
};

}  // namespace croton::runtime
