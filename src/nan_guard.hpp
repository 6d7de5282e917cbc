// nan_guard: after a kernel has found a NaN, an infinity or an oversized number, this finds the op that made the
// first one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "expr/graph.hpp"
#include "runtime/bound/failures.hpp"

namespace croton::detail {

struct GuardedCall {
  std::string name;             // of the function
  const expr::Graph& imported;  // as imported
  std::vector<Array> inputs;    // in the order of the graph, on the host
  std::string kinds;            // of the flag
};

/// Runs the graph again, node by node, and raises a NanError that names the first node at fault or, if there is none,
/// the kernel that failed.
[[noreturn]] void raise_nan_error(const GuardedCall& call, const runtime::GuardFailure& failure);
/// The same for a function that runs no kernels: returns if no value is bad.
void check_every_node(const GuardedCall& call);

}  // namespace croton::detail
