// What launches throw when a kernel has met a value that it must not; whoever knows what the call was given makes an
// error of it.
#pragma once

#include "runtime/bound/executable.hpp"

namespace croton::runtime {

/// A position that is outside.
struct CheckFailure {
  std::string message;
};

/// A value that nan_guard refuses.
struct GuardFailure {
  std::shared_ptr<const Executable> executable;
  const fuse::KernelCall* kernel;  // of the executable
  NodeId node;                     // of its graph, whose value is at fault
};

}  // namespace croton::runtime
