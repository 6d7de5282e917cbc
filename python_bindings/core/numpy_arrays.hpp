// NumPy's own interface for C, for the arrays that calls take and give: it costs a tenth of what buffers and DLPack do.
// NumPy is imported with the first array, not with this module: that takes longer than all else.
#pragma once

#include <croton/array.hpp>

#include <optional>

#include "core/bindings.hpp"

namespace croton::python {

bool is_numpy_array(nb::handle object);
/// Whether it is a scalar of NumPy that stands for no number: a date, a time span, a text, a record.
bool is_numpy_scalar_without_number(nb::handle object);
/// A view of a NumPy array of numbers in native byte order, whose memory the caller keeps; none for others.
std::optional<Array> view_of_numpy(nb::handle object);
/// A NumPy array of the memory of an array on the host (copy_small: a small one is copied, which costs less); none for
/// those that NumPy does not know as they are (bfloat16, strides that are no multiples of the element).
nb::object numpy_of(const Array& array, bool copy_small);

}  // namespace croton::python
