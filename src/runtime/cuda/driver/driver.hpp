// The CUDA driver (libcuda): a table of its entry points, filled at the first use, and its errors as exceptions. It
// belongs to the system, so the system's loader finds it; the flag `cuda_driver` names another one, and cuda_root=none
// hides it. context.hpp, stream.hpp, memory.hpp, transfer.hpp, ../module.hpp and ../launch.hpp explain the calls.
#pragma once

#include <croton/where.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/cuda/driver/driver_types.hpp"
#include "runtime/support/library.hpp"

namespace croton::runtime::cuda {

/// An entry point and its name in messages.
template <class... Arguments>
struct Entry {
  const char* name = nullptr;
  Result (*function)(Arguments...) = nullptr;
};

/// The flag `cuda_driver`: "" asks the system for libcuda.so.1, anything else is the path of the library. Existing
/// objects keep the library that they were made with.
void set_driver_library(std::string path);
std::string driver_library();

class Driver {
 public:
  /// The minimum version of CUDA that the driver must support: for stream-ordered memory, and for cubins of NVRTC 12.
  static constexpr int min_version = 12000;

  /// The driver, initialised; it may have no device. References stay valid for the life of the process. Throws
  /// DeviceError if it is missing, hidden, too old or does not start; the next call tries again.
  static const Driver& instance();

  /// Whether instance() would succeed; if not, `why` (may be null) receives the reason.
  static bool available(std::string* why = nullptr);

  /// Whether there is a library at all, even one that does not work: tells "not installed" from "to be repaired".
  static bool found();

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// The version of CUDA that it supports, such as (13, 0).
  std::pair<int, int> version() const;
  /// The file of the library.
  std::filesystem::path path() const;
  /// The number of devices that this process may use, with regard to CUDA_VISIBLE_DEVICES.
  int device_count() const;

  /// "CUDA_ERROR_NOT_FOUND (named symbol not found)", and advice if there is any.
  std::string explain(Result result) const;

  /// Throws OutOfMemory or DeviceError unless `result` is success. The message names the call, the user's line if it is
  /// known, and `subject`, such as "on cuda0 (NVIDIA H200)".
  void check(Result result, const char* call, Where where = {}, std::string_view subject = {}) const;

  /// Calls an entry point and checks its result.
  template <class... Types>
  void call(const Entry<Types...>& entry, std::type_identity_t<Types>... arguments) const {
    check(entry.function(arguments...), entry.name);
  }

#define CROTON_CUDA_ENTRY(name, symbol, ...) Entry<__VA_ARGS__> name;
#include "runtime/cuda/driver/driver_entries.def"
#undef CROTON_CUDA_ENTRY

 private:
  explicit Driver(std::shared_ptr<SharedLibrary> library);

  std::shared_ptr<SharedLibrary> library_;
  int version_ = 0;
  bool has_devices_ = false;
};

/// Errors after which the driver refuses all further work with the device in this process.
bool loses_device(Result result);

/// "cuEventRecord (train.cpp:12)"; the name alone if the line is unknown.
std::string call_and_line(std::string_view call, Where where);

}  // namespace croton::runtime::cuda
