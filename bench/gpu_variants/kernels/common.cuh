// The parts that all kernels of this folder share: PTX instructions, vectors, pairwise joining, and the last block of a
// grid.
//
// Template arguments are the choices of a schedule; sizes are arguments of the kernels. No CUDA header is included, and
// all inline assembly is in the first part of this file.
#ifndef VARIANTS_COMMON
#define VARIANTS_COMMON

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE static __device__ __forceinline__
// 1 block an SM: without this number the assembler may limit the registers, and then loads start later.
#define KERNEL(threads) __global__ void __launch_bounds__(threads, 1)
#define KERNEL_OF(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define CLUSTER_KERNEL(size, threads) __global__ void __cluster_dims__(size, 1, 1) __launch_bounds__(threads)
#define SHARED __shared__
#define PARAMETERS const __grid_constant__

// The shared memory whose size the launch gives.
DEVICE float4* dynamic_shared() {
  extern __shared__ float4 dynamic_bytes[];
  return dynamic_bytes;
}

// NaN if either is.
DEVICE float maximum(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

DEVICE uint4 load_no_allocate(const uint4* p) {
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(p));
  return v;
}
DEVICE uint2 load_no_allocate(const uint2* p) {
  uint2 v;
  asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
  return v;
}
DEVICE u32 load_no_allocate(const u32* p) {
  u32 v;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

// Two floats rounded to bfloat16, `low` in the lower half.
DEVICE u32 to_bfloat16(float low, float high) {
  u32 word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// Copies of 16 bytes from global to shared memory that need no register.
DEVICE void copy_async(float4* shared, const float4* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global)
               : "memory");
}
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All but the latest `LEFT` groups of this thread's copies have arrived.
template <int LEFT>
DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// A counter in global memory: adds and returns the old value, in order after this thread's earlier accesses and before
// its later ones.
DEVICE u32 add_in_order(u32* counter, u32 value) {
  u32 old;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(value) : "memory");
  return old;
}
DEVICE u32 load_in_order(const u32* counter) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// Clusters: the rank of this block, the halves of a barrier that orders shared memory, a store to the same variable of
// another block.
DEVICE u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
DEVICE void store_to_block(float* shared, u32 rank, float value) {
  u32 address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((u32)__cvta_generic_to_shared(shared)), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

// Programmatic dependent launch: the next kernel may start; wait until the kernel before has ended.
DEVICE void let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
DEVICE void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

DEVICE u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

constexpr u32 all_lanes = 0xffffffffu;

// --- Vectors ---------------------------------------------------------------------------------------------------------

DEVICE float4 add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

// N floats that move together.
template <int N>
struct alignas(4 * N) Floats {
  float at[N];
};
template <int N>
DEVICE Floats<N> join(Floats<N> a, Floats<N> b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.at[i] += b.at[i];
  return a;
}
DEVICE float join(float a, float b) { return a + b; }

// --- Sums of a warp --------------------------------------------------------------------------------------------------

// Lanes join by halves: l with l + 16, + 8, ... All lanes get the sum.
template <int LANES = 32>
DEVICE float sum_of_lanes(float value) {
#pragma unroll
  for (int half = LANES / 2; half > 0; half /= 2) value += __shfl_xor_sync(all_lanes, value, half);
  return value;
}
template <int LANES = 32>
DEVICE float max_of_lanes(float value) {
#pragma unroll
  for (int half = LANES / 2; half > 0; half /= 2) value = maximum(value, __shfl_xor_sync(all_lanes, value, half));
  return value;
}

// Neighbours join first: lane 0 with 1, 2 with 3, then pairs of pairs. The order in which consecutive pieces join.
template <int LANES = 32>
DEVICE float join_neighbours(float value) {
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) value += __shfl_xor_sync(all_lanes, value, step);
  return value;
}

// --- Pairwise joining of consecutive pieces --------------------------------------------------------------------------

// Like the carries of a binary counter, in registers: up to 2^LEVELS pieces.
template <class State, int LEVELS>
struct Pairwise {
  State level[LEVELS + 1];

  // `index`: the number of this piece, from 0 on. Selections instead of branches: so no index into `level` remains.
  __device__ __forceinline__ void push(State state, u32 index) {
#pragma unroll
    for (int l = 0; l <= LEVELS; ++l) {
      const u32 below = (1u << l) - 1;
      const bool arrives = (index & below) == below, rests = arrives && (index >> l & 1) == 0;
      const State held = level[l];
      level[l] = rests ? state : held;
      state = arrives && !rests ? join(held, state) : state;
    }
  }

  // After `count` pieces, a power of two.
  __device__ __forceinline__ State total(u32 count) const {
    State state = level[0];
#pragma unroll
    for (int l = 1; l <= LEVELS; ++l)
      if (count >> l & 1) state = level[l];
    return state;
  }
};

// --- The last block of a grid ----------------------------------------------------------------------------------------

// True in the block that arrives last of `blocks`; it sees what the others wrote before. `counter` is zero before, and
// zero again afterwards. IN_ORDER: an atomic addition with acquire and release order instead of fences around a relaxed
// one.
template <bool IN_ORDER = false>
DEVICE bool arrives_last(u32* counter, u32 blocks) {
  SHARED bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (IN_ORDER) {
      last = add_in_order(counter, 1) == blocks - 1;
    } else {
      __threadfence();
      last = atomicAdd(counter, 1) == blocks - 1;
      __threadfence();
    }
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

// A barrier of all blocks of a cooperative launch. `barrier`: how many have arrived, and how many barriers there were.
DEVICE void grid_barrier(u32* barrier, u32 blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const u32 round = load_in_order(barrier + 1);
    if (add_in_order(barrier, 1) == blocks - 1) {
      barrier[0] = 0;
      add_in_order(barrier + 1, 1);
    } else {
      while (load_in_order(barrier + 1) == round) {
      }
    }
  }
  __syncthreads();
}

#endif
