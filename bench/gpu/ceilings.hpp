// Peak rates of a device, measured with only the driver and cuBLASLt: of a copy within its memory, and of matrix
// products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench::gpu {

/// Rates of repeated measurements with CUDA events: their median, and the first and ninth deciles.
struct Rate {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};

/// Bytes per second, read and written, of copies of `bytes` from one buffer to another; the buffers hold random bytes.
Rate copy_rate(int device, std::size_t bytes);
/// Floating-point operations per second of products of n x n matrices in float32, or with operands rounded to TF32.
Rate product_rate(int device, std::int64_t n, bool tf32);

}  // namespace bench::gpu
