// Operations of the user: <croton/op.hpp>.
#include <croton/op.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

std::vector<Operand> to_operands(nb::args arguments) {
  std::vector<Operand> operands;
  for (const nb::handle argument : arguments) operands.push_back(to_operand(argument));
  return operands;
}

/// None in a list of gradients is an empty Variable.
std::vector<Variable> to_gradients(nb::handle list) {
  std::vector<Variable> gradients;
  for (const nb::handle item : list) gradients.push_back(item.is_none() ? Variable() : to_variable(item));
  return gradients;
}

nb::list to_list(const std::vector<Variable>& variables) {
  nb::list list;
  for (const Variable& variable : variables) list.append(nb::cast(variable));
  return list;
}

/// (dtype, shape), or a list of such pairs.
std::vector<HostOp::Result> to_results(nb::object types) {
  std::vector<HostOp::Result> results;
  const auto add = [&](nb::handle pair) {
    if (!PyTuple_Check(pair.ptr()) || nb::len(pair) != 2)
      throw TypeError("the types of results are pairs (dtype, shape), or a list of pairs");
    results.push_back({to_dtype(pair[0]), to_sizes(pair[1])});
  };
  if (PyList_Check(types.ptr())) {
    for (const nb::handle pair : types) add(pair);
  } else {
    add(types);
  }
  return results;
}

std::vector<Array> to_arrays(nb::object values) {
  std::vector<Array> arrays;
  if (is_list(values)) {
    for (const nb::handle item : values) arrays.push_back(to_array(item).copy());
  } else {
    arrays.push_back(to_array(values).copy());  // Python owns its memory
  }
  return arrays;
}

}  // namespace

void bind_user_ops(nb::module_& m) {
  nb::class_<KernelOp>(
      m, "KernelOp",
      "An elementwise operation with a body in C++: `body` is the body of a function of the names in `operands`, all "
      "of type T. It is compiled into the kernels of every device and fuses there. gradient(inputs, output, g) returns "
      "a gradient (or None) for each operand; reference(*floats) computes the same in Python, for mode=reference.")
      .def(
          "__init__",
          [](KernelOp* self, std::string name, std::vector<std::string> operands, std::string body, nb::handle result,
             nb::object gradient, nb::object reference, int cost) {
            KernelOp::Definition d{.name = std::move(name),
                                   .operands = std::move(operands),
                                   .body = std::move(body),
                                   .result = to_optional_dtype(result),
                                   .cost = cost};
            if (!gradient.is_none()) {
              d.gradient = [gradient = make_ref(gradient)](const std::vector<Variable>& inputs, const Variable& output,
                                                           const Variable& g) {
                const AcquireGil gil;
                return to_gradients(call_python(*gradient, inputs, output, g));
              };
            }
            if (!reference.is_none()) {
              d.reference = [reference = make_ref(reference)](std::span<const double> at) {
                const AcquireGil gil;
                nb::list values;
                for (const double value : at) values.append(value);
                return nb::cast<double>(call_python_with(*reference, nb::tuple(values)));
              };
            }
            new (self) KernelOp(std::move(d), here());
          },
          "name"_a, "operands"_a, "body"_a, "result"_a = nb::none(), "gradient"_a = nb::none(),
          "reference"_a = nb::none(), "cost"_a = 10)
      .def("__call__", [](const KernelOp& op, nb::args arguments) { return op.apply(to_operands(arguments)); });

  nb::class_<OpFromGraph>(
      m, "OpFromGraph",
      "A graph as an operation: each call copies it and replaces the inputs by the arguments. gradient(inputs, "
      "outputs, gs) replaces the graph's own gradient; it returns a gradient (or None) for each input.")
      .def(
          "__init__",
          [](OpFromGraph* self, nb::list inputs, nb::list outputs, nb::object gradient, std::string name) {
            OpFromGraph::Options options{.name = std::move(name), .gradient = {}};
            if (!gradient.is_none()) {
              options.gradient = [gradient = make_ref(gradient)](const std::vector<Variable>& in,
                                                                 const std::vector<Variable>& out,
                                                                 const std::vector<Variable>& g) {
                const AcquireGil gil;
                return to_gradients(call_python(*gradient, in, out, g));
              };
            }
            new (self) OpFromGraph(to_gradients(inputs), to_gradients(outputs), std::move(options), here());
          },
          "inputs"_a, "outputs"_a, "gradient"_a = nb::none(), "name"_a = "")
      .def("__call__", [](const OpFromGraph& op, nb::args arguments) -> nb::object {
        const std::vector<Variable> outputs = op.apply(to_operands(arguments));
        return outputs.size() == 1 ? nb::cast(outputs[0]) : nb::cast(outputs);
      });

  nb::class_<HostOp>(m, "HostOp",
                     "A Python function as an operation on the host. results(*variables) returns the types of the "
                     "results: a pair (dtype, shape) or a list of pairs; sizes may be symbolic. compute(*arrays) "
                     "returns the values: an array or a list. gradient(inputs, outputs, gs) returns a gradient (or "
                     "None) for each input. pure: equal inputs give equal results.")
      .def(
          "__init__",
          [](HostOp* self, std::string name, nb::object results, nb::object compute, nb::object gradient, bool pure) {
            HostOp::Definition d{.name = std::move(name), .results = {}, .compute = {}, .pure = pure};
            d.results = [results = make_ref(results)](const std::vector<Variable>& inputs) {
              const AcquireGil gil;
              return to_results(call_python_with(*results, nb::tuple(to_list(inputs))));
            };
            d.compute = [compute = make_ref(compute)](const std::vector<Array>& inputs) {
              const AcquireGil gil;
              nb::list arrays;
              for (const Array& input : inputs) arrays.append(to_numpy(input.copy()));  // Python may keep it
              return to_arrays(call_python_with(*compute, nb::tuple(arrays)));
            };
            if (!gradient.is_none()) {
              d.gradient = [gradient = make_ref(gradient)](const std::vector<Variable>& in,
                                                           const std::vector<Variable>& out,
                                                           const std::vector<Variable>& g) {
                const AcquireGil gil;
                return to_gradients(call_python(*gradient, in, out, g));
              };
            }
            new (self) HostOp(std::move(d), here());
          },
          "name"_a, "results"_a, "compute"_a, "gradient"_a = nb::none(), "pure"_a = true)
      .def("__call__", [](const HostOp& op, nb::args arguments) -> nb::object {
        const std::vector<Variable> outputs = op.apply(to_operands(arguments), here());
        return outputs.size() == 1 ? nb::cast(outputs[0]) : nb::cast(outputs);
      });

  m.def(
      "clone",
      [](nb::handle output, nb::handle replace) -> nb::object {
        const auto pairs = to_pairs(replace, "replace");
        if (!is_list(output)) return nb::cast(clone(to_variable(output), pairs, here()));
        return nb::cast(clone(to_gradients(output), pairs, here()));
      },
      "output"_a, "replace"_a,
      "The expression (or list of them) with some variables replaced, all at once: {old: new} or pairs.");
}

}  // namespace croton::python
