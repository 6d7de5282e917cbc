// Inputs and comparisons that the tests of operations share: awkward values of every dtype, awkward layouts in memory,
// and the distance between two numbers in units of the last place of a dtype.
#pragma once

#include <croton/croton.hpp>

#include "backends.hpp"
#include "catch.hpp"
#include "expr/op.hpp"
#include "ops/records.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace croton_test {

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::Sizes;
using ct::Variable;
using ct::expr::Scalar;

/// All dtypes of elementwise work, without complex numbers.
inline const std::vector<DType> real_dtypes = {
    DType::bool_,  DType::int8,   DType::int16,   DType::int32,    DType::int64,   DType::uint8,  DType::uint16,
    DType::uint32, DType::uint64, DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// A function whose flags also hold during its calls, because calls read `device`. Calls write records.
class Compiled {
 public:
  Compiled(ct::Function function, std::string settings, Ops ops)
      : function_(std::move(function)), settings_(std::move(settings)), ops_(std::move(ops)) {}

  template <class... Arguments>
  ct::Outputs operator()(const Arguments&... arguments) const {
    return call_recorded((holds_special(arguments) || ...), [&] { return function_(arguments...); });
  }
  ct::Outputs call(const std::vector<ct::Argument>& arguments) const {
    const bool special = std::ranges::any_of(arguments, [](const ct::Argument& a) { return holds_special(a.array()); });
    return call_recorded(special, [&] { return function_.call(arguments); });
  }
  ct::CallCounts counts() const { return function_.counts(); }
  auto kernels(const std::string& target) const { return function_.kernels(target); }

 private:
  template <class Call>
  ct::Outputs call_recorded(bool special, Call call) const {
    const ct::change_flags flags(settings_);
    ct::Outputs results = call();
    Records::all().add(ops_, "runs");
    if (special) Records::all().add(ops_, "special");
    return results;
  }

  ct::Function function_;
  std::string settings_;
  Ops ops_;
};

/// Compiles under the given flags: one of backends(), with others after commas.
inline Compiled compile(const std::string& settings, std::vector<ct::In> inputs, const std::vector<Variable>& outputs) {
  const ct::change_flags flags(settings);
  return {ct::function(std::move(inputs), outputs, {.on_unused_input = ct::UnusedInput::ignore}), settings,
          ops_of(outputs)};
}

/// The same on every back-end that runs CUDA text.
inline std::vector<Compiled> compile_for_gpus(const std::string& settings, const std::vector<ct::In>& inputs,
                                              const std::vector<Variable>& outputs) {
  std::vector<Compiled> all;
  for (const std::string& backend : gpu_backends()) all.push_back(compile(settings + backend, inputs, outputs));
  return all;
}

inline Scalar scalar_at(const Array& plain, std::int64_t at) {
  if (is_float(plain.dtype())) return Scalar::of_double(plain.as_double(at), plain.dtype());
  if (is_complex(plain.dtype())) return Scalar::of_complex(plain.as_complex(at), plain.dtype());
  const auto i = static_cast<std::size_t>(at);
  switch (plain.dtype()) {
    case DType::int64:
      return Scalar::of_int(plain.data<std::int64_t>()[i], DType::int64);
    case DType::uint64:
      return Scalar::of_int(static_cast<std::int64_t>(plain.data<std::uint64_t>()[i]), DType::uint64);
    default:
      return Scalar::of_int(static_cast<std::int64_t>(plain.as_double(at)), plain.dtype());
  }
}

/// The size of the last place of `dtype` at `x`, denormals included.
inline double ulp_at(double x, DType dtype) {
  struct Format {
    int digits, min_exponent, max_exponent;
  };
  const Format f = dtype == DType::float16    ? Format{11, -13, 16}
                   : dtype == DType::bfloat16 ? Format{8, -125, 128}
                   : dtype == DType::float32  ? Format{24, -125, 128}
                                              : Format{53, -1021, 1024};
  int exponent = 0;
  std::frexp(x, &exponent);
  if (std::isinf(x)) exponent = f.max_exponent;
  return std::ldexp(1.0, std::max(exponent, f.min_exponent) - f.digits);
}

/// 0 for equal values (nan equals nan; zeros of different sign differ by `zero_sign`), else the distance in ULP of the
/// dtype.
inline double distance(const Scalar& got, const Scalar& wanted, DType dtype, double zero_sign = 1e30) {
  if (is_complex(dtype)) {  // the larger distance of the parts
    const DType part = dtype == DType::complex64 ? DType::float32 : DType::float64;
    const auto of = [&](double a, double b) {
      return distance(Scalar::of_double(a, part), Scalar::of_double(b, part), part, zero_sign);
    };
    return std::max(of(got.d, wanted.d), of(got.im, wanted.im));
  }
  if (!is_float(dtype)) return got.i == wanted.i ? 0 : 1e30;
  const double a = got.d, b = wanted.d;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : 1e30;
  if (a == b) return std::signbit(a) == std::signbit(b) ? 0 : zero_sign;
  if (std::isinf(a) && std::isinf(b)) return 1e30;
  // An overflow counts from the largest finite number.
  const double top = dtype == DType::float16    ? 65504
                     : dtype == DType::bfloat16 ? 3.3895313892515355e38
                     : dtype == DType::float32  ? std::numeric_limits<float>::max()
                                                : std::numeric_limits<double>::max();
  const auto finite = [&](double x) { return std::isinf(x) ? std::copysign(top, x) : x; };
  return (std::abs(finite(a) / 2 - finite(b) / 2) / ulp_at(finite(b), dtype)) * 2 +
         (std::isinf(a) || std::isinf(b) ? 1 : 0);
}

/// Equal bits, except that all nans are equal: the sign and payload of a new nan depend on the processor.
inline bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Array x = a.copy(), y = b.copy();
  if (x.same_bits(y)) return true;
  if (is_complex(x.dtype())) {  // each part separately
    const DType part = x.dtype() == DType::complex64 ? DType::float32 : DType::float64;
    const Sizes parts = {2 * x.size()};
    return same_bits(Array::view_of(x.raw(), part, parts), Array::view_of(y.raw(), part, parts));
  }
  if (!is_float(x.dtype())) return false;
  const std::size_t item = size_of(x.dtype());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i) * item;
    const bool equal =
        std::memcmp(static_cast<const char*>(x.raw()) + at, static_cast<const char*>(y.raw()) + at, item) == 0;
    if (!equal && !(std::isnan(x.as_double(i)) && std::isnan(y.as_double(i)))) return false;
  }
  return true;
}

/// Difficult values, for each kind of dtype.
inline std::vector<double> awkward_floats(DType dtype) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> v = {nan,  inf, -inf, 0.0,   -0.0,  1,    -1,    2,       -2,      3,    0.5,
                           -0.5, 1.5, -1.5, 2.5,   -2.5,  0.1,  7,     -3.7,    1e-3,    10,   -20,
                           30.5, 88,  -104, 60000, -1000, 1e-7, 1e-30, 1.00001, 0.99999, 1e30, -1e30};
  const auto add = [&](double x) { v.insert(v.end(), {x, -x}); };
  add(ulp_at(0, dtype));  // the smallest denormal
  add(dtype == DType::float16   ? 6.103515625e-05
      : dtype == DType::float64 ? 2.2250738585072014e-308
                                : 1.1754943508222875e-38);  // the smallest normal
  add(dtype == DType::float16    ? 65504
      : dtype == DType::bfloat16 ? 3.3895313892515355e38
      : dtype == DType::float32  ? 3.4028234663852886e38
                                 : 1.7976931348623157e308);
  add(dtype == DType::float64 ? 709.5 : 88.5);  // near the overflow of exp
  return v;
}

inline std::vector<std::int64_t> awkward_integers(DType dtype) {
  if (is_bool(dtype)) return {0, 1};
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const auto low = is_signed_int(dtype) ? static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1)) : 0;
  const auto high = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits + (is_signed_int(dtype) ? 1 : 0)));
  std::vector<std::int64_t> v = {0, 1, 2, 3, 5, 7, 8, 10, 63, 100, high, high - 1, high / 2};
  if (is_signed_int(dtype)) v.insert(v.end(), {-1, -2, -3, -7, -100, low, low + 1});
  return v;
}

template <class T>
Array fill(const std::vector<T>& values, DType dtype) {
  return Array(values).astype(dtype).copy();
}

/// `values` in the dtype, exactly: int64 patterns become uint64 by their bits.
inline Array exactly(const std::vector<std::int64_t>& values, DType dtype) {
  if (dtype != DType::uint64) return fill(values, dtype);
  return Array(std::vector<std::uint64_t>(values.begin(), values.end()));
}

/// Two arrays of n elements: pairs of all awkward values in a mixed order, then numbers from `low` to `high`.
inline std::pair<Array, Array> awkward_pairs(DType dtype, std::int64_t n, double low = -4, double high = 4) {
  const auto pair_up = [&](auto values, auto random, auto make) {
    decltype(values) a, b;
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count * count && static_cast<std::int64_t>(a.size()) < n * 4 / 5; ++i) {
      a.push_back(values[i % count]);
      b.push_back(values[(i / count + i) % count]);
    }
    for (std::int64_t k = 0; static_cast<std::int64_t>(a.size()) < n; ++k) {
      a.push_back(random(2 * k));
      b.push_back(random(2 * k + 1));
    }
    return std::pair{make(a), make(b)};
  };
  const Array noise = Array::uniform(DType::float64, {2 * n}, 7, low, high);
  if (is_float(dtype)) {
    return pair_up(
        awkward_floats(dtype), [&](std::int64_t k) { return noise.as_double(k); },
        [&](const auto& v) { return fill(v, dtype); });
  }
  const bool boolean = is_bool(dtype), no_sign = is_unsigned_int(dtype);
  return pair_up(
      awkward_integers(dtype),
      [&](std::int64_t k) {
        const auto x = static_cast<std::int64_t>(noise.as_double(k) * 10);
        return boolean ? x & 1 : no_sign ? std::abs(x) : x;
      },
      [&](const auto& v) { return exactly(v, dtype); });
}

struct Layout {
  std::string name;
  Array array;
};

/// The same matrix in every awkward memory layout: transposed, reversed, with gaps, read-only, unaligned.
inline std::vector<Layout> layouts_of(const Array& matrix) {
  const std::int64_t rows = matrix.shape(0), columns = matrix.shape(1);
  std::vector<Layout> all = {{"C order", matrix.copy()}};
  all.push_back({"Fortran order", matrix.transpose().copy().transpose()});
  const auto backwards = [](const Array& a, int axis) { return a.slice(axis, -1, -a.shape(axis) - 1, -1); };
  Array turned = backwards(backwards(matrix, 0), 1).copy();
  all.push_back({"negative strides", backwards(backwards(turned, 0), 1)});
  Array rows_turned = backwards(matrix, 0).copy();
  all.push_back({"negative rows", backwards(rows_turned, 0)});
  Array wide = Array::full(matrix.dtype(), {rows, 2 * columns + 1}, 1);
  wide.slice(1, 1, 2 * columns + 1, 2).copy_from(matrix);
  all.push_back({"every second column", wide.slice(1, 1, 2 * columns + 1, 2)});
  Array tall = Array::full(matrix.dtype(), {3 * rows + 1, columns}, 1);
  tall.slice(0, 1, 3 * rows + 1, 3).copy_from(matrix);
  all.push_back({"every third row", tall.slice(0, 1, 3 * rows + 1, 3)});
  const Array owner = matrix.copy();
  all.push_back({"read-only",
                 Array::adopt(owner.owner(), const_cast<void*>(owner.raw()), owner.dtype(), owner.shape(), {}, false)});
  const auto shifted = [&](std::int64_t bytes, const std::string& name) {
    const Array block = Array::zeros(DType::uint8, {static_cast<std::int64_t>(matrix.bytes()) + bytes + 1});
    char* at = static_cast<char*>(const_cast<void*>(block.raw())) + bytes;
    if (matrix.bytes() > 0) std::memcpy(at, std::as_const(all[0].array).raw(), matrix.bytes());
    all.push_back({name, Array::adopt(block.owner(), at, matrix.dtype(), matrix.shape())});
  };
  shifted(static_cast<std::int64_t>(size_of(matrix.dtype())), "one element off alignment");
  if (size_of(matrix.dtype()) > 1) shifted(1, "one byte off alignment");
  return all;
}

}  // namespace croton_test
