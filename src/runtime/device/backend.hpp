// Backend: a kind of device, as the folder of it (runtime/cpu/, runtime/cuda/, runtime/simulator/) adds it to the list
// of runtime/devices.cpp.
#pragma once

#include "base/device_name.hpp"
#include "runtime/device/device.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace croton::runtime {

/// Its functions may be called from any thread, and answer for the present flags.
struct Backend {
  /// Of the names of its devices. Another back-end may have the same names if only one of them has devices at a time.
  base::DeviceName::Kind kind;
  /// How many there are, numbered from 0. Where a driver has to be looked for, this looks for it.
  int (*count)();
  /// One of them, made when it is first asked for, and then there to the end of the process, as arrays may live on it;
  /// null where there are not so many. DeviceError where it cannot be used.
  Device* (*find)(int number);
  /// A word on one for lists of devices, " (simulated)"; may be empty. The device is not made for that.
  std::string (*remark)(int number);
  /// How one would get the device of that number, which is not there, in a message; may be empty.
  std::string (*advice)(int number);
  /// Whether its first device is what device=auto means.
  bool automatic = false;
};

/// The devices that a back-end has made, by whatever tells them apart.
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
