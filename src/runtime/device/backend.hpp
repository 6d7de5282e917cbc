// Backend: one kind of device. The folder of a kind (runtime/cpu/, runtime/cuda/, runtime/simulator/) has one, which
// the list of runtime/devices.cpp names.
#pragma once

#include "base/config.hpp"
#include "base/device_name.hpp"
#include "codegen/standalone.hpp"
#include "runtime/device/device.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace croton::runtime {

/// A text for the flag dump_kernels, and the kernels of a program that launches it (none: no program is written).
struct DumpedText {
  codegen::Text text;
  std::vector<codegen::StandalonePart> parts = {};
};
/// Makes the texts in a language.
using DumpedTexts = std::function<std::vector<DumpedText>(codegen::Target language)>;

/// Its functions may be called from any thread, and follow the current flags.
struct Backend {
  /// The kind in the names of its devices. Two back-ends may share a kind if only one of them has devices at a time.
  base::DeviceName::Kind kind;
  /// The number of its devices, which are numbered from 0. Looks for a driver if the kind needs one.
  int (*count)();
  /// The device with a number less than count(), made at first use and kept to the end of the process, as arrays may
  /// live on it. DeviceError if it cannot be used.
  Device& (*find)(int number);
  /// A remark for lists of devices, such as " (simulated)"; may be empty. Does not make the device.
  std::string (*remark)(int number);
  /// How to get the device of that number, for the message that there is none; may be empty.
  std::string (*advice)(int number);
  /// Whether device=auto means its first device.
  bool automatic = false;
  /// Whether its devices are the GPUs of mode=simulate: then `find` makes them even if count() is 0.
  bool simulates = false;
  /// Copies flags to settings of the back-end, when they change; null if it has none.
  void (*configure)(const base::Flags& flags) = nullptr;
  /// Writes texts to the folder of the flag dump_kernels, also those of kernels that other devices run; null if it
  /// writes none. A failure is a warning.
  void (*dump)(const DumpedTexts& texts, const std::string& architecture) noexcept = nullptr;
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
