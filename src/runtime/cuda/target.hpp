// The target of compilation for a device: machine code of its own architecture, or PTX if it is newer than the
// compiler.
#pragma once

#include <span>
#include <string>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/driver/context.hpp"

namespace croton::runtime::cuda {

struct CompileTarget {
  std::string architecture;  ///< "sm_90" or "compute_90"
  Form form = Form::cubin;

  friend bool operator==(const CompileTarget&, const CompileTarget&) = default;
};

/// `known`: the architectures of the compiler, "sm_75" and so on (Nvrtc::architectures). An unknown chip gets PTX for
/// the newest of them that is older: the driver compiles it when the module is loaded. Throws DeviceError for a chip
/// that is older than all.
CompileTarget choose_target(const GpuFacts& facts, std::span<const std::string> known);

}  // namespace croton::runtime::cuda
