// Element types and the types of symbolic variables.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace croton {

/// The type of one element. float16 and bfloat16 are storage types: arithmetic on them is done in float32 and rounded.
enum class DType : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};
inline constexpr int dtype_count = 15;

/// Bytes of one element.
std::size_t size_of(DType dtype);
/// The full name, as in NumPy: "float32".
std::string_view name_of(DType dtype);
/// The short name used in printed graphs: "f32".
std::string_view short_name_of(DType dtype);
/// The dtype with a full or short name ("float32", "f32"); throws TypeError that lists the names.
DType dtype_from_name(std::string_view name);

inline constexpr bool is_bool(DType t) { return t == DType::bool_; }
inline constexpr bool is_signed_int(DType t) { return t >= DType::int8 && t <= DType::int64; }
inline constexpr bool is_unsigned_int(DType t) { return t >= DType::uint8 && t <= DType::uint64; }
/// int8..int64 and uint8..uint64; not bool.
inline constexpr bool is_integer(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
/// Integers and bool.
inline constexpr bool is_discrete(DType t) { return is_bool(t) || is_integer(t); }
inline constexpr bool is_float(DType t) { return t >= DType::float16 && t <= DType::float64; }
inline constexpr bool is_complex(DType t) { return t >= DType::complex64; }

/// The dtype in which a body computes a value stored as `t`: float32 for float16 and bfloat16, else `t` itself.
inline constexpr DType compute_dtype(DType t) {
  return t == DType::float16 || t == DType::bfloat16 ? DType::float32 : t;
}

/// The dtype of a result of two operands, by Theano's (NumPy's array) rules; the table is in docs/use/types.md.
DType promote(DType a, DType b);
/// True if promote(from, to) is `to`: NumPy's "safe" casting. No value is lost, except that int64 and uint64 count as
/// safe to float64, as in NumPy.
bool can_cast_safely(DType from, DType to);
/// The smallest signed integer dtype that holds `value` (3 -> int8, 300 -> int16).
DType smallest_int(std::int64_t value);

/// Maps C++ element types to dtypes: dtype_of<float>() is DType::float32. Deleted for types without a dtype (char, long
/// double).
template <class T>
constexpr DType dtype_of() = delete;
// clang-format off
template <> constexpr DType dtype_of<bool>() { return DType::bool_; }
template <> constexpr DType dtype_of<std::int8_t>() { return DType::int8; }
template <> constexpr DType dtype_of<std::int16_t>() { return DType::int16; }
template <> constexpr DType dtype_of<std::int32_t>() { return DType::int32; }
template <> constexpr DType dtype_of<long>() { return DType::int64; }
template <> constexpr DType dtype_of<long long>() { return DType::int64; }
template <> constexpr DType dtype_of<std::uint8_t>() { return DType::uint8; }
template <> constexpr DType dtype_of<std::uint16_t>() { return DType::uint16; }
template <> constexpr DType dtype_of<std::uint32_t>() { return DType::uint32; }
template <> constexpr DType dtype_of<unsigned long>() { return DType::uint64; }
template <> constexpr DType dtype_of<unsigned long long>() { return DType::uint64; }
template <> constexpr DType dtype_of<float>() { return DType::float32; }
template <> constexpr DType dtype_of<double>() { return DType::float64; }
template <> constexpr DType dtype_of<std::complex<float>>() { return DType::complex64; }
template <> constexpr DType dtype_of<std::complex<double>>() { return DType::complex128; }
// clang-format on

/// A C++ type of elements, for which dtype_of is defined.
template <class T>
concept Element = requires { dtype_of<T>(); };

/// Marks a size that is known only when a function is called.
inline constexpr std::int64_t unknown_size = -1;

/// The type of a symbolic variable: element type and, per dimension, a static size or `unknown_size`. An axis of static
/// size 1 broadcasts; an axis of unknown size does not, even if its size is 1 at run time.
struct Type {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;

  std::size_t rank() const { return shape.size(); }
  bool broadcasts(std::integral auto axis) const { return shape[static_cast<std::size_t>(axis)] == 1; }
  /// As in error texts and printed graphs: "f32[?, 10]".
  std::string to_string() const;
  friend bool operator==(const Type&, const Type&) = default;
};

}  // namespace croton
