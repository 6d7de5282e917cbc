// The memory of a device that is not the host: what arrays need of it to be copied in and out. The runtime implements
// it.
#pragma once

#include <croton/array.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace croton::base {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// "cuda0".
  virtual std::string name() const = 0;
  /// Its number (base/device_name.hpp), which is not 0.
  virtual std::uint16_t place() const = 0;
  /// Given back with the last owner. OutOfMemory.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* from, std::size_t bytes) = 0;
};

/// The memory of the device with that number (base/device_name.hpp), null for the host. DeviceError, which lists what
/// there is, for others.
DeviceMemory* device_memory(std::uint16_t place);
/// The runtime says here how devices are found.
void set_device_lookup(DeviceMemory* (*lookup)(std::uint16_t place));

/// Where new values of a device of that name lie: its number, 0 for the host. "auto" is the host: they are sent to a
/// GPU when work runs there.
std::uint16_t home_on(const std::string& device);

/// The array in the memory of a device (null: the host): itself if it is there.
Array moved_to(DeviceMemory* memory, const Array& array);

}  // namespace croton::base
