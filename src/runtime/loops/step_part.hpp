// StepPart: a kernel or a product of a loop's step, in a launch of all steps.
#pragma once

#include "runtime/bound/bound_kernel.hpp"
#include "runtime/bound/product_launch.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace croton::runtime {

struct StepPart {
  std::optional<BoundKernel> kernel;                // none: a product
  std::shared_ptr<const codegen::Analysis> as_row;  // of a split kernel that is computed as a row
  ProductSizes sizes{};                             // of a product: its sizes
  const plan::Step* step = nullptr;
  std::vector<plan::BufferId> buffers;    // per access
  std::vector<std::int64_t> offsets;      // in bytes, per access
  std::vector<std::int64_t> row_strides;  // per access: from row to row, in bytes
  std::vector<std::int64_t> matrix;       // of a product: codegen::MatrixNumber
  bool sync_after = true;                 // threads synchronise after it

  bool checks() const { return kernel && !kernel->analysis->kernel.checks.empty(); }
  const codegen::Analysis* analysis() const { return as_row ? as_row.get() : kernel ? kernel->analysis : nullptr; }
  bool is_split() const { return kernel && !as_row && kernel->analysis->kernel.family == kernel::Family::split; }
  std::int64_t points() const { return kernel ? codegen::point_count(kernel->launch) : sizes.m * sizes.n; }
  /// Of a kernel: the number of elements of its loops.
  std::int64_t elements() const;
  /// The work in elements; eight multiplications of a product count as one element.
  std::int64_t work() const { return kernel ? elements() : points() * sizes.k / 8; }
  std::int64_t split_blocks() const;
  /// The number of warps with work, if all blocks of a GPU work on it.
  std::int64_t warps() const;
};

}  // namespace croton::runtime
