#include "rewrite/nary.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::NodeId;
using expr::Scalar;

/// Whether the chain continues in the node that reads this one: that node then splits the chain. A node made by a rule
/// waits for the next pass: otherwise each step of building a long chain would split it.
template <class... Names>
bool continues(Rewriter& r, NodeId root, Names... names) {
  if (r.inside_rule()) return true;
  const NodeId reader = r.only_reader();
  if (reader == expr::no_node) return false;
  const std::string_view name = r.arena().op(reader).name;
  return ((name == names) || ...) && r.arena().type(reader).dtype == r.arena().type(root).dtype;
}

/// `value` in a float dtype, unless it overflows there or underflows to less precision.
std::optional<Scalar> normal(double value, DType dtype) {
  const Scalar rounded = Scalar::of_double(value, dtype);
  if (!std::isfinite(rounded.d) || std::abs(rounded.d - value) > std::abs(value) / 256) return std::nullopt;
  return rounded;
}

NodeId in_dtype(Rewriter& r, NodeId node, DType dtype) {
  return r.arena().type(node).dtype == dtype ? node : r.make("cast", {node}, {{"dtype", dtype}});
}

// ---- sums ----

/// A number that is exact for the dtype: a double for floats, 64 bits that wrap for integers.
struct Number {
  double real = 0;
  std::int64_t whole = 0;
  bool wrapped = false;

  static Number of(const Scalar& value) {
    return is_float(value.dtype) ? Number{value.d, 0} : Number{static_cast<double>(value.i), value.i};
  }
  Number operator+(const Number& b) const {
    Number sum{real + b.real, 0, wrapped || b.wrapped};
    sum.wrapped = __builtin_add_overflow(whole, b.whole, &sum.whole) || sum.wrapped;
    return sum;
  }
  Number operator*(const Number& b) const {
    Number product{real * b.real, 0, wrapped || b.wrapped};
    product.wrapped = __builtin_mul_overflow(whole, b.whole, &product.whole) || product.wrapped;
    return product;
  }
  Number operator-() const { return Number{-1, -1} * *this; }
  Scalar in(DType dtype) const {
    return is_float(dtype) ? Scalar::of_double(real, dtype) : Scalar::of_int(whole, DType::int64).cast(dtype);
  }
};

struct Terms {
  struct Term {
    NodeId node;
    Number factor;
  };
  std::vector<Term> terms;
  Number constant;
  std::size_t constants = 0;
};

Terms terms_of(Rewriter& r, NodeId root, DType dtype) {
  const Arena& arena = r.arena();
  struct Part {
    NodeId node;
    Number factor;
    bool scaled;  // an operand of a product with a constant: sums in it are not split
  };
  const Number one{1, 1};
  Terms result;
  std::vector<Part> pending{{root, one, false}};
  while (!pending.empty()) {
    const Part part = pending.back();
    pending.pop_back();
    const NodeId node = part.node;
    if (const auto value = arena.scalar_value(node)) {
      result.constant = result.constant + part.factor * Number::of(value->cast(dtype));
      ++result.constants;
      continue;
    }
    const std::string_view name = arena.op(node).name;
    const bool splits = arena.type(node).dtype == dtype && (node == root || r.one_use(node));
    if (splits && !part.scaled && (name == "add" || name == "sub")) {
      pending.push_back({arena.input(node, 1), name == "sub" ? -part.factor : part.factor, false});
      pending.push_back({arena.input(node, 0), part.factor, false});
      continue;
    }
    if (splits && name == "neg") {
      pending.push_back({arena.input(node, 0), -part.factor, part.scaled});
      continue;
    }
    if (splits && name == "mul" && arena.type(arena.input(node, 0)).dtype == dtype) {
      const auto factor = arena.scalar_value(arena.input(node, 1));  // constants are the last operands
      if (factor && factor->as_double() != 0 && (!is_float(dtype) || std::isfinite(factor->as_double()))) {
        pending.push_back({arena.input(node, 0), part.factor * Number::of(factor->cast(dtype)), true});
        continue;
      }
    }
    result.terms.push_back({node, part.factor});
  }
  return result;
}

bool is_negative(const Number& factor, DType dtype) { return is_float(dtype) ? factor.real < 0 : factor.whole < 0; }
bool is_zero(const Number& factor, DType dtype) { return is_float(dtype) ? factor.real == 0 : factor.whole == 0; }

NodeId build_sum(Rewriter& r, Terms& sum, DType dtype) {
  std::ranges::sort(sum.terms, {}, &Terms::Term::node);
  NodeId total = expr::no_node;
  const auto scaled = [&](const Terms::Term& term, bool negative) {
    const NodeId node = in_dtype(r, term.node, dtype);
    const Scalar factor = (negative ? -term.factor : term.factor).in(dtype);
    return factor.as_double() == 1 ? node : r.make("mul", {node, r.arena().scalar(factor)});
  };
  for (const Terms::Term& term : sum.terms) {
    if (is_negative(term.factor, dtype)) continue;
    const NodeId next = scaled(term, false);
    total = total == expr::no_node ? next : r.make("add", {total, next});
  }
  // Without a positive term the sum of the others is subtracted from the constant.
  NodeId negative = expr::no_node;
  for (const Terms::Term& term : sum.terms) {
    if (!is_negative(term.factor, dtype)) continue;
    const NodeId next = scaled(term, true);
    if (total != expr::no_node)
      total = r.make("sub", {total, next});
    else
      negative = negative == expr::no_node ? next : r.make("add", {negative, next});
  }
  const NodeId constant = r.arena().scalar(sum.constant.in(dtype));
  const bool no_constant = is_zero(sum.constant, dtype);
  if (negative != expr::no_node) return no_constant ? r.make("neg", {negative}) : r.make("sub", {constant, negative});
  if (total == expr::no_node) return constant;
  return no_constant ? total : r.make("add", {total, constant});
}

/// Merges the terms of equal nodes if they have the same sign, or if `cancel`.
NodeId merge_terms(Rewriter& r, NodeId root, bool cancel) {
  const DType dtype = r.arena().type(root).dtype;
  if (is_bool(dtype) || is_complex(dtype) || continues(r, root, "add", "sub", "neg")) return expr::no_node;
  Terms sum = terms_of(r, root, dtype);
  if (sum.terms.size() + sum.constants < 2) return expr::no_node;
  bool merged = !cancel && sum.constants > 1;
  if (is_float(dtype) && !std::isfinite(sum.constant.in(dtype).d)) return expr::no_node;
  std::unordered_map<std::uint64_t, std::size_t> at;  // by node, and by sign unless `cancel`
  std::vector<Terms::Term> kept;
  for (const Terms::Term& term : sum.terms) {
    const bool negative = is_negative(term.factor, dtype);
    const auto [found, fresh] =
        at.try_emplace(2 * std::uint64_t{term.node} + (!cancel && negative ? 1 : 0), kept.size());
    if (fresh) {
      kept.push_back(term);
      continue;
    }
    Number& factor = kept[found->second].factor;
    merged = merged || !cancel || negative != is_negative(factor, dtype);
    factor = factor + term.factor;
  }
  if (!merged) return expr::no_node;
  for (const Terms::Term& term : kept) {
    if (is_float(dtype) && !is_zero(term.factor, dtype) && !normal(term.factor.real, dtype)) return expr::no_node;
  }
  // The sum may be a size, and a size that wraps is an error: it must be reported when the sum is computed.
  const auto wraps = [](const Terms::Term& term) { return term.factor.wrapped; };
  if (dtype == DType::int64 && (sum.constant.wrapped || std::ranges::any_of(kept, wraps))) return expr::no_node;
  std::erase_if(kept, [&](const Terms::Term& term) { return is_zero(term.factor, dtype); });
  sum.terms = std::move(kept);
  return build_sum(r, sum, dtype);
}

// ---- products ----

struct Factors {
  struct Factor {
    NodeId node;
    double exponent;
    bool from_pow;  // from pow, which costs more than any replacement
  };
  std::vector<Factor> factors;
  double constant = 1;
  std::size_t constants = 0;
  bool negative = false;
};

Factors factors_of(Rewriter& r, NodeId root, DType dtype) {
  const Arena& arena = r.arena();
  Factors result;
  std::vector<Factors::Factor> pending{{root, 1, false}};
  while (!pending.empty()) {
    const Factors::Factor part = pending.back();
    pending.pop_back();
    const NodeId node = part.node;
    const double exponent = part.exponent;
    if (const auto value = arena.scalar_value(node)) {
      result.constant *= std::pow(value->cast(dtype).as_double(), exponent);
      ++result.constants;
      continue;
    }
    const std::string_view name = arena.op(node).name;
    const bool whole = exponent == std::trunc(exponent);
    const bool splits = arena.type(node).dtype == dtype && (node == root || r.one_use(node));
    const auto push_input = [&](std::size_t input, double by, bool from_power = false) {
      pending.push_back({arena.input(node, input), exponent * by, part.from_pow || from_power});
    };
    const bool same_dtype = splits && arena.type(arena.input(node, 0)).dtype == dtype;
    if (splits && whole && name == "mul") {
      push_input(1, 1);
      push_input(0, 1);
    } else if (splits && whole && name == "true_divide") {
      push_input(1, -1);
      push_input(0, 1);
    } else if (splits && whole && name == "neg") {
      if (std::fmod(exponent, 2) != 0) result.negative = !result.negative;
      push_input(0, 1);
    } else if (same_dtype && name == "reciprocal") {
      push_input(0, -1);
    } else if (same_dtype && whole && name == "sqr") {
      push_input(0, 2);
    } else if (same_dtype && std::abs(exponent) == 1 && name == "sqrt") {
      push_input(0, 0.5);
    } else if (same_dtype && std::abs(exponent) == 1 && name == "pow" && arena.scalar_value(arena.input(node, 1)) &&
               std::isfinite(arena.scalar_value(arena.input(node, 1))->as_double())) {
      push_input(0, arena.scalar_value(arena.input(node, 1))->as_double(), true);
    } else {
      result.factors.push_back(part);
    }
  }
  return result;
}

NodeId power_of(Rewriter& r, NodeId x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return r.make("sqr", {x});
  if (exponent == 0.5) return r.make("sqrt", {x});
  return r.make("pow", {x, r.constant(exponent, x)});
}

NodeId build_product(Rewriter& r, const Factors& product, NodeId root, DType dtype) {
  NodeId numerator = expr::no_node, denominator = expr::no_node;
  const auto times = [&](NodeId& to, NodeId factor) {
    to = to == expr::no_node ? factor : r.make("mul", {to, factor});
  };
  for (const Factors::Factor& f : product.factors) {
    if (f.exponent != 0)
      times(f.exponent > 0 ? numerator : denominator, power_of(r, in_dtype(r, f.node, dtype), std::abs(f.exponent)));
  }
  const double factor = product.negative ? -product.constant : product.constant;
  if (numerator == expr::no_node) {
    numerator = r.constant(factor, root);
  } else if (factor == -1) {
    numerator = r.make("neg", {numerator});
  } else if (factor != 1) {
    numerator = r.make("mul", {numerator, r.constant(factor, root)});
  }
  return denominator == expr::no_node ? numerator : r.make("true_divide", {numerator, denominator});
}

bool ends_product(Rewriter& r, NodeId root) {
  return is_float(r.arena().type(root).dtype) && !continues(r, root, "mul", "true_divide", "neg", "reciprocal", "sqr");
}

}  // namespace

NodeId collect_terms(Rewriter& r, NodeId root) { return merge_terms(r, root, false); }
NodeId cancel_terms(Rewriter& r, NodeId root) { return merge_terms(r, root, true); }

NodeId collect_constants(Rewriter& r, NodeId root) {
  const DType dtype = r.arena().type(root).dtype;
  if (!ends_product(r, root)) return expr::no_node;
  const Factors product = factors_of(r, root, dtype);
  if (product.constants < 2 || product.constant == 0 || !normal(product.constant, dtype)) return expr::no_node;
  return build_product(r, product, root, dtype);
}

NodeId cancel_powers(Rewriter& r, NodeId root) {
  const DType dtype = r.arena().type(root).dtype;
  if (!ends_product(r, root)) return expr::no_node;
  Factors product = factors_of(r, root, dtype);
  if (product.factors.size() < 2 || (product.constants > 0 && !normal(product.constant, dtype))) return expr::no_node;
  std::unordered_map<NodeId, std::size_t> at;
  std::vector<Factors::Factor> kept;
  bool merged = false;
  for (const Factors::Factor& factor : product.factors) {
    const auto [found, fresh] = at.try_emplace(factor.node, kept.size());
    if (fresh) {
      kept.push_back(factor);
      continue;
    }
    Factors::Factor& first = kept[found->second];
    // With exponents of one sign and no pow, sqr(x) x is already cheapest, and closest to the user's formula.
    merged = merged || first.from_pow || factor.from_pow || (first.exponent > 0) != (factor.exponent > 0);
    first.exponent += factor.exponent;
    first.from_pow = first.from_pow || factor.from_pow;
  }
  if (!merged) return expr::no_node;
  product.factors = std::move(kept);
  return build_product(r, product, root, dtype);
}

NodeId cancel_factors(Rewriter& r, NodeId root) {
  constexpr std::size_t max_factors = 32;
  Arena& arena = r.arena();
  const DType dtype = arena.type(root).dtype;
  if (!is_float(dtype)) return expr::no_node;
  std::vector<NodeId> numerator, denominator;
  bool negative = false;
  std::vector<std::pair<NodeId, bool>> pending{{root, true}};
  bool divides = false;
  while (!pending.empty()) {
    const auto [node, up] = pending.back();
    pending.pop_back();
    const std::string_view name = arena.op(node).name;
    const bool splits =
        numerator.size() + denominator.size() + pending.size() < max_factors && arena.type(node).dtype == dtype;
    if (splits && name == "mul") {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), up);
    } else if (splits && name == "true_divide") {
      pending.emplace_back(arena.input(node, 0), up);
      pending.emplace_back(arena.input(node, 1), !up);
      divides = true;
    } else if (splits && name == "neg") {
      pending.emplace_back(arena.input(node, 0), up);
      negative = !negative;
    } else {
      // Two factors of another dtype would be multiplied in that dtype.
      (up ? numerator : denominator).push_back(in_dtype(r, node, dtype));
    }
  }
  if (!divides) return expr::no_node;
  bool cancelled = false;
  std::erase_if(numerator, [&](NodeId factor) {
    const auto at = std::ranges::find(denominator, factor);
    if (at == denominator.end() || arena.scalar_value(factor)) return false;
    denominator.erase(at);
    cancelled = true;
    return true;
  });
  if (!cancelled) return expr::no_node;
  const auto product = [&](const std::vector<NodeId>& factors) {
    if (factors.empty()) return r.constant(1, root);
    NodeId total = factors[0];
    for (std::size_t i = 1; i < factors.size(); ++i) total = r.make("mul", {total, factors[i]});
    return total;
  };
  NodeId result = product(numerator);
  if (!denominator.empty()) result = r.make("true_divide", {result, product(denominator)});
  return negative ? r.make("neg", {result}) : result;
}

}  // namespace croton::rewrite
