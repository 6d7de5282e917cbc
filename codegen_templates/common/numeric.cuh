// Number types of generated kernels: fixed widths, the storage types f16 and bf16, limits, and cast<To>(from).
// Promises, on every device and bit for bit: conversions round to nearest even; float to integer truncates toward zero
// and saturates, nan gives 0; integer to integer wraps modulo 2^n; anything to bool is x != 0. No undefined behaviour,
// no branch. A device header comes before this text (CT_DEVICE, bits_of, ...). No header of any library is used.
#ifndef CT_NUMERIC
#define CT_NUMERIC

namespace ct {

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef i64 index;

// Storage types only: arithmetic is done in f32. No constructors, so that they may be in shared memory and unions.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

// --- Type questions ------------------------------------------------------------------------------

template <class A, class B>
struct same_type {
  static constexpr bool value = false;
};
template <class A>
struct same_type<A, A> {
  static constexpr bool value = true;
};
template <class A, class B>
constexpr bool is_same = same_type<A, B>::value;
template <class T>
constexpr bool is_float = is_same<T, f32> || is_same<T, f64>;
template <class T>
constexpr bool is_half = is_same<T, f16> || is_same<T, bf16>;
template <class T>
constexpr bool is_signed_integer = is_same<T, i8> || is_same<T, i16> || is_same<T, i32> || is_same<T, i64>;
template <class T>
constexpr bool is_unsigned_integer = is_same<T, u8> || is_same<T, u16> || is_same<T, u32> || is_same<T, u64>;
template <class T>
constexpr bool is_integer = is_signed_integer<T> || is_unsigned_integer<T>;

// The unsigned type of the same width, in which arithmetic wraps; at least 32 bits, since C++ promotes narrower ones to
// int, whose overflow is undefined.
template <class T>
struct wide_unsigned {
  typedef u32 type;
};
template <>
struct wide_unsigned<i64> {
  typedef u64 type;
};
template <>
struct wide_unsigned<u64> {
  typedef u64 type;
};

// Sums, differences and products of values. Integers wrap modulo 2^n: they are computed as unsigned ones, since the
// overflow of signed ones is undefined, and a compiler makes use of that. Indices that sizes bound need none of this.
template <class T>
CT_DEVICE T add(T x, T y) {
  if constexpr (is_integer<T>)
    return T(typename wide_unsigned<T>::type(x) + typename wide_unsigned<T>::type(y));
  else
    return x + y;
}
template <class T>
CT_DEVICE T subtract(T x, T y) {
  if constexpr (is_integer<T>)
    return T(typename wide_unsigned<T>::type(x) - typename wide_unsigned<T>::type(y));
  else
    return x - y;
}
template <class T>
CT_DEVICE T multiply(T x, T y) {
  if constexpr (is_integer<T>)
    return T(typename wide_unsigned<T>::type(x) * typename wide_unsigned<T>::type(y));
  else
    return x * y;
}
template <class T>
CT_DEVICE T negate(T x) {
  if constexpr (is_integer<T>)
    return T(typename wide_unsigned<T>::type(0) - typename wide_unsigned<T>::type(x));
  else
    return -x;
}

// --- f16 and bf16 --------------------------------------------------------------------------------

// The conversions by integer arithmetic, on bits. Where a GPU has an instruction for one, device_cuda.cuh defines the
// same function for floats, which is preferred to the template. A nan becomes the one whose fraction is all ones, as
// in these instructions, which also make it positive; here a float keeps the sign of a nan of 16 bits.
namespace internal {

template <class Bits>
CT_DEVICE f32 f16_value(Bits bits) {
  const u32 magnitude = bits & 0x7fffu, sign = u32(bits & 0x8000u) << 16;
  const u32 denormal =
      bits_of(f32(i32(magnitude)) * 5.9604644775390625e-08f);  // exact: an integer below 2^10 times 2^-24
  const u32 normal = (magnitude << 13) + (112u << 23);         // the bias goes from 15 to 127
  const u32 number = magnitude < 0x0400u ? denormal : magnitude < 0x7c00u ? normal : 0x7f800000u;
  return float_from_bits(sign | (magnitude > 0x7c00u ? 0x7fffffffu : number));
}

template <class Float>
CT_DEVICE u16 f16_bits(Float x) {
  const u32 bits = bits_of(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  // Below 2^-14 the last place is worth 2^-24, as it is in [0.5, 1): the addition rounds, to nearest even.
  const u32 denormal = bits_of(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const u32 rounded = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  const u32 normal = rounded < 0x7c00u ? rounded : 0x7c00u;
  const u32 number = magnitude < 0x38800000u ? denormal : normal;
  return u16(magnitude > 0x7f800000u ? 0x7fffu : sign | number);
}

template <class Float>
CT_DEVICE u16 bf16_bits(Float x) {
  const u32 bits = bits_of(x), magnitude = bits & 0x7fffffffu;
  return u16(magnitude > 0x7f800000u ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <class Float>
CT_DEVICE u32 f16_pair(Float x, Float y) {
  return f16_bits(x) | u32(f16_bits(y)) << 16;
}
template <class Float>
CT_DEVICE u32 bf16_pair(Float x, Float y) {
  return bf16_bits(x) | u32(bf16_bits(y)) << 16;
}

}  // namespace internal

CT_DEVICE f32 to_float(f16 x) { return internal::f16_value(x.bits); }
CT_DEVICE f32 to_float(bf16 x) { return float_from_bits(u32(x.bits) << 16); }

template <class To>
CT_DEVICE To from_float(f32 x) {
  static_assert(is_half<To>, "from_float makes f16 or bf16");
  if constexpr (is_same<To, f16>)
    return To{internal::f16_bits(x)};
  else
    return To{internal::bf16_bits(x)};
}

// x rounded to f16 or bf16.
template <class To>
CT_DEVICE f32 round_to(f32 x) {
  return to_float(from_float<To>(x));
}

// Two numbers in one word, the first one in the lower half.
template <class To>
CT_DEVICE u32 from_floats(f32 x, f32 y) {
  if constexpr (is_same<To, f16>)
    return internal::f16_pair(x, y);
  else
    return internal::bf16_pair(x, y);
}

// --- Limits --------------------------------------------------------------------------------------

template <class T>
CT_DEVICE T inf() {
  if constexpr (is_same<T, f16>)
    return f16{0x7c00};
  else if constexpr (is_same<T, bf16>)
    return bf16{0x7f80};
  else if constexpr (is_same<T, f32>)
    return float_from_bits(0x7f800000u);
  else
    return double_from_bits(0x7ff0000000000000ull);
}

template <class T>
CT_DEVICE T nan() {
  if constexpr (is_same<T, f16>)
    return f16{0x7fff};
  else if constexpr (is_same<T, bf16>)
    return bf16{0x7fff};
  else if constexpr (is_same<T, f32>)
    return float_from_bits(0x7fc00000u);
  else
    return double_from_bits(0x7ff8000000000000ull);
}

// The largest finite value.
template <class T>
CT_DEVICE T highest() {
  if constexpr (is_same<T, bool>)
    return true;
  else if constexpr (is_same<T, f16>)
    return f16{0x7bff};
  else if constexpr (is_same<T, bf16>)
    return bf16{0x7f7f};
  else if constexpr (is_same<T, f32>)
    return float_from_bits(0x7f7fffffu);
  else if constexpr (is_same<T, f64>)
    return double_from_bits(0x7fefffffffffffffull);
  else if constexpr (is_unsigned_integer<T>)
    return T(~T(0));
  else
    return T(~(typename wide_unsigned<T>::type(1) << (8 * sizeof(T) - 1)));
}

// The lowest finite value.
template <class T>
CT_DEVICE T lowest() {
  if constexpr (is_same<T, bool>)
    return false;
  else if constexpr (is_same<T, f16>)
    return f16{0xfbff};
  else if constexpr (is_same<T, bf16>)
    return bf16{0xff7f};
  else if constexpr (is_float<T>)
    return -highest<T>();
  else if constexpr (is_unsigned_integer<T>)
    return T(0);
  else
    return T(-highest<T>() - 1);
}

// x < 0, without the warning that compilers have for unsigned types.
template <class T>
CT_DEVICE bool is_negative(T x) {
  if constexpr (is_unsigned_integer<T> || is_same<T, bool>)
    return false;
  else
    return x < T(0);
}

// --- cast ----------------------------------------------------------------------------------------

namespace internal {

// f64 to f32 "to odd": an inexact result has its last bit set, so that rounding it once more (to 16 bits) rounds the
// double correctly.
CT_DEVICE f32 round_to_odd(f64 x) {
  const f64 magnitude = abs(x);
  const f32 nearest = f32(magnitude);
  const u32 bits = bits_of(nearest);
  const f64 back = f64(nearest);
  const u32 odd = back > magnitude ? bits - 1u : bits + 1u;
  const bool keep = back == magnitude || magnitude != magnitude || (bits & 1u) != 0;
  const u32 sign = u32(bits_of(x) >> 63) << 31;  // of zeros, too
  return float_from_bits((keep ? bits : odd) | sign);
}

// 64-bit integers to f64 with the bits beyond 53 folded into the last place, for the same reason.
template <class From>
CT_DEVICE f64 integer_to_odd(From x) {
  const bool negative = is_negative(x);
  const u64 magnitude = negative ? 0 - u64(x) : u64(x);
  const u64 folded = ((magnitude >> 11) | u64((magnitude & 0x7ffu) != 0)) << 11;
  const f64 result = f64(magnitude < (1ull << 53) ? magnitude : folded);
  return negative ? -result : result;
}

template <class To, class From>
CT_DEVICE To saturate(From x) {
  // 2^n and the lower bound are exact in both float types, even where highest<To>() is not.
  const From above = From(2) * From(u64(1) << (8 * sizeof(To) - (is_signed_integer<To> ? 2 : 1)));
  return x >= above ? highest<To>() : x < From(lowest<To>()) ? lowest<To>() : x != x ? To(0) : To(x);
}

}  // namespace internal

template <class To, class From>
CT_DEVICE To cast(From x) {
  if constexpr (is_same<To, From>) {
    return x;
  } else if constexpr (is_half<From>) {
    return cast<To>(to_float(x));
  } else if constexpr (is_same<To, bool>) {
    return x != From(0);
  } else if constexpr (is_half<To>) {
    if constexpr (is_same<From, f64>)
      return from_float<To>(internal::round_to_odd(x));
    else if constexpr (is_same<From, i64> || is_same<From, u64>)
      return from_float<To>(internal::round_to_odd(internal::integer_to_odd(x)));
    else if constexpr (is_same<From, i32> || is_same<From, u32>)
      return from_float<To>(internal::round_to_odd(f64(x)));
    else
      return from_float<To>(f32(x));
  } else if constexpr (is_float<From> && is_integer<To>) {
    return internal::saturate<To>(x);
  } else {
    return To(x);  // wraps, widens, or rounds to nearest even
  }
}

}  // namespace ct
#endif
