// The devices of an example: their names come from the command line, and missing ones are made. Missing GPUs become
// simulated GPUs, parts of the host (cpu0, cpu1) logical devices.
#pragma once

#include <croton/config.hpp>
#include <croton/device.hpp>
#include <croton/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace device_names {

inline const croton::DeviceInfo* find(const std::vector<croton::DeviceInfo>& devices, const std::string& name) {
  const auto found = std::ranges::find(devices, name == "cpu0" ? "cpu" : name, &croton::DeviceInfo::name);
  return found == devices.end() ? nullptr : &*found;
}

/// Makes sure that these devices exist ("cpu0", "cuda1"). Simulated GPUs replace real ones, so if one is missing, all
/// are simulated. ValueError for names of another form.
inline void provide(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool host = name.starts_with("cpu");
    if (!host && !name.starts_with("cuda")) throw croton::ValueError("devices are cpu0, cuda1 and so on, not " + name);
    if (name == "cpu" || find(croton::devices(), name) != nullptr) continue;
    const int count = 1 + command_line::number("the device " + name, name.substr(host ? 3 : 4), 0, 15);
    if (host) {
      croton::set_flag("logical_devices", "cpu:" + std::to_string(count));
    } else {
      croton::set_flag("cuda_simulator", std::to_string(count));
    }
  }
}

/// A remark about times measured on the device: empty for the host and for a real GPU.
inline std::string remark(const std::string& name) {
  const std::vector<croton::DeviceInfo> devices = croton::devices();
  const croton::DeviceInfo* const device = find(devices, name);
  if (device == nullptr || device->kind == croton::DeviceInfo::Kind::host) return "";
  if (device->kind == croton::DeviceInfo::Kind::simulated) return " (simulated, not a timing)";
  return device->kind == croton::DeviceInfo::Kind::logical ? " (a part of a device)" : "";
}

}  // namespace device_names
