// The flag logical_devices: which devices are split into several, and what the parts are called.
#pragma once

#include <map>
#include <string>

namespace croton::runtime {

struct DeviceSplit {
  int cpus = 1;                  // cpu0, which is the host, to cpu<cpus - 1>
  std::map<int, int> gpu_parts;  // by the number of the GPU before it is split; one part where it is not there

  int parts_of(int gpu) const;
};

/// A part of a GPU.
struct GpuPart {
  int gpu = 0, part = 0, parts = 1;
};

/// "cpu:4+cuda0:2". ValueError, with what is accepted, for anything else.
DeviceSplit parse_split(const std::string& text);
/// That of the present flags.
DeviceSplit present_split();
/// What cuda<number> is where there are `gpus` GPUs: the parts are counted through. gpus where there are not so many.
GpuPart part_of(const DeviceSplit& split, int gpus, int number);
/// How many numbers there are then.
int count_parts(const DeviceSplit& split, int gpus);

}  // namespace croton::runtime
