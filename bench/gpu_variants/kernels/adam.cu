// Adam over many tensors: one launch with a table, or one launch a tensor.
#include "common.cuh"

// LOOKUP: how a block finds the tensor of its tile. search: by halves in the numbers of first tiles, in global memory;
// map: each tile's tensor in global memory; parameter: by halves, the whole table a parameter of the kernel.
constexpr int search = 0, map = 1, parameter = 2;

struct Tensor {
  float *value, *mean, *square;
  const float* gradient;
  u32 first_tile, size;
};

constexpr int most_tensors = 128;
struct Table {
  Tensor tensors[most_tensors];
  u32 first_tiles[most_tensors];  // those after the last tensor: beyond all tiles
};

struct Rates {
  float rate, beta_1, beta_2, epsilon;
};

template <bool EXACT>
DEVICE void update(float& value, float& mean, float& square, float gradient, const Rates& r) {
  mean = r.beta_1 * mean + (1.0f - r.beta_1) * gradient;
  square = r.beta_2 * square + (1.0f - r.beta_2) * gradient * gradient;
  value -= EXACT ? r.rate * mean / (sqrtf(square) + r.epsilon)
                 : __fdividef(r.rate * mean, square * rsqrtf(square + 1e-30f) + r.epsilon);
}

// VECTORS of 16 bytes of each of the four arrays a thread; the last tile of a tensor goes by single elements.
template <int VECTORS, int THREADS, bool EXACT>
DEVICE void update_tile(const Tensor& t, u32 tile, const Rates& rates) {
  constexpr u32 tile_size = 4 * VECTORS * THREADS;
  const u32 first = tile * tile_size;
  if (first + tile_size <= t.size) {
    float4 value[VECTORS], mean[VECTORS], square[VECTORS], gradient[VECTORS];
    const u32 start = first / 4 + threadIdx.x;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
      gradient[i] = ((const float4*)t.gradient)[start + i * THREADS];
      mean[i] = ((const float4*)t.mean)[start + i * THREADS];
      square[i] = ((const float4*)t.square)[start + i * THREADS];
      value[i] = ((const float4*)t.value)[start + i * THREADS];
    }
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
      update<EXACT>(value[i].x, mean[i].x, square[i].x, gradient[i].x, rates);
      update<EXACT>(value[i].y, mean[i].y, square[i].y, gradient[i].y, rates);
      update<EXACT>(value[i].z, mean[i].z, square[i].z, gradient[i].z, rates);
      update<EXACT>(value[i].w, mean[i].w, square[i].w, gradient[i].w, rates);
      ((float4*)t.mean)[start + i * THREADS] = mean[i];
      ((float4*)t.square)[start + i * THREADS] = square[i];
      ((float4*)t.value)[start + i * THREADS] = value[i];
    }
  } else {
    for (u32 i = first + threadIdx.x; i < t.size; i += THREADS)
      update<EXACT>(t.value[i], t.mean[i], t.square[i], t.gradient[i], rates);
  }
}

// The last of the first tiles that is not beyond `tile`.
DEVICE u32 tensor_of(const u32* first_tiles, u32 tile) {
  u32 found = 0;
#pragma unroll
  for (u32 step = most_tensors / 2; step > 0; step /= 2)
    if (first_tiles[found + step] <= tile) found += step;
  return found;
}

template <int LOOKUP, int VECTORS, int THREADS, bool EXACT>
KERNEL(THREADS)
adam(const Table* table, const u32* tensor_of_tile, u32 tiles, PARAMETERS Rates rates) {
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const Tensor t = table->tensors[LOOKUP == map ? __ldg(tensor_of_tile + tile) : tensor_of(table->first_tiles, tile)];
    update_tile<VECTORS, THREADS, EXACT>(t, tile - t.first_tile, rates);
  }
}

template <int VECTORS, int THREADS, bool EXACT>
KERNEL(THREADS)
adam_of_parameter(PARAMETERS Table table, u32 tiles, PARAMETERS Rates rates) {
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const Tensor& t = table.tensors[tensor_of(table.first_tiles, tile)];
    update_tile<VECTORS, THREADS, EXACT>(t, tile - t.first_tile, rates);
  }
}

// One tensor.
template <int VECTORS, int THREADS, bool EXACT>
KERNEL(THREADS)
adam_alone(PARAMETERS Tensor t, u32 tiles, PARAMETERS Rates rates) {
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) update_tile<VECTORS, THREADS, EXACT>(t, tile, rates);
}
