// Conversion between NumPy arrays and Croton's, without copies. Each side keeps the other's memory alive: an Array made
// here holds a reference to the Python object and releases it with the GIL, wherever it is destroyed; a NumPy array
// made here owns the Array.
#pragma once

#include <croton/function.hpp>

#include "core/bindings.hpp"

namespace croton::python {

/// A view of the memory of a NumPy array, NumPy scalar or other object with a buffer; strided and read-only ones too.
/// Lists, and arrays in foreign byte order, are copied by NumPy first. TypeError for objects that hold no numbers.
Array to_array(nb::handle object);
/// A NumPy array of the same memory (copy_small: a copy if it is small). bfloat16 needs the package ml_dtypes.
nb::object to_numpy(const Array& array, bool copy_small = false);

/// Whether the object is a Python bool, int, float (np.float64 is one) or complex.
bool is_number(nb::handle object);
/// The number as a 0-d array: bool, int64 (uint64 if it does not fit), float64 or complex128. ValueError beyond 64
/// bits.
Array number_array(nb::handle object);

/// A value for an input or shared variable of that type. Arrays of NumPy and other packages keep their dtype, Python
/// numbers are numbers, and other objects (lists, NumPy scalars) are converted to the type's dtype if that loses
/// nothing. `exact`: no conversion.
Argument to_argument(nb::handle object, const Type& type, bool exact = false);
/// The same for the duration of a call: it may refer to the object's memory without keeping it alive.
Argument to_call_argument(nb::handle object, const Type& type, bool exact = false);

/// A dtype from its name ("float32", "f32", "floatX") or any argument of np.dtype. TypeError for others.
DType to_dtype(nb::handle object);
/// As to_dtype; absent for None.
std::optional<DType> to_optional_dtype(nb::handle object);

}  // namespace croton::python
