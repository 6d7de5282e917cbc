// Conversion of arguments and results of calls through NumPy's C interface, which costs a tenth of buffers and DLPack.
// NumPy is imported with the first array, not with this module: its import takes longer than everything else.
#pragma once

#include <croton/array.hpp>

#include <optional>

#include "core/bindings.hpp"

namespace croton::python {

bool is_numpy_array(nb::handle object);
/// Whether it is a NumPy scalar that is not a number: a date, a time span, a text, a record.
bool is_numpy_scalar_without_number(nb::handle object);
/// A view of a NumPy array of numbers in native byte order, whose memory the caller keeps alive; none for others.
std::optional<Array> view_of_numpy(nb::handle object);
/// A NumPy array of the memory of an array on the host (copy_small: a small one is copied, which costs less); none if
/// NumPy has no equal array (bfloat16, strides that are not multiples of the element size).
nb::object numpy_of(const Array& array, bool copy_small);

}  // namespace croton::python
