// Arrays as blocks in memory: construction, views, conversion, comparison. Random numbers, printing and .npy files are
// in other files of this folder.
#include <croton/array.hpp>

#include "base/array_bytes.hpp"
#include "base/checked.hpp"
#include "base/convert.hpp"
#include "base/device_memory.hpp"
#include "base/index.hpp"
#include "base/memory.hpp"
#include "base/shape.hpp"
#include "base/strided.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <ostream>
#include <utility>

namespace croton {
namespace {

using base::bytes_of;
using base::element_size;
using base::shape_text;

/// The byte offsets, from the first element, of the lowest byte used and of the byte after the highest. ShapeError if
/// they overflow.
std::pair<std::int64_t, std::int64_t> byte_extent(const Sizes& shape, const Sizes& strides, DType dtype) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return {0, 0};
    const auto span = base::checked_mul(shape[axis] - 1, strides[axis]);
    auto& end = span && *span < 0 ? low : high;
    const auto sum = span ? base::checked_add(end, *span) : span;
    if (!sum)
      throw ShapeError(fmt::format("strides ({}) of shape {} overflow", fmt::join(strides, ", "), shape_text(shape)));
    end = *sum;
  }
  const auto past = base::checked_add(high, element_size(dtype));
  if (!past)
    throw ShapeError(fmt::format("strides ({}) of shape {} overflow", fmt::join(strides, ", "), shape_text(shape)));
  return {low, *past};
}

/// Whether the byte ranges that the two arrays span overlap.
bool may_overlap(const Array& a, const Array& b) {
  const auto [a_low, a_high] = byte_extent(a.shape(), a.strides(), a.dtype());
  const auto [b_low, b_high] = byte_extent(b.shape(), b.strides(), b.dtype());
  const auto a_address = reinterpret_cast<std::intptr_t>(a.raw());
  const auto b_address = reinterpret_cast<std::intptr_t>(b.raw());
  return a_address + a_low < b_address + b_high && b_address + b_low < a_address + a_high;
}

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

/// Alignment of an element as a C++ object; a complex number has the alignment of its parts.
std::size_t element_alignment(DType dtype) { return is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype); }

std::size_t checked_axis(const Array& array, int axis) {
  const int from_start = axis < 0 ? axis + array.rank() : axis;
  if (from_start < 0 || from_start >= array.rank()) {
    throw IndexError(
        fmt::format("axis {} of an array with {} axes, shape {}", axis, array.rank(), shape_text(array.shape())));
  }
  return base::to_size(from_start);
}

std::int64_t checked_index(const Array& array, std::size_t axis, std::int64_t index) {
  const std::int64_t size = array.shape()[axis];
  if (index < -size || index >= size) {
    throw IndexError(
        fmt::format("index {} is outside axis {} of size {}, shape {}", index, axis, size, shape_text(array.shape())));
  }
  return index < 0 ? index + size : index;
}

void convert(Array& to, const Array& from) {
  base::convert_elements(to.shape(), {to.raw(), to.dtype(), to.strides()}, {from.raw(), from.dtype(), from.strides()});
}

/// Writes one converted value to every element.
void fill(Array& array, DType value_dtype, const void* value) {
  const Sizes zero_strides(array.shape().size(), 0);
  base::convert_elements(array.shape(), {array.raw(), array.dtype(), array.strides()},
                         {value, value_dtype, zero_strides});
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// The value as a type whose == compares numbers.
template <class T>
auto comparable(T value) {
  if constexpr (requires { value.bits; }) {
    return base::to_float(value);
  } else {
    return value;
  }
}

template <class Same>
bool all_elements(const Array& a, const Array& b, Same&& same) {
  return base::for_each_row(
      a.shape(), a.strides(), b.strides(), [&](std::int64_t first, std::int64_t second, const base::PairAxis& axis) {
        for (std::int64_t i = 0; i < axis.size; ++i) {
          if (!same(bytes_of(a) + first + i * axis.first_stride, bytes_of(b) + second + i * axis.second_stride)) {
            return false;
          }
        }
        return true;
      });
}

bool is_close(double a, double b, double relative, double absolute) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

bool is_close(std::complex<double> a, std::complex<double> b, double relative, double absolute) {
  const auto is_nan = [](std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  if (a == b || (is_nan(a) && is_nan(b))) return true;
  if (!std::isfinite(std::abs(a)) || !std::isfinite(std::abs(b))) return false;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

template <class Wide>
bool all_close_as(const Array& a, const Array& b, DType wide, double relative, double absolute) {
  const Array wide_a = a.astype(wide);
  const Array wide_b = b.astype(wide);
  return all_elements(wide_a, wide_b, [&](const std::byte* x, const std::byte* y) {
    return is_close(load<Wide>(x), load<Wide>(y), relative, absolute);
  });
}

/// The shape with its -1 replaced by the size that is left for this axis.
Sizes resolved_shape(Sizes shape, const Array& array) {
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  const auto mismatch = [&] {
    return ShapeError(fmt::format("shape {} with {} elements cannot be reshaped to {}", shape_text(array.shape()),
                                  array.size(), shape_text(shape)));
  };
  if (unknown == shape.end()) {
    if (base::element_count(shape, array.dtype()) != array.size()) throw mismatch();
    return shape;
  }
  if (std::count(shape.begin(), shape.end(), -1) > 1) {
    throw ShapeError(fmt::format("only one size of {} may be -1", shape_text(shape)));
  }
  Sizes known = shape;
  known.erase(known.begin() + (unknown - shape.begin()));
  const std::int64_t others = base::element_count(known, array.dtype());
  if (others == 0 || array.size() % others != 0) throw mismatch();
  *unknown = array.size() / others;
  return shape;
}

}  // namespace

Array::Array() : shape_{0}, strides_{element_size(DType::float32)} {}

Array Array::empty(DType dtype, Sizes shape) {
  const std::size_t bytes = base::byte_count(shape, dtype);
  Array result{Blank{}};
  result.owner_ = base::allocate_shared_memory(bytes);
  result.data_ = result.owner_.get();
  result.strides_ = base::c_strides(shape, dtype);
  result.shape_ = std::move(shape);
  result.dtype_ = dtype;
  return result;
}

Array Array::zeros(DType dtype, Sizes shape) {
  Array result = empty(dtype, std::move(shape));
  std::memset(result.data_, 0, result.bytes());  // all bits zero is the 0 of every dtype
  return result;
}

Array Array::full(DType dtype, Sizes shape, double value) {
  Array result = empty(dtype, std::move(shape));
  fill(result, DType::float64, &value);
  return result;
}

Array Array::full(DType dtype, Sizes shape, std::complex<double> value) {
  base::check_conversion(dtype, DType::complex128);
  Array result = empty(dtype, std::move(shape));
  fill(result, DType::complex128, &value);
  return result;
}

Array Array::arange(std::int64_t n, DType dtype) {
  Array counted = empty(DType::int64, {std::max<std::int64_t>(n, 0)});
  const std::span<std::int64_t> values = counted.data<std::int64_t>();
  std::iota(values.begin(), values.end(), std::int64_t{0});
  return dtype == DType::int64 ? counted : counted.astype(dtype);
}

Array Array::arange(double start, double stop, double step, DType dtype) {
  if (step == 0 || !std::isfinite(step) || !std::isfinite(start) || !std::isfinite(stop)) {
    throw ValueError(
        fmt::format("arange({}, {}, {}): start and stop must be finite, step finite and not 0", start, stop, step));
  }
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count >= 0x1p62) throw ShapeError(fmt::format("arange({}, {}, {}) has too many elements", start, stop, step));
  Array numbers = empty(DType::float64, {static_cast<std::int64_t>(count)});
  const std::span<double> values = numbers.data<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return dtype == DType::float64 ? numbers : numbers.astype(dtype);
}

Array Array::copy_of(const void* data, DType dtype, Sizes shape) {
  Sizes strides = base::c_strides(shape, dtype);
  return copy_of(data, dtype, std::move(shape), std::move(strides));
}

Array Array::copy_of(const void* data, DType dtype, Sizes shape, Sizes strides) {
  return view_of(data, dtype, std::move(shape), std::move(strides)).copy();
}

Array Array::view_of(void* data, DType dtype, Sizes shape, Sizes strides) {
  return adopt(nullptr, data, dtype, std::move(shape), std::move(strides));
}

Array Array::view_of(const void* data, DType dtype, Sizes shape, Sizes strides) {
  // The array is marked read-only, so nothing writes through the pointer.
  return adopt(nullptr, const_cast<void*>(data), dtype, std::move(shape), std::move(strides), false);
}

Array Array::adopt(std::shared_ptr<void> owner, void* data, DType dtype, Sizes shape, Sizes strides, bool writable) {
  const std::int64_t count = base::element_count(shape, dtype);
  if (strides.empty()) strides = base::c_strides(shape, dtype);
  if (strides.size() != shape.size()) {
    throw ShapeError(
        fmt::format("{} strides for shape {} with {} axes", strides.size(), shape_text(shape), shape.size()));
  }
  byte_extent(shape, strides, dtype);
  if (data == nullptr && count > 0) {
    throw ValueError(fmt::format("a null pointer for {} elements, shape {}", count, shape_text(shape)));
  }
  Array result;
  result.owner_ = std::move(owner);
  result.data_ = data;
  result.shape_ = std::move(shape);
  result.strides_ = std::move(strides);
  result.dtype_ = dtype;
  result.writable_ = writable;
  return result;
}

std::int64_t Array::shape(int axis) const { return shape_[checked_axis(*this, axis)]; }

std::int64_t Array::size() const {
  return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t Array::bytes() const { return base::to_size(size()) * size_of(dtype_); }

bool Array::is_contiguous() const {
  std::int64_t expected = element_size(dtype_);
  bool contiguous = true;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    if (shape_[axis] == 0) return true;
    if (shape_[axis] == 1) continue;
    contiguous = contiguous && strides_[axis] == expected;
    expected *= shape_[axis];
  }
  return contiguous;
}

const void* Array::raw() const {
  if (device_ != nullptr) {
    throw DeviceError(fmt::format("the elements of an array of shape {} are on {}; to_host() copies them",
                                  shape_text(shape_), device_->name()));
  }
  return data_;
}

std::string Array::device() const { return device_ == nullptr ? "cpu" : device_->name(); }

Array Array::to_host() const {
  if (device_ == nullptr) return *this;
  Array result = empty(dtype_, shape_);
  device_->copy_out(result.data_, data_, bytes());
  return result;
}

Array Array::empty_on(base::DeviceMemory& memory, DType dtype, Sizes shape) {
  if (memory.is_host()) return empty(dtype, std::move(shape));
  const std::size_t bytes = base::byte_count(shape, dtype);
  Array result{Blank{}};
  result.owner_ = memory.allocate(bytes);
  result.data_ = result.owner_.get();
  result.device_ = &memory;
  result.strides_ = base::c_strides(shape, dtype);
  result.shape_ = std::move(shape);
  result.dtype_ = dtype;
  return result;
}

Array Array::view_on(base::DeviceMemory& memory, void* data, DType dtype, Sizes shape) {
  if (memory.is_host()) return view_of(data, dtype, std::move(shape));
  base::byte_count(shape, dtype);
  Array result{Blank{}};
  result.data_ = data;
  result.device_ = &memory;
  result.strides_ = base::c_strides(shape, dtype);
  result.shape_ = std::move(shape);
  result.dtype_ = dtype;
  return result;
}

void* Array::raw() {
  std::as_const(*this).raw();  // raises if not on the host
  if (!writable_)
    throw ValueError(fmt::format("the {} array of shape {} is read-only; copy() gives one that is not", name_of(dtype_),
                                 shape_text(shape_)));
  return data_;
}

void Array::check_typed_access(DType expected) const {
  raw();  // raises if not on the host
  if (expected != dtype_) {
    throw TypeError(fmt::format("the elements of an array of {} were requested as {}; astype converts", name_of(dtype_),
                                name_of(expected)));
  }
}

void Array::check_plain_access(DType expected) const {
  check_typed_access(expected);
  if (!is_contiguous() || !is_aligned(data_, element_alignment(dtype_))) {
    throw ValueError(
        fmt::format("data() of an array of shape {} that is not contiguous and aligned; contiguous() gives one that is",
                    shape_text(shape_)));
  }
}

const void* Array::element(DType expected, std::initializer_list<std::int64_t> index) const {
  check_typed_access(expected);
  if (index.size() != shape_.size()) {
    throw IndexError(
        fmt::format("{} indices for an array of shape {} with {} axes", index.size(), shape_text(shape_), rank()));
  }
  const auto* at = static_cast<const std::byte*>(data_);
  std::size_t axis = 0;
  for (const std::int64_t i : index) {
    at += checked_index(*this, axis, i) * strides_[axis];
    ++axis;
  }
  if (!is_aligned(at, element_alignment(dtype_))) {
    throw ValueError(fmt::format("at() of an array of {} whose elements are not aligned; copy() gives one whose are",
                                 name_of(dtype_)));
  }
  return at;
}

void* Array::writable_element(DType expected, std::initializer_list<std::int64_t> index) {
  raw();  // raises if read-only
  return const_cast<void*>(element(expected, index));
}

void Array::item_into(DType to, void* value) const {
  if (size() != 1) {
    throw ValueError(
        fmt::format("item() of an array of shape {}: it has {} elements, not one", shape_text(shape_), size()));
  }
  base::convert_elements({}, {value, to, {}}, {raw(), dtype_, {}});
}

namespace {

/// The address of the element at a C-order position.
const std::byte* at_position(const Array& array, std::int64_t position) {
  if (position < 0 || position >= array.size()) {
    throw IndexError(fmt::format("position {} in an array of {} elements", position, array.size()));
  }
  const std::byte* at = bytes_of(array);
  if (array.is_contiguous()) return at + position * element_size(array.dtype());
  for (std::size_t axis = array.shape().size(); axis-- > 0;) {
    at += position % array.shape()[axis] * array.strides()[axis];
    position /= array.shape()[axis];
  }
  return at;
}

}  // namespace

double Array::as_double(std::int64_t position) const {
  // Fast paths: elements are often read one by one in a loop, most often of these dtypes.
  const std::byte* const at = at_position(*this, position);
  double value = 0;
  if (dtype_ == DType::float64) {
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (dtype_ == DType::float32) {
    float narrow = 0;
    std::memcpy(&narrow, at, sizeof narrow);
    return narrow;
  }
  // The real part is the first one in a complex number.
  const DType part = is_complex(dtype_) ? (dtype_ == DType::complex64 ? DType::float32 : DType::float64) : dtype_;
  base::convert_elements({}, {&value, DType::float64, {}}, {at, part, {}});
  return value;
}

std::complex<double> Array::as_complex(std::int64_t position) const {
  std::complex<double> value;
  base::convert_elements({}, {&value, DType::complex128, {}}, {at_position(*this, position), dtype_, {}});
  return value;
}

Array Array::copy() const { return device_ == nullptr ? astype(dtype_) : to_host(); }

Array Array::contiguous() const { return is_contiguous() && is_aligned(data_, 16) ? *this : copy(); }

Array Array::astype(DType dtype) const {
  base::check_conversion(dtype, dtype_);
  Array result = empty(dtype, shape_);
  convert(result, *this);
  return result;
}

Array Array::reshape(Sizes shape) const {
  shape = resolved_shape(std::move(shape), *this);
  Array result = is_contiguous() ? *this : copy();
  result.strides_ = base::c_strides(shape, dtype_);
  result.shape_ = std::move(shape);
  return result;
}

Array Array::transpose() const {
  Array result = *this;
  std::reverse(result.shape_.begin(), result.shape_.end());
  std::reverse(result.strides_.begin(), result.strides_.end());
  return result;
}

Array Array::transpose(std::vector<int> axes) const {
  std::vector<bool> seen(shape_.size(), false);
  Array result = *this;
  bool is_permutation = axes.size() == shape_.size();
  for (std::size_t i = 0; is_permutation && i < axes.size(); ++i) {
    const std::size_t axis = checked_axis(*this, axes[i]);
    is_permutation = !seen[axis];
    seen[axis] = true;
    result.shape_[i] = shape_[axis];
    result.strides_[i] = strides_[axis];
  }
  if (!is_permutation) {
    throw ShapeError(fmt::format("transpose axes ({}) do not name each axis of shape {} once", fmt::join(axes, ", "),
                                 shape_text(shape_)));
  }
  return result;
}

Array Array::slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step) const {
  if (step == 0) throw ValueError("slice: the step must not be 0");
  const std::size_t a = checked_axis(*this, axis);
  const std::int64_t size = shape_[a];
  // NumPy's rules: negative positions count from the end, then both are clipped to the range of the axis in the
  // direction of the step.
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const auto clipped = [&](std::int64_t position) {
    return std::clamp(position < 0 ? position + size : position, lowest, size + lowest);
  };
  const std::int64_t first = clipped(start);
  const std::int64_t last = clipped(stop);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t count =
      distance <= 0 ? 0 : static_cast<std::int64_t>(base::magnitude(distance - 1) / base::magnitude(step)) + 1;
  Array result = *this;
  result.shape_[a] = count;
  if (count > 0) result.data_ = static_cast<std::byte*>(data_) + first * strides_[a];
  if (count > 1) result.strides_[a] = strides_[a] * step;
  return result;
}

Array Array::row(std::int64_t index) const {
  const std::size_t axis = checked_axis(*this, 0);
  Array result = *this;
  result.data_ = static_cast<std::byte*>(data_) + checked_index(*this, axis, index) * strides_[0];
  result.shape_.erase(result.shape_.begin());
  result.strides_.erase(result.strides_.begin());
  return result;
}

void Array::copy_from(const Array& other) {
  raw();  // raises if read-only
  if (other.shape_ != shape_) {
    throw ShapeError(fmt::format("copy_from: shape {} into shape {}", shape_text(other.shape_), shape_text(shape_)));
  }
  convert(*this, may_overlap(*this, other) ? other.copy() : other);
}

bool Array::equals(const Array& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  return base::visit_dtype(dtype_, [&]<class T>(std::type_identity<T>) {
    return all_elements(*this, other, [](const std::byte* a, const std::byte* b) {
      return comparable(load<T>(a)) == comparable(load<T>(b));
    });
  });
}

bool Array::same_bits(const Array& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  return all_elements(*this, other, [size = size_of(dtype_)](const std::byte* a, const std::byte* b) {
    return std::memcmp(a, b, size) == 0;
  });
}

bool Array::all_close(const Array& other, double relative, double absolute) const {
  if (shape_ != other.shape_) return false;
  if (is_complex(dtype_) || is_complex(other.dtype_)) {
    return all_close_as<std::complex<double>>(*this, other, DType::complex128, relative, absolute);
  }
  return all_close_as<double>(*this, other, DType::float64, relative, absolute);
}

std::ostream& operator<<(std::ostream& out, const Array& array) { return out << array.to_string(); }

}  // namespace croton
