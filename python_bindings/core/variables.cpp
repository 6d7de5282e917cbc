// Variable and SharedVariable with Python's operators, and the functions that make inputs, constants and shared
// variables.
#include <croton/complex.hpp>
#include <croton/elementwise.hpp>
#include <croton/function.hpp>
#include <croton/ops.hpp>
#include <croton/shared.hpp>

#include <functional>
#include <sstream>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/gil.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

using Binary = Variable (*)(Operand, Operand);
using VariableClass = nb::class_<Variable>;

/// x OP other and other OP x; for objects that are not operands, Python tries the other side.
void add_operator(VariableClass& c, const std::string& name, Binary f, const char* doc) {
  const auto checked = [](nb::handle other) {
    if (!is_operand(other)) throw nb::next_overload();
    return to_operand(other);
  };
  c.def(("__" + name + "__").c_str(),
        [=](const Variable& self, nb::handle other) { return f(Operand(self, here()), checked(other)); },
        nb::is_operator(), doc);
  c.def(("__r" + name + "__").c_str(),
        [=](const Variable& self, nb::handle other) { return f(checked(other), Operand(self, here())); },
        nb::is_operator(), doc);
}

void add_operators(VariableClass& c) {
  add_operator(c, "add", [](Operand a, Operand b) { return a + b; }, "The sum.");
  add_operator(c, "sub", [](Operand a, Operand b) { return a - b; }, "The difference.");
  add_operator(c, "mul", [](Operand a, Operand b) { return a * b; }, "The product, elementwise.");
  add_operator(c, "truediv", [](Operand a, Operand b) { return a / b; }, "The quotient; two integers give floatX.");
  add_operator(c, "floordiv", &floor_divide, "The quotient rounded towards minus infinity; x // 0 is 0 for integers.");
  add_operator(c, "mod", [](Operand a, Operand b) { return a % b; }, "The remainder with the sign of the divisor.");
  add_operator(c, "pow", &pow, "a to the power b.");
  add_operator(c, "matmul", &matmul, "NumPy's matmul: axes before the last two broadcast.");
  add_operator(
      c, "and", [](Operand a, Operand b) { return a & b; }, "The bitwise and of integers, the logical and of bool.");
  add_operator(
      c, "or", [](Operand a, Operand b) { return a | b; }, "The bitwise or of integers, the logical or of bool.");
  add_operator(
      c, "xor", [](Operand a, Operand b) { return a ^ b; },
      "The bitwise exclusive or of integers, the logical one of bool.");
  add_operator(c, "lshift", &left_shift, "a 2^b modulo 2^n, for integers of n bits; 0 if b is not in [0, n).");
  add_operator(c, "rshift", &right_shift,
               "a / 2^b rounded down, for integers of n bits; 0 or -1 if b is not in [0, n).");
  c.def("__neg__", [](const Variable& x) { return -Operand(x, here()); });
  c.def("__pos__", [](const Variable& x) { return x; });
  c.def("__abs__", [](const Variable& x) { return abs(Operand(x, here())); });
  c.def("__invert__", [](const Variable& x) { return ~Operand(x, here()); });
}

/// Python swaps comparisons by itself: 1 < x calls x > 1.
void add_comparisons(VariableClass& c) {
  const auto add = [&](const char* name, Binary f) {
    c.def(
        name,
        [f](const Variable& self, nb::handle other) {
          if (!is_operand(other)) throw nb::next_overload();
          return f(Operand(self, here()), to_operand(other));
        },
        nb::is_operator(), "Elementwise, as bool.");
  };
  add("__lt__", [](Operand a, Operand b) { return a < b; });
  add("__le__", [](Operand a, Operand b) { return a <= b; });
  add("__gt__", [](Operand a, Operand b) { return a > b; });
  add("__ge__", [](Operand a, Operand b) { return a >= b; });
  c.def(
      "__eq__",
      [](const Variable& self, nb::handle other) {
        return nb::isinstance<Variable>(other) && self == nb::cast<const Variable&>(other);
      },
      nb::arg().none(), "True for the same variable; for elementwise equality use croton.eq.");
  c.def("__hash__", [](const Variable& self) { return std::hash<const void*>()(self.node()); });
}

/// Methods that raise, because Python would otherwise do something else than compute with the values.
void add_unsupported(VariableClass& c) {
  c.def("__bool__", [](const Variable&) -> bool {
    throw TypeError(
        "a symbolic variable has no truth value before it is computed; use croton.where, croton.all or croton.any, and "
        "& | ~ instead of and, or, not");
  });
  c.def("__len__", [](const Variable&) -> std::size_t {
    throw TypeError("a symbolic variable has no len() before it is computed; use x.shape[0]");
  });
  c.def("__iter__", [](const Variable&) -> nb::object {
    throw TypeError("a symbolic variable cannot be iterated over; its length is known only when a function is called");
  });
  c.attr("__array_ufunc__") = nb::none();  // so that NumPy leaves `array * variable` to us
}

void add_properties(VariableClass& c) {
  c.def_prop_rw(
      "name",
      [](const Variable& x) { return x.name().empty() ? std::optional<std::string>() : std::optional(x.name()); },
      [](Variable& x, std::optional<std::string> name) { x.named(std::move(name).value_or("")); }, nb::arg().none(),
      "The user's name, or None.");
  c.def_prop_ro(
      "dtype", [](const Variable& x) { return std::string(name_of(x.dtype())); },
      "The element type's name: 'float32'.");
  c.def_prop_ro("ndim", &Variable::rank, "The number of dimensions.");
  c.def_prop_ro(
      "type", [](const Variable& x) { return x.type().to_string(); }, "Element type and stated sizes: 'f32[?, 10]'.");
  c.def_prop_ro(
      "broadcastable",
      [](const Variable& x) {
        nb::list axes;
        for (std::size_t axis = 0; axis < x.type().rank(); ++axis) axes.append(x.type().broadcasts(axis));
        return nb::tuple(axes);
      },
      "For each axis, whether its size is stated as 1.");
  c.def_prop_ro(
      "sizes",
      [](const Variable& x) {
        nb::list sizes;
        for (const std::int64_t size : x.type().shape)
          sizes.append(size == unknown_size ? nb::none() : nb::object(nb::int_(size)));
        return nb::tuple(sizes);
      },
      "For each axis, its size if the type states it, else None.");
  c.def_prop_ro(
      "shape",
      [](const Variable& x) {
        nb::list sizes;
        for (const Variable& size : x.shape(here())) sizes.append(nb::cast(size));
        return nb::tuple(sizes);
      },
      "The sizes, each an int64 scalar; they cost nothing and never compute the variable.");
  c.def_prop_ro("size", [](const Variable& x) { return x.size(here()); }, "The number of elements as an int64 scalar.");
  c.def_prop_ro("T", [](const Variable& x) { return x.T(here()); }, "The transpose: x with its axes reversed.");
  c.def_prop_ro("is_constant", &Variable::is_constant);
  c.def_prop_ro("real", [](const Variable& z) { return real(Operand(z, here())); }, "The real part.");
  c.def_prop_ro("imag", [](const Variable& z) { return imag(Operand(z, here())); }, "The imaginary part.");
}

Array evaluate(const Variable& x, nb::object values) {
  std::vector<In> inputs;
  std::vector<Argument> arguments;
  if (!values.is_none()) {
    if (!nb::isinstance<nb::dict>(values)) throw TypeError("eval takes a dict from variables to their values");
    for (const auto [key, value] : nb::cast<nb::dict>(values)) {
      if (!nb::isinstance<Variable>(key)) throw TypeError("eval takes a dict whose keys are variables");
      inputs.emplace_back(nb::cast<Variable>(key));
      arguments.push_back(to_argument(value, inputs.back().variable.type()));
    }
  }
  const Where where = here();
  const ReleaseGil no_gil;
  return function(inputs, x, {.name = "eval", .on_unused_input = UnusedInput::ignore}, where).call(arguments).only();
}

void add_methods(VariableClass& c) {
  c.def(
      "__getitem__", [](const Variable& x, nb::handle index) { return x.at(to_index(index), here()); },
      nb::arg().none());
  c.def(
      "astype", [](const Variable& x, nb::handle dtype) { return x.astype(to_dtype(dtype), here()); }, "dtype"_a,
      "x converted to a dtype; float to integer truncates towards zero and saturates, nan becomes 0.");
  c.def(
      "eval", [](const Variable& x, nb::object values) { return to_numpy(evaluate(x, std::move(values))); },
      "values"_a = nb::none(), "The value of x for {input: value}. Compiles a function that is not kept.");
  c.def("conj", [](const Variable& z) { return conj(Operand(z, here())); }, "x - iy for x + iy.");
  c.def("__str__", [](const Variable& x) {
    std::ostringstream out;
    out << x;
    return out.str();
  });
  c.def("__repr__", [](const Variable& x) {
    return "<croton.Variable " + (x.name().empty() ? "" : x.name() + " ") + x.type().to_string() + ">";
  });
}

/// The value converted for a shared variable. Python numbers are converted to its dtype, if they fit.
Array shared_value(const SharedVariable& x, nb::handle value) {
  const Argument argument = to_argument(value, x.type());
  const Array& array = argument.array();
  if (is_complex(array.dtype()) && !is_complex(x.dtype())) return array;  // set_value reports the error
  const Array converted = argument.is_number() ? array.astype(x.dtype()) : array;
  const bool fits = !is_discrete(x.dtype()) || converted.astype(array.dtype()).same_bits(array);
  return argument.is_number() && fits ? converted : array;
}

/// TypeError if the update does not have the variable's type. When a function is compiled, the wrong line is unknown.
void check_default_update(const SharedVariable& x, const Variable& update) {
  if (update.dtype() == x.dtype() && update.rank() == x.rank()) return;
  throw TypeError("set_default_update: " + (x.name().empty() ? "the variable" : "'" + x.name() + "'") + " is " +
                  x.type().to_string() + ", but its update is " + update.type().to_string() +
                  "; dtype and number of dimensions must be equal");
}

void bind_shared(nb::module_& m) {
  nb::class_<SharedVariable, Variable>(m, "SharedVariable", "A variable with a value that lives between calls.")
      .def(
          "get_value",
          [](const SharedVariable& x, bool borrow) {
            const Array value = [&] {
              const ReleaseGil no_gil;
              return x.get_value(borrow);
            }();
            return to_numpy(value);
          },
          "borrow"_a = false, "A copy of the value (the memory itself with borrow).")
      .def(
          "set_value",
          [](SharedVariable& x, nb::handle value, bool borrow) {
            const Array array = shared_value(x, value);
            const ReleaseGil no_gil;
            x.set_value(array, borrow);
          },
          "value"_a, "borrow"_a = false,
          "Replaces the value. The rank must be the same; a dtype that casts safely is converted, others raise "
          "TypeError.")
      .def(
          "set_default_update",
          [](SharedVariable& x, nb::handle value) {
            const Variable update = to_variable(value);
            check_default_update(x, update);
            x.set_default_update(update);
          },
          "value"_a, "Sets the update of every function that uses the variable and has no other update for it.")
      .def_prop_ro(
          "home",
          [](const SharedVariable& x) {
            const ReleaseGil no_gil;
            return x.home();
          },
          "The device that stores the value now.")
      .def_prop_ro("pinned", &SharedVariable::pinned, "Whether the value always stays on that device.")
      .def_prop_ro("copies", &SharedVariable::copies,
                   "The copies on other devices, if a strategy mirrors the variable.")
      .def_prop_ro(
          "version",
          [](const SharedVariable& x) {
            const ReleaseGil no_gil;
            return x.version();
          },
          "The number of writes to the value.");
  m.def(
      "shared",
      [](nb::handle value, std::optional<std::string> name, bool borrow, std::optional<std::string> target,
         std::vector<bool> broadcastable) {
        SharedOptions options{std::move(name).value_or(""), std::move(target).value_or(""), borrow,
                              std::move(broadcastable)};
        return shared(to_array(value), options, here());
      },
      "value"_a, "name"_a = nb::none(), "borrow"_a = false, "target"_a = nb::none(),
      "broadcastable"_a = std::vector<bool>(),
      "A shared variable with a copy of the value (with borrow: its memory). Its type is the value's dtype and rank. "
      "target: the device that always stores it. broadcastable: for each axis, whether its size is always 1.");
}

using MakeInput = Variable (*)(std::string, std::optional<DType>, Where);

void bind_inputs(nb::module_& m) {
  const std::pair<const char*, MakeInput> kinds[] = {{"scalar", &scalar},  {"vector", &vector}, {"matrix", &matrix},
                                                     {"row", &row},        {"col", &col},       {"tensor3", &tensor3},
                                                     {"tensor4", &tensor4}};
  const std::pair<const char*, DType> prefixes[] = {
      {"b", DType::int8},    {"w", DType::int16},   {"i", DType::int32},     {"l", DType::int64},
      {"f", DType::float32}, {"d", DType::float64}, {"c", DType::complex64}, {"z", DType::complex128}};
  for (const auto& [kind, make] : kinds) {
    m.def(
        kind,
        [make = make](std::optional<std::string> name, nb::handle dtype) {
          return make(std::move(name).value_or(""), to_optional_dtype(dtype), here());
        },
        "name"_a = nb::none(), "dtype"_a = nb::none(),
        "An input; its dtype is floatX by default. row is (1, ?), col is (?, 1).");
    for (const auto& [prefix, dtype] : prefixes) {
      m.def((std::string(prefix) + kind).c_str(),
            [make = make, dtype = dtype](std::optional<std::string> name) {
              return make(std::move(name).value_or(""), dtype, here());
            },
            "name"_a = nb::none(),
            "An input: b int8, w int16, i int32, l int64, f float32, d float64, c complex64, z complex128.");
    }
  }
  m.def(
      "variable",
      [](nb::handle dtype, const std::vector<std::optional<std::int64_t>>& shape, std::optional<std::string> name) {
        Type type{to_dtype(dtype), {}};
        for (const std::optional<std::int64_t>& size : shape) type.shape.push_back(size.value_or(unknown_size));
        return variable(std::move(type), std::move(name).value_or(""), here());
      },
      "dtype"_a, "shape"_a, "name"_a = nb::none(),
      "An input with a dtype and sizes; None is a size that is known only at a call.");
  m.def(
      "constant",
      [](nb::handle value, std::optional<std::string> name) {
        Variable x = to_variable(value);
        if (name) x.named(*std::move(name));
        return x;
      },
      "value"_a, "name"_a = nb::none(),
      "A constant with a copy of the value. A Python integer gets the smallest dtype that holds it; a float gets "
      "floatX, or the next wider dtype in which it is finite.");
}

}  // namespace

void bind_variables(nb::module_& m) {
  VariableClass c(
      m, "Variable",
      "A symbolic expression. Operators build new variables; nothing is computed until a function is compiled and "
      "called. == is identity.");
  add_operators(c);
  add_comparisons(c);
  add_unsupported(c);
  add_properties(c);
  add_methods(c);
  bind_shared(m);
  bind_inputs(m);
}

}  // namespace croton::python
