// Recognizes stable functions that are written in unstable parts: if exp(x) overflows, exp(x) / sum(exp(x)) is finite
// only as softmax(x). The stability rules (rewrite/rules/stability.cpp) rewrite values. But the gradient of the parts
// is spread over the graph before any rule runs, and 0 inf is nan in each of its terms. So the forms are recognized
// before differentiation. A rule with the same form makes the same function, which value and gradient share.
#include "base/index.hpp"
#include "builder/stable_form.hpp"

#include <croton/elementwise.hpp>
#include <croton/nnet.hpp>
#include <croton/ops.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "builder/gradient_context.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::number;

bool is(const Variable& v, std::string_view op) { return v.node()->op->name == op; }
const Variable& input(const Variable& v, std::size_t i = 0) { return v.node()->inputs[i]; }

/// The operand of `op(x)`, if it has floats.
std::optional<Variable> float_operand(std::string_view op, const Variable& v) {
  if (!is(v, op) || !is_float(input(v).dtype())) return std::nullopt;
  return input(v);
}

/// The form that this thread examines, for expressions that are written twice in it.
thread_local builder::StableForm* current = nullptr;

bool equal(const Variable& a, const Variable& b, int depth, builder::StableForm& found) {
  const builder::Node &x = *a.node(), &y = *b.node();
  if (a == b) {
    found.ends.push_back(&x);
    return true;
  }
  if (depth == 0 || x.op != y.op || x.place != y.place || x.inputs.size() != y.inputs.size()) return false;
  if (a.is_constant()) return x.value.size() <= 64 && x.value.same_bits(y.value);
  if (x.op->kind == expr::Kind::Leaf || !(x.attrs == y.attrs)) return false;
  for (std::size_t i = 0; i < x.inputs.size(); ++i) {
    if (!equal(x.inputs[i], y.inputs[i], depth - 1, found)) return false;
  }
  found.twins.insert(found.twins.end(), {&x, &y});
  return true;
}

/// Whether both are one node, or the same expression, written twice. Large expressions count as different.
bool same(const Variable& a, const Variable& b) {
  if (a == b) return true;
  builder::StableForm found;
  if (!equal(a, b, 8, found)) return false;
  current->twins.insert(current->twins.end(), found.twins.begin(), found.twins.end());
  current->ends.insert(current->ends.end(), found.ends.begin(), found.ends.end());
  return true;
}
bool same(const std::optional<Variable>& a, const std::optional<Variable>& b) { return a && b && same(*a, *b); }

std::optional<double> scalar(const Variable& v) {
  if (!v.is_constant() || v.rank() != 0 || is_complex(v.dtype())) return std::nullopt;
  return v.node()->value.as_double(0);
}
bool is_one(const Variable& v) { return scalar(v) == 1.0; }

Variable form_of(const Variable& y);

/// The stable form of an expression, or the expression if it has none.
Variable stable(const Variable& v) {
  const Variable form = form_of(v);
  return form.defined() ? form : v;
}

/// x of exp(x) + 1, in either order.
std::optional<Variable> one_plus_exp(const Variable& v) {
  if (!is(v, "add")) return std::nullopt;
  if (is_one(input(v, 0))) return float_operand("exp", input(v, 1));
  if (is_one(input(v, 1))) return float_operand("exp", input(v, 0));
  return std::nullopt;
}

/// v without a cast from or to a 16-bit float: sums of these are computed in float32, with casts around them.
const Variable& uncast(const Variable& v) {
  if (!is(v, "cast")) return v;
  const DType to = v.dtype(), from = input(v).dtype();
  return is_float(to) && is_float(from) && (compute_dtype(to) == from || compute_dtype(from) == to) ? input(v) : v;
}

/// A sum of exponentials, or a dimshuffle of it.
struct Total {
  Variable x;
  expr::Ints axes;
  std::optional<expr::Ints> pattern;  // of a dimshuffle of the sum, such as that of keepdims
};
std::optional<Total> total_of(const Variable& v) {
  const Variable& outer = uncast(v);
  const bool shuffled = is(outer, "dimshuffle");
  const Variable& total = shuffled ? uncast(input(outer)) : outer;
  if (!is(total, "sum")) return std::nullopt;
  const auto x = float_operand("exp", uncast(input(total)));
  const expr::Ints& axes = total.node()->attrs.ints("axes");
  if (!x || x->dtype() != v.dtype() || axes.empty()) return std::nullopt;
  Total found{*x, axes, {}};
  if (shuffled) found.pattern = outer.node()->attrs.ints("pattern");
  return found;
}

Variable log_sum_exp(const Total& total) {
  Variable result = total.x;
  for (auto axis = total.axes.rbegin(); axis != total.axes.rend(); ++axis)
    result = nnet::logsumexp(result, base::to_int(*axis));
  return total.pattern ? dimshuffle(result, {total.pattern->begin(), total.pattern->end()}) : result;
}

/// exp(x) / total.
Variable softmax_over(const Variable& x, Total total) {
  expr::Ints kept;
  std::int64_t next = 0;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    kept.push_back(std::ranges::binary_search(total.axes, axis) ? broadcast_axis : next++);
  // A total without the summed axes is broadcast along the first axes, so the summed axes must be the first ones.
  const bool first_ones = total.axes.back() + 1 == std::ssize(total.axes);
  if (total.pattern ? *total.pattern != kept : !first_ones) return {};
  if (total.axes.size() == 1) return nnet::softmax(x, base::to_int(total.axes[0]));
  total.pattern = kept;
  return exp(x - log_sum_exp(total));
}

/// exp(x) / (exp(x) + other).
Variable sigmoid_of_difference(const Variable& x, const Variable& other) {
  if (const auto y = float_operand("exp", other)) return sigmoid(x - *y);
  const auto c = scalar(other);
  if (!c || !(*c > 0)) return {};
  return sigmoid(*c == 1 ? x : x - number(std::log(*c), x));
}

Variable of_quotient(const Variable& y) {
  const Variable &a = input(y, 0), &b = input(y, 1);
  const auto x = float_operand("exp", a), z = one_plus_exp(b);
  if (same(x, z)) return sigmoid(*x);
  if (z) return is_one(a) ? sigmoid(-*z) : a * sigmoid(-*z);
  if (!x) return {};
  if (const auto total = total_of(b)) return same(total->x, *x) ? softmax_over(*x, *total) : Variable();
  if (is(b, "add")) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (same(float_operand("exp", input(b, i)), x)) return sigmoid_of_difference(*x, input(b, 1 - i));
    }
  }
  const bool less_one = is(b, "sub") && same(float_operand("exp", input(b, 0)), x) && is_one(input(b, 1));
  if (less_one || same(float_operand("expm1", b), x)) return number(-1, *x) / expm1(-*x);
  return {};
}

Variable of_reciprocal(const Variable& y) {
  const auto z = one_plus_exp(input(y));
  return z ? sigmoid(-*z) : Variable();
}

Variable of_power(const Variable& y) {
  const auto x = float_operand("exp", input(y, 0));
  const auto c = scalar(input(y, 1));
  return x && c ? exp(*x * number(*c, *x)) : Variable();
}

Variable of_root(const Variable& y) {
  const auto x = float_operand("exp", input(y));
  return x ? exp(*x * number(0.5, *x)) : Variable();
}

/// Whether v is x x, or (-x) x.
bool is_square(const Variable& v, const Variable& x, bool negative) {
  if (negative && is(v, "neg")) return is_square(input(v), x, false);
  if (is(v, "mul")) {
    const Variable &a = input(v, 0), &b = input(v, 1);
    const auto is_minus_x = [&](const Variable& u) { return is(u, "neg") && same(input(u), x); };
    return negative ? (same(a, x) && is_minus_x(b)) || (same(b, x) && is_minus_x(a)) : same(a, x) && same(b, x);
  }
  if (negative) return false;
  return (is(v, "sqr") && same(input(v), x)) || (is(v, "pow") && same(input(v, 0), x) && scalar(input(v, 1)) == 2.0);
}

Variable of_product(const Variable& y) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Variable &f = input(y, i), &other = input(y, 1 - i);
    const auto exponent = float_operand("exp", other);
    if (!exponent) continue;
    if (const auto x = float_operand("erfcx", f); x && is_square(*exponent, *x, true)) return erfc(*x);
    if (const auto x = float_operand("erfc", f); x && is_square(*exponent, *x, false)) return erfcx(*x);
    if (const auto x = float_operand("sigmoid", f); x && is(*x, "neg") && same(input(*x), *exponent))
      return sigmoid(*exponent);
  }
  return {};
}

/// log(1 - p).
Variable log_of_complement(const Variable& p) {
  if (const auto x = float_operand("exp", p)) return log1mexp(*x);
  const auto x = float_operand("sigmoid", stable(p));
  return x ? -softplus(*x) : Variable();
}

Variable log_of_sum(const Variable& a, const Variable& b) {
  const auto x = float_operand("exp", a);
  if (!x) return {};
  if (const auto y = float_operand("exp", b)) return logaddexp(*x, *y);
  const auto c = scalar(b);
  if (!c || !(*c > 0)) return {};
  return *c == 1 ? softplus(*x) : logaddexp(*x, number(std::log(*c), *x));
}

/// log(p) where p is softmax(x), or parts of it, such as the probabilities of the target classes.
Variable log_of_softmax(const Variable& p) {
  if (const auto x = float_operand("softmax", p)) return nnet::log_softmax(*x, p.node()->attrs.axis());
  const expr::Op& op = *p.node()->op;
  if (op.kind != expr::Kind::Gather && op.kind != expr::Kind::View) return {};
  std::vector<Variable> inputs = p.node()->inputs;
  inputs[0] = log_of_softmax(stable(inputs[0]));
  return inputs[0].defined() ? builder::apply(op, inputs, p.node()->attrs, p.where()) : Variable();
}

Variable of_log(const Variable& y) {
  const Variable p = stable(input(y));
  if (const Variable form = log_of_softmax(p); form.defined()) return form;
  if (const auto x = float_operand("sigmoid", p)) return -softplus(-*x);
  if (const auto x = float_operand("expm1", p)) return *x + log1mexp(-*x);
  if (const auto x = is(p, "neg") ? float_operand("expm1", input(p)) : std::nullopt) return log1mexp(*x);
  if (const auto total = total_of(p)) return log_sum_exp(*total);
  if (is(p, "true_divide")) {
    if (const auto total = total_of(input(p, 0))) return log_sum_exp(*total) - log(input(p, 1));
  }
  if (is(p, "add")) {
    const Variable form = log_of_sum(input(p, 0), input(p, 1));
    return form.defined() ? form : log_of_sum(input(p, 1), input(p, 0));
  }
  if (is(p, "sub")) {
    if (is_one(input(p, 0))) return log_of_complement(input(p, 1));
    const auto x = float_operand("exp", input(p, 0));
    if (x && is_one(input(p, 1))) return *x + log1mexp(-*x);
  }
  return {};
}

Variable of_log1p(const Variable& y) {
  if (const auto x = float_operand("exp", input(y))) return softplus(*x);
  return is(input(y), "neg") ? log_of_complement(input(input(y))) : Variable();
}

Variable of_log2(const Variable& y) {
  if (!is(input(y), "add")) return {};
  const auto a = float_operand("exp2", input(input(y), 0)), b = float_operand("exp2", input(input(y), 1));
  return a && b ? logaddexp2(*a, *b) : Variable();
}

Variable of_crossentropy(const Variable& y) {
  const Variable p = stable(input(y));
  const auto z = float_operand("softmax", p);
  if (!z || p.node()->attrs.integer("axis") + 1 != p.rank()) return {};
  return builder::apply("crossentropy_logits", {*z, input(y, 1)}, {}, y.where());
}

Variable form_of(const Variable& y) {
  using Form = Variable (*)(const Variable&);
  static const std::unordered_map<const expr::Op*, Form> forms = {{&expr::op("true_divide"), of_quotient},
                                                                  {&expr::op("reciprocal"), of_reciprocal},
                                                                  {&expr::op("pow"), of_power},
                                                                  {&expr::op("sqrt"), of_root},
                                                                  {&expr::op("mul"), of_product},
                                                                  {&expr::op("log"), of_log},
                                                                  {&expr::op("log1p"), of_log1p},
                                                                  {&expr::op("log2"), of_log2},
                                                                  {&expr::op("crossentropy"), of_crossentropy}};
  const auto at = forms.find(y.node()->op);
  if (at == forms.end() || !is_float(y.dtype())) return {};
  const Variable form = at->second(y);
  // If the dtypes of operands differ, the parts compute in another dtype than the function.
  return form.defined() && form.dtype() == y.dtype() && form.rank() == y.rank() ? form : Variable();
}

builder::StableForm find_stable_form(const Variable& y) {
  const builder::OriginScope origin(y.where());
  builder::StableForm form;
  current = &form;
  form.function = form_of(y);
  current = nullptr;
  return form;
}

}  // namespace

void register_stable_forms() { builder::set_stable_forms(find_stable_form); }

}  // namespace croton::ops
