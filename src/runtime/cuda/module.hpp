// Compiled code in a context: loaded from cubin or PTX, and its kernels by name.
#pragma once

#include <croton/where.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/cuda/launch.hpp"

namespace croton::runtime::cuda {

/// Code on a device. Copies are the same module, which stays loaded until the last copy and the last kernel end.
class Module {
 public:
  /// Loads machine code, or PTX, which the driver then compiles. Throws DeviceError, with the driver's log, if that
  /// fails.
  Module(std::shared_ptr<Context> context, std::span<const std::byte> code, Where where = {});

  /// The kernel with that name. `dynamic_shared` is the maximum of its launches.
  Kernel kernel(const std::string& name, std::size_t dynamic_shared = 0, Where where = {}) const;

 private:
  std::shared_ptr<const LoadedCode> code_;
};

}  // namespace croton::runtime::cuda
