// Kernels that do nothing or next to nothing: the cost of a launch, of a block, of a dependence.
#include "common.cuh"

KERNEL(256) nothing_at_all() {}

// A kernel of a chain: reads the result of the previous one.
KERNEL(256) increment(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }

// The same, launched so that it may start before the previous one has ended.
KERNEL(256) increment_early(float* x) {
  wait_for_previous();
  let_next_start();
  x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

// Occupies the stream while the host enqueues the launches of a sample.
KERNEL(32) wait_for(u64 duration) {
  const u64 start = nanoseconds();
  while (nanoseconds() - start < duration) {
  }
}

// Barriers of all blocks in one cooperative launch.
KERNEL(256) barriers(u32* barrier, int count) {
  for (int i = 0; i < count; ++i) grid_barrier(barrier, gridDim.x);
}
