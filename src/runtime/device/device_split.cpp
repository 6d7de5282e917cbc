#include "runtime/device/device_split.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/config.hpp"
#include "base/device_name.hpp"

namespace croton::runtime {
namespace {

constexpr int max_parts = 16;

}  // namespace

int DeviceSplit::parts_of(int gpu) const {
  const auto found = gpu_parts.find(gpu);
  return found == gpu_parts.end() ? 1 : found->second;
}

DeviceSplit parse_split(const std::string& text) {
  DeviceSplit split;
  const auto refuse = [&](const std::string& why) {
    return ValueError(
        fmt::format("logical_devices={}: {}; write cpu:4 for cpu0 to cpu3, cuda0:2 for cuda0 in two parts, up to {} "
                    "each, or several such joined by '+'",
                    text, why, max_parts));
  };
  std::istringstream list(text);
  bool cpu_is_split = false;
  for (std::string item; std::getline(list, item, '+');) {
    const std::size_t colon = item.rfind(':');
    if (colon == std::string::npos || colon == 0) throw refuse(fmt::format("'{}' has no number of parts", item));
    int parts = 0;
    const auto [end, error] = std::from_chars(item.data() + colon + 1, item.data() + item.size(), parts);
    if (error != std::errc() || end != item.data() + item.size() || parts < 1 || parts > max_parts)
      throw refuse(fmt::format("'{}' is not a number of parts", item.substr(colon + 1)));
    base::DeviceName name;
    try {
      name = base::parse_device(item.substr(0, colon));
    } catch (const ValueError&) {
      throw refuse(fmt::format("'{}' is not the name of a device", item.substr(0, colon)));
    }
    if (name.kind == base::DeviceName::Kind::cpu) {
      if (name.index != 0) throw refuse("there is one CPU to split, cpu");
      if (cpu_is_split) throw refuse("cpu is split twice");
      cpu_is_split = true;
      split.cpus = parts;
    } else if (!split.gpu_parts.emplace(name.index, parts).second) {
      throw refuse(fmt::format("{} is split twice", name.to_string()));
    }
  }
  if (text.ends_with('+')) throw refuse("nothing follows the last '+'");
  return split;
}

DeviceSplit current_split() { return parse_split(base::config().logical_devices); }

GpuPart part_of(const DeviceSplit& split, int gpus, int number) {
  int gpu = 0;
  for (; gpu < gpus && number >= split.parts_of(gpu); ++gpu) number -= split.parts_of(gpu);
  return {gpu, number, split.parts_of(gpu)};
}

int count_parts(const DeviceSplit& split, int gpus) {
  int count = 0;
  for (int gpu = 0; gpu < gpus; ++gpu) count += split.parts_of(gpu);
  return count;
}

}  // namespace croton::runtime
