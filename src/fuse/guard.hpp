// nan_guard: kernels look at what they store, and fail the call where a value is none that it lets pass.
#pragma once

#include "fuse/program.hpp"
#include "kernel/guard.hpp"

#include <string_view>

namespace croton::fuse {

/// Those of the kinds (of the flag nan_guard) that the results of an op must not hold.
std::string_view guarded_kinds(const expr::Op& op, std::string_view kinds);

/// Adds a check to each kernel for each float that it stores, and for each result of a product, a routine or a
/// callback that it reads; such results that no kernel reads get a kernel that only checks.
void guard_values(Program& program, std::string_view kinds);

/// The node of the graph that check `check` of the kernel looks at; no_node where it is not one of these.
NodeId guarded_node(const KernelCall& call, std::size_t check);

}  // namespace croton::fuse
