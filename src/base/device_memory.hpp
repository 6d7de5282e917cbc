// The memory of a device, as arrays need it: allocation and copies in and out. The runtime implements it.
//
// Here null means the memory of the host, which arrays of the host have: such arrays exist before there is a runtime
// (in static objects, for example), nearly all arrays are of this kind, and a null pointer costs them nothing. The
// runtime treats the host as a device like others, and these are its arrays.
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
  /// Whether it is the memory of the process, in which arrays can be read and written directly.
  bool is_host() const { return is_host_; }
  /// Whether the array is in this memory.
  bool has(const Array& array) const { return array.device_memory() == (is_host_ ? nullptr : this); }
  /// "cuda0".
  virtual std::string name() const = 0;
  /// The number of the device (base/device_name.hpp), which is not 0.
  virtual std::uint16_t place() const = 0;
  /// Memory that is released with its last owner. OutOfMemory.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* from, std::size_t bytes) = 0;

 protected:
  explicit DeviceMemory(bool is_host) : is_host_(is_host) {}

 private:
  const bool is_host_;
};

/// The memory of the device with that number (base/device_name.hpp), null for the host. DeviceError, which lists the
/// available devices, if there is no such device.
DeviceMemory* device_memory(std::uint16_t place);
/// Sets the function that finds devices; the runtime calls it.
void set_device_lookup(DeviceMemory* (*lookup)(std::uint16_t place));

/// The device that holds new values which are created for a device of that name: its number, 0 for the host. "auto" is
/// the host: values are sent to a GPU when work runs there.
std::uint16_t home_place(const std::string& device);

/// The array in the memory of a device (null: the host): the array itself if it is already there.
Array moved_to(DeviceMemory* memory, const Array& array);
inline Array moved_to(DeviceMemory& memory, const Array& array) { return moved_to(&memory, array); }

}  // namespace croton::base
