// A kernel or a product of a loop's step, inside of the one launch that goes through all steps.
#pragma once

#include "runtime/bound/bound_kernel.hpp"
#include "runtime/bound/product_launch.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace croton::runtime {

struct StepPart {
  std::optional<BoundKernel> kernel;                // else it is a product
  std::shared_ptr<const codegen::Analysis> as_row;  // of a kernel whose reduction would be split
  ProductSizes sizes{};                             // of a product
  const plan::Step* step = nullptr;
  std::vector<plan::BufferId> buffers;  // per access
  std::vector<std::int64_t> offsets;    // in bytes, per access
  std::vector<std::int64_t> rows;       // from row to row, in bytes, per access
  std::vector<std::int64_t> matrix;     // numbers of a product
  bool meets = true;                    // whether threads wait for each other after it

  bool checks() const { return kernel && !kernel->analysis->kernel.checks.empty(); }
  const codegen::Analysis* analysis() const { return as_row ? as_row.get() : kernel ? kernel->analysis : nullptr; }
  bool is_split() const { return kernel && !as_row && kernel->analysis->kernel.family == kernel::Family::split; }
  std::int64_t points() const { return kernel ? codegen::point_count(kernel->launch) : sizes.m * sizes.n; }
  /// Of a kernel: what its loops go through.
  std::int64_t elements() const;
  /// In elements; eight multiplications of a product are one.
  std::int64_t work() const { return kernel ? elements() : points() * sizes.k / 8; }
  std::int64_t split_blocks() const;
  /// Warps that have something to do in it, where all blocks of a GPU work on it.
  std::int64_t warps() const;
};

}  // namespace croton::runtime
