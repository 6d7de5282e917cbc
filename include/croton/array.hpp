// Array: a strided block of elements, owning or a view. Arguments and results of compiled functions are Arrays in host
// memory.
#pragma once

#include <croton/error.hpp>
#include <croton/type.hpp>

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace croton {

/// Sizes or strides, one per dimension. Strides count bytes, as in NumPy; they may be negative or zero.
using Sizes = std::vector<std::int64_t>;

namespace base {
class DeviceMemory;
}

/// An n-dimensional array of elements of one dtype. Copying an Array copies a reference, not the elements; `copy()`
/// copies elements. A view keeps its memory alive, except one made by `view_of`, whose memory belongs to the caller.
/// Sizes are checked for overflow before memory is allocated; a failed allocation raises OutOfMemory.
class Array {
 public:
  /// An array without elements: float32 of shape (0).
  Array();

  /// A vector of the values: Array{1.f, 2.f, 3.f} is float32 (3), Array{1, 2} is int32 (2).
  template <class T>
    requires Element<T>
  Array(std::initializer_list<T> values) : Array(std::span<const T>(values.begin(), values.size())) {}
  /// A matrix of the rows, which must have equal lengths, else ShapeError: Array{{1.f, 2.f}, {3.f, 4.f}}.
  template <class T>
    requires Element<T>
  Array(std::initializer_list<std::initializer_list<T>> rows);
  /// A vector with a copy of the values.
  template <class T>
    requires Element<T>
  explicit Array(std::span<const T> values)
      : Array(copy_of(values.data(), dtype_of<T>(), {static_cast<std::int64_t>(values.size())})) {}
  template <class T>
    requires(Element<T> && !std::same_as<T, bool>)
  Array(const std::vector<T>& values) : Array(std::span<const T>(values)) {}
  /// A 0-d array.
  template <class T>
    requires Element<T>
  Array(T scalar) : Array(copy_of(&scalar, dtype_of<T>(), {})) {}

  /// Uninitialised elements, C order, 64-byte aligned.
  static Array empty(DType dtype, Sizes shape);
  static Array zeros(DType dtype, Sizes shape);
  /// All elements are `value`, converted to dtype.
  static Array full(DType dtype, Sizes shape, double value);
  static Array full(DType dtype, Sizes shape, std::complex<double> value);  ///< TypeError if dtype is real
  /// 0, 1, ..., n-1 (or start, start+step, ... below stop), with NumPy's number of elements.
  static Array arange(std::int64_t n, DType dtype = DType::int64);
  static Array arange(double start, double stop, double step, DType dtype);
  /// Uniform numbers in [lo, hi) from SplitMix64 with `seed`: u = (z >> 11) 2^-53, lo + (hi - lo) u in double, then
  /// converted (rounding to a narrower dtype may give hi itself).
  static Array uniform(DType dtype, Sizes shape, std::uint64_t seed, double lo = 0, double hi = 1);
  /// Standard normal numbers from the same generator by Box and Muller's method (1958), in double, then converted.
  static Array normal(DType dtype, Sizes shape, std::uint64_t seed);
  /// Copies a C-ordered block.
  static Array copy_of(const void* data, DType dtype, Sizes shape);
  /// Copies a strided block (strides in bytes).
  static Array copy_of(const void* data, DType dtype, Sizes shape, Sizes strides);
  /// A view of the caller's memory, which the caller keeps alive; strides in bytes, C order if empty.
  static Array view_of(void* data, DType dtype, Sizes shape, Sizes strides = {});
  static Array view_of(const void* data, DType dtype, Sizes shape, Sizes strides = {});  ///< read-only
  /// A view whose memory is released when `owner` is.
  static Array adopt(std::shared_ptr<void> owner, void* data, DType dtype, Sizes shape, Sizes strides = {},
                     bool writable = true);

  DType dtype() const { return dtype_; }
  const Sizes& shape() const { return shape_; }
  const Sizes& strides() const { return strides_; }
  std::int64_t shape(int axis) const;  ///< negative axes count from the end; IndexError outside
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t size() const;  ///< number of elements
  std::size_t bytes() const;  ///< size() * size_of(dtype())
  bool writable() const { return writable_; }
  bool is_contiguous() const;  ///< C order without gaps; true for arrays without elements
  const void* raw() const;     ///< the first element; DeviceError if it is on a device
  void* raw();                 ///< the same; ValueError if read-only
  const std::shared_ptr<void>& owner() const { return owner_; }

  /// The elements of a C-ordered array; TypeError if T is not its dtype, ValueError if not contiguous or not aligned.
  template <Element T>
  std::span<const T> data() const;
  template <Element T>
  std::span<T> data();
  /// The element at the given indices (negative ones count from the end); IndexError outside, TypeError for another
  /// dtype.
  template <class T, class... I>
  const T& at(I... index) const {
    return *static_cast<const T*>(element(dtype_of<T>(), {static_cast<std::int64_t>(index)...}));
  }
  template <class T, class... I>
  T& at(I... index) {
    return *static_cast<T*>(writable_element(dtype_of<T>(), {static_cast<std::int64_t>(index)...}));
  }
  /// The only element, converted to T; ValueError if there is not exactly one, TypeError for complex to real.
  template <Element T>
  T item() const;
  /// The element at a C-order position, converted to double (complex: real part); any dtype.
  double as_double(std::int64_t position) const;
  std::complex<double> as_complex(std::int64_t position) const;  ///< the same as a complex number

  std::string device() const;        ///< the device of the elements: "cpu", "cuda0"
  Array to_host() const;             ///< itself if on the host, else a copy
  Array copy() const;                ///< C order, owning
  Array contiguous() const;          ///< itself if contiguous and 16-byte aligned, else a copy
  Array astype(DType dtype) const;   ///< converted copy; float to integer truncates and saturates, NaN gives 0
  Array reshape(Sizes shape) const;  ///< one size may be -1; a view if contiguous, else a copy; ShapeError
  Array transpose() const;           ///< a view with the axes reversed
  Array transpose(std::vector<int> axes) const;
  /// A view of start, start + step, ... before stop, by NumPy's rules (negative positions count from the end, both are
  /// clipped; with a negative step a stop below -size includes position 0). ValueError if step is 0.
  Array slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  Array row(std::int64_t index) const;  ///< a view of one index of axis 0
  void copy_from(const Array& other);   ///< elementwise, same shape, converts; ShapeError, ValueError if read-only

  /// Equal dtype, shape and elements (NaN differs from itself, as in arithmetic).
  bool equals(const Array& other) const;
  /// Equal dtype, shape and bytes of the elements (so NaN may equal NaN, and -0 differs from 0).
  bool same_bits(const Array& other) const;
  /// Like NumPy: |a - b| <= absolute + relative |b| for every element, shapes equal; NaN equals NaN, infinities equal
  /// themselves.
  bool all_close(const Array& other, double relative = 1e-5, double absolute = 1e-8) const;

  /// As NumPy prints: "[[1. 2.]\n [3. 4.]]", long arrays shortened with "...".
  std::string to_string() const;

  // For the runtime: arrays in the memory of a device, in C order. Unless it is the host, only to_host() gives access
  // to their elements.
  static Array empty_on(base::DeviceMemory& memory, DType dtype, Sizes shape);
  /// A view of memory with another owner.
  static Array view_on(base::DeviceMemory& memory, void* data, DType dtype, Sizes shape);
  base::DeviceMemory* device_memory() const { return device_; }  ///< null for the host (base/device_memory.hpp)
  void* address() const { return data_; }                        ///< on the array's device

 private:
  struct Blank {};
  explicit Array(Blank) {}                        // to be filled in by a function of this class; costs no allocation
  void check_typed_access(DType expected) const;  ///< TypeError
  void check_plain_access(DType expected) const;  ///< and ValueError unless contiguous and aligned
  void item_into(DType to, void* value) const;
  const void* element(DType expected, std::initializer_list<std::int64_t> index) const;
  void* writable_element(DType expected, std::initializer_list<std::int64_t> index);

  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
  base::DeviceMemory* device_ = nullptr;  // null: the host
  Sizes shape_;
  Sizes strides_;
  DType dtype_ = DType::float32;
  bool writable_ = true;
};

template <class T>
  requires Element<T>
Array::Array(std::initializer_list<std::initializer_list<T>> rows) {
  const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
  *this = empty(dtype_of<T>(), {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)});
  T* to = static_cast<T*>(data_);
  for (const std::initializer_list<T>& row : rows) {
    if (row.size() != columns) {
      throw ShapeError("the rows of a matrix have different lengths: " + std::to_string(columns) + " and " +
                       std::to_string(row.size()));
    }
    to = std::copy(row.begin(), row.end(), to);
  }
}

template <Element T>
std::span<const T> Array::data() const {
  check_plain_access(dtype_of<T>());
  return {static_cast<const T*>(data_), static_cast<std::size_t>(size())};
}

template <Element T>
std::span<T> Array::data() {
  check_plain_access(dtype_of<T>());
  return {static_cast<T*>(raw()), static_cast<std::size_t>(size())};
}

template <Element T>
T Array::item() const {
  T value{};
  item_into(dtype_of<T>(), &value);
  return value;
}

std::ostream& operator<<(std::ostream& out, const Array& array);

/// Reads a .npy file (format 1 to 3, little-endian, no objects). Every size is checked before allocation; FileError
/// names the file and the error.
Array load_npy(const std::filesystem::path& file);
/// Writes a .npy file (format 1.0, C order), through a temporary file and a rename.
void save_npy(const std::filesystem::path& file, const Array& array);

}  // namespace croton
