// What times of launches are estimated from (lanes/lane_choice.hpp): microseconds, and work in a microsecond.
#pragma once

#include "runtime/device/device.hpp"
#include "runtime/lanes/lane_choice.hpp"

namespace croton::runtime {

namespace launch_time {
// A launch on a GPU returns after about as long as it takes to be asked for; a copy to the host waits besides.
inline constexpr double ask = 5, host_copy = 20;
inline constexpr double simulated_item = 1, step_of_loop = 2, callback = 10;
// In a microsecond, of one thread.
inline constexpr double copied_bytes = 8000, walked_bytes = 8000, computed_bytes = 1000, multiplications = 10000;
}  // namespace launch_time

/// Of what nothing is known but how much it reads and writes.
inline LaunchTime time_of_bytes(const Device& device, double bytes) {
  if (device.facts().has_processor) return {launch_time::ask};
  return {0, bytes / launch_time::computed_bytes};
}

}  // namespace croton::runtime
