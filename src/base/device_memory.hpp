// The memory of a device: what arrays need of it to be copied in and out. The runtime implements it.
//
// Here null is the host's, which an array of the host has: there are such arrays before there is a runtime (in static
// objects, say), nearly all are of this kind, and a pointer that is null costs them nothing. The runtime knows the host
// as a device like others, whose arrays are these.
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
  /// Whether it is the process's own, in which arrays may be read and written where they lie.
  bool is_host() const { return is_host_; }
  /// Whether the array lies here.
  bool has(const Array& array) const { return array.device_memory() == (is_host_ ? nullptr : this); }
  /// "cuda0".
  virtual std::string name() const = 0;
  /// Its number (base/device_name.hpp), which is not 0.
  virtual std::uint16_t place() const = 0;
  /// Given back with the last owner. OutOfMemory.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* from, std::size_t bytes) = 0;

 protected:
  explicit DeviceMemory(bool is_host) : is_host_(is_host) {}

 private:
  const bool is_host_;
};

/// The memory of the device with that number (base/device_name.hpp), null for the host. DeviceError, which lists what
/// there is, where there is no such device.
DeviceMemory* device_memory(std::uint16_t place);
/// The runtime says here how devices are found.
void set_device_lookup(DeviceMemory* (*lookup)(std::uint16_t place));

/// Where new values of a device of that name lie: its number, 0 for the host. "auto" is the host: they are sent to a
/// GPU when work runs there.
std::uint16_t home_on(const std::string& device);

/// The array in the memory of a device (null: the host): itself if it is there.
Array moved_to(DeviceMemory* memory, const Array& array);
inline Array moved_to(DeviceMemory& memory, const Array& array) { return moved_to(&memory, array); }

}  // namespace croton::base
