#include "core/numpy_arrays.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <cstring>
#include <utility>

namespace croton::python {
namespace {

/// In the order of DType; NPY_NOTYPE for dtypes that NumPy does not have.
constexpr std::array<int, dtype_count> numpy_types{NPY_BOOL,   NPY_INT8,    NPY_INT16,   NPY_INT32,     NPY_INT64,
                                                   NPY_UINT8,  NPY_UINT16,  NPY_UINT32,  NPY_UINT64,    NPY_FLOAT16,
                                                   NPY_NOTYPE, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};

std::optional<DType> dtype_of_number(int type) {
  for (std::size_t i = 0; i < numpy_types.size(); ++i) {
    if (numpy_types[i] == type) return static_cast<DType>(i);
  }
  // long and long long are different types in NumPy; at least one of them is int64.
  if (type == NPY_LONG || type == NPY_LONGLONG)
    return sizeof(long) == 8 || type == NPY_LONGLONG ? DType::int64 : DType::int32;
  if (type == NPY_ULONG || type == NPY_ULONGLONG)
    return sizeof(long) == 8 || type == NPY_ULONGLONG ? DType::uint64 : DType::uint32;
  return std::nullopt;
}

PyArrayObject* as_numpy(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

/// Loads NumPy's table of functions, at the first array; ImportError in Python if there is no NumPy.
void load_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

// Up to this size a copy costs less than a view that owns the array.
constexpr std::size_t max_copied_bytes = 4096;

}  // namespace

bool is_numpy_array(nb::handle object) {
  if (PyArray_API == nullptr) [[unlikely]] {
    // While NumPy is not imported, there are no arrays of it.
    if (!nb::steal(PyImport_GetModule(nb::str("numpy").ptr())).is_valid()) {
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      return false;
    }
    load_numpy();
  }
  return PyArray_Check(object.ptr()) != 0;
}

bool is_numpy_scalar_without_number(nb::handle object) {
  is_numpy_array(object);  // loads NumPy's table, if NumPy is imported
  if (PyArray_API == nullptr) return false;
  return PyArray_IsScalar(object.ptr(), Datetime) || PyArray_IsScalar(object.ptr(), Timedelta) ||
         PyArray_IsScalar(object.ptr(), Flexible);
}

std::optional<Array> view_of_numpy(nb::handle object) {
  if (!is_numpy_array(object)) return std::nullopt;
  PyArrayObject* array = as_numpy(object);
  const std::optional<DType> dtype = dtype_of_number(PyArray_TYPE(array));
  if (!dtype || PyArray_ISBYTESWAPPED(array)) return std::nullopt;
  const int rank = PyArray_NDIM(array);
  Sizes shape(PyArray_DIMS(array), PyArray_DIMS(array) + rank);
  Sizes strides(PyArray_STRIDES(array), PyArray_STRIDES(array) + rank);
  void* data = PyArray_DATA(array);
  if (PyArray_ISWRITEABLE(array)) return Array::view_of(data, *dtype, std::move(shape), std::move(strides));
  return Array::view_of(static_cast<const void*>(data), *dtype, std::move(shape), std::move(strides));
}

nb::object numpy_of(const Array& array, bool copy_small) {
  load_numpy();
  const int type = numpy_types[static_cast<std::size_t>(array.dtype())];
  if (type == NPY_NOTYPE) return {};
  const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
  const int rank = array.rank();
  const std::size_t bytes = static_cast<std::size_t>(array.size()) * size_of(array.dtype());
  std::array<npy_intp, NPY_MAXDIMS> shape, strides;  // not zeroed, which would cost a tenth of a small call
  if (rank > NPY_MAXDIMS) return {};
  for (std::size_t i = 0; i < array.shape().size(); ++i) {
    shape[i] = array.shape()[i];
    strides[i] = array.strides()[i];
    if (strides[i] % item != 0) return {};
  }
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  if (copy_small && bytes <= max_copied_bytes && array.is_contiguous()) {
    PyObject* copy = PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape.data(), nullptr, nullptr, 0, nullptr);
    if (copy == nullptr) throw nb::python_error();
    if (bytes > 0) std::memcpy(PyArray_DATA(as_numpy(copy)), std::as_const(array).raw(), bytes);
    return nb::steal(copy);
  }
  void* data = const_cast<void*>(std::as_const(array).raw());
  const int flags = NPY_ARRAY_ALIGNED | (array.writable() ? NPY_ARRAY_WRITEABLE : 0);
  const nb::object view =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape.data(), strides.data(), data, flags, nullptr));
  if (!view.is_valid()) throw nb::python_error();
  nb::capsule owner(new Array(array), [](void* p) noexcept { delete static_cast<Array*>(p); });
  if (PyArray_SetBaseObject(as_numpy(view), owner.release().ptr()) < 0) throw nb::python_error();
  PyArray_UpdateFlags(as_numpy(view), NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
  return view;
}

}  // namespace croton::python
