// Python objects as arguments of operations.
#pragma once

#include <croton/ops.hpp>

#include <vector>

#include "core/bindings.hpp"

namespace croton::python {

/// A variable, number, NumPy array, NumPy scalar or list; TypeError that names what was given.
Operand to_operand(nb::handle object);
/// True for what to_operand takes by its kind, so that operators can leave the rest to the other side.
bool is_operand(nb::handle object);
/// A variable; numbers and arrays become constants.
Variable to_variable(nb::handle object);
/// A list or tuple of variables, numbers and arrays.
std::vector<Variable> to_variables(nb::handle object);
/// A whole number known while the graph is built; TypeError "`what` is a whole number, not Variable".
int to_int(nb::handle object, const char* what);
/// A whole number from 0 to `most`; ValueError for others.
int to_count(nb::handle object, const char* what, int most);
/// One axis, also in a list of its own.
int to_axis(nb::handle object);
/// One or several whole numbers, as axes.
std::vector<int> to_axes(nb::handle object);
/// Sizes: one, or a list or tuple of them; symbolic ones too.
std::vector<Operand> to_sizes(nb::handle object);
/// The same, an array being a list of its elements.
std::vector<Operand> to_each_size(nb::handle object);
/// The entries of x[...]: whole numbers, slices, None, Ellipsis, variables, arrays, lists; one or a tuple.
std::vector<SliceSpec> to_index(nb::handle object);
ReduceOptions to_reduce_options(nb::handle axis, bool keepdims, nb::handle dtype, nb::handle acc_dtype);

}  // namespace croton::python
