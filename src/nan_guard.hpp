// nan_guard: from a kernel that met a NaN, an infinity or an oversized number to the op that made the first one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "expr/graph.hpp"
#include "runtime/bound/failures.hpp"

namespace croton::detail {

struct GuardedCall {
  std::string name;            // of the function
  const expr::Graph& written;  // as imported
  std::vector<Array> inputs;   // in its order, on the host
  std::string kinds;           // of the flag
};

/// Runs the graph again, node by node, and raises the NanError that names the first node at fault; if there is none,
/// the kernel that failed.
[[noreturn]] void raise_nan_error(const GuardedCall& call, const runtime::GuardFailure& failure);
/// The same for a function that runs no kernels: returns if all nodes are well.
void check_every_node(const GuardedCall& call);

}  // namespace croton::detail
