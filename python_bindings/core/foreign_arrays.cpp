#include "core/foreign_arrays.hpp"

#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/arrays.hpp"
#include "core/gil.hpp"

namespace croton::python {
namespace {

using Borrowed = nb::ndarray<nb::ro>;

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  if (type.lanes != 1) return std::nullopt;
  using Code = nb::dlpack::dtype_code;
  const auto sized = [&](std::initializer_list<DType> candidates) -> std::optional<DType> {
    for (const DType dtype : candidates) {
      if (8 * size_of(dtype) == type.bits) return dtype;
    }
    return std::nullopt;
  };
  switch (static_cast<Code>(type.code)) {
    case Code::Bool:
      return sized({DType::bool_});
    case Code::Int:
      return sized({DType::int8, DType::int16, DType::int32, DType::int64});
    case Code::UInt:
      return sized({DType::uint8, DType::uint16, DType::uint32, DType::uint64});
    case Code::Float:
      return sized({DType::float16, DType::float32, DType::float64});
    case Code::Bfloat:
      return sized({DType::bfloat16});
    case Code::Complex:
      return sized({DType::complex64, DType::complex128});
    default:
      return std::nullopt;
  }
}

bool host_can_read(int device_type) {
  return device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value;
}

std::string kind_of(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

/// The kind of the device and its number, from the result of __dlpack_device__.
std::pair<int, int> device_of(nb::handle object, nb::handle result) {
  std::pair<int, int> device;
  if (!PyTuple_Check(result.ptr()) || !nb::try_cast(result, device)) {
    throw TypeError("__dlpack_device__ of " + kind_of(object) + " gave " + nb::cast<std::string>(nb::repr(result)) +
                    ", not a tuple of two whole numbers, the kind of the device and its number");
  }
  return device;
}

/// The DLPack capsule through which an object exports its memory.
nb::object capsule_of(nb::handle object) {
  const nb::object export_memory = object.attr("__dlpack__");
  nb::dict options;
  options["max_version"] = nb::make_tuple(1, 0);
  const nb::object device = object.attr("__dlpack_device__")();
  if (!host_can_read(device_of(object, device).first)) options["dl_device"] = nb::make_tuple(1, 0);
  try {
    return export_memory(**options);
  } catch (nb::python_error& error) {
    // Packages older than the DLPack versions of 2023 do not have these arguments, and cannot copy to the host.
    if (!error.matches(PyExc_TypeError)) throw;
    if (options.contains("dl_device")) {
      throw DeviceError("an array of " + nb::cast<std::string>(nb::str(object.type().attr("__module__"))) +
                        " on the device " + nb::cast<std::string>(nb::str(device)) +
                        " (DLPack's numbers): its package does not copy it to the host; do that first");
    }
  }
  return export_memory();
}

// The structs in capsules (dmlc/dlpack, dlpack.h): before version 1, and since.
struct OldTensor {
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(OldTensor*);
};
struct VersionedTensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

constexpr int max_rank = 64;  // of NumPy and of Croton

/// The tensor in a capsule that has not been consumed yet; null if there is none.
const nb::dlpack::dltensor* tensor_in(nb::handle capsule) {
  PyObject* p = capsule.ptr();
  if (PyCapsule_IsValid(p, "dltensor") != 0)
    return &static_cast<const OldTensor*>(PyCapsule_GetPointer(p, "dltensor"))->tensor;
  if (PyCapsule_IsValid(p, "dltensor_versioned") == 0) return nullptr;
  const auto* versioned = static_cast<const VersionedTensor*>(PyCapsule_GetPointer(p, "dltensor_versioned"));
  return versioned->major == 1 ? &versioned->tensor : nullptr;  // the layout of other versions is unknown
}

/// The tensor's sizes, after checks of its rank.
Sizes checked_shape(const nb::dlpack::dltensor& tensor, const std::string& what) {
  if (tensor.ndim < 0 || tensor.ndim > max_rank)
    throw ValueError(what + " has " + std::to_string(tensor.ndim) + " dimensions; 0 to 64 are accepted");
  if (tensor.ndim > 0 && tensor.shape == nullptr) throw ValueError(what + " has dimensions, but no sizes of them");
  return {tensor.shape, tensor.shape + tensor.ndim};
}

/// Strides in bytes; none if the tensor has none, which means C order.
Sizes checked_strides(const nb::dlpack::dltensor& tensor, DType dtype, const std::string& what) {
  if (tensor.strides == nullptr) return {};
  Sizes strides(tensor.strides, tensor.strides + tensor.ndim);
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t& stride : strides) {
    const std::int64_t limit = std::numeric_limits<std::int64_t>::max() / item;
    if (stride < -limit || stride > limit) throw ValueError(what + " has a stride of " + std::to_string(stride));
    stride *= item;
  }
  return strides;
}

DType checked_dtype(const nb::dlpack::dltensor& tensor) {
  if (const std::optional<DType> dtype = dtype_of(tensor.dtype)) return *dtype;
  throw TypeError("an array of DLPack's type " + std::to_string(tensor.dtype.code) + " with " +
                  std::to_string(tensor.dtype.bits) + " bits" +
                  (tensor.dtype.lanes == 1 ? "" : " in " + std::to_string(tensor.dtype.lanes) + " lanes") +
                  " cannot be used: Croton has no such dtype");
}

/// Checks that the tensor is a valid Array before its memory is read.
void check(const nb::dlpack::dltensor& tensor, const std::string& what) {
  const DType dtype = checked_dtype(tensor);
  if (!host_can_read(tensor.device.device_type))
    throw DeviceError(what + " is not on the host, though a copy there was requested; copy it there first");
  if (reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset < tensor.byte_offset)
    throw ValueError(what + " has an offset of " + std::to_string(tensor.byte_offset) + " bytes");
  Sizes shape = checked_shape(tensor, what);
  Array::adopt(nullptr, tensor.data, dtype, std::move(shape), checked_strides(tensor, dtype, what), false);
}

Array array_of_dlpack(nb::handle object) {
  const nb::object capsule = capsule_of(object);
  const std::string what = "the result of __dlpack__ of " + kind_of(object);
  const nb::dlpack::dltensor* tensor = tensor_in(capsule);
  if (tensor == nullptr) throw TypeError(what + " is not an array");
  check(*tensor, what);
  Borrowed borrowed;
  if (!nb::try_cast(capsule, borrowed)) throw TypeError(what + " is not an array");
  const std::optional<DType> dtype = dtype_of(borrowed.dtype());
  Sizes shape, strides;
  for (std::size_t axis = 0; axis < borrowed.ndim(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(borrowed.shape(axis)));
    strides.push_back(borrowed.stride(axis) * static_cast<std::int64_t>(size_of(*dtype)));
  }
  void* data = const_cast<void*>(borrowed.data());
  // Released with the GIL, from any thread; not at exit, when the interpreter no longer exists.
  const auto release = [](void* p) {
    if (!nb::is_alive()) return;
    const AcquireGil gil;
    delete static_cast<Borrowed*>(p);
  };
  const std::shared_ptr<void> owner(static_cast<void*>(new Borrowed(std::move(borrowed))), release);
  return Array::adopt(owner, data, *dtype, std::move(shape), std::move(strides), false);
}

}  // namespace

std::optional<Array> array_of_foreign(nb::handle object) {
  if (nb::hasattr(object, "__cuda_array_interface__"))
    return to_array(nb::module_::import_("croton.cuda_arrays").attr("host_copy")(object));
  if (nb::hasattr(object, "__dlpack__") && nb::hasattr(object, "__dlpack_device__")) return array_of_dlpack(object);
  return std::nullopt;
}

void bind_foreign_arrays(nb::module_& m) {
  m.def(
      "from_dlpack",
      [](nb::handle x) {
        const std::optional<Array> array = array_of_foreign(x);
        if (!array) throw TypeError("from_dlpack takes an object with __dlpack__ and __dlpack_device__");
        return to_numpy(*array);
      },
      "x"_a,
      "A read-only NumPy array of the memory of another package's array (small arrays, and those on a device, are "
      "copied). Functions, shared and set_value accept such arrays directly.");
}

}  // namespace croton::python
