#include "core/operands.hpp"

#include <complex>
#include <limits>
#include <string>

#include "core/arrays.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

std::string name_of_type(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

bool is_sequence(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

/// Whether it is an integer of Python or NumPy, and not a bool.
bool is_whole(nb::handle object) { return PyIndex_Check(object.ptr()) && !PyBool_Check(object.ptr()); }

/// The object's integer value as a Python int. TypeError for objects that have none, such as arrays with several
/// elements.
nb::object to_index_object(nb::handle object, const std::string& expected) {
  nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (index.is_valid()) return index;
  nb::python_error error;  // takes the current one
  if (!error.matches(PyExc_TypeError)) throw error;
  throw TypeError(expected + ", not " + name_of_type(object));
}

std::optional<Operand> to_bound(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  if (nb::isinstance<Variable>(object)) return to_operand(object);
  const std::string expected = "a bound of a slice is a whole number, a variable or None";
  if (!is_whole(object)) throw TypeError(expected + ", not " + name_of_type(object));
  const nb::object index = to_index_object(object, expected);
  // Clipped to 64 bits, as bounds are in Python.
  return Operand(static_cast<long>(PyNumber_AsSsize_t(index.ptr(), nullptr)), here());
}

/// As to_bound, for a step, whose range is smaller.
std::optional<Operand> to_step(nb::handle object) {
  if (!object.is_none() && !nb::isinstance<Variable>(object) && is_whole(object)) {
    constexpr Py_ssize_t limit = Py_ssize_t{1} << 40;
    const nb::object index = to_index_object(object, "a step of a slice is a whole number");
    const Py_ssize_t step = PyNumber_AsSsize_t(index.ptr(), nullptr);
    if (step < -limit || step > limit)
      throw ValueError("a step of a slice is between -2^40 and 2^40, not " + nb::cast<std::string>(nb::str(index)));
  }
  return to_bound(object);
}

SliceSpec to_spec(nb::handle object) {
  if (object.is_none()) return SliceSpec(SliceSpec::Kind::new_axis, here());
  if (object.ptr() == Py_Ellipsis) return SliceSpec(SliceSpec::Kind::ellipsis, here());
  if (nb::isinstance<Variable>(object)) return SliceSpec(nb::cast<Variable>(object), here());
  if (PySlice_Check(object.ptr())) {
    return slice(to_bound(object.attr("start")), to_bound(object.attr("stop")), to_step(object.attr("step")), here());
  }
  if (is_whole(object) && !nb::hasattr(object, "__len__")) {
    const nb::object index = to_index_object(object, "an index is a whole number");
    const Py_ssize_t value = PyNumber_AsSsize_t(index.ptr(), nullptr);  // saturates; no axis is that long
    const bool narrow = value == static_cast<int>(value);
    return narrow ? SliceSpec(static_cast<int>(value), here())
                  : SliceSpec(Operand(static_cast<long>(value), here()).variable, here());
  }
  if (is_operand(object) && !is_number(object)) {
    const Operand index = to_operand(object);
    const bool is_empty = PyList_Check(object.ptr()) && nb::len(object) == 0;
    return is_empty ? SliceSpec(Array::zeros(DType::int64, {0}), here()) : SliceSpec(index.variable, here());
  }
  throw TypeError("an index is a whole number, a slice, None, ..., an array, a list or a variable, not " +
                  name_of_type(object));
}

}  // namespace

bool is_operand(nb::handle object) {
  if (nb::isinstance<Variable>(object) || is_number(object) || is_sequence(object)) return true;
  return PyObject_CheckBuffer(object.ptr()) != 0 && !PyBytes_Check(object.ptr()) && !PyByteArray_Check(object.ptr());
}

Operand to_operand(nb::handle object) {
  if (nb::isinstance<Variable>(object)) return Operand(nb::cast<Variable>(object), here());
  if (is_sequence(object)) {
    for (const nb::handle item : object) {
      if (nb::isinstance<Variable>(item))
        throw TypeError("a list with variables is not an operand; numbers and arrays are");
    }
  }
  if (!is_number(object)) return Operand(to_array(object), here());
  const Array number = number_array(object);
  switch (number.dtype()) {
    case DType::bool_:
      return Operand(number.at<bool>(), here());
    case DType::int64:
      return Operand(static_cast<long>(number.at<std::int64_t>()), here());
    case DType::uint64:
      return Operand(static_cast<unsigned long>(number.at<std::uint64_t>()), here());
    case DType::float64:
      return Operand(number.at<double>(), here());
    default:
      return Operand(number.at<std::complex<double>>(), here());
  }
}

int to_int(nb::handle object, const char* what) {
  const std::string expected = std::string(what) + " is a whole number";
  if (!is_whole(object)) throw TypeError(expected + ", not " + name_of_type(object));
  const nb::object index = to_index_object(object, expected);
  const Py_ssize_t value = PyNumber_AsSsize_t(index.ptr(), nullptr);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    throw ValueError(std::string(what) + " of " + std::to_string(value) + " is out of range");
  }
  return static_cast<int>(value);
}

int to_count(nb::handle object, const char* what, int most) {
  const int count = to_int(object, what);
  if (count < 0 || count > most) {
    throw ValueError(std::string(what) + " of " + std::to_string(count) + "; 0 to " + std::to_string(most) +
                     " are accepted");
  }
  return count;
}

int to_axis(nb::handle object) {
  const std::vector<int> axes = to_axes(object);
  if (axes.size() != 1) throw TypeError("one axis is needed, not " + std::to_string(axes.size()));
  return axes[0];
}

Variable to_variable(nb::handle object) { return to_operand(object).variable; }

std::vector<Variable> to_variables(nb::handle object) {
  std::vector<Variable> variables;
  if (!is_sequence(object)) throw TypeError("a list or tuple of variables is needed, not " + name_of_type(object));
  for (const nb::handle item : object) variables.push_back(to_variable(item));
  return variables;
}

std::vector<int> to_axes(nb::handle object) {
  if (!is_sequence(object)) return {to_int(object, "an axis")};
  std::vector<int> axes;
  for (const nb::handle item : object) axes.push_back(to_int(item, "an axis"));
  return axes;
}

std::vector<Operand> to_sizes(nb::handle object) {
  if (!is_sequence(object)) return {to_operand(object)};
  std::vector<Operand> sizes;
  for (const nb::handle item : object) sizes.push_back(to_operand(item));
  return sizes;
}

std::vector<Operand> to_each_size(nb::handle object) {
  const bool plain = is_number(object) || nb::isinstance<Variable>(object) || is_sequence(object);
  if (plain) return to_sizes(object);
  if (PyType_Check(object.ptr()) || !nb::hasattr(object, "tolist")) {
    throw TypeError("sizes are whole numbers, variables, a list of them or an array of whole numbers, not " +
                    name_of_type(object));
  }
  return to_sizes(object.attr("tolist")());
}

std::vector<SliceSpec> to_index(nb::handle object) {
  if (!PyTuple_Check(object.ptr())) return {to_spec(object)};
  std::vector<SliceSpec> specs;
  for (const nb::handle item : object) specs.push_back(to_spec(item));
  return specs;
}

ReduceOptions to_reduce_options(nb::handle axis, bool keepdims, nb::handle dtype, nb::handle acc_dtype) {
  ReduceOptions options;
  if (!axis.is_none()) options.axis = to_axes(axis);
  options.keepdims = keepdims;
  options.dtype = to_optional_dtype(dtype);
  options.acc_dtype = to_optional_dtype(acc_dtype);
  return options;
}

}  // namespace croton::python
