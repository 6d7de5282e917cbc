// The vocabulary of CUDA C++ for users' kernels in Croton's CUDA simulator: index variables, barriers, warp functions,
// atomics, vector types, math. It comes after device_simulator.hpp, numeric.cuh and math.cuh when a user's text is
// simulated; generated kernels do not need it. Mathematics has the bits of math.cuh, which are not those of a GPU's own
// functions.
#ifndef CT_CUDA_WORDS
#define CT_CUDA_WORDS

#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u

typedef unsigned long size_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;

// --- Vectors ---------------------------------------------------------------------------------------------------------

#define CT_VECTORS(element, name, align2, align4)                                              \
  struct name##1 { element x; };                                                               \
  struct __align__(align2) name##2 { element x, y; };                                          \
  struct name##3 { element x, y, z; };                                                         \
  struct __align__(align4) name##4 { element x, y, z, w; };                                    \
  CT_OWN name##2 make_##name##2(element x, element y) { return name##2 {x, y}; }               \
  CT_OWN name##3 make_##name##3(element x, element y, element z) { return name##3 {x, y, z}; } \
  CT_OWN name##4 make_##name##4(element x, element y, element z, element w) { return name##4 {x, y, z, w}; }
CT_VECTORS(signed char, char, 2, 4)
CT_VECTORS(unsigned char, uchar, 2, 4)
CT_VECTORS(short, short, 4, 8)
CT_VECTORS(unsigned short, ushort, 4, 8)
CT_VECTORS(int, int, 8, 16)
CT_VECTORS(unsigned int, uint, 8, 16)
CT_VECTORS(long long, longlong, 16, 16)
CT_VECTORS(unsigned long long, ulonglong, 16, 16)
CT_VECTORS(float, float, 8, 16)
CT_VECTORS(double, double, 16, 16)
#undef CT_VECTORS

struct dim3 {
  unsigned int x, y, z;
};

// --- Who am I --------------------------------------------------------------------------------------------------------

namespace ct {
namespace words {
CT_OWN uint3 axes(unsigned int first) {
  return {croton_simulator_axis(first), croton_simulator_axis(first + 1), croton_simulator_axis(first + 2)};
}
}  // namespace words
}  // namespace ct
#define threadIdx (ct::words::axes(0u))
#define blockIdx (ct::words::axes(3u))
#define blockDim (ct::words::axes(6u))
#define gridDim (ct::words::axes(9u))
#define warpSize 32

// --- Barriers, fences ------------------------------------------------------------------------------------------------

CT_OWN void __syncthreads() { croton_simulator_wait_barrier(0u); }
CT_OWN int __syncthreads_count(int condition) { return int(croton_simulator_wait_barrier(condition != 0)); }
CT_OWN int __syncthreads_or(int condition) { return croton_simulator_wait_barrier(condition != 0) != 0u; }
CT_OWN int __syncthreads_and(int condition) { return croton_simulator_wait_barrier(condition == 0) == 0u; }
CT_OWN void __syncwarp(unsigned int mask = 0xffffffffu) { croton_simulator_wait_warp(mask); }
CT_OWN void __threadfence() { croton_simulator_fence(); }
CT_OWN void __threadfence_block() { croton_simulator_fence(); }
CT_OWN void __threadfence_system() { croton_simulator_fence(); }

namespace cooperative_groups {
struct grid_group {
  CT_MEMBER __attribute__((nodebug)) void sync() const { croton_simulator_wait_grid(); }
};
struct thread_block {
  CT_MEMBER __attribute__((nodebug)) void sync() const { croton_simulator_wait_barrier(0u); }
  CT_MEMBER __attribute__((nodebug)) unsigned int thread_rank() const { return croton_simulator_thread_number(); }
};
CT_OWN grid_group this_grid() { return {}; }
CT_OWN thread_block this_thread_block() { return {}; }
}  // namespace cooperative_groups

// --- Warps -----------------------------------------------------------------------------------------------------------

// `width`: lanes are taken in segments of that many, which is a power of two.
template <class T>
CT_OWN T __shfl_sync(unsigned int mask, T value, int source, int width = 32) {
  const unsigned int lane = ct::lane_index(), last = (unsigned int)width - 1u;
  return ct::internal::shuffle_from(value, (lane & ~last) | ((unsigned int)source & last), mask);
}
template <class T>
CT_OWN T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  const unsigned int lane = ct::lane_index(), place = lane & ((unsigned int)width - 1u);
  return ct::internal::shuffle_from(value, place >= delta ? lane - delta : lane, mask);
}
template <class T>
CT_OWN T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  const unsigned int lane = ct::lane_index(), place = lane & ((unsigned int)width - 1u);
  return ct::internal::shuffle_from(value, delta < (unsigned int)width - place ? lane + delta : lane, mask);
}
template <class T>
CT_OWN T __shfl_xor_sync(unsigned int mask, T value, int bits, int width = 32) {
  const unsigned int lane = ct::lane_index(), other = (lane ^ (unsigned int)bits) & 31u;
  return ct::internal::shuffle_from(value, other / (unsigned int)width > lane / (unsigned int)width ? lane : other,
                                    mask);
}
CT_OWN unsigned int __ballot_sync(unsigned int mask, int condition) {
  return croton_simulator_wait_ballot(condition != 0, mask);
}
CT_OWN int __any_sync(unsigned int mask, int condition) {
  return croton_simulator_wait_ballot(condition != 0, mask) != 0u;
}
CT_OWN int __all_sync(unsigned int mask, int condition) {
  return croton_simulator_wait_ballot(condition == 0, mask) == 0u;
}

// --- Atomics: of the whole device, without order to other accesses; they return the old value ------------------------

#define CT_ATOMICS(type)                                                                                              \
  CT_OWN type atomicAdd(type* address, type value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicSub(type* address, type value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicMin(type* address, type value) { return __atomic_fetch_min(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicMax(type* address, type value) { return __atomic_fetch_max(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicAnd(type* address, type value) { return __atomic_fetch_and(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicOr(type* address, type value) { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); }     \
  CT_OWN type atomicXor(type* address, type value) { return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED); }   \
  CT_OWN type atomicExch(type* address, type value) { return __atomic_exchange_n(address, value, __ATOMIC_RELAXED); } \
  CT_OWN type atomicCAS(type* address, type expected, type value) {                                                   \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                \
    return expected;                                                                                                  \
  }
CT_ATOMICS(int)
CT_ATOMICS(unsigned int)
CT_ATOMICS(unsigned long long)
#undef CT_ATOMICS
CT_OWN float atomicAdd(float* address, float value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }
CT_OWN double atomicAdd(double* address, double value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }
CT_OWN float atomicExch(float* address, float value) {
  return __builtin_bit_cast(
      float, __atomic_exchange_n((unsigned int*)address, __builtin_bit_cast(unsigned int, value), __ATOMIC_RELAXED));
}
// Counts up to `last` and then from 0; counts down to 0 and then from `last`.
CT_OWN unsigned int atomicInc(unsigned int* address, unsigned int last) {
  unsigned int old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old >= last ? 0u : old + 1u, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}
CT_OWN unsigned int atomicDec(unsigned int* address, unsigned int last) {
  unsigned int old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old == 0u || old > last ? last : old - 1u, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

// --- Arithmetic ------------------------------------------------------------------------------------------------------

#define CT_ORDERED(type)                                    \
  CT_OWN type min(type a, type b) { return b < a ? b : a; } \
  CT_OWN type max(type a, type b) { return a < b ? b : a; }
CT_ORDERED(int)
CT_ORDERED(unsigned int)
CT_ORDERED(long)
CT_ORDERED(unsigned long)
CT_ORDERED(long long)
CT_ORDERED(unsigned long long)
#undef CT_ORDERED
CT_OWN float fminf(float a, float b) { return __builtin_fminf(a, b); }
CT_OWN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
CT_OWN double fmin(double a, double b) { return __builtin_fmin(a, b); }
CT_OWN double fmax(double a, double b) { return __builtin_fmax(a, b); }
CT_OWN float min(float a, float b) { return fminf(a, b); }
CT_OWN float max(float a, float b) { return fmaxf(a, b); }
CT_OWN double min(double a, double b) { return fmin(a, b); }
CT_OWN double max(double a, double b) { return fmax(a, b); }
CT_OWN int abs(int x) { return x < 0 ? -x : x; }

#define CT_FUNCTION(name)                               \
  CT_OWN float name##f(float x) { return ct::name(x); } \
  CT_OWN double name(double x) { return ct::name(x); }
CT_FUNCTION(exp)
CT_FUNCTION(log)
CT_FUNCTION(tanh)
CT_FUNCTION(sin)
CT_FUNCTION(cos)
CT_FUNCTION(sqrt)
CT_FUNCTION(floor)
CT_FUNCTION(ceil)
CT_FUNCTION(rint)
CT_FUNCTION(trunc)
#undef CT_FUNCTION
CT_OWN float fabsf(float x) { return ct::abs(x); }
CT_OWN double fabs(double x) { return ct::abs(x); }
CT_OWN float powf(float x, float y) { return ct::pow(x, y); }
CT_OWN double pow(double x, double y) { return ct::pow(x, y); }
CT_OWN float fmaf(float a, float b, float c) { return ct::fma(a, b, c); }
CT_OWN double fma(double a, double b, double c) { return ct::fma(a, b, c); }
CT_OWN float __expf(float x) { return ct::exp(x); }
CT_OWN float __logf(float x) { return ct::log(x); }
CT_OWN float rsqrtf(float x) { return 1.0f / ct::sqrt(x); }
CT_OWN float __fdividef(float x, float y) { return x / y; }
CT_OWN int __popc(unsigned int x) { return __builtin_popcount(x); }
CT_OWN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
CT_OWN int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
CT_OWN int __ffs(int x) { return __builtin_ffs(x); }
CT_OWN unsigned int __float_as_uint(float x) { return ct::bits_of(x); }
CT_OWN int __float_as_int(float x) { return (int)ct::bits_of(x); }
CT_OWN float __uint_as_float(unsigned int bits) { return ct::float_from_bits(bits); }
CT_OWN float __int_as_float(int bits) { return ct::float_from_bits((unsigned int)bits); }

template <class T>
CT_OWN T __ldg(const T* address) {
  return *address;
}

// --- Ends ------------------------------------------------------------------------------------------------------------

#define assert(condition) ((condition) ? (void)0 : croton_simulator_wait_stop(0u))
CT_OWN void __trap() { croton_simulator_wait_stop(1u); }
// Prints nothing: blocks run one after another here, in the simulator's order.
template <class... Values>
CT_OWN int printf(const char*, Values...) {
  return 0;
}
#endif
