// Backend: one kind of device. The folder of a kind (runtime/cpu/, runtime/cuda/, runtime/simulator/) has one, which
// the list of runtime/devices.cpp names.
#pragma once

#include "base/device_name.hpp"
#include "runtime/device/device.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace croton::runtime {

/// Its functions may be called from any thread, and follow the current flags.
struct Backend {
  /// The kind in the names of its devices. Two back-ends may share a kind if only one of them has devices at a time.
  base::DeviceName::Kind kind;
  /// The number of its devices, which are numbered from 0. Looks for a driver if the kind needs one.
  int (*count)();
  /// A device, made at first use and kept to the end of the process, as arrays may live on it. Null if there are not so
  /// many; DeviceError if it cannot be used.
  Device* (*find)(int number);
  /// A remark for lists of devices, such as " (simulated)"; may be empty. Does not make the device.
  std::string (*remark)(int number);
  /// How to get the device of that number, for the message that there is none; may be empty.
  std::string (*advice)(int number);
  /// Whether device=auto means its first device.
  bool automatic = false;
};

/// The devices that a back-end has made, each under a key that tells it from the others.
template <class Key>
class MadeDevices {
 public:
  Device& get(const Key& key, const std::function<std::unique_ptr<Device>()>& make) {
    const std::lock_guard lock(mutex_);
    auto& device = devices_[key];
    if (!device) device = make();
    return *device;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Device>> devices_;
};

}  // namespace croton::runtime
