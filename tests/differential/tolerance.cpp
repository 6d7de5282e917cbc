#include "tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "builder/node.hpp"
#include "expr/evaluate.hpp"
#include "ops/control/loop.hpp"
#include "random.hpp"

namespace differential {
namespace {

using ct::expr::Kind;

constexpr int samples = 12;  // in pairs that move in opposite directions
// The runs multiply errors by `amplitude`, and the tolerance is the movement times `margin`: a few runs see less than
// the worst case. Movements are whole last places: with fewer or smaller ones those of x and of x + y in x + y - x
// cancelled in all pairs for an element of one graph in 50,000.
constexpr double amplitude = 6, margin = 4;

struct Format {
  int digits, least_exponent;
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return {11, -13};
    case DType::bfloat16:
      return {8, -125};
    case DType::float32:
      return {24, -125};
    default:
      return {53, -1021};
  }
}

/// The size of the last place at x, denormals included.
double ulp_at(double x, DType dtype) {
  const Format f = format_of(dtype);
  int exponent = f.least_exponent;
  if (x != 0 && std::isfinite(x)) std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, f.least_exponent) - f.digits);
}

/// The allowed error of an op's result: units in the last place of the result, half units of each operand (backward
/// error), units in the last place of 1, and of the largest among operands and result.
struct OpError {
  double result = 0, operands = 0, ones = 0, largest = 0;
};

/// `complex`: with complex operands or a complex result.
OpError error_of(const ct::expr::Op& op, DType dtype, bool complex) {
  static const std::set<std::string_view> choices{"neg",    "abs",    "sgn",   "maximum", "minimum",      "where",
                                                  "floor",  "ceil",   "trunc", "round",   "max",          "min",
                                                  "argmax", "argmin", "all",   "any",     "max_or_lowest"};
  static const std::set<std::string_view> marks{"disconnected_grad", "zero_grad", "undefined_grad", "grad_clip",
                                                "grad_scale"};
  static const std::set<std::string_view> rounded{"mul", "true_divide", "sqr", "sqrt", "cast"};
  static const std::set<std::string_view> parts{"real", "imag", "conj", "neg", "complex", "where", "eq", "neq"};
  if (complex && op.kind == Kind::Map) return parts.contains(op.name) ? OpError{} : OpError{8, 2};
  // The maximum is subtracted, then the logarithm of a sum that is at least 1 follows: the error is that of numbers
  // near 1.
  static const std::set<std::string_view> of_logarithms{"log_softmax", "logsumexp", "crossentropy_logits"};
  if (choices.contains(op.name) || marks.contains(op.name)) return {};
  if (of_logarithms.contains(op.name)) return {4, 8, 4};
  // Sums are reordered: (x + a) + b is x + (a + b), whose constant may be larger than the sum. Movements of the
  // operands themselves could cancel where these do.
  if (op.name == "add" || op.name == "sub") return {.result = 0.5, .largest = 1.5};
  if (op.name == "inc_subtensor") return {0.5, 2};
  // Exact relative to their largest values, not near their distant zeros.
  if (op.name == "j0" || op.name == "j1" || op.name == "jv") return {4, 1, 1};
  // Functions with an order, which are computed in float64, promise 1e-13.
  static const std::set<std::string_view> of_an_order{"gammainc", "gammaincc", "gamma_pdf", "chi2sf", "iv"};
  if (of_an_order.contains(op.name)) return {dtype == DType::float64 ? 500.0 : 1.0, 1};
  switch (op.kind) {
    case Kind::Map:
      // Near their zeros, functions are as exact as their operands.
      return rounded.contains(op.name) ? OpError{0.5, 0} : OpError{4, 1};
    case Kind::View:
    case Kind::Join:
    case Kind::Window:
    case Kind::Gather:
    case Kind::Check:
    case Kind::Transfer:
    case Kind::Leaf:
    case Kind::Branch:
      return {};
    case Kind::Generate:
      return {1, 0};
    default:
      // A sum of n numbers along the tree of combine.cuh, or in any order that a library takes: some half units of
      // each term.
      return {4, 8};
  }
}

/// The parts of complex numbers as separate numbers; other numbers unchanged.
Array as_reals(const Array& array) {
  if (!ct::is_complex(array.dtype())) return array;
  ct::Sizes shape = array.shape();
  shape.push_back(2);
  return Array::adopt(array.owner(), array.address(),
                      array.dtype() == DType::complex64 ? DType::float32 : DType::float64, shape);
}

/// Whole numbers so small that their sums and products are exact.
bool is_whole(const Array& array) {
  if (ct::is_discrete(array.dtype())) return true;
  if (ct::is_complex(array.dtype())) return false;
  const double limit = std::ldexp(1.0, format_of(array.dtype()).digits - 2);
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double x = array.as_double(i);
    if (!(std::abs(x) < limit) || x != std::trunc(x)) return false;
  }
  return true;
}

bool is_finite(const Array& array) {
  if (!ct::is_float(array.dtype())) return true;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    if (!std::isfinite(array.as_double(i))) return false;
  }
  return true;
}

/// Elements that may have any value; empty: none.
using Wild = std::vector<bool>;

void mark(Wild& wild, const Array& result, std::int64_t i) {
  wild.resize(static_cast<std::size_t>(result.size()), false);
  wild[static_cast<std::size_t>(i)] = true;
}

/// How far elements are moved, and in which direction: the second run of a pair uses the opposite direction everywhere.
struct Draw {
  int sample;
  Random &sizes, &signs;
};

/// The larger part of each complex number, for each of its parts: their errors are those of the number.
std::vector<double> larger_parts(const Array& complex) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < complex.size(); ++i) {
    const auto z = ct::expr::element_of(complex, i).as_complex();
    const double size = std::max(std::abs(z.real()), std::abs(z.imag()));
    all.insert(all.end(), 2, std::isfinite(size) ? size : 0);
  }
  return all;
}

/// Moves each element by 0.5 to 1 times `units` last places, and `ones` last places of 1, in either direction. `sizes`:
/// the numbers whose last places these are, if not the element itself.
Array moved(const Array& array, double units, double ones, const Wild& wild, Draw draw,
            const std::vector<double>& sizes = {}) {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  if (ct::is_complex(array.dtype())) {
    Wild both;
    for (const bool one : wild) both.insert(both.end(), 2, one);
    const Array parts = moved(as_reals(array), units, ones, both, draw, larger_parts(array));
    return Array::adopt(parts.owner(), parts.address(), array.dtype(), array.shape());
  }
  static constexpr double anything[] = {1, -2.5, 0, inf, std::numeric_limits<double>::quiet_NaN(), 1e30, -inf, 3e-5};
  const double top = largest(array.dtype());
  Array out = Array::empty(DType::float64, array.shape());
  double* to = array.size() == 0 ? nullptr : out.data<double>().data();
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double x = array.as_double(i);
    if (!wild.empty() && wild[static_cast<std::size_t>(i)]) {
      // In some runs neighbours differ, because either of two elements with any value may be the smaller one; in the
      // others they do not, because a combination of many is not certainly nan.
      const std::int64_t place = draw.sample % 3 == 2 ? i + i / 8 : 0;
      to[i] = anything[static_cast<std::size_t>(draw.sample + place) % std::size(anything)];
      continue;
    }
    if (!std::isfinite(x)) {
      to[i] = x;
      continue;
    }
    const double of = sizes.empty() ? x : sizes[static_cast<std::size_t>(i)];
    double size = draw.sizes.between(0.5, 1) * (units * ulp_at(of, array.dtype()) + ones * ulp_at(1, array.dtype()));
    // Below the normal numbers products lose digits, and different digits in another order.
    const double least = std::ldexp(1.0, format_of(array.dtype()).least_exponent - 1);
    if (units > 0 && x != 0 && std::abs(x) < least) size = std::max(size, least);
    if (draw.signs.chance(0.5) == (draw.sample % 2 == 1)) size = -size;
    to[i] = std::abs(x + size) <= top ? x + size : x - size;
    // Probabilities do not become negative, and a 0 may be an underflow.
    if (sizes.empty() && ones == 0 && to[i] * x < 0) to[i] = 0;
    if (x == 0) to[i] = sizes.empty() ? std::copysign(size, x) : of == 0 ? 0 : size;
  }
  return out.astype(array.dtype());
}

/// The operand whose whole numbers are significant: between them a power of a negative number, or an order, has no
/// value.
std::optional<std::size_t> order_operand(std::string_view op) {
  static const std::map<std::string_view, std::size_t> operands{{"pow", 1}, {"polygamma", 0}, {"jv", 0}, {"iv", 0}};
  const auto at = operands.find(op);
  return at == operands.end() ? std::nullopt : std::optional(at->second);
}

/// `changed`, except for the whole numbers of `array`.
Array with_whole_numbers_of(const Array& array, const Array& changed) {
  Array out = Array::empty(DType::float64, array.shape());
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double x = array.as_double(i);
    out.data<double>()[static_cast<std::size_t>(i)] = x == std::trunc(x) ? x : changed.as_double(i);
  }
  return out.astype(array.dtype());
}

/// The element of an operand that element i of an elementwise result with this shape reads.
std::int64_t operand_position(const Array& operand, const ct::Sizes& shape, std::int64_t i) {
  std::int64_t at = 0, step = 1;
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int64_t size = shape[shape.size() - back], index = i % size;
    i /= size;
    if (back > operand.shape().size()) continue;
    const std::int64_t own = operand.shape()[operand.shape().size() - back];
    if (own != 1) at += index * step;
    step *= own;
  }
  return at;
}

/// For each element of an elementwise result the largest magnitude among it and its operands, 0 for infinities.
std::vector<double> largest_of(const Array& result, const std::vector<Array>& operands) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    double most = std::abs(result.as_double(i));
    for (const Array& operand : operands)
      most = std::max(most, std::abs(operand.as_double(operand_position(operand, result.shape(), i))));
    all.push_back(std::isfinite(most) ? most : 0);
  }
  return all;
}

Array with_ones_for_infinities(const Array& array) {
  if (is_finite(array)) return array;
  Array out = Array::empty(DType::float64, array.shape());
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double x = array.as_double(i);
    out.data<double>()[static_cast<std::size_t>(i)] = std::isfinite(x) ? x : 1;
  }
  return out.astype(array.dtype());
}

/// Elements that a rewrite may change, besides rounding.
Wild wild_elements(const ct::builder::Node& node, const Array& truth, const std::vector<Array>& inputs,
                   Freedom freedom) {
  if (freedom == Freedom::none || !ct::is_float(truth.dtype()) || is_finite(truth)) return {};
  Wild wild(static_cast<std::size_t>(truth.size()), false);
  const bool finite = std::ranges::all_of(inputs, is_finite);
  // The result for operands that are all finite: infinities there are not due to infinite operands.
  std::optional<Array> of_finite;
  if (!finite && freedom != Freedom::special && node.op->kind != Kind::Map) {
    std::vector<Array> changed;
    for (const Array& input : inputs) changed.push_back(with_ones_for_infinities(input));
    of_finite = compute(node, changed);
    if (of_finite->shape() != truth.shape()) of_finite.reset();
  }
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    if (std::isfinite(truth.as_double(i))) continue;
    const auto operand_is_finite = [&](const Array& input) {
      return !ct::is_float(input.dtype()) || std::isfinite(input.as_double(operand_position(input, truth.shape(), i)));
    };
    const bool by_itself = of_finite && !std::isfinite(of_finite->as_double(i));
    wild[static_cast<std::size_t>(i)] = freedom == Freedom::special || finite || by_itself ||
                                        (node.op->kind == Kind::Map && std::ranges::all_of(inputs, operand_is_finite));
  }
  return wild;
}

/// Partial sums and products may leave the range of the dtype in one order and not in another: if the sum of the
/// magnitudes does, or the product of the large or of the small factors, the result may be anything.
void add_partial_overflows(const ct::builder::Node& node, const Array& truth, const std::vector<Array>& inputs,
                           Wild& wild) {
  if (!ct::is_float(truth.dtype())) return;
  // The coefficients of a linear recurrence are factors.
  const bool product = node.op->name == "prod" || node.op->name == "cumprod" || node.op->name == "linear_recurrence";
  bool large = product;
  const auto magnitudes = [&](bool of_small) {
    std::vector<Array> result;
    for (const Array& input : inputs) {
      if (!ct::is_float(input.dtype())) {
        result.push_back(input);
        continue;
      }
      Array out = Array::empty(DType::float64, input.shape());
      for (std::int64_t i = 0; i < out.size(); ++i) {
        double x = std::abs(input.as_double(i));
        if (!std::isfinite(x)) x = product ? 1 : 0;
        large = large || x > 200;
        if (product) x = of_small ? (x == 0 ? 1 : std::min(x, 1.0)) : std::max(x, 1.0);
        out.data<double>()[static_cast<std::size_t>(i)] = x;
      }
      result.push_back(out.astype(input.dtype()));
    }
    return result;
  };
  for (const bool of_small : {false, true}) {
    const std::vector<Array> changed = magnitudes(of_small);
    if (!large || (of_small && !product)) return;
    const Array most = compute(node, changed);
    if (most.shape() != truth.shape()) return;
    for (std::int64_t i = 0; i < most.size(); ++i) {
      const double x = most.as_double(i);
      if (of_small ? x >= std::ldexp(1.0, format_of(truth.dtype()).least_exponent) : std::isfinite(x)) continue;
      mark(wild, truth, i);
    }
  }
}

struct NodeState {
  Array truth;
  Array runs[samples];  // they share memory if nothing moves
  bool lost = false;    // some run fails, or finds another size: values that depend on it are not compared
  bool whole = false;
  double own = 0;  // least error of its op, in units in the last place
};

bool same_memory(const Array& a, const Array& b) { return a.address() == b.address(); }

/// The distance of the runs from the truth at one element.
double spread(const NodeState& state, std::int64_t i) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (!ct::is_float(state.truth.dtype())) {
    const auto truth = ct::expr::element_of(state.truth, i);
    for (const Array& run : state.runs) {
      if (ct::expr::element_of(run, i).i != truth.i) return inf;
    }
    return 0;
  }
  const double truth = state.truth.as_double(i);
  double most = 0;
  for (const Array& run : state.runs) {
    const double x = run.as_double(i);
    if (std::isfinite(truth) && std::isfinite(x))
      most = std::max(most, std::abs(x - truth));
    else if (!(std::isnan(x) && std::isnan(truth)) && x != truth)
      return inf;
  }
  // The movements of a few runs may cancel by chance.
  return std::isfinite(truth) ? std::max(margin * most, amplitude * state.own * ulp_at(truth, state.truth.dtype())) : 0;
}

/// Whether a number may be 0, or negative although it is positive: its tolerance reaches 0.
bool may_be_zero(const NodeState& state, std::int64_t i) {
  const double most = spread(state, i);
  return most > 0 && !(std::abs(state.truth.as_double(i)) > most);
}

/// The same for a complex number.
bool complex_may_be_zero(const NodeState& state, std::int64_t i) {
  const auto at = [&](const Array& values) { return ct::expr::element_of(values, i).as_complex(); };
  double most = 0;
  for (const Array& run : state.runs) most = std::max(most, std::abs(at(run) - at(state.truth)));
  return most > 0 && !(std::abs(at(state.truth)) > margin * most);
}

class Runs {
 public:
  Runs(const NodeValues& leaves, Freedom freedom, std::uint64_t seed)
      : leaves_(leaves), freedom_(freedom), sizes_(seed), signs_(~seed) {}

  const NodeState& of(const ct::builder::Node* node) const { return states_.at(node); }

  void run(const ct::builder::Node& node) {
    NodeState& state = states_[&node];
    if (node.op->kind == Kind::Loop) {
      run_loop(node, state);
      return;
    }
    if (node.op->kind == Kind::Leaf) {
      const auto leaf = leaves_.find(&node);
      state.truth = leaf != leaves_.end() ? leaf->second : node.value;
      state.whole = is_whole(state.truth);
      const Wild wild = wild_elements(node, state.truth, {}, freedom_ == Freedom::special ? freedom_ : Freedom::none);
      for (int k = 0; k < samples; ++k)
        state.runs[k] = wild.empty() ? state.truth : moved(state.truth, 0, 0, wild, {k, sizes_, signs_});
      return;
    }
    std::vector<Array> inputs;
    std::vector<const NodeState*> from;
    bool whole = true;
    for (const Variable& input : node.inputs) {
      from.push_back(&states_.at(input.node()));
      inputs.push_back(from.back()->truth);
      whole = whole && from.back()->whole;
      state.lost = state.lost || from.back()->lost;
    }
    state.truth = compute(node, inputs);
    const bool floats = !ct::is_discrete(state.truth.dtype());
    state.whole = is_whole(state.truth);
    const auto is_complex = [](const NodeState* operand) { return ct::is_complex(operand->truth.dtype()); };
    OpError error = error_of(*node.op, state.truth.dtype(),
                             ct::is_complex(state.truth.dtype()) || std::ranges::any_of(from, is_complex));
    // Ops that give exact whole numbers for whole numbers.
    const bool arithmetic = node.op->kind == Kind::Map ? error.result < 1 : error.operands > 0;
    if (!floats || (whole && state.whole && arithmetic)) error = {};
    Wild wild = wild_elements(node, state.truth, inputs, freedom_);
    if (freedom_ != Freedom::none && node.op->kind == Kind::Map) add_doubtful(from, state.truth, wild);
    const bool sums = node.op->kind != Kind::Map && node.op->kind != Kind::Expand;
    if (error.operands > 0 && (sums || node.op->name == "convolve"))
      add_partial_overflows(node, state.truth, inputs, wild);
    state.own = error.result;
    Random signs = signs_;
    add_poles(node, from, state.truth, wild);
    add_remainders(node, from, state.truth, wild);
    add_near_whole(node, from, state.truth, wild);
    add_borders(node, inputs, state.truth, wild);
    for (int k = 0; k < samples && !state.lost; ++k) {
      if (k % 2 == 0) signs = signs_;
      signs_ = signs;
      run_again(node, from, error, wild, k, state);
    }
    if (!state.lost) add_coincidences(node, from, state);
    if (!state.lost) add_lowest_exponents(node, from, state);
    if (state.lost) std::fill(std::begin(state.runs), std::end(state.runs), state.truth);
  }

 private:
  /// Elements at which an operand is not finite in truth but finite in some run: the result is not promised.
  static void add_doubtful(const std::vector<const NodeState*>& from, const Array& result, Wild& wild) {
    if (!ct::is_float(result.dtype()) || is_finite(result)) return;
    for (std::int64_t i = 0; i < result.size(); ++i) {
      if (std::isfinite(result.as_double(i))) continue;
      const auto finite_in = [&](int run) {
        return std::ranges::all_of(from, [&](const NodeState* operand) {
          const Array& values = operand->runs[run];
          return !ct::is_float(values.dtype()) ||
                 std::isfinite(values.as_double(operand_position(values, result.shape(), i)));
        });
      };
      bool finite = false;
      for (int run = 0; run < samples && !finite; ++run) finite = finite_in(run);
      if (!finite) continue;
      mark(wild, result, i);
    }
  }

  /// A divisor whose sign is uncertain may be 0, and then the quotient is anything; the same holds for a function with
  /// a pole there, and for functions of the number's sign. If it is 0 in truth, poles are compared.
  static void add_poles(const ct::builder::Node& node, const std::vector<const NodeState*>& from, const Array& result,
                        Wild& wild) {
    static const std::map<std::string_view, std::size_t> operands{
        {"true_divide", 1}, {"reciprocal", 0}, {"copysign", 1},  {"arctan2", 0},  {"gamma", 0},
        {"gammaln", 0},     {"psi", 0},        {"tri_gamma", 0}, {"polygamma", 1}};
    // Logarithms of real numbers are nan on the other side, which the runs see.
    static const std::set<std::string_view> of_complex{"log", "log2", "log10"};
    const auto of = operands.find(node.op->name);
    const bool complex = ct::is_complex(result.dtype());
    if (of == operands.end() && !(complex && of_complex.contains(node.op->name))) return;
    const NodeState& operand = *from[of == operands.end() ? 0 : of->second];
    if (complex && ct::is_complex(operand.truth.dtype())) {
      for (std::int64_t i = 0; i < result.size(); ++i) {
        if (complex_may_be_zero(operand, operand_position(operand.truth, result.shape(), i))) mark(wild, result, i);
      }
      return;
    }
    if (!ct::is_float(operand.truth.dtype())) return;
    const bool takes_sign = node.op->name == "copysign" || node.op->name == "arctan2";
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const std::int64_t at = operand_position(operand.truth, result.shape(), i);
      const double value = operand.truth.as_double(at);
      const bool sign_of_nan = takes_sign && std::isnan(value);
      if (!sign_of_nan && (!may_be_zero(operand, at) || (!takes_sign && value == 0))) continue;
      mark(wild, result, i);
    }
  }

  /// Elements at which an order, or the exponent of a negative number, may or may not be whole.
  static void add_near_whole(const ct::builder::Node& node, const std::vector<const NodeState*>& from,
                             const Array& result, Wild& wild) {
    const auto order = order_operand(node.op->name);
    if (!order || !ct::is_float(from[*order]->truth.dtype())) return;
    const NodeState& orders = *from[*order];
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const std::int64_t at = operand_position(orders.truth, result.shape(), i);
      const double value = orders.truth.as_double(at), room = spread(orders, at);
      const Array& base = from[0]->truth;
      if (node.op->name == "pow" && !(base.as_double(operand_position(base, result.shape(), i)) < 0)) continue;
      if (room > 0 && std::abs(value - std::round(value)) <= room) mark(wild, result, i);
    }
  }

  /// Libraries may multiply the zeros of a border by a filter that is not finite, or omit them. Elements next to a
  /// border have fewer terms than the filter has elements.
  static void add_borders(const ct::builder::Node& node, const std::vector<Array>& inputs, const Array& result,
                          Wild& wild) {
    if (node.op->name != "convolve" || is_finite(inputs[1])) return;
    std::vector<Array> ones = inputs;
    for (const std::size_t k : {0U, 1U}) ones[k] = Array::full(inputs[k].dtype(), inputs[k].shape(), 1);
    const Array terms = compute(node, ones);
    const auto all = static_cast<double>(inputs[1].size());
    for (std::int64_t i = 0; i < result.size(); ++i) {
      if (terms.as_double(i) < all) mark(wild, result, i);
    }
  }

  /// The remainder of a quotient whose whole part is uncertain may be anything.
  static void add_remainders(const ct::builder::Node& node, const std::vector<const NodeState*>& from,
                             const Array& result, Wild& wild) {
    if ((node.op->name != "mod" && node.op->name != "fmod") || !ct::is_float(result.dtype())) return;
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const auto known = [&](std::size_t k) {
        const std::int64_t at = operand_position(from[k]->truth, result.shape(), i);
        const double value = from[k]->truth.as_double(at);
        return std::pair(value, ct::is_float(from[k]->truth.dtype()) ? spread(*from[k], at) : 0);
      };
      const auto [x, x_spread] = known(0);
      const auto [y, y_spread] = known(1);
      if (!(x_spread + std::abs(x / y) * y_spread > 0.1 * std::abs(y))) continue;
      mark(wild, result, i);
    }
  }

  /// Uncertain answers yes or no although all runs agree: for numbers that may be equal, or 0, which they are in no run
  /// because each is moved separately; and for numbers that may be anything.
  void add_coincidences(const ct::builder::Node& node, const std::vector<const NodeState*>& from, NodeState& state) {
    static const std::set<std::string_view> of_zero{"cast",       "logical_not", "logical_and",
                                                    "logical_or", "logical_xor", "signbit"};
    if (!ct::is_bool(state.truth.dtype()) || node.op->kind != Kind::Map) return;
    const bool compares = node.op->name == "eq" || node.op->name == "neq", asks_zero = of_zero.contains(node.op->name);
    const auto at = [&](const Array& values, std::int64_t i) {
      return values.as_double(operand_position(values, state.truth.shape(), i));
    };
    const auto may_be_equal = [&](std::int64_t i) {
      bool below = false, above = false, moves = false;
      for (int run = -1; run < samples; ++run) {
        const auto value = [&](const NodeState& operand) { return at(run < 0 ? operand.truth : operand.runs[run], i); };
        const double x = value(*from[0]) - value(*from[1]);
        below = below || x <= 0;
        above = above || x >= 0;
        moves = moves || x != 0;
      }
      if (!moves || (below && above)) return moves;
      const auto spread_of = [&](const NodeState& operand) {
        return spread(operand, operand_position(operand.truth, state.truth.shape(), i));
      };
      return std::abs(at(from[0]->truth, i) - at(from[1]->truth, i)) <= spread_of(*from[0]) + spread_of(*from[1]);
    };
    const auto is_doubtful = [&](const NodeState* operand, std::int64_t i) {
      if (!ct::is_float(operand->truth.dtype())) return false;
      if (node.op->name == "signbit" && std::isnan(at(operand->truth, i))) return true;  // nan's sign is not promised
      const std::int64_t position = operand_position(operand->truth, state.truth.shape(), i);
      return std::isinf(spread(*operand, position)) || (asks_zero && may_be_zero(*operand, position));
    };
    // The answers of other nodes change in other runs, so that the two are not always equal.
    const std::size_t stride = states_.size() % 3;
    for (std::int64_t i = 0; i < state.truth.size(); ++i) {
      const bool either =
          std::ranges::any_of(from, [&](const NodeState* operand) { return is_doubtful(operand, i); }) ||
          (compares && !ct::is_complex(from[0]->truth.dtype()) && may_be_equal(i));
      for (int k = 0; either && k < samples; ++k) {
        if (same_memory(state.runs[k], state.truth)) state.runs[k] = state.truth.copy();
        state.runs[k].data<bool>()[static_cast<std::size_t>(i)] = (k >> stride) % 2 == 1;
      }
    }
  }

  /// The exponent of a number that may be 0 may be as small as exponents can be, while that of 0 is 0.
  static void add_lowest_exponents(const ct::builder::Node& node, const std::vector<const NodeState*>& from,
                                   NodeState& state) {
    if (node.op->name != "frexp_exponent") return;
    const Format f = format_of(from[0]->truth.dtype());
    for (std::int64_t i = 0; i < state.truth.size(); ++i) {
      if (!may_be_zero(*from[0], operand_position(from[0]->truth, state.truth.shape(), i))) continue;
      for (int k = 0; k < samples; ++k) {
        if (same_memory(state.runs[k], state.truth)) state.runs[k] = state.truth.copy();
        state.runs[k].data<std::int32_t>()[static_cast<std::size_t>(i)] = k % 2 == 0 ? f.least_exponent - f.digits : 0;
      }
    }
  }

  void run_again(const ct::builder::Node& node, const std::vector<const NodeState*>& from, OpError error,
                 const Wild& wild, int k, NodeState& state) {
    std::vector<Array> inputs;
    bool same = true;
    for (const NodeState* input : from) {
      inputs.push_back(input->runs[k]);
      same = same && same_memory(input->runs[k], input->truth);
      if (error.operands > 0 && !ct::is_discrete(inputs.back().dtype())) {
        const Array before = inputs.back();
        inputs.back() = moved(before, amplitude * 0.5 * error.operands, 0, {}, {k, sizes_, signs_});
        if (inputs.size() - 1 == order_operand(node.op->name) && ct::is_float(before.dtype()))
          inputs.back() = with_whole_numbers_of(before, inputs.back());
        same = false;
      }
    }
    if (same) {
      state.runs[k] = state.truth;
    } else {
      try {
        state.runs[k] = compute(node, inputs);
      } catch (const ct::Error&) {
        state.lost = true;
        return;
      }
      state.lost = state.runs[k].shape() != state.truth.shape();
    }
    if (!state.lost && error.largest > 0) {
      state.runs[k] = moved(state.runs[k], amplitude * error.largest, 0, wild, {k, sizes_, signs_},
                            largest_of(state.runs[k], inputs));
    } else if (!state.lost && (error.result > 0 || !wild.empty())) {
      state.runs[k] = moved(state.runs[k], amplitude * error.result, amplitude * error.ones, wild, {k, sizes_, signs_});
    }
  }

  /// The results of one loop have one body and equal inputs.
  using LoopKey = std::pair<const void*, std::vector<const ct::builder::Node*>>;
  /// The results of a loop's body, for each step.
  struct Steps {
    std::vector<std::vector<NodeState>> given;
    bool lost = false;
  };

  /// The steps of a loop in order: in each the nodes of the body are computed and moved like those of the graph, so
  /// that errors propagate from step to step.
  const Steps& steps_of(const ct::builder::Node& node, const ct::expr::Loop& loop) {
    std::vector<const ct::builder::Node*> key;
    std::vector<const NodeState*> from;
    for (const Variable& input : node.inputs) {
      key.push_back(input.node());
      from.push_back(&states_.at(input.node()));
    }
    const ct::ops::LoopSource& source = ct::ops::loop_source(node);
    const auto [at, is_new] = loops_.try_emplace(LoopKey(&source, key));
    Steps& steps = at->second;
    if (!is_new) return steps;
    const auto number = [](const Array& array) { return ct::expr::element_of(array, 0).i; };
    const NodeState& count = *from[ct::expr::Loop::steps_input];
    steps.lost = std::ranges::any_of(from, [](const NodeState* operand) { return operand->lost; }) ||
                 std::ranges::any_of(count.runs, [&](const Array& run) { return number(run) != number(count.truth); });
    const std::int64_t n = number(count.truth);
    const auto row_of = [](const NodeState& of, std::int64_t row) {
      NodeState state;
      state.truth = of.truth.row(row).contiguous();
      for (int k = 0; k < samples; ++k)
        state.runs[k] = same_memory(of.runs[k], of.truth) ? state.truth : of.runs[k].row(row).contiguous();
      state.whole = is_whole(state.truth);
      state.own = of.own;
      return state;
    };
    const auto order = ct::builder::topological_order(source.outputs);
    for (std::int64_t t = 0; t < n && !steps.lost; ++t) {
      std::map<const ct::builder::Node*, NodeState> body;
      const auto give = [&](std::size_t input, NodeState state) {
        body[source.inputs[input].node()] = std::move(state);
      };
      for (std::size_t i = 0; i < loop.sequences; ++i)
        give(ct::expr::Loop::element_of(i), row_of(*from[loop.sequence_input(i)], loop.position(t, n)));
      for (std::size_t k = 0; k < loop.taps.size(); ++k) {
        const auto& [j, offset] = loop.taps[k];
        const std::int64_t row = t + offset - loop.rows[j];
        give(loop.tap_of(k), row < 0 ? row_of(*from[loop.initial_input(j)], t + offset)
                                     : steps.given[static_cast<std::size_t>(row)][ct::expr::Loop::next_row(j)]);
      }
      for (std::size_t k = 0; k < loop.captures; ++k) give(loop.captured(k), *from[loop.capture_input(k)]);
      const std::set<const ct::builder::Node*> leaves = [&] {
        std::set<const ct::builder::Node*> all;
        for (const auto& [leaf, state] : body) all.insert(leaf);
        return all;
      }();
      std::map<LoopKey, Steps> inner;  // the body's loops, which differ in every step
      states_.swap(body);
      loops_.swap(inner);
      for (const ct::builder::Node* each : order) {
        if (!leaves.contains(each)) run(*each);
      }
      std::vector<NodeState>& given = steps.given.emplace_back();
      for (const Variable& output : source.outputs) given.push_back(states_.at(output.node()));
      states_.swap(body);
      loops_.swap(inner);
      steps.lost = std::ranges::any_of(given, [](const NodeState& state) { return state.lost; });
      if (!loop.until || steps.lost) continue;
      const NodeState& condition = given[loop.condition()];
      const auto ends = [](const Array& value) { return value.as_double(0) != 0; };
      steps.lost =
          std::ranges::any_of(condition.runs, [&](const Array& run) { return ends(run) != ends(condition.truth); });
      if (ends(condition.truth)) break;
    }
    return steps;
  }

  void run_loop(const ct::builder::Node& node, NodeState& state) {
    const ct::expr::Loop loop(node.attrs, node.inputs.size());
    const Steps& steps = steps_of(node, loop);
    std::vector<const NodeState*> from;
    std::vector<Array> inputs;
    for (const Variable& input : node.inputs) {
      from.push_back(&states_.at(input.node()));
      inputs.push_back(from.back()->truth);
    }
    state.truth = compute(node, inputs);
    state.whole = is_whole(state.truth);
    state.lost = steps.lost;
    std::fill(std::begin(state.runs), std::end(state.runs), state.truth);
    if (state.lost) return;
    const auto result_of = [&](auto value_of) {
      std::vector<Array> read;
      for (const NodeState* input : from) read.push_back(value_of(*input));
      std::vector<std::vector<Array>> given;
      for (const auto& step : steps.given) {
        given.emplace_back();
        for (const NodeState& output : step) given.back().push_back(value_of(output));
      }
      return ct::expr::loop_result(loop, read, given, state.truth.dtype(), state.truth.shape());
    };
    // The evaluator's loop and the steps here are independent programs.
    if (!same_bits(result_of([](const NodeState& of) { return of.truth; }), state.truth))
      throw ct::InternalError("the reference evaluator's loop is not what its steps give");
    for (int k = 0; k < samples; ++k) state.runs[k] = result_of([&](const NodeState& of) { return of.runs[k]; });
    for (const auto& step : steps.given) {
      for (const NodeState& output : step) state.own = std::max(state.own, output.own);
    }
  }

  const NodeValues& leaves_;
  Freedom freedom_;
  Random sizes_, signs_;
  std::map<const ct::builder::Node*, NodeState> states_;
  std::map<LoopKey, Steps> loops_;
};

std::string text_of(const Array& array, std::int64_t i) {
  if (ct::is_float(array.dtype())) return fmt::format("{:.9g}", array.as_double(i));
  const auto value = ct::expr::element_of(array, i);
  return array.dtype() == DType::uint64 ? fmt::format("{}", static_cast<std::uint64_t>(value.i))
                                        : fmt::format("{}", value.i);
}

}  // namespace

double largest(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.FEp127;
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Array compute(const ct::builder::Node& node, const std::vector<Array>& inputs) {
  if (node.op->name == "ifelse") {
    const std::size_t index = static_cast<std::size_t>(node.attrs.integer("index"));
    return inputs[1 + index + (inputs[0].as_double(0) != 0 ? 0 : (inputs.size() - 1) / 2)];
  }
  ct::expr::Graph graph;
  std::vector<ct::expr::NodeId> operands;
  std::vector<Array> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Variable& input = node.inputs[i];
    if (input.is_constant()) {
      operands.push_back(graph.add_constant(inputs[i]));
    } else {
      operands.push_back(graph.add_input("", input.type(), ct::expr::Role::argument));
      arguments.push_back(inputs[i]);
    }
  }
  graph.outputs = {graph.arena.make(*node.op, operands, node.attrs)};
  return ct::expr::evaluate(graph, arguments)[0];
}

constexpr std::int64_t most_elements = 1'000'000;

const Array& Values::of(const Variable& variable) {
  asked_.push_back(variable);
  for (const ct::builder::Node* node : ct::builder::topological_order({variable})) {
    if (known.contains(node)) continue;
    std::vector<Array> inputs;
    for (const Variable& input : node->inputs) inputs.push_back(known.at(input.node()));
    known[node] = node->op->kind == Kind::Leaf ? node->value : compute(*node, inputs);
    if (known[node].size() > most_elements) throw ct::ValueError("more elements than a test should have");
  }
  return known.at(variable.node());
}

std::vector<Expected> expect(const std::vector<Variable>& roots, const NodeValues& leaves, Freedom freedom,
                             std::uint64_t seed) {
  Runs runs(leaves, freedom, seed);
  for (const ct::builder::Node* node : ct::builder::topological_order(roots)) runs.run(*node);
  std::vector<Expected> result;
  for (const Variable& root : roots) {
    const NodeState& state = runs.of(root.node());
    Expected expected{state.truth, {}};
    for (std::int64_t i = 0; i < state.truth.size(); ++i)
      expected.tolerance.push_back(state.lost ? std::numeric_limits<double>::infinity() : spread(state, i));
    result.push_back(std::move(expected));
  }
  return result;
}

std::string Difference::text() const {
  return fmt::format("element {} is {}, not {}{}", position, got, expected,
                     tolerance > 0 ? fmt::format(" (give or take {:.3g})", tolerance) : "");
}

std::optional<Difference> compare(const Array& got, const Expected& expected, Compared& count) {
  const Array& truth = expected.value;
  if (got.dtype() != truth.dtype() || got.rank() != truth.rank())
    return Difference{0, std::string(name_of(got.dtype())), std::string(name_of(truth.dtype())), 0};
  if (got.shape() != truth.shape()) {
    // A size that depends on a comparison may differ.
    if (!expected.tolerance.empty() && std::isinf(expected.tolerance[0])) return std::nullopt;
    return Difference{0, fmt::format("of shape ({})", fmt::join(got.shape(), ", ")),
                      fmt::format("({})", fmt::join(truth.shape(), ", ")), 0};
  }
  const Array plain = got.contiguous();
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    const double tolerance = expected.tolerance[static_cast<std::size_t>(i)];
    ++count.elements;
    if (std::isinf(tolerance)) {
      ++count.ambiguous;
      continue;
    }
    bool close;
    if (ct::is_float(truth.dtype())) {
      const double x = plain.as_double(i), y = truth.as_double(i);
      close =
          (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= tolerance ||
          (std::isinf(x) && std::isfinite(y) && (y < 0) == (x < 0) && std::abs(y) + tolerance > largest(truth.dtype()));
    } else {
      close = ct::expr::element_of(plain, i).i == ct::expr::element_of(truth, i).i;
    }
    if (!close) return Difference{i, text_of(plain, i), text_of(truth, i), tolerance};
  }
  return std::nullopt;
}

bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Array x = a.contiguous(), y = b.contiguous();
  if (x.same_bits(y)) return true;
  if (!ct::is_float(x.dtype())) return false;
  const std::size_t item = size_of(x.dtype());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i) * item;
    const bool equal =
        std::memcmp(static_cast<const char*>(x.address()) + at, static_cast<const char*>(y.address()) + at, item) == 0;
    if (!equal && !(std::isnan(x.as_double(i)) && std::isnan(y.as_double(i)))) return false;
  }
  return true;
}

}  // namespace differential
