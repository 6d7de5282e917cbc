// What a plan throws when a kernel meets a value that nan_guard refuses; the function that runs it makes an error of
// it.
#pragma once

#include "runtime/executable.hpp"

namespace croton::runtime {

struct GuardFailure {
  std::shared_ptr<const Executable> executable;
  const fuse::KernelCall* kernel;  // of the executable
  NodeId node;                     // of its graph, whose value is at fault
};

}  // namespace croton::runtime
