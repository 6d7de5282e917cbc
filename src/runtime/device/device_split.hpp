// The flag logical_devices: which devices are split into several, and the names of their parts.
#pragma once

#include <map>
#include <string>

namespace croton::runtime {

struct DeviceSplit {
  int cpus = 1;                  // cpu0, which is the host, to cpu<cpus - 1>
  std::map<int, int> gpu_parts;  // by the number of the GPU before the split; a GPU that is absent here has one part

  int parts_of(int gpu) const;
};

/// A part of a GPU.
struct GpuPart {
  int gpu = 0, part = 0, parts = 1;
};

/// "cpu:4+cuda0:2". ValueError, with what is accepted, for anything else.
DeviceSplit parse_split(const std::string& text);
/// The split of the current flags.
DeviceSplit current_split();
/// The part that cuda<number> names on a machine with `gpus` GPUs, whose parts are numbered consecutively. Its `gpu` is
/// `gpus` if there are not so many parts.
GpuPart part_of(const DeviceSplit& split, int gpus, int number);
/// The number of parts of all GPUs together.
int count_parts(const DeviceSplit& split, int gpus);

}  // namespace croton::runtime
