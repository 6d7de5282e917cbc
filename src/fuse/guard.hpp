// nan_guard: adds checks to kernels that fail the call if a stored value is forbidden.
#pragma once

#include "fuse/program.hpp"
#include "kernel/guard.hpp"

#include <string_view>

namespace croton::fuse {

/// The kinds of values, among those of the flag nan_guard, that are forbidden in the results of an op.
std::string_view guarded_kinds(const expr::Op& op, std::string_view kinds);

/// Adds to each kernel a check of each float that it stores. A result of a product, a routine or a callback is checked
/// by a kernel that reads it, or by an additional kernel that only checks it.
void guard_values(Program& program, std::string_view kinds);

/// The node of the graph whose value check number `check` of the kernel checks; no_node if it is not a
/// check of nan_guard.
NodeId guarded_node(const KernelCall& call, std::size_t check);

}  // namespace croton::fuse
