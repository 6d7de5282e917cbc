// Exceptions of launches for failed checks of values. The callers that know the inputs of the call turn them into
// errors for the user.
#pragma once

#include "runtime/bound/executable.hpp"

namespace croton::runtime {

/// A failed check of a position.
struct CheckFailure {
  std::string message;
};

/// A value that nan_guard forbids.
struct GuardFailure {
  std::shared_ptr<const Executable> executable;
  const fuse::KernelCall* kernel;  // of the executable
  NodeId node;                     // the node of its graph with that value
};

}  // namespace croton::runtime
