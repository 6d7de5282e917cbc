// A row kernel and a column kernel over the same matrix, such as the gradients of layer normalisation, as one launch of
// a GPU (codegen_templates/inner_outer.cuh): whether that is possible and faster, and what they share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit.hpp"
#include "codegen/schedule.hpp"

namespace croton::codegen {

/// One of both kernels.
struct MatrixKernel {
  const Analysis& analysis;
  const Launch& launch;
  Schedule& schedule;               // for a launch of its own; changed for that of both
  std::vector<std::size_t> arrays;  // per operand: a number of its array
  std::vector<bool> unread;         // per operand: a result that nothing but this launch reads
};

/// The operands that are read once for both kernels.
SharedOperands share_operands(const MatrixKernel& rows, const MatrixKernel& columns);
/// The accesses of the row kernel that are given to the column kernel, each once, in the order of its accesses.
std::vector<std::size_t> distinct_given(const SharedOperands& shared);

/// Makes the schedules those of one launch. Otherwise returns why the kernels have a launch each. `wanted`: the largest
/// number of kernels of a launch, if it is set by an override.
std::string fit_inner_outer(const MatrixKernel& rows, const MatrixKernel& columns, const Machine& machine,
                            std::optional<int> wanted);
/// Why they have one launch, for a reader.
std::string why_one_launch(const Launch& columns, const Schedule& schedule);

/// The memory of the column kernel for the states of parts.
LaunchMemory inner_outer_memory(const Analysis& columns, const Launch& launch, const Schedule& schedule);

}  // namespace croton::codegen
