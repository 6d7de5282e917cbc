// Devices: their list, the placement of work and values, transfers, and the placement log.
//
// Names: cpu, cuda0, cuda1, ...; cuda and gpu are the first GPU; gpu0, gpu,0, gpu:0, /gpu:0 and /cpu:0 are understood.
// Pins (SharedOptions::target) place storage; an op runs in the device scope in which it was built, else on the device
// of change_flags {"device=..."} in the calling thread, else on that of its pinned inputs (the one with the most
// bytes), else on the process's device.
#pragma once

#include <croton/variable.hpp>

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace croton {

namespace builder {
class PlaceScope;
}

/// One device of this machine, as `croton devices` prints it.
struct DeviceInfo {
  enum class Kind { host, real, simulated, logical };
  std::string name;  ///< "cuda0": its name in programs
  Kind kind = Kind::host;
  std::string title;               ///< "NVIDIA H200"
  std::size_t memory = 0;          ///< in bytes
  std::string compute_capability;  ///< "9.0"; empty for the host
  std::string pci;                 ///< "0000:17:00.0"; empty if there is none
  /// "cuda0: simulated GPU, 16.0 GiB, compute capability 9.0"
  std::string to_string() const;
};

/// All devices under the current flags, the host first.
std::vector<DeviceInfo> devices();

/// Makes a device the default of the process, for shared variables and calls from now on; nothing moves. Writes "Mapped
/// name None to device cuda0: NAME (PCI)" to the standard error stream unless the flag print_active_device is false.
/// DeviceError for a missing device, ValueError for an invalid name; both list the available devices.
void use(const std::string& device);

/// During its lifetime, expressions built in this thread are placed on that device; in nested scopes the innermost one
/// applies. Gradients of an op are on its device. Whether the device exists is checked when a function is compiled.
class device_scope {
 public:
  explicit device_scope(const std::string& device);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  std::unique_ptr<builder::PlaceScope> scope_;
};

/// x copied to that device, like Theano's `x.transfer(device)`.
Variable transfer(const Variable& x, const std::string& device, Where where = std::source_location::current());

/// Starts the placement log on the stream: when a function is first placed, the devices and a line for each op with its
/// device and the reason, in the order of execution; and for every call its transfers, with their bytes. nullptr ends
/// it. The flag log_device_placement writes the same to the standard error stream.
void log_device_placement(std::ostream* stream);
inline void log_device_placement(std::ostream& stream) { log_device_placement(&stream); }

/// A copy from one device to another in a call.
struct TransferInfo {
  enum class Kind { input, shared, value, output, constant };
  std::string what;  ///< the variable's name, or its line
  std::string from, to;
  std::size_t bytes = 0;
  Kind kind = Kind::value;
};

}  // namespace croton
