// Inputs, expected results in double precision by plain loops, and the comparison.
#include "common.cuh"

// A float in [low, high) by a hash of the index.
KERNEL(256) noise(float* out, i64 size, u64 seed, float low, float high) {
  const i64 step = i64(gridDim.x) * 256;
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < size; i += step) {
    u64 z = (u64(i) + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 29) * 0x94d049bb133111ebull;
    z ^= z >> 32;
    out[i] = low + (high - low) * (float(u32(z) >> 8) * (1.0f / 16777216.0f));
  }
}

KERNEL(256) fill(u32* out, i64 size, u32 word) {
  const i64 step = i64(gridDim.x) * 256;
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < size; i += step) out[i] = word;
}

// result[0]: the bits of the largest |got - want| / max(|want|, floor), 1e300 if a value is NaN. result[1]: how many
// words differ.
KERNEL(256) compare(const float* got, const float* want, i64 size, double floor, u64* result) {
  const i64 step = i64(gridDim.x) * 256;
  double largest = 0;
  u64 different = 0;
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < size; i += step) {
    if (__float_as_uint(got[i]) == __float_as_uint(want[i])) continue;
    ++different;
    const double magnitude = fabs(double(want[i])), scale = magnitude > floor ? magnitude : floor;
    const double error = fabs(double(got[i]) - double(want[i])) / scale;
    if (!(error <= largest)) largest = error == error ? error : 1e300;  // NaN: no variant may have one
  }
  if (different > 0) {
    atomicMax(result, u64(__double_as_longlong(largest)));
    atomicAdd(result + 1, different);
  }
}

// The sum of what each thread of a block has; all get it.
DEVICE double sum_of_block(double own) {
  SHARED double values[256];
  __syncthreads();
  values[threadIdx.x] = own;
  __syncthreads();
  double total = 0;
  for (int i = 0; i < 256; ++i) total += values[i];
  return total;
}

KERNEL(256) copy_wanted(const u32* x, u32* z, u32 words) {
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < words; i += gridDim.x * 256) z[i] = x[i];
}
KERNEL(256) add_wanted(const float* x, const float* y, float* z, u32 size) {
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < size; i += gridDim.x * 256)
    z[i] = float(double(x[i]) + double(y[i]));
}
DEVICE float low_half(u32 word) { return __uint_as_float(word << 16); }
DEVICE float high_half(u32 word) { return __uint_as_float(word & 0xffff0000u); }
// To nearest, ties to even. NaN is 0x7fff, as the conversion of the hardware gives.
DEVICE u32 rounded_half(float value) {
  const u32 bits = __float_as_uint(value);
  if (value != value) return 0x7fffu;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
// Sums in float32, as in generated kernels; the inputs include infinities and NaN.
KERNEL(256) add_bfloat16_wanted(const u32* x, const u32* y, u32* z, u32 words) {
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < words; i += gridDim.x * 256)
    z[i] = rounded_half(low_half(x[i]) + low_half(y[i])) | rounded_half(high_half(x[i]) + high_half(y[i])) << 16;
}
KERNEL(256) transpose_wanted(const float* x, float* y, int rows, int columns) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < i64(rows) * columns; i += i64(gridDim.x) * 256)
    y[i] = x[i % rows * columns + i / rows];
}
KERNEL(256) column_sum_wanted(const float* x, float* out, i64 rows, i64 columns) {
  const i64 column = i64(blockIdx.x) * 256 + threadIdx.x;
  double total = 0;
  if (column < columns)
    for (i64 row = 0; row < rows; ++row) total += x[row * columns + column];
  if (column < columns) out[column] = float(total);
}
KERNEL(256) row_sum_wanted(const float* x, float* out, i64 rows, i64 length) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    double own = 0;
    for (i64 i = threadIdx.x; i < length; i += 256) own += x[row * length + i];
    const double total = sum_of_block(own);
    if (threadIdx.x == 0) out[row] = float(total);
  }
}
KERNEL(256) softmax_wanted(const float* x, float* y, i64 rows, i64 length) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    double own = 0;
    for (i64 i = threadIdx.x; i < length; i += 256) own += exp(double(x[row * length + i]));
    const double total = sum_of_block(own);
    for (i64 i = threadIdx.x; i < length; i += 256)
      y[row * length + i] = float(exp(double(x[row * length + i])) / total);
  }
}

// The mean of a row and 1 / sqrt(variance + epsilon).
DEVICE void statistics_of(const float* x, i64 length, double& mean, double& scale) {
  double own = 0;
  for (i64 i = threadIdx.x; i < length; i += 256) own += x[i];
  mean = sum_of_block(own) / double(length);
  own = 0;
  for (i64 i = threadIdx.x; i < length; i += 256) own += (x[i] - mean) * (x[i] - mean);
  scale = 1 / sqrt(sum_of_block(own) / double(length) + 1e-5);
}
KERNEL(256) layer_norm_wanted(const float* x, const float* gamma, const float* beta, float* y, i64 rows, i64 length) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    double mean, scale;
    statistics_of(x + row * length, length, mean, scale);
    for (i64 i = threadIdx.x; i < length; i += 256)
      y[row * length + i] = float((x[row * length + i] - mean) * scale * gamma[i] + beta[i]);
  }
}
KERNEL(256)
layer_norm_grad_wanted(const float* x, const float* dy, const float* gamma, float* dx, double* statistics, i64 rows,
                       i64 length) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const i64 start = row * length;
    double mean, scale, slope = 0, product = 0;
    statistics_of(x + start, length, mean, scale);
    for (i64 i = threadIdx.x; i < length; i += 256) {
      const double weighted = double(dy[start + i]) * gamma[i];
      slope += weighted;
      product += weighted * (x[start + i] - mean) * scale;
    }
    slope = sum_of_block(slope) / double(length);
    product = sum_of_block(product) / double(length);
    for (i64 i = threadIdx.x; i < length; i += 256) {
      const double normal = (x[start + i] - mean) * scale;
      dx[start + i] = float(scale * (double(dy[start + i]) * gamma[i] - slope - normal * product));
    }
    if (threadIdx.x == 0) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = scale;
    }
  }
}
KERNEL(256)
parameter_gradients_wanted(const float* x, const float* dy, const double* statistics, float* out, i64 rows,
                           i64 columns) {
  const i64 column = i64(blockIdx.x) * 256 + threadIdx.x;
  double of_gamma = 0, of_beta = 0;
  if (column < columns) {
    for (i64 row = 0; row < rows; ++row) {
      const i64 i = row * columns + column;
      of_gamma += dy[i] * (x[i] - statistics[2 * row]) * statistics[2 * row + 1];
      of_beta += dy[i];
    }
    out[column] = float(of_gamma);
    out[columns + column] = float(of_beta);
  }
}
// One step of Adam.
KERNEL(256)
adam_wanted(const float* value, const float* mean, const float* square, const float* gradient, float* new_value,
            float* new_mean, float* new_square, i64 size, float rate, float beta_1, float beta_2, float epsilon) {
  for (i64 i = i64(blockIdx.x) * 256 + threadIdx.x; i < size; i += i64(gridDim.x) * 256) {
    const double g = gradient[i], m = double(beta_1) * mean[i] + (1.0f - beta_1) * g;
    const double s = double(beta_2) * square[i] + (1.0f - beta_2) * g * g;
    new_mean[i] = float(m);
    new_square[i] = float(s);
    new_value[i] = float(value[i] - rate * m / (sqrt(s) + epsilon));
  }
}
