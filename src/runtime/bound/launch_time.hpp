// Constants for estimating the times of launches (lanes/lane_choice.hpp): times in microseconds, and
// work per microsecond.
#pragma once

#include "runtime/device/device.hpp"
#include "runtime/lanes/lane_choice.hpp"

namespace croton::runtime {

namespace launch_time {
// The host needs about this time to enqueue a launch on a GPU; a copy to the host also waits for the GPU.
inline constexpr double enqueue = 5, host_copy = 20;
inline constexpr double simulated_item = 1, step_of_loop = 2, callback = 10;
// Per microsecond and thread.
inline constexpr double copied_bytes = 8000, walked_bytes = 8000, computed_bytes = 1000, multiplications = 10000;
}  // namespace launch_time

/// The estimate for a launch of which only the number of bytes is known.
inline LaunchTime time_of_bytes(const Device& device, double bytes) {
  if (device.facts().has_processor) return {launch_time::enqueue};
  return {0, bytes / launch_time::computed_bytes};
}

}  // namespace croton::runtime
