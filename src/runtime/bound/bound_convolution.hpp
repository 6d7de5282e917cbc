// Recognises bound contractions that a convolution library can compute.
#pragma once

#include "runtime/bound/bound_kernel.hpp"
#include "runtime/device/convolution.hpp"

#include <optional>

namespace croton::runtime {

/// A bound contraction as a convolution of buffers of the plan.
struct BoundConvolution {
  Convolution description;
  plan::BufferId x, filters;
  std::int64_t filters_offset = 0;  // in bytes
  /// The buffer for the sums, if the kernel only stores them. Else no_buffer: the sums are written by rows and columns
  /// to the workspace of the launch, and the kernel reads them from there.
  plan::BufferId result;
  std::int64_t sums = 0;  // the number of sums

  /// The number of multiply-add operations.
  double work() const;
  /// Whether a library is faster, although it copies arrays to its own layouts and the sums may be written and read
  /// once more. (oneDNN 3.2 compared with generated kernels on an AMD EPYC with AVX-512: 108 and 91 GFLOP/s for 64 x
  /// 26 x 26 x 32 images and 3 x 3 x 32 x 64 filters, 97 and 68 for the gradient of the images, 98 and 60 for that
  /// of the filters.)
  bool pays() const;
};

/// The kernel as a convolution; nothing if it is not a contraction that `Convolution` can describe.
std::optional<BoundConvolution> as_convolution(const BoundKernel& kernel, const Memory& memory);

}  // namespace croton::runtime
