// What to compile for a device: machine code of its own architecture, or PTX where the chip is newer than the compiler.
#pragma once

#include <span>
#include <string>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"

namespace croton::runtime::cuda {

struct CompileTarget {
  std::string architecture;  ///< "sm_90" or "compute_90"
  Form form = Form::cubin;

  friend bool operator==(const CompileTarget&, const CompileTarget&) = default;
};

/// `known`: what the compiler knows, "sm_75" and so on (Nvrtc::architectures). A chip that it does not know gets PTX
/// for the newest one that is older: the driver compiles it when the module is loaded. Throws DeviceError for a chip
/// that is older than all.
CompileTarget choose_target(const GpuFacts& facts, std::span<const std::string> known);

}  // namespace croton::runtime::cuda
