// Reverse-mode differentiation of the user's graph: one traversal from the cost to the requested variables, in which
// the rule of each op computes the gradients of its inputs. Iterative, so that a chain of a million ops does not
// overflow the stack.
#include <croton/complex.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/branches.hpp"
#include "builder/device_scope.hpp"
#include "builder/gradient.hpp"
#include "builder/gradient_context.hpp"
#include "builder/gradient_line.hpp"
#include "builder/results_gradient.hpp"
#include "builder/stable_form.hpp"
#include "builder/walk.hpp"

namespace croton {
namespace {

using builder::Node;

/// The constant 0 without axes means "connected, but zero", for any shape: the gradients of comparisons and rounding
/// are such.
bool is_zero(const Variable& g) { return g.is_constant() && g.rank() == 0 && g.node()->value.as_complex(0) == 0.0; }

/// Sums over broadcast axes, so that the gradient has the variable's shape.
Variable unbroadcast(Variable gradient, const Type& type) {
  const int extra = gradient.rank() - base::to_int(type.rank());
  std::vector<int> summed;
  for (int axis = 0; axis < gradient.rank(); ++axis) {
    const bool repeated = axis < extra || (type.broadcasts(axis - extra) && !gradient.type().broadcasts(axis));
    if (repeated) summed.push_back(axis);
  }
  if (summed.empty()) return gradient;
  const int rank = gradient.rank();
  gradient = sum(gradient, ReduceOptions(summed));
  std::vector<int> pattern;
  int next = 0;
  for (int axis = extra; axis < rank; ++axis) {
    pattern.push_back(std::ranges::find(summed, axis) != summed.end() ? broadcast_axis : next++);
  }
  return dimshuffle(gradient, pattern);
}

DType gradient_dtype(DType dtype) { return is_discrete(dtype) ? base::config().float_x() : dtype; }

/// The gradients of the inputs of a node. The gradient of a complex x + iy is dC/dx + i dC/dy, so if the node is a
/// holomorphic function with derivative d, the input's gradient is g conj(d). The op's formula computes g d, so this
/// returns conj(conj(g) d). Both are equal for ops that move elements.
std::vector<Variable> input_gradients(const builder::GradientContext& context) {
  const expr::Op& op = *context.node.op;
  const expr::ComplexInfo* complex = op.map == nullptr ? nullptr : op.map->complex;
  const auto rule = complex != nullptr && complex->gradient != nullptr &&
                            std::ranges::any_of(context.inputs, is_complex, &Variable::dtype)
                        ? complex->gradient
                        : op.gradient;
  const bool computes = op.kind == expr::Kind::Map ? complex != nullptr && complex->holomorphic : op.takes_complex;
  if (!is_complex(context.node.type.dtype) || !computes) return rule(context);
  std::vector<Variable> parts = rule({context.node, context.inputs, context.output, conj(context.gradient)});
  for (Variable& part : parts) {
    if (part.defined()) part = conj(part);
  }
  return parts;
}

class Backward {
 public:
  Backward(const std::vector<builder::Seed>& seeds, const std::vector<Variable>& wrt, const GradOptions& options) {
    for (const Variable& v : options.consider_constant) constants_.insert(v.node());
    for (const Variable& v : wrt) requested_.insert(v.node());
    std::vector<Variable> roots;
    for (const builder::Seed& seed : seeds) roots.push_back(seed.variable);
    for (const auto& [variable, gradient] : options.known_grads) {
      roots.push_back(variable);
      known_.insert(variable.node());
    }
    order_ = builder::topological_order(roots);
    find_stable_forms();
    find_dependent();
    find_results(roots);
    for (const builder::Seed& seed : seeds) add(seed.variable, seed.gradient);
    for (const auto& [variable, gradient] : options.known_grads) {
      if (depends_.contains(variable.node())) accumulate(variable, gradient);
    }
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) step(*at);
  }

  const Variable* find(const Variable& v) const {
    const auto at = gradients_.find(v.node());
    return at == gradients_.end() ? nullptr : &at->second;
  }
  /// The reason why the gradient of that variable is not defined; null if it is.
  std::exception_ptr fault(const Variable& v) const {
    const auto at = faults_.find(v.node());
    return at == faults_.end() ? nullptr : at->second;
  }

 private:
  /// Finds the nodes that depend on a requested variable.
  void find_dependent() {
    for (const Node* node : order_) {
      bool depends = requested_.contains(node);
      if (!constants_.contains(node)) {
        for (const Variable& input : inputs_of(*node)) depends = depends || depends_.contains(input.node());
      }
      if (depends) depends_.insert(node);
    }
  }

  /// The variables to which the gradient of the node is propagated: its stable form, or its inputs.
  std::span<const Variable> inputs_of(const Node& node) const {
    const auto form = forms_.find(&node);
    return form == forms_.end() ? std::span<const Variable>(node.inputs) : std::span(&form->second, 1);
  }

  /// Finds the stable forms, and inserts their nodes into the order before the nodes that they replace.
  void find_stable_forms() {
    if (order_.empty()) return;
    const std::uint64_t last_of_user = order_.back()->serial;
    std::vector<Node*> order;
    for (Node* node : order_) {
      const builder::PlaceScope place(node->place);
      const Variable whole(node->shared_from_this());
      const builder::StableForm form = builder::stable_form(whole);
      if (form.function.defined()) {
        std::unordered_set<const Node*> seen(form.ends.begin(), form.ends.end());
        const auto own =
            builder::reachable({form.function}, seen, [&](const Node& n) { return n.serial > last_of_user; });
        // No requested variable may be skipped by the form. The skipped part ends at the nodes that the form reads,
        // which are in `seen`.
        const auto passed = builder::reachable({whole}, seen, [](const Node&) { return true; });
        const auto is_requested = [&](const Node* n) {
          return constants_.contains(n) || (n != node && (requested_.contains(n) || known_.contains(n)));
        };
        if (std::ranges::none_of(passed, is_requested) && std::ranges::none_of(form.twins, is_requested)) {
          order.insert(order.end(), own.begin(), own.end());
          forms_.emplace(node, form.function);
        }
      }
      order.push_back(node);
    }
    order_ = std::move(order);
  }

  /// Results of one application are differentiated together, at the first of them in the order: all their users
  /// come later.
  static bool has_several_results(const Node& node) {
    return node.op->results_gradient != nullptr || node.op->kind == expr::Kind::Branch;
  }

  void find_results(const std::vector<Variable>& roots) {
    std::map<std::vector<const void*>, Node*> first;
    std::vector<const Node*> kept(requested_.begin(), requested_.end());
    kept.insert(kept.end(), known_.begin(), known_.end());
    for (const Variable& root : roots) kept.push_back(root.node());
    branches_ = builder::find_branches(order_, kept, [](const Variable& v) { return v.node(); });
    for (Node* node : order_) {
      if (!has_several_results(*node)) continue;
      std::vector<const void*> application;
      if (node->op->results_gradient != nullptr) application.push_back(node->attrs.body("body").get());
      for (const Variable& input : node->inputs) application.push_back(input.node());
      results_[first.try_emplace(application, node).first->second].push_back(node);
    }
  }

  void step_results(Node* node) {
    const auto group = results_.find(node);
    if (group == results_.end()) return;  // the first result of the application handles it
    builder::ResultsGradientContext context;
    bool connected = false;
    for (Node* result : group->second) {
      if (constants_.contains(result) || !depends_.contains(result)) continue;
      if (const auto fault = faults_.find(result); fault != faults_.end()) return mark_undefined(*node, fault->second);
      const auto at = gradients_.find(result);
      if (at == gradients_.end()) continue;
      connected = true;
      if (!is_zero(at->second) && !is_discrete(result->type.dtype)) context.results.push_back({*result, at->second});
    }
    const builder::OriginScope origin(builder::in_gradient_of(node->op->name, node->where));
    const builder::PlaceScope place(node->place);
    if (!connected) return;
    if (context.results.empty()) {
      for (const Variable& input : node->inputs) add(input, builder::scalar_constant(0, base::config().float_x()));
      return;
    }
    call_rule(*node, [&] {
      if (node->op->kind == expr::Kind::Branch)
        step_branch(*node, context);
      else
        add_to_inputs(*node, node->op->results_gradient(context));
    });
  }

  /// The nodes that only one side needs are differentiated separately, and their gradients for the remaining nodes are
  /// combined by an ifelse: so only one side of the gradient is computed, and values of the other side are not even
  /// multiplied by 0.
  void step_branch(const Node& node, const builder::ResultsGradientContext& context) {
    std::vector<Variable> rest;
    const auto add_rest = [&](const Variable& v) {
      if (branches_.inside.contains(v.node()) || !depends_.contains(v.node())) return;
      if (std::ranges::find(rest, v) == rest.end()) rest.push_back(v);
    };
    for (std::size_t i = 1; i < node.inputs.size(); ++i) add_rest(node.inputs[i]);
    for (const Node* own : branches_.of(node).inside) {
      for (const Variable& input : own->inputs) add_rest(input);
    }
    const std::size_t count = (node.inputs.size() - 1) / 2;
    GradOptions options;
    options.consider_constant = rest;
    options.disconnected_inputs = Disconnected::ignore;
    options.return_disconnected = ReturnDisconnected::none;
    const auto of_side = [&](std::size_t first) {
      std::vector<builder::Seed> seeds;
      for (const builder::ResultGradient& result : context.results) {
        const std::size_t index = result.node.attrs.index("index");
        seeds.push_back({node.inputs[first + index], result.gradient});
      }
      return builder::gradients("grad", seeds, rest, options, node.where);
    };
    const std::vector<Variable> then = of_side(1), otherwise = of_side(1 + count);
    std::vector<Variable> to, a, b;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (!then[i].defined() && !otherwise[i].defined()) continue;
      // The zero gradient of the side that is not chosen has the sizes of its variable.
      const DType dtype = (then[i].defined() ? then[i] : otherwise[i]).dtype();
      const Variable none = cast(zeros_like(rest[i]), dtype);
      to.push_back(rest[i]);
      a.push_back(then[i].defined() ? then[i] : none);
      b.push_back(otherwise[i].defined() ? otherwise[i] : none);
    }
    if (to.empty()) return;
    // Uses the same condition node, so that nodes which function and gradient share are found to be needed only
    // under it.
    std::vector<Variable> inputs{node.inputs[0]};
    inputs.insert(inputs.end(), a.begin(), a.end());
    inputs.insert(inputs.end(), b.begin(), b.end());
    for (std::size_t i = 0; i < to.size(); ++i)
      add(to[i], builder::apply(expr::Core::ifelse, inputs, {{"index", i}}, node.where));
  }

  void step(Node* node) {
    if (has_several_results(*node)) return step_results(node);
    if (node->op->kind == expr::Kind::Leaf || constants_.contains(node) || !depends_.contains(node)) return;
    if (const auto fault = faults_.find(node); fault != faults_.end()) return mark_undefined(*node, fault->second);
    const auto at = gradients_.find(node);
    if (at == gradients_.end()) return;
    const Variable gradient = at->second;
    if (const auto form = forms_.find(node); form != forms_.end()) return add(form->second, gradient);
    const builder::OriginScope origin(builder::in_gradient_of(node->op->name, node->where));
    const builder::PlaceScope place(node->place);
    // Integers change in steps: results of integer arithmetic are connected, with gradient 0.
    if (is_zero(gradient) || is_discrete(node->type.dtype)) {
      for (const Variable& input : node->inputs) add(input, builder::scalar_constant(0, base::config().float_x()));
      return;
    }
    // The node has a gradient, so there is a handle to it.
    const builder::GradientContext context{*node, node->inputs, Variable(handles_.at(node)), gradient};
    call_rule(*node, [&] {
      if (node->op->gradient == nullptr) {
        throw NotImplementedError(
            fmt::format("the gradient of {} is not implemented ({})", node->op->name, builder::describe(node->where)));
      }
      add_to_inputs(*node, input_gradients(context));
    });
  }

  /// Adds the parts to the gradients of the inputs.
  void add_to_inputs(const Node& node, const std::vector<Variable>& parts) {
    for (std::size_t i = 0; i < node.inputs.size() && i < parts.size(); ++i) {
      if (!parts[i].defined()) continue;
      if (const Node& part = *parts[i].node();
          part.op->is(expr::Core::undefined_grad) && part.inputs[0] == node.inputs[i])
        mark_input_undefined(node, part);
      else
        add(node.inputs[i], parts[i]);
    }
  }

  /// A rule that returns undefined_grad(input) states that this input has no gradient; the gradients of the other
  /// inputs are valid.
  void mark_input_undefined(const Node& node, const Node& part) {
    const Variable& input = part.inputs[0];
    if (!depends_.contains(input.node()) || known_.contains(input.node())) return;
    const std::string& reason = part.attrs.text("reason");
    faults_.try_emplace(input.node(), std::make_exception_ptr(NullTypeGradError(
                                          fmt::format("the gradient of {} ({}) by {} is not defined{}{}", node.op->name,
                                                      builder::describe(node.where), builder::describe(input),
                                                      reason.empty() ? "" : ": ", reason))));
  }

  /// Calls the rule of a node. A gradient that is not defined is an error only if it reaches a requested variable.
  template <class Rule>
  void call_rule(const Node& node, Rule rule) {
    try {
      rule();
    } catch (const NotImplementedError&) {
      mark_undefined(node, std::current_exception());
    } catch (const NullTypeGradError&) {
      mark_undefined(node, std::current_exception());
    }
  }

  /// Marks the gradients of all inputs of the node as not defined.
  void mark_undefined(const Node& node, const std::exception_ptr& fault) {
    for (const Variable& input : inputs_of(node)) {
      if (depends_.contains(input.node()) && !known_.contains(input.node())) faults_.try_emplace(input.node(), fault);
    }
  }

  void add(const Variable& input, const Variable& part) {
    if (depends_.contains(input.node()) && !known_.contains(input.node())) accumulate(input, part);
  }

  void accumulate(const Variable& input, Variable part) {
    // For seeds and known gradients; all others are added inside the scope of a step.
    const builder::OriginScope origin(part.where());
    if (is_complex(part.dtype()) && !is_complex(input.dtype())) part = real(part);
    if (!is_zero(part)) part = unbroadcast(cast(part, gradient_dtype(input.dtype())), input.type());
    const auto [at, fresh] = gradients_.try_emplace(input.node(), part);
    handles_[input.node()] = input.handle();
    if (fresh || is_zero(part)) return;
    at->second = is_zero(at->second) ? part : at->second + part;
  }

  std::vector<Node*> order_;
  std::unordered_set<const Node*> requested_, constants_, known_, depends_;
  std::unordered_map<const Node*, std::vector<Node*>> results_;  // of an application, by its first result
  builder::Branches branches_;
  std::unordered_map<const Node*, Variable> forms_;  // stable forms, in which the nodes are differentiated
  std::unordered_map<const Node*, Variable> gradients_;
  std::unordered_map<const Node*, std::exception_ptr> faults_;
  std::unordered_map<const Node*, std::shared_ptr<Node>> handles_;
};

/// The gradient of a variable on which the outputs do not depend: an error, zeros or nothing, by the options.
Variable disconnected(std::string_view op, std::string_view subject, const Variable& v, const GradOptions& options,
                      Where where) {
  const std::string message =
      fmt::format("{} ({}): {} not depend on {}", op, builder::describe(where), subject, builder::describe(v));
  if (options.disconnected_inputs == Disconnected::raise)
    throw DisconnectedInputError(message + "; pass disconnected_inputs=ignore for zeros");
  if (options.disconnected_inputs == Disconnected::warn) std::cerr << "croton: warning: " << message << "\n";
  if (options.return_disconnected == ReturnDisconnected::none) return {};
  return zeros_like(cast(v, gradient_dtype(v.dtype())));
}

}  // namespace

namespace builder {

void demand_defined(std::string_view op, const Variable& v, std::string_view what, Where where) {
  if (v.defined()) return;
  throw TypeError(
      fmt::format("{} ({}): {} is an empty Variable; it was never given an expression", op, describe(where), what));
}

std::vector<Variable> gradients(std::string_view op, const std::vector<Seed>& seeds, const std::vector<Variable>& wrt,
                                const GradOptions& options, Where where) {
  for (const Variable& v : wrt) demand_defined(op, v, "a variable to differentiate by", where);
  for (const Variable& v : options.consider_constant) demand_defined(op, v, "a variable to consider constant", where);
  for (const auto& [variable, gradient] : options.known_grads) {
    demand_defined(op, variable, "a variable with a known gradient", where);
    demand_defined(op, gradient, "a known gradient", where);
    const auto fits = [](std::int64_t a, std::int64_t b) { return a == unknown_size || b == unknown_size || a == b; };
    if (!std::ranges::equal(variable.type().shape, gradient.type().shape, fits)) {
      throw TypeError(fmt::format("{} ({}): a gradient has the shape of its variable, but {} for {}", op,
                                  describe(where), describe(gradient), describe(variable)));
    }
  }
  const Backward backward(seeds, wrt, options);
  const OriginScope origin(where);
  const bool one = op == "grad" && options.known_grads.empty();
  std::vector<Variable> result;
  for (const Variable& v : wrt) {
    if (const std::exception_ptr fault = backward.fault(v)) {
      if (options.null_gradients == NullGradients::raise) std::rethrow_exception(fault);
      result.emplace_back();
      continue;
    }
    const Variable* found = backward.find(v);
    if (found == nullptr)
      result.push_back(disconnected(op, one ? "the cost does" : "the outputs do", v, options, where));
    else if (!is_zero(*found) || v.rank() == 0)
      result.push_back(cast(*found, gradient_dtype(v.dtype())));
    else
      result.push_back(zeros_like(cast(v, gradient_dtype(v.dtype()))));
  }
  return result;
}

}  // namespace builder

std::vector<Variable> grad(const Variable& cost, const std::vector<Variable>& wrt, const GradOptions& options,
                           Where where) {
  if (!cost.defined() && !options.known_grads.empty()) return builder::gradients("grad", {}, wrt, options, where);
  builder::demand_defined("grad", cost, "the cost", where);
  for (const Variable& v : wrt) builder::demand_defined("grad", v, "a variable to differentiate by", where);
  if (cost.rank() != 0 || !is_float(cost.dtype())) {
    const std::string_view hint = is_float(cost.dtype())     ? "take its sum or mean"
                                  : is_complex(cost.dtype()) ? "take its real part or its absolute value"
                                                             : "integers and bool have no gradient, so compute it in "
                                                               "floats";
    throw TypeError(fmt::format("grad ({}): the cost must be a 0-d float, but {}; {}", builder::describe(where),
                                builder::describe(cost), hint));
  }
  return builder::gradients("grad", {{cost, builder::scalar_constant(1, cost.dtype(), cost.where())}}, wrt, options,
                            where);
}

Variable grad(const Variable& cost, const Variable& wrt, const GradOptions& options, Where where) {
  return grad(cost, std::vector<Variable>{wrt}, options, where)[0];
}

}  // namespace croton
