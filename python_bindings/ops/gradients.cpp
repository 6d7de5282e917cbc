// The functions of <croton/grad.hpp>.
#include <croton/grad.hpp>

#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

std::vector<Variable> one_or_more(nb::handle object) {
  return is_list(object) ? to_variables(object) : std::vector{to_variable(object)};
}
/// None: an empty Variable.
std::vector<Variable> points(nb::handle object) {
  const auto point = [](nb::handle item) { return item.is_none() ? Variable() : to_variable(item); };
  std::vector<Variable> all;
  if (!is_list(object)) return {point(object)};
  for (const nb::handle item : object) all.push_back(point(item));
  return all;
}
nb::object or_none(const Variable& v) { return v.defined() ? nb::cast(v) : nb::none(); }
nb::list list_of(const std::vector<Variable>& variables) {
  nb::list all;
  for (const Variable& v : variables) all.append(or_none(v));
  return all;
}
/// The results in the form of the argument: a variable, or a list of them.
nb::object like(nb::handle argument, const std::vector<Variable>& results) {
  if (!is_list(argument)) return or_none(results[0]);
  return list_of(results);
}

GradOptions options_of(nb::handle consider_constant, const std::string& disconnected_inputs) {
  GradOptions options;
  if (!consider_constant.is_none()) options.consider_constant = one_or_more(consider_constant);
  options.disconnected_inputs = choice<Disconnected>(
      disconnected_inputs, "disconnected_inputs",
      {{"raise", Disconnected::raise}, {"warn", Disconnected::warn}, {"ignore", Disconnected::ignore}});
  return options;
}

nb::object gradient(nb::handle cost, nb::handle wrt, nb::handle consider_constant,
                    const std::string& disconnected_inputs, bool, nb::handle known_grads,
                    const std::string& return_disconnected, const std::string& null_gradients) {
  GradOptions options = options_of(consider_constant, disconnected_inputs);
  options.known_grads = to_pairs(known_grads, "known_grads");
  options.return_disconnected = choice<ReturnDisconnected>(return_disconnected, "return_disconnected",
                                                           {{"zero", ReturnDisconnected::zero},
                                                            {"None", ReturnDisconnected::none},
                                                            {"none", ReturnDisconnected::none},
                                                            {"Disconnected", ReturnDisconnected::none},
                                                            {"disconnected", ReturnDisconnected::none}});
  options.null_gradients = choice<NullGradients>(null_gradients, "null_gradients",
                                                 {{"raise", NullGradients::raise}, {"return", NullGradients::none}});
  const Variable of = cost.is_none() ? Variable() : to_variable(cost);
  return like(wrt, grad(of, one_or_more(wrt), options, here()));
}

nb::object subgraph(nb::handle wrt, nb::handle end, nb::handle start, nb::handle cost) {
  const Variable of = cost.is_none() ? Variable() : to_variable(cost);
  const SubgraphGrads found = subgraph_grad(one_or_more(wrt), one_or_more(end), to_pairs(start, "start"), of, here());
  return nb::make_tuple(list_of(found.wrt), list_of(found.end));
}

void bind_products_with_jacobians(nb::module_& m) {
  m.def(
      "Lop",
      [](nb::handle f, nb::handle wrt, nb::handle eval_points, nb::handle consider_constant,
         const std::string& disconnected_inputs) {
        return like(wrt, Lop(one_or_more(f), one_or_more(wrt), points(eval_points),
                             options_of(consider_constant, disconnected_inputs), here()));
      },
      "f"_a, "wrt"_a, "eval_points"_a.none(), "consider_constant"_a = nb::none(), "disconnected_inputs"_a = "raise",
      "The product of the eval points, from the left, with the Jacobian of f: the gradients of (f * "
      "eval_points).sum().");
  m.def(
      "Rop",
      [](nb::handle f, nb::handle wrt, nb::handle eval_points, const std::string& disconnected_inputs) {
        return like(f, Rop(one_or_more(f), one_or_more(wrt), points(eval_points),
                           options_of(nb::none(), disconnected_inputs), here()));
      },
      "f"_a, "wrt"_a, "eval_points"_a.none(), "disconnected_inputs"_a = "raise",
      "The product of the Jacobian of f with the eval points, from the right: the derivative of f along them. None: "
      "that variable is constant.");
  m.def(
      "hessian_times_vector",
      [](nb::handle cost, nb::handle wrt, nb::handle vectors, nb::handle consider_constant,
         const std::string& disconnected_inputs) {
        return like(wrt, hessian_times_vector(to_variable(cost), one_or_more(wrt), one_or_more(vectors),
                                              options_of(consider_constant, disconnected_inputs), here()));
      },
      "cost"_a.none(), "wrt"_a, "vectors"_a, "consider_constant"_a = nb::none(), "disconnected_inputs"_a = "raise",
      "The products of the Hessian of a scalar cost with vectors of the variables' shapes, computed without the "
      "Hessian.");
}

using Derivatives = std::vector<Variable> (*)(const Variable&, const std::vector<Variable>&, const GradOptions&, Where);

void bind_matrices(nb::module_& m) {
  const auto add = [&](const char* name, const char* first, Derivatives f, const char* doc) {
    m.def(
        name,
        [f](nb::handle expression, nb::handle wrt, nb::handle consider_constant,
            const std::string& disconnected_inputs) {
          return like(wrt, f(to_variable(expression), one_or_more(wrt),
                             options_of(consider_constant, disconnected_inputs), here()));
        },
        nb::arg(first), "wrt"_a, "consider_constant"_a = nb::none(), "disconnected_inputs"_a = "raise", doc);
  };
  add("jacobian", "expression", static_cast<Derivatives>(&jacobian),
      "The Jacobian of an expression by each variable; its shape is that of the expression, followed by the "
      "variable's.");
  add("hessian", "cost", static_cast<Derivatives>(&hessian),
      "The Hessian of a scalar cost by each variable alone; its shape is the variable's, twice.");
}

void bind_marks(nb::module_& m) {
  struct Mark {
    const char* name;
    Variable (*f)(Operand);
    const char* doc;
  };
  for (const Mark& mark :
       {Mark{"disconnected_grad", &disconnected_grad,
             "x; gradients do not flow through it, and variables only reached through it are disconnected."},
        Mark{"zero_grad", &zero_grad, "x, whose gradient is 0."},
        Mark{"consider_constant", &consider_constant, "x, whose gradient is 0."}}) {
    m.def(mark.name, [f = mark.f](nb::handle x) { return f(to_operand(x)); }, "x"_a, mark.doc);
  }
  m.def(
      "grad_clip",
      [](nb::handle x, double lower_bound, double upper_bound) {
        return grad_clip(to_operand(x), lower_bound, upper_bound);
      },
      "x"_a, "lower_bound"_a, "upper_bound"_a, "x; the gradient that flows back through it is clipped to the bounds.");
  m.def(
      "grad_scale", [](nb::handle x, double multiplier) { return grad_scale(to_operand(x), multiplier); }, "x"_a,
      "multiplier"_a, "x; the gradient that flows back through it is multiplied by the number.");
  m.def(
      "undefined_grad", [](nb::handle x, const std::string& reason) { return undefined_grad(to_operand(x), reason); },
      "x"_a, "reason"_a = "", "x; a gradient through it raises NullTypeGradError.");
}

}  // namespace

void bind_gradients(nb::module_& m) {
  m.def(
      "grad", &gradient, "cost"_a.none(), "wrt"_a, "consider_constant"_a = nb::none(),
      "disconnected_inputs"_a = "raise", "add_names"_a = true, "known_grads"_a = nb::none(),
      "return_disconnected"_a = "zero", "null_gradients"_a = "raise",
      "The gradient of a scalar cost with respect to a variable, or to each of a list. disconnected_inputs: 'raise', "
      "'warn' or 'ignore'. known_grads: given gradients, by variable; with these the cost may be None. "
      "return_disconnected: 'zero' or 'None'. null_gradients: 'raise', or 'return' for None. add_names does nothing.");
  m.def("subgraph_grad", &subgraph, "wrt"_a, "end"_a, "start"_a = nb::none(), "cost"_a = nb::none(),
        "The gradients of a part of an expression, from the cost or from given gradients (start), with respect to wrt "
        "and to end, the inputs of the part.");
  bind_products_with_jacobians(m);
  bind_matrices(m);
  bind_marks(m);
  m.def(
      "vectorize",
      [](nb::handle outputs, nb::handle batched) {
        return like(outputs, vectorize(one_or_more(outputs), to_pairs(batched, "batched"), here()));
      },
      "outputs"_a, "batched"_a,
      "The outputs for a batch of values of some variables: each variable of the dict is replaced by its batch, which "
      "has one more axis, the first.");
}

}  // namespace croton::python
