// Shared parts of the tables of elementwise ops: the struct of a row, type rules, references and gradients. A row
// defines an op completely: name, number of operands, types, C++ code (the same for every device; functions of
// namespace ct are in codegen_templates/common), derivative, reference, test domain, and a line of doc. Gradients are
// written with the public operators; the reference runs in int64, uint64 or double. Only files of ops/ include this
// header, because its macros are short.
#pragma once

#include <croton/nnet.hpp>
#include <croton/ops.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "ops/registry.hpp"

namespace croton::ops {

using builder::GradientContext;
using builder::number;
using expr::Domain;
using expr::InferContext;
using expr::InferredType;
using expr::Kind;
using expr::MapInfo;
using expr::Scalar;
using Types = MapInfo::Types;
using DTypes = std::span<const DType>;
using Gradient = std::vector<Variable> (*)(const GradientContext&);
using Reference = Scalar (*)(std::span<const Scalar>, DType);

// ---- types ----

inline DType promoted(DTypes t) {
  DType result = t[0];
  for (const DType other : t.subspan(1)) result = promote(result, other);
  return result;
}

inline Types same(DTypes t) { return {promoted(t), promoted(t)}; }
inline Types no_bool(DTypes t) {
  if (is_bool(t[0])) throw TypeError("bool is not accepted; use ~ for 'not', or cast to an integer");
  return same(t);
}
/// Functions with real results: small integers become float32, wider ones float64, independent of floatX.
inline Types real(DTypes t) {
  DType result = promoted(t);
  if (is_discrete(result)) result = size_of(result) <= 2 ? DType::float32 : DType::float64;
  return {result, result};
}
inline Types floats_only(DTypes t) {
  if (is_discrete(promoted(t))) throw TypeError("integers are not accepted; cast them to a float first");
  return same(t);
}
inline Types comparison(DTypes t) { return {DType::bool_, promoted(t)}; }
inline Types bits(DTypes t) {
  if (!is_discrete(promoted(t))) throw TypeError("only integers and bool are accepted");
  return same(t);
}
inline Types select(DTypes t) {
  const DType result = promote(t[1], t[2]);
  return {result, result};
}

// ---- references ----

template <class F, class Value, class Get, std::size_t... I>
auto call(F f, std::span<const Scalar> x, Get get, std::index_sequence<I...>) {
  return f(static_cast<Value>(get(x[I]))...);
}

template <class R>
Scalar to_scalar(R value, DType result) {
  if (is_float(result)) return Scalar::of_double(static_cast<double>(value), result);
  if constexpr (std::is_floating_point_v<R>) {
    return Scalar::of_double(value, DType::float64).cast(result);
  } else {
    return Scalar::of_int(static_cast<std::int64_t>(value), DType::int64).cast(result);
  }
}

/// x rounded to float32.
inline float narrow(double x) { return static_cast<float>(x); }

template <class F, std::size_t N>
Scalar in_double(std::span<const Scalar> x, DType result) {
  return to_scalar(
      call<F, double>(F{}, x, [](const Scalar& s) { return s.as_double(); }, std::make_index_sequence<N>()), result);
}
/// In the arithmetic of the operands' dtype.
template <class F, std::size_t N>
Scalar in_own(std::span<const Scalar> x, DType result) {
  const DType t = x.back().dtype;
  const auto integer = [](const Scalar& s) { return s.i; };
  if (is_float(t)) return in_double<F, N>(x, result);
  if (t == DType::uint64)
    return to_scalar(call<F, std::uint64_t>(F{}, x, integer, std::make_index_sequence<N>()), result);
  return to_scalar(call<F, std::int64_t>(F{}, x, integer, std::make_index_sequence<N>()), result);
}
template <class F, std::size_t N>
Scalar in_integers(std::span<const Scalar> x, DType result) {
  const auto integer = [](const Scalar& s) { return s.i; };
  return to_scalar(call<F, std::int64_t>(F{}, x, integer, std::make_index_sequence<N>()), result);
}

// ---- whether int64 arithmetic does not wrap ----

using Checked = std::optional<std::int64_t>;

inline std::int64_t as_int64(const Scalar& x) { return x.cast(DType::int64).i; }
/// Whether a result fits, by a function that returns nothing if it does not.
template <Checked (*checked)(std::int64_t, std::int64_t)>
bool fits(std::span<const Scalar> x) {
  return checked(as_int64(x[0]), as_int64(x[1])).has_value();
}
/// The negative of the lowest number does not fit.
inline bool has_negative(std::span<const Scalar> x) {
  return as_int64(x[0]) != std::numeric_limits<std::int64_t>::min();
}

// ---- gradients that several rows share ----

/// Zero, and connected: comparisons, rounding, tests.
inline std::vector<Variable> zero(const GradientContext& c) {
  return std::vector<Variable>(c.inputs.size(), builder::scalar_constant(0, base::config().float_x()));
}
/// The gradient for one operand of maximum or minimum; if both are equal the first operand gets all of it.
inline Variable where_chosen(const GradientContext& c, const Variable& chosen) {
  return croton::where(chosen, c.gradient, zeros_like(c.gradient));
}

template <auto F>
struct Lambda {
  template <class... T>
  auto operator()(T... x) const {
    return F(x...);
  }
};

struct Row {
  std::string_view name;
  int arity;
  Types (*types)(DTypes);
  std::string_view code;
  Reference reference;
  Gradient gradient;
  std::string_view doc;
  int cost = 1;
  bool commutative = false;
  std::vector<Domain> domains = {};
  MapInfo::Exact exact = nullptr;
};

#define G(...)                                            \
  [](const GradientContext& c) -> std::vector<Variable> { \
    [[maybe_unused]] const Variable& g = c.gradient;      \
    [[maybe_unused]] const Variable& x = c.input(0);      \
    return __VA_ARGS__;                                   \
  }
#define X(expression) Lambda<[](auto x) { return expression; }>, 1
#define XY(expression) Lambda<[](auto x, auto y) { return expression; }>, 2
#define Y c.input(1)

/// Makes ops of the rows and adds them. Rows and ops live as long as the program.
void register_rows(Registry& registry, const std::vector<Row>& rows);

}  // namespace croton::ops
