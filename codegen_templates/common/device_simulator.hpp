// The device header of generated CUDA kernels that run on the host, in Croton's CUDA simulator: the same names as
// device_cuda.cuh, with the same bits. Clang's CUDA front end parses it in device mode for the host's processor;
// without CUDA headers it knows only attributes, so the vocabulary of CUDA that kernels use is defined here. Threads of
// a block are fibers: functions that wait for other threads call the simulator (src/runtime/simulator/callbacks.cpp),
// through functions named croton_simulator_...
#ifndef CT_DEVICE_HEADER
#define CT_DEVICE_HEADER

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
// Kernels are plain device functions here: the simulator calls them as such (simulator/compiler.cpp), and Clang has no
// launch to check.
#define __global__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
// Clang knows the real attribute for GPUs only; the simulator reads the annotation.
#define __launch_bounds__(...) __attribute__((annotate("croton_launch_bounds", __VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))

#define CT_DEVICE static __device__ __forceinline__
#define CT_MEMBER __device__ inline __attribute__((always_inline))
#define CT_INLINE
#define CT_KERNEL extern "C" __global__
#define CT_PARAMETERS const
#define CT_SHARED __shared__
#define CT_LAUNCH_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define CT_MAY_ALIAS __attribute__((may_alias))

// The functions of this header, which messages pass over: they name the line of the caller.
#define CT_OWN CT_DEVICE __attribute__((nodebug))

extern "C" {
// The same for the whole life of a thread, hence `const`. Axes 0 to 2: x, y, z of the thread in its block; then those
// of the block in the grid, of the block's size, of the grid's size. The number of a thread counts along x first.
__device__ __attribute__((const)) unsigned int croton_simulator_axis(unsigned int which);
__device__ __attribute__((const)) unsigned int croton_simulator_thread_number();
// A kernel whose text calls none of the functions named ..._wait_... needs no fibers.
__device__ unsigned int croton_simulator_wait_barrier(unsigned int condition);  // how many threads say yes
__device__ void croton_simulator_wait_grid();
__device__ unsigned long long croton_simulator_wait_shuffle(unsigned long long bits, unsigned int lane,
                                                            unsigned int mask);
__device__ unsigned int croton_simulator_wait_ballot(unsigned int condition, unsigned int mask);
__device__ void croton_simulator_wait_warp(unsigned int mask);
__device__ void croton_simulator_wait_stop(unsigned int trap);  // 0: an assertion
__device__ void croton_simulator_fence();
}

namespace ct {

// --- Arithmetic: correctly rounded, nothing contracted ---------------------------------------------------------------

CT_OWN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CT_OWN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
CT_OWN float sqrt(float x) { return __builtin_sqrtf(x); }
CT_OWN double sqrt(double x) { return __builtin_sqrt(x); }
CT_OWN float rint(float x) { return __builtin_rintf(x); }
CT_OWN double rint(double x) { return __builtin_rint(x); }
CT_OWN float floor(float x) { return __builtin_floorf(x); }
CT_OWN double floor(double x) { return __builtin_floor(x); }
CT_OWN float ceil(float x) { return __builtin_ceilf(x); }
CT_OWN double ceil(double x) { return __builtin_ceil(x); }
CT_OWN float trunc(float x) { return __builtin_truncf(x); }
CT_OWN double trunc(double x) { return __builtin_trunc(x); }
CT_OWN float abs(float x) { return __builtin_fabsf(x); }
CT_OWN double abs(double x) { return __builtin_fabs(x); }

CT_OWN unsigned int bits_of(float x) { return __builtin_bit_cast(unsigned int, x); }
CT_OWN unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }
CT_OWN float float_from_bits(unsigned int bits) { return __builtin_bit_cast(float, bits); }
CT_OWN double double_from_bits(unsigned long long bits) { return __builtin_bit_cast(double, bits); }

typedef unsigned int word32;
CT_OWN word32 multiply_words(word32 a, word32 b, word32& high) {
  high = word32(((unsigned long long)a * b) >> 32);
  return a * b;
}

typedef unsigned int CT_MAY_ALIAS Word128 __attribute__((vector_size(16)));

CT_OWN unsigned long long multiply_high(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

// --- Who am I --------------------------------------------------------------------------------------------------------

CT_OWN unsigned int thread_index() { return croton_simulator_axis(0); }
CT_OWN unsigned int block_size() { return croton_simulator_axis(6); }
CT_OWN unsigned int block_index() { return croton_simulator_axis(3); }
CT_OWN unsigned int block_count() { return croton_simulator_axis(9); }
CT_OWN unsigned int lane_index() { return croton_simulator_thread_number() & 31u; }
CT_OWN unsigned int warp_index() { return croton_simulator_thread_number() >> 5; }

// --- Working together ------------------------------------------------------------------------------------------------

CT_OWN void barrier() { croton_simulator_wait_barrier(0u); }

namespace internal {
// Values of 32 and 64 bits as the 64 bits that the simulator passes between lanes.
template <class T>
CT_OWN T shuffle_from(T value, unsigned int lane, unsigned int mask = 0xffffffffu) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take values of 4 and 8 bytes");
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(
        T, (unsigned int)croton_simulator_wait_shuffle(__builtin_bit_cast(unsigned int, value), lane, mask));
  } else {
    return __builtin_bit_cast(T,
                              croton_simulator_wait_shuffle(__builtin_bit_cast(unsigned long long, value), lane, mask));
  }
}
}  // namespace internal

template <class T>
CT_OWN T shuffle_xor(T value, unsigned int mask) {
  return internal::shuffle_from(value, (lane_index() ^ mask) & 31u);
}
template <class T>
CT_OWN T shuffle_down(T value, unsigned int delta) {
  const unsigned int lane = lane_index();
  return internal::shuffle_from(value, delta < 32u - lane ? lane + delta : lane);
}
template <class T>
CT_OWN T shuffle(T value, unsigned int lane) {
  return internal::shuffle_from(value, lane & 31u);
}
CT_OWN unsigned int ballot(bool condition) { return croton_simulator_wait_ballot(condition, 0xffffffffu); }
CT_OWN int count_bits(unsigned int bits) { return __builtin_popcount(bits); }
CT_OWN void warp_barrier() { croton_simulator_wait_warp(0xffffffffu); }

CT_OWN unsigned int atomic_or(unsigned int* address, unsigned int bits) {
  return __atomic_fetch_or(address, bits, __ATOMIC_RELAXED);
}
CT_OWN unsigned int atomic_add(unsigned int* address, unsigned int value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
CT_OWN void memory_fence() { croton_simulator_fence(); }

template <class T>
CT_OWN T* dynamic_shared() {
  extern CT_SHARED __align__(16) unsigned char ct_dynamic_shared[];
  return reinterpret_cast<T*>(ct_dynamic_shared);
}

// --- How the simulator calls a kernel: pointers to its arguments, as cuLaunchKernel takes them -----------------------

namespace internal {
template <class Integer, Integer... numbers>
struct Numbers {};

template <class... Parameters, unsigned int... numbers>
CT_OWN void call(void (*kernel)(Parameters...), void** arguments, Numbers<unsigned int, numbers...>) {
  kernel(*static_cast<Parameters*>(arguments[numbers])...);
}
template <class... Parameters>
CT_OWN void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, __make_integer_seq<Numbers, unsigned int, sizeof...(Parameters)>());
}
// How many parameters a kernel has, and the bytes of each.
template <class... Parameters>
struct Sizes {
  unsigned int count = sizeof...(Parameters);
  unsigned int bytes[sizeof...(Parameters) + 1] = {sizeof(Parameters)..., 0u};
};
template <class... Parameters>
constexpr Sizes<Parameters...> sizes_of(void (*)(Parameters...)) {
  return {};
}
}  // namespace internal

}  // namespace ct

#endif
