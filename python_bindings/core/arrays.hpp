// NumPy arrays and Croton's, one as the other without a copy. Each side keeps the other's memory alive: an Array made
// here holds the Python object, and lets it go with the GIL held wherever it is destroyed; a NumPy array made here owns
// the Array.
#pragma once

#include <croton/function.hpp>

#include "core/bindings.hpp"

namespace croton::python {

/// A view of the memory of a NumPy array, NumPy scalar or other object with a buffer; strided and read-only ones too.
/// Lists, and arrays in foreign byte order, are copied by NumPy first. TypeError for what holds no numbers.
Array to_array(nb::handle object);
/// A NumPy array of the same memory (copy_small: or of a copy, if it is small). bfloat16 needs the package ml_dtypes.
nb::object to_numpy(const Array& array, bool copy_small = false);

/// True for bool, int, float (np.float64 is one) and complex of Python.
bool is_number(nb::handle object);
/// The number as a 0-d array: bool, int64 (uint64 if it must be), float64 or complex128. ValueError beyond 64 bits.
Array number_array(nb::handle object);

/// A value for an input or shared variable of that type, by these rules: an array of NumPy or another package by its
/// dtype, a Python number as a number, and anything else (lists, NumPy scalars) by value, which is converted where
/// nothing is lost. `exact` leaves all as it is.
Argument to_argument(nb::handle object, const Type& type, bool exact = false);
/// The same for the time of a call: it may refer to the object's memory without keeping it.
Argument to_call_argument(nb::handle object, const Type& type, bool exact = false);

/// A dtype from its name ("float32", "f32", "floatX") or what np.dtype takes. TypeError.
DType to_dtype(nb::handle object);
/// As to_dtype; None is absent.
std::optional<DType> to_optional_dtype(nb::handle object);

}  // namespace croton::python
