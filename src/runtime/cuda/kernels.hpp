// Compiled kernels of a device: found by name, taken from the cache on disk, or compiled.
#pragma once

#include "codegen/emit.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/device/device.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace croton::runtime::cuda {

/// The kernels of one text; `finish` only of split kernels.
struct LoadedKernel {
  Kernel main;
  std::optional<Kernel> finish;
  std::size_t dynamic_shared = 0;  // that launches of `main` may have so far
};

/// All functions may be called from any thread. Kernels that they return stay: none is ever removed.
class Kernels {
 public:
  explicit Kernels(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  /// The kernels of the text, loaded now if necessary, and how they became ready for launches with that much dynamic
  /// shared memory. DeviceError if a block of the device has less.
  std::pair<const LoadedKernel&, Prepared> get(const codegen::Text& text, std::size_t dynamic_shared);
  /// The loaded kernels with that name; null if there are none.
  const LoadedKernel* find(const std::string& name);

 private:
  LoadedKernel load(const codegen::Text& text, bool& from_cache) const;
  const LoadedKernel& allow(LoadedKernel& kernel, std::size_t dynamic_shared);

  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::unordered_map<std::string, LoadedKernel> kernels_;  // by name
};

}  // namespace croton::runtime::cuda
