#include "runtime/cuda/driver/driver.hpp"

#include <croton/error.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/source_place.hpp"
#include "runtime/cuda/toolkit/toolkit.hpp"

namespace croton::runtime::cuda {
namespace fs = std::filesystem;
namespace {

constexpr const char* title = "the CUDA driver (libcuda)";
constexpr const char* package =
    "NVIDIA's driver, version 525 or newer (Debian: nvidia-driver; Ubuntu: ubuntu-drivers install; or "
    "nvidia.com/drivers). In a container it comes from the host: docker run --gpus all";

std::mutex settings_mutex;
std::string library_setting;

SharedLibrary::Search search_for(const std::string& path) {
  SharedLibrary::Search search{.title = title, .names = {"libcuda.so.1"}, .folders = {}, .package = package};
  if (!path.empty()) {
    const fs::path file(path);
    search.names = {file.filename().string()};
    search.folders = {file.parent_path()};
    search.system = false;
  }
  return search;
}

struct Loaded {
  std::shared_ptr<SharedLibrary> library;
  std::unique_ptr<Driver> driver;
};

std::mutex loaded_mutex;

// One for each setting so far; never destroyed, because other threads may still use it while the process ends.
Loaded& loaded_for_setting() {
  static auto& by_path = *new std::map<std::string, Loaded>;
  const std::string path = driver_library();
  Loaded& loaded = by_path[path];
  if (!loaded.library) loaded.library = std::make_shared<SharedLibrary>(search_for(path));
  return loaded;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

const char* advice(Result code) {
  switch (code) {
    case result::not_initialized:
      return "a process made by fork() cannot use CUDA if its parent did; start a new one (exec, or Python's spawn)";
    case result::stub_library:
      return "the toolkit's stub of libcuda was loaded instead of the driver: remove its folder from LD_LIBRARY_PATH";
    case result::device_unavailable:
      return "another process uses the device exclusively, or it is in prohibited mode (nvidia-smi -q -d COMPUTE)";
    case result::no_device:
      return "no GPU, or none that this process may see: look at nvidia-smi and CUDA_VISIBLE_DEVICES";
    case result::system_not_ready:
      return "the machine's fabric manager does not run, or another service of the driver is not ready";
    case result::system_driver_mismatch:
      return "libcuda and the kernel's module have different versions: restart the machine after updating the driver";
    case result::unsupported_compatibility:
      return "forward compatibility (a newer libcuda over an older kernel module) does not work on this device";
    case result::unsupported_ptx_version:
      return "the driver is older than the compiler that made the PTX: update it, or use the NVRTC of its version";
    case result::no_binary_for_gpu:
    case result::invalid_image:
      return "the code was made for another GPU, or by a compiler newer than the driver";
    case result::no_ptx_compiler:
      return "libnvidia-ptxjitcompiler, a part of the driver, is missing";
    case result::launch_timeout:
      return "the kernel ran for longer than the system allows on a GPU that drives a display";
    case result::unknown:
      return "look at the kernel's log (dmesg); after a suspend or an update the driver's modules must be loaded again";
    default:
      return nullptr;
  }
}

}  // namespace

void set_driver_library(std::string path) {
  const std::lock_guard lock(settings_mutex);
  library_setting = std::move(path);
}

std::string driver_library() {
  const std::lock_guard lock(settings_mutex);
  return library_setting;
}

bool loses_device(Result code) {
  constexpr std::array fatal{result::ecc_uncorrectable,
                             result::nvlink_uncorrectable,
                             result::contained,
                             result::illegal_address,
                             result::launch_timeout,
                             result::context_is_destroyed,
                             result::assertion,
                             result::hardware_stack_error,
                             result::illegal_instruction,
                             result::misaligned_address,
                             result::invalid_address_space,
                             result::invalid_pc,
                             result::launch_failed,
                             result::tensor_memory_leak,
                             result::external_device,
                             result::mps_client_terminated};
  return std::ranges::find(fatal, code) != fatal.end();
}

std::string call_and_line(std::string_view call, Where where) {
  return where.known() ? fmt::format("{} ({})", call, base::file_and_line(where)) : std::string(call);
}

Driver::Driver(std::shared_ptr<SharedLibrary> library) : library_(std::move(library)) {
  // The version comes first: an older library lacks entry points, and its version explains more than their names.
  auto* version = library_->function<Result(int*)>("cuDriverGetVersion");
  if (const Result code = version(&version_); code != result::success) {
    throw DeviceError(fmt::format("cuDriverGetVersion failed with error {}: {} at {} cannot be used", code, title,
                                  library_->path().string()));
  }
  if (version_ < min_version) {
    throw DeviceError(fmt::format("{} at {} is too old: it supports CUDA {}, and {} is needed. Install {}", title,
                                  library_->path().string(), version_text(version_), version_text(min_version),
                                  package));
  }
#define CROTON_CUDA_ENTRY(name, symbol, ...) name = {#name, library_->function<Result(__VA_ARGS__)>(#symbol)};
#include "runtime/cuda/driver/driver_entries.def"
#undef CROTON_CUDA_ENTRY
  const Result code = cuInit.function(0);
  has_devices_ = code != result::no_device;
  if (has_devices_) check(code, "cuInit");
}

const Driver& Driver::instance() {
  if (toolkit_hidden()) {
    throw DeviceError(
        fmt::format("{} is hidden by cuda_root=none; set cuda_root to a folder, or leave it empty", title));
  }
  const std::lock_guard lock(loaded_mutex);
  Loaded& loaded = loaded_for_setting();
  loaded.library->require();
  if (!loaded.driver) loaded.driver.reset(new Driver(loaded.library));
  return *loaded.driver;
}

bool Driver::available(std::string* why) try {
  instance();
  return true;
} catch (const Error& error) {
  if (why != nullptr) *why = error.what();
  return false;
}

bool Driver::found() {
  if (toolkit_hidden()) return false;
  const std::lock_guard lock(loaded_mutex);
  return loaded_for_setting().library->load();
}

std::pair<int, int> Driver::version() const { return {version_ / 1000, version_ % 1000 / 10}; }

fs::path Driver::path() const { return library_->path(); }

int Driver::device_count() const {
  if (!has_devices_) return 0;
  int count = 0;
  const Result code = cuDeviceGetCount.function(&count);
  if (code == result::no_device) return 0;
  check(code, cuDeviceGetCount.name);
  return count;
}

std::string Driver::explain(Result code) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  std::string text =
      cuGetErrorName.function(code, &name) == result::success && name != nullptr ? name : fmt::format("error {}", code);
  if (cuGetErrorString.function(code, &meaning) == result::success && meaning != nullptr) {
    text += fmt::format(" ({})", meaning);
  }
  if (const char* known = advice(code)) text += fmt::format("; {}", known);
  return text;
}

void Driver::check(Result code, const char* call, Where where, std::string_view subject) const {
  if (code == result::success) return;
  const std::string message =
      fmt::format("{} failed{}{}: {}", call_and_line(call, where), subject.empty() ? "" : " ", subject, explain(code));
  if (code == result::out_of_memory) throw OutOfMemory(message);
  throw DeviceError(message);
}

}  // namespace croton::runtime::cuda
