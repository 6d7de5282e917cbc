// The device header of generated CPU kernels: the functions of the processor that numeric.cuh and math.cuh use, by
// compiler builtins, without any header. It comes before them in the text of a kernel, like device_cuda.cuh and
// device_simulator.hpp for the other devices; all three define the same names and give the same bits.
#ifndef CT_DEVICE_HEADER
#define CT_DEVICE_HEADER

#define CT_DEVICE static inline __attribute__((always_inline))
#define CT_MEMBER inline __attribute__((always_inline))
#define CT_INLINE __attribute__((always_inline))
#define CT_MAY_ALIAS __attribute__((may_alias))

namespace ct {

CT_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CT_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
CT_DEVICE float sqrt(float x) { return __builtin_sqrtf(x); }
CT_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }
CT_DEVICE float rint(float x) { return __builtin_rintf(x); }
CT_DEVICE double rint(double x) { return __builtin_rint(x); }
CT_DEVICE float floor(float x) { return __builtin_floorf(x); }
CT_DEVICE double floor(double x) { return __builtin_floor(x); }
CT_DEVICE float ceil(float x) { return __builtin_ceilf(x); }
CT_DEVICE double ceil(double x) { return __builtin_ceil(x); }
CT_DEVICE float trunc(float x) { return __builtin_truncf(x); }
CT_DEVICE double trunc(double x) { return __builtin_trunc(x); }
CT_DEVICE float abs(float x) { return __builtin_fabsf(x); }
CT_DEVICE double abs(double x) { return __builtin_fabs(x); }

CT_DEVICE unsigned int bits_of(float x) {
  unsigned int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
CT_DEVICE unsigned long long bits_of(double x) {
  unsigned long long bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
CT_DEVICE float float_from_bits(unsigned int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
CT_DEVICE double double_from_bits(unsigned long long bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// Words of 32 bits, in 64 so that loops vectorise, and the two halves of their product.
typedef unsigned long long word32;
CT_DEVICE word32 multiply_words(word32 a, word32 b, word32& high) {
  const unsigned long long product = a * b;
  high = product >> 32;
  return product & 0xffffffffull;
}

// Memory is accessed 16 bytes at a time through this type (vector.cuh).
typedef unsigned int CT_MAY_ALIAS Word128 __attribute__((vector_size(16)));

// The upper half of the 128-bit product. Four 32-bit products, because loops vectorise these and not a 128-bit type.
CT_DEVICE unsigned long long multiply_high(unsigned long long a, unsigned long long b) {
  const unsigned long long low = 0xffffffffull;
  const unsigned long long a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
  const unsigned long long middle = a1 * b0 + ((a0 * b0) >> 32);
  const unsigned long long other = a0 * b1 + (middle & low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

}  // namespace ct
#endif
