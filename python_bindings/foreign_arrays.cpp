#include "foreign_arrays.hpp"

#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>

#include "arrays.hpp"

namespace croton::python {
namespace {

using Lent = nb::ndarray<nb::ro>;

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

/// The capsule with which an object lends its memory.
nb::object capsule_of(nb::handle object) {
  const nb::object export_memory = object.attr("__dlpack__");
  nb::dict options;
  options["max_version"] = nb::make_tuple(1, 0);
  const nb::object device = object.attr("__dlpack_device__")();
  if (!host_can_read(nb::cast<int>(device[0]))) options["dl_device"] = nb::make_tuple(1, 0);
  try {
    return export_memory(**options);
  } catch (nb::python_error& error) {
    // Packages from before the versions of 2023 know no such arguments, and cannot copy to the host.
    if (!error.matches(PyExc_TypeError)) throw;
    if (options.contains("dl_device")) {
      throw DeviceError("an array of " + nb::cast<std::string>(nb::str(object.type().attr("__module__"))) +
                        " on the device " + nb::cast<std::string>(nb::str(device)) +
                        " (DLPack's numbers): its package does not copy it to the host; do that first");
    }
  }
  return export_memory();
}

Array array_of_dlpack(nb::handle object) {
  Lent lent;
  if (!nb::try_cast(capsule_of(object), lent))
    throw TypeError("what __dlpack__ of " + nb::cast<std::string>(nb::str(object.type().attr("__name__"))) +
                    " returned is no array");
  const std::optional<DType> dtype = dtype_of(lent.dtype());
  if (!dtype) {
    throw TypeError("an array of DLPack's type " + std::to_string(lent.dtype().code) + " with " +
                    std::to_string(lent.dtype().bits) + " bits cannot be used: Croton has no such dtype");
  }
  Sizes shape, strides;
  for (std::size_t axis = 0; axis < lent.ndim(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(lent.shape(axis)));
    strides.push_back(lent.stride(axis) * static_cast<std::int64_t>(size_of(*dtype)));
  }
  void* data = const_cast<void*>(lent.data());
  // Given back with the GIL, from whatever thread; not at exit, when there is nothing left to give back to.
  const auto give_back = [](void* p) {
    if (!nb::is_alive()) return;
    const nb::gil_scoped_acquire gil;
    delete static_cast<Lent*>(p);
  };
  const std::shared_ptr<void> owner(static_cast<void*>(new Lent(std::move(lent))), give_back);
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
      "A NumPy array of the memory of another package's array, read-only (small ones are copied, and so are those on a "
      "device). Functions, shared and set_value take such arrays as they are.");
}

}  // namespace croton::python
