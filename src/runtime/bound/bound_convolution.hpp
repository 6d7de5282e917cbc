// Contractions that a library of convolutions could compute: recognised with numbers at hand, when they are bound.
#pragma once

#include "runtime/bound/bound_kernel.hpp"
#include "runtime/device/convolution.hpp"

#include <optional>

namespace croton::runtime {

/// A bound contraction as a convolution. Buffers are those of the plan.
struct BoundConvolution {
  Convolution what;
  plan::BufferId x, filters;
  std::int64_t filters_offset = 0;  // in bytes
  /// The buffer that gets the sums, where the kernel does nothing with them but store them; none: they go, by rows and
  /// columns, into memory of the launch, and the kernel goes on from there.
  plan::BufferId result;
  std::int64_t sums = 0;  // how many

  /// Multiplications with additions.
  double work() const;
  /// Whether a library is worth its while: it copies arrays into orders of its own, and the sums may have to be written
  /// and read once more. (oneDNN 3.2 beside our own kernels on an AMD EPYC with AVX-512: 108 to 91 GFLOP/s for 64 x 26
  /// x 26 x 32 images and 3 x 3 x 32 x 64 filters, 97 to 68 back to the images, 98 to 60 back to the filters.)
  bool pays() const;
};

/// Nothing where the kernel is no contraction, or one that `Convolution` cannot describe.
std::optional<BoundConvolution> as_convolution(const BoundKernel& kernel, const Memory& memory);

}  // namespace croton::runtime
