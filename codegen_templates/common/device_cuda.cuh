// The device header of generated CUDA kernels, for NVRTC: the functions of a GPU that numeric.cuh, math.cuh and the
// templates use. No CUDA header is used, since they cost more to parse than a kernel to compile, and all assembly is
// here. device_simulator.hpp defines the same names, with the same bits, for kernels that run on the host.
//
// Rules for kernels: grids and blocks have one dimension, blocks are whole warps of 32 if shuffles or votes are used,
// and all 32 lanes take part in them; every thread of a block executes the same barriers. The simulator checks all of
// this.
#ifndef CT_DEVICE_HEADER
#define CT_DEVICE_HEADER

// "declared but never referenced": a kernel uses few of the functions in front of it.
#pragma nv_diag_suppress 177

#define CT_DEVICE static __device__ __forceinline__
#define CT_MEMBER __device__ __forceinline__
#define CT_INLINE
#define CT_KERNEL extern "C" __global__
// Read where the launch put it, and not copied, however it is indexed.
#define CT_PARAMETERS const __grid_constant__
#define CT_SHARED __shared__
#define CT_LAUNCH_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define CT_MAY_ALIAS

namespace ct {

// --- Arithmetic: correctly rounded, nothing contracted ---------------------------------------------------------------

CT_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
CT_DEVICE double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
CT_DEVICE float sqrt(float x) { return __fsqrt_rn(x); }
CT_DEVICE double sqrt(double x) { return __dsqrt_rn(x); }
CT_DEVICE float rint(float x) { return ::rintf(x); }
CT_DEVICE double rint(double x) { return ::rint(x); }
CT_DEVICE float floor(float x) { return ::floorf(x); }
CT_DEVICE double floor(double x) { return ::floor(x); }
CT_DEVICE float ceil(float x) { return ::ceilf(x); }
CT_DEVICE double ceil(double x) { return ::ceil(x); }
CT_DEVICE float trunc(float x) { return ::truncf(x); }
CT_DEVICE double trunc(double x) { return ::trunc(x); }
CT_DEVICE float abs(float x) { return ::fabsf(x); }
CT_DEVICE double abs(double x) { return ::fabs(x); }

#if __CUDA_ARCH__ >= 800
// One instruction; "+0.0 > -0.0" (PTX ISA, max). math.cuh has the text for all other types and devices.
CT_DEVICE float maximum(float x, float y) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));
  return larger;
}
CT_DEVICE float minimum(float x, float y) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(x), "f"(y));
  return smaller;
}
#endif

CT_DEVICE unsigned int bits_of(float x) { return __float_as_uint(x); }
CT_DEVICE unsigned long long bits_of(double x) { return (unsigned long long)__double_as_longlong(x); }
CT_DEVICE float float_from_bits(unsigned int bits) { return __uint_as_float(bits); }
CT_DEVICE double double_from_bits(unsigned long long bits) { return __longlong_as_double((long long)bits); }

// Conversions of 16-bit floats, on bits: to nearest even, nan to 0x7fff and 0x7fffffff (PTX ISA, cvt). numeric.cuh has
// the texts for other devices, and for what a GPU lacks.
namespace internal {
CT_DEVICE float f16_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
CT_DEVICE unsigned short f16_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#if __CUDA_ARCH__ >= 800
CT_DEVICE unsigned short bf16_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
// The first number goes to the lower half.
CT_DEVICE unsigned int f16_pair(float x, float y) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
  return bits;
}
CT_DEVICE unsigned int bf16_pair(float x, float y) {
  unsigned int bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
  return bits;
}
#endif
}  // namespace internal

// Words of 32 bits and the two halves of their product.
typedef unsigned int word32;
CT_DEVICE word32 multiply_words(word32 a, word32 b, word32& high) {
  high = __umulhi(a, b);
  return a * b;
}

// Memory is accessed 16 bytes at a time through this type (vector.cuh). With uint4 NVRTC splits some stores of doubles.
typedef ulonglong2 Word128;

// The upper half of the 128-bit product.
CT_DEVICE unsigned long long multiply_high(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }

// --- Who am I --------------------------------------------------------------------------------------------------------

CT_DEVICE unsigned int thread_index() { return threadIdx.x; }
CT_DEVICE unsigned int block_size() { return blockDim.x; }
CT_DEVICE unsigned int block_index() { return blockIdx.x; }
CT_DEVICE unsigned int block_count() { return gridDim.x; }
CT_DEVICE unsigned int lane_index() { return threadIdx.x & 31u; }
CT_DEVICE unsigned int warp_index() { return threadIdx.x >> 5; }

// --- Working together ------------------------------------------------------------------------------------------------

// Barrier of the block: afterwards its threads see all earlier writes of each other.
CT_DEVICE void barrier() { __syncthreads(); }

// Barrier of the warp: afterwards its lanes see all earlier writes of each other.
CT_DEVICE void warp_barrier() { __syncwarp(0xffffffffu); }

// The value of the lane whose number differs in the bits of `mask`.
template <class T>
CT_DEVICE T shuffle_xor(T value, unsigned int mask) {
  return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}
// The value of the lane `delta` further; the own value if there is none.
template <class T>
CT_DEVICE T shuffle_down(T value, unsigned int delta) {
  return __shfl_down_sync(0xffffffffu, value, delta);
}
// The value of lane `lane` modulo 32.
template <class T>
CT_DEVICE T shuffle(T value, unsigned int lane) {
  return __shfl_sync(0xffffffffu, value, (int)lane);
}
// Bit i: the condition of lane i.
CT_DEVICE unsigned int ballot(bool condition) { return __ballot_sync(0xffffffffu, condition); }
CT_DEVICE int count_bits(unsigned int bits) { return __popc(bits); }

// Atomics of the whole device, without order to other accesses; they return the old value.
CT_DEVICE unsigned int atomic_or(unsigned int* address, unsigned int bits) { return ::atomicOr(address, bits); }
CT_DEVICE unsigned int atomic_add(unsigned int* address, unsigned int value) { return ::atomicAdd(address, value); }

// All threads of the device see this thread's earlier writes before its later ones.
CT_DEVICE void memory_fence() { __threadfence(); }

// The shared memory whose size is given at launch, aligned to 16 bytes.
template <class T>
CT_DEVICE T* dynamic_shared() {
  extern CT_SHARED __align__(16) unsigned char ct_dynamic_shared[];
  return reinterpret_cast<T*>(ct_dynamic_shared);
}

}  // namespace ct
#endif
