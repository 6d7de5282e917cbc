#include "core/arrays.hpp"

#include "core/foreign_arrays.hpp"
#include "core/numpy_arrays.hpp"

#include <croton/config.hpp>

#include <nanobind/ndarray.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace croton::python {
namespace {

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

std::string kind_of(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

/// Buffers to release later, with the GIL. A thread without the GIL never waits for it here: it may hold locks of
/// Croton for which a thread with the GIL waits.
class PendingBuffers {
 public:
  static void add(const Py_buffer& view) {
    {
      const std::lock_guard lock(mutex());
      all().push_back(view);
    }
    Py_AddPendingCall(&release_all, nullptr);  // if its queue is full, the call for the next buffer releases all
  }

 private:
  static int release_all(void*) {
    std::vector<Py_buffer> buffers;
    {
      const std::lock_guard lock(mutex());
      buffers.swap(all());
    }
    for (Py_buffer& view : buffers) PyBuffer_Release(&view);
    return 0;
  }
  static std::mutex& mutex() {
    static auto& instance = *new std::mutex;
    return instance;
  }
  static std::vector<Py_buffer>& all() {
    static auto& instance = *new std::vector<Py_buffer>;
    return instance;
  }
};

/// A buffer of a Python object, released with the last Array that views it.
class Buffer {
 public:
  explicit Buffer(nb::handle object) : valid_(PyObject_GetBuffer(object.ptr(), &view_, PyBUF_RECORDS_RO) == 0) {
    if (!valid_) PyErr_Clear();
  }
  ~Buffer() {
    // May run in threads unknown to Python, and at exit, when the interpreter no longer exists.
    if (!valid_ || !nb::is_alive()) return;
#ifndef Py_LIMITED_API  // which has no PyGILState_Check
    if (PyGILState_Check() != 0) {
      PyBuffer_Release(&view_);
      return;
    }
#endif
    PendingBuffers::add(view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool valid() const { return valid_; }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
  bool valid_;
};

std::optional<DType> by_size(Py_ssize_t size, std::initializer_list<DType> candidates) {
  for (const DType dtype : candidates) {
    if (static_cast<Py_ssize_t>(size_of(dtype)) == size) return dtype;
  }
  return std::nullopt;
}

/// The dtype of a format of the struct module; none for a foreign byte order and for formats of more than one number.
/// Sizes are the buffer's, since those of 'l' and 'L' differ between formats.
std::optional<DType> dtype_of_format(const Py_buffer& view) {
  std::string_view format = view.format == nullptr ? "B" : view.format;
  if (format.starts_with('@') || format.starts_with('=') || format.starts_with('<')) format.remove_prefix(1);
  if (format == "?") return DType::bool_;
  if (format == "Zf" || format == "Zd") return by_size(view.itemsize, {DType::complex64, DType::complex128});
  if (format.size() != 1) return std::nullopt;
  if (std::string_view("bhilq").find(format[0]) != std::string_view::npos) {
    return by_size(view.itemsize, {DType::int8, DType::int16, DType::int32, DType::int64});
  }
  if (std::string_view("BHILQ").find(format[0]) != std::string_view::npos) {
    return by_size(view.itemsize, {DType::uint8, DType::uint16, DType::uint32, DType::uint64});
  }
  if (std::string_view("efd").find(format[0]) != std::string_view::npos) {
    return by_size(view.itemsize, {DType::float16, DType::float32, DType::float64});
  }
  return std::nullopt;
}

/// A view of the object's buffer, with elements of dtype `as` if that is given; none if it has no buffer of numbers.
std::optional<Array> view_of(nb::handle object, std::optional<DType> as = {}) {
  // NumPy exports dates as buffers of plain bytes.
  if (PyObject_CheckBuffer(object.ptr()) == 0 || is_numpy_scalar_without_number(object)) return std::nullopt;
  auto buffer = std::make_shared<Buffer>(object);
  if (!buffer->valid()) return std::nullopt;
  const Py_buffer& view = buffer->view();
  const std::optional<DType> dtype = as ? as : dtype_of_format(view);
  if (!dtype || static_cast<Py_ssize_t>(size_of(*dtype)) != view.itemsize) return std::nullopt;
  if (view.ndim < 0 || (view.ndim > 0 && view.shape == nullptr)) return std::nullopt;
  Sizes shape(view.shape, view.shape + view.ndim);
  // Requested, but some objects omit them: then the elements are in C order.
  Sizes strides = view.strides == nullptr ? Sizes() : Sizes(view.strides, view.strides + view.ndim);
  void* data = view.buf;
  const bool writable = view.readonly == 0;
  return Array::adopt(std::move(buffer), data, *dtype, std::move(shape), std::move(strides), writable);
}

/// Converts objects without a buffer that can be viewed, through NumPy.
Array convert_by_numpy(nb::handle object) {
  nb::object array = numpy("asarray")(object);
  nb::object dtype = array.attr("dtype");
  if (nb::cast<std::string>(dtype.attr("name")) == "bfloat16") {  // of ml_dtypes, which exports no buffer
    return view_of(array.attr("view")("uint16"), DType::bfloat16).value();
  }
  if (!nb::cast<bool>(dtype.attr("isnative"))) array = array.attr("astype")(dtype.attr("newbyteorder")("="));
  if (const std::optional<Array> view = view_of(array)) return *view;
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  throw TypeError("an array of dtype " + nb::cast<std::string>(nb::str(dtype)) + " (from " + kind_of(object) +
                  ") cannot be used; numbers of at most 64 bits (complex: 128) can" +
                  (kind == "M" || kind == "m" ? ": dates and times are such after .astype('int64')" : ""));
}

bool is_text(nb::handle object) {
  return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || PyByteArray_Check(object.ptr());
}

/// As array_of_foreign, but none for NumPy arrays and for objects that are certainly not arrays.
std::optional<Array> foreign_array(nb::handle object) {
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || is_text(object) || object.is_none() ||
      PyType_Check(object.ptr()) || is_numpy_array(object))
    return std::nullopt;
  return array_of_foreign(object);
}

/// A Python number as an argument that is marked as a number.
Argument number_argument(nb::handle object) {
  Array array = number_array(object);
  switch (array.dtype()) {
    case DType::bool_:
      return array.at<bool>();
    case DType::int64:
      return array.at<std::int64_t>();
    case DType::uint64:
      return array.at<std::uint64_t>();
    case DType::float64:
      return array.at<double>();
    default:
      return array.at<std::complex<double>>();
  }
}

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const Code code = is_bool(dtype)           ? Code::Bool
                    : is_signed_int(dtype)   ? Code::Int
                    : is_unsigned_int(dtype) ? Code::UInt
                    : is_complex(dtype)      ? Code::Complex
                                             : Code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

template <class Kind>
nb::object export_view(const Array& array, void* data, DType dtype) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  std::vector<std::size_t> shape(array.shape().begin(), array.shape().end());
  Sizes strides = array.strides();
  for (std::int64_t& stride : strides) stride /= item;
  const nb::capsule owner(new Array(array), [](void* p) noexcept { delete static_cast<Array*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, Kind>(data, shape.size(), shape.data(), owner, strides.data(), dlpack_dtype(dtype)));
}

}  // namespace

Array to_array(nb::handle object) {
  if (is_number(object)) return number_array(object);
  if (is_text(object) || object.is_none() || PyType_Check(object.ptr()))
    throw TypeError(kind_of(object) + " given where an array or a number is needed");
  if (std::optional<Array> view = view_of(object)) return *std::move(view);
  if (std::optional<Array> array = foreign_array(object)) return *std::move(array);
  return convert_by_numpy(object);
}

nb::object to_numpy(const Array& array, bool copy_small) {
  if (nb::object plain = numpy_of(array, copy_small); plain.is_valid()) return plain;
  Array result = array;
  for (const std::int64_t stride : result.strides()) {
    if (stride % static_cast<std::int64_t>(size_of(result.dtype())) != 0)
      result = array.copy();  // strides of DLPack are in elements
  }
  const bool bfloat = result.dtype() == DType::bfloat16;
  const DType dtype = bfloat ? DType::uint16 : result.dtype();
  void* data = const_cast<void*>(std::as_const(result).raw());
  nb::object exported =
      result.writable() ? export_view<nb::device::cpu>(result, data, dtype) : export_view<nb::ro>(result, data, dtype);
  if (!bfloat) return exported;
  try {
    return exported.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    throw TypeError("NumPy has no bfloat16: install ml_dtypes, or cast the output to float32 in the graph");
  }
}

bool is_number(nb::handle object) {
  return PyBool_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) ||
         PyComplex_Check(object.ptr());
}

Array number_array(nb::handle object) {
  PyObject* p = object.ptr();
  if (PyBool_Check(p)) return Array(p == Py_True);
  if (PyFloat_Check(p)) return Array(PyFloat_AsDouble(p));
  if (PyComplex_Check(p)) return Array(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
  if (overflow == 0) return Array(static_cast<std::int64_t>(value));
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(p) : 0;
  if (overflow < 0 || PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw ValueError("a whole number of more than 64 bits");
  }
  return Array(static_cast<std::uint64_t>(large));
}

Argument to_call_argument(nb::handle object, const Type& type, bool exact) {
  if (std::optional<Array> view = view_of_numpy(object)) return *std::move(view);
  return to_argument(object, type, exact);
}

Argument to_argument(nb::handle object, const Type& type, bool exact) {
  if (is_numpy_array(object)) return to_array(object);
  // np.float64 is a subclass of float with its own dtype: it is converted by value below.
  if (is_number(object) && (!PyFloat_Check(object.ptr()) || PyFloat_CheckExact(object.ptr())))
    return number_argument(object);
  if (std::optional<Array> foreign = foreign_array(object)) return *std::move(foreign);
  Array array = to_array(object);
  if (exact || array.dtype() == type.dtype || is_complex(array.dtype()) != is_complex(type.dtype)) return array;
  Array converted = array.astype(type.dtype);
  return converted.astype(array.dtype()).same_bits(array) ? std::move(converted) : std::move(array);
}

DType to_dtype(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    const auto name = nb::cast<std::string>(object);
    return dtype_from_name(name == "floatX" ? flag("floatX") : name);
  }
  nb::object dtype;
  try {
    dtype = numpy("dtype")(object);
  } catch (nb::python_error&) {
    throw TypeError(kind_of(object) + " is not a dtype; give a name (\"float32\") or a NumPy dtype");
  }
  return dtype_from_name(nb::cast<std::string>(dtype.attr("name")));
}

std::optional<DType> to_optional_dtype(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(to_dtype(object));
}

}  // namespace croton::python
