// Devices: what there is, where work and values go, and a log of where they went.
//
// Names: cpu, cuda0, cuda1, ...; cuda and gpu are the first GPU; gpu0, gpu,0, gpu:0, /gpu:0 and /cpu:0 are understood.
// Pins (SharedOptions::target) place storage; an op runs in the device scope it was built in, else where change_flags
// {"device=..."} of the calling thread says, else where its pinned inputs lie (most bytes), else on the process's
// device.
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
  std::string name;  ///< "cuda0": what programs call it
  Kind kind = Kind::host;
  std::string title;               ///< "NVIDIA H200"
  std::size_t memory = 0;          ///< in bytes
  std::string compute_capability;  ///< "9.0"; empty for the host
  std::string pci;                 ///< "0000:17:00.0"; empty where there is none
  /// "cuda0: simulated GPU, 16.0 GiB, compute capability 9.0"
  std::string to_string() const;
};

/// All devices under the present flags, the host first.
std::vector<DeviceInfo> devices();

/// Makes a device the default of the process, for shared variables and calls from now on; nothing moves. Writes
/// "Mapped name None to device cuda0: NAME (PCI)" to the standard error stream unless the flag print_active_device is
/// false. DeviceError for another one, ValueError for what is no name; both with the devices that there are.
void use(const std::string& device);

/// While it lives, what this thread builds is asked for on that device; of nested scopes the innermost counts.
/// Gradients of an op follow it. Whether there is such a device is asked when a function is compiled.
class device_scope {
 public:
  explicit device_scope(const std::string& device);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  std::unique_ptr<builder::PlaceScope> scope_;
};

/// The same value on that device, as Theano's `x.transfer(device)`.
Variable transfer(const Variable& x, const std::string& device, Where where = std::source_location::current());

/// From now on functions write where they run to the stream: when one is first placed, the devices and a line for each
/// op with its device and the reason, in the order in which they run; and for every call its transfers, with their
/// bytes. nullptr ends it. The flag log_device_placement does the same to the standard error stream.
void log_device_placement(std::ostream* stream);
inline void log_device_placement(std::ostream& stream) { log_device_placement(&stream); }

/// A copy from one device to another that a call made.
struct TransferInfo {
  enum class Kind { input, shared, value, output, constant };
  std::string what;  ///< the variable's name, or its line
  std::string from, to;
  std::size_t bytes = 0;
  Kind kind = Kind::value;
};

}  // namespace croton
