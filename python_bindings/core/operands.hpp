// Python objects as arguments of operations.
#pragma once

#include <croton/ops.hpp>

#include <vector>

#include "core/bindings.hpp"

namespace croton::python {

/// The operand of a variable, number, NumPy array, NumPy scalar or list; a TypeError names the type of other objects.
Operand to_operand(nb::handle object);
/// Whether to_operand accepts objects of this kind; operators leave other objects to the other side.
bool is_operand(nb::handle object);
/// A variable; numbers and arrays become constants.
Variable to_variable(nb::handle object);
/// A list or tuple of variables, numbers and arrays.
std::vector<Variable> to_variables(nb::handle object);
/// An integer known while the graph is built; TypeError "`what` is a whole number, not Variable".
int to_int(nb::handle object, const char* what);
/// An integer from 0 to `most`; ValueError for others.
int to_count(nb::handle object, const char* what, int most);
/// One axis, or a list with one axis.
int to_axis(nb::handle object);
/// One or several integers, as axes.
std::vector<int> to_axes(nb::handle object);
/// Sizes: one, or a list or tuple of them; symbolic ones too.
std::vector<Operand> to_sizes(nb::handle object);
/// As to_sizes; an array is a list of its elements.
std::vector<Operand> to_each_size(nb::handle object);
/// The entries of x[...]: integers, slices, None, Ellipsis, variables, arrays, lists; one or a tuple.
std::vector<SliceSpec> to_index(nb::handle object);
/// The options of a reduction; None for the defaults.
ReduceOptions to_reduce_options(nb::handle axis, bool keepdims, nb::handle dtype, nb::handle acc_dtype);

}  // namespace croton::python
