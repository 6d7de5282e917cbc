// SegmentLanes: the launches of a bound segment in concurrent lanes, and whether lanes are faster.
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
  /// The piece that is the commit point: it runs after all pieces before it have succeeded. The number of launches if
  /// there is none. A piece after it is the launch whose number is less by one.
  std::size_t commit;
  bool pays;  // lanes are faster, by estimate
  // State of the present run:
  std::vector<RunCounts> counts = {};                       // per launch
  std::vector<std::array<std::uint32_t, 4>> failures = {};  // per lane, as in ct::Failure
  std::size_t launch_of(std::size_t piece) const { return piece > commit ? piece - 1 : piece; }
};

}  // namespace croton::runtime
