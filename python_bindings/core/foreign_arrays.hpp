// Arrays of other packages (PyTorch, JAX, CuPy, Numba): through DLPack, or copied from a CUDA device.
#pragma once

#include <croton/array.hpp>

#include <optional>

#include "core/bindings.hpp"

namespace croton::python {

/// An Array of an object with `__cuda_array_interface__` (a copy on the host) or `__dlpack__` (its memory, if the host
/// can read it; else a copy that its package makes); none for other objects. TypeError for dtypes that Croton does not
/// have, DeviceError if a device's memory cannot be read.
std::optional<Array> array_of_foreign(nb::handle object);
/// croton.from_dlpack.
void bind_foreign_arrays(nb::module_& m);

}  // namespace croton::python
