// The distributions, composed of random_bits, the rows of random.cpp and other ops.
#include <croton/complex.hpp>
#include <croton/elementwise.hpp>
#include <croton/indexing.hpp>
#include <croton/ops.hpp>
#include <croton/random.hpp>
#include <croton/sorting.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <mutex>
#include <random>

#include "base/config.hpp"
#include "base/splitmix64.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/random/draw_request.hpp"
#include "ops/random/draw_states.hpp"

namespace croton {
namespace {

using base::splitmix64;
using builder::number;

std::uint64_t key_of(std::uint64_t seed, std::uint64_t draw) {
  return splitmix64(seed + (draw + 1) * base::splitmix64_step);
}

Array state_of(std::uint64_t key, std::uint64_t count) { return Array{key, count}; }

// 64 random bits suffice for a number below this: the probabilities of numbers differ by less than 2^-24 of their
// value.
constexpr std::uint64_t max_small = std::uint64_t{1} << 40;

/// Negative numbers and nan count as 0.
Variable probabilities(const Operand& p) {
  const Variable given = cast(p, DType::float64);
  return croton::where(given > number(0, given), given, number(0, given));
}

}  // namespace

struct RandomStreams::Shared {
  mutable std::mutex mutex;
  std::uint64_t seed = 0;
  ops::DrawStates draws;
};

/// One draw: its state, its shape, and the numbers of its elements.
class RandomStreams::Draw : public ops::DrawRequest {
 public:
  /// `parameters` determine the shape, or broadcast to it: the requirements for that are added to them.
  Draw(const RandomStreams& streams, std::string_view name, const DrawShape& shape,
       const std::vector<Operand*>& parameters, Where where)
      : DrawRequest(name, shape, values(parameters), where) {
    if (shape.sizes()) {
      for (Operand* parameter : parameters) fit(*parameter, parameter->variable.type().rank());
    }
    state_ = new_state(*streams.shared_, where);
  }

  /// Requires the first `rank` axes of a parameter to broadcast to the shape: a size of the shape that is stated to be
  /// 1 does not grow.
  void fit(Operand& parameter, std::size_t rank) const {
    if (rank > sizes_.size())
      throw_type_error(parameter, fmt::format("a parameter of {} dimension(s) for a shape of {}", rank, sizes_.size()));
    std::vector<std::optional<Operand>> stated(parameter.variable.type().rank());
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t size = parameter.variable.type().shape[axis];
      if (size == 1 || ops::known_number(sizes_[sizes_.size() - rank + axis]) != 1) continue;
      if (size != unknown_size) throw_type_error(parameter, fmt::format("{} parameters along an axis of size 1", size));
      stated[axis] = Operand(1, where());
    }
    parameter = Operand(ops::require_shape(parameter.variable, stated,
                                           "a parameter of a draw is wider than its shape, which is 1 there"),
                        where());
  }

  /// The same draw with other sizes.
  Draw with_sizes(std::vector<Operand> sizes) const {
    Draw other = *this;
    other.sizes_ = std::move(sizes);
    return other;
  }
  Variable bits(bool high = false) const {
    std::vector<Variable> inputs{state_};
    for (const Operand& size : sizes_) inputs.push_back(size.variable);
    return builder::apply("random_bits", inputs, {{"high", std::int64_t{high}}}, where());
  }
  /// Numbers between 0 and 1, of a dtype in which kernels compute.
  Variable unit(DType dtype) const { return map(dtype == DType::float64 ? "unit64" : "unit32", {bits()}); }
  Variable standard_normal(DType dtype) const {
    return dtype == DType::float64 ? map("normal64", {bits(), bits(true)}) : map("normal32", {bits()});
  }
  /// Uniform integers below `count` (uint64; 0 for a count of 0). The relative difference of their probabilities is at
  /// most count / 2^64, or 2^-64 if count is not known to be `small`.
  Variable below(const Variable& count, bool small) const {
    const auto share = [&](const Variable& words) { return map("random_below", {words, count}); };
    const Variable upper = share(bits());
    if (small) return upper;
    // The upper 64 bits of the product of count and 128 random bits.
    const Variable middle = bits() * count;
    return upper + cast(middle + share(bits(true)) < middle, DType::uint64);
  }
  /// Uniform integers from low to high; `inclusive`: including high.
  Variable whole_numbers(const Operand& low, const Operand& high, bool inclusive, DType dtype) const;
  /// A row of random.cpp that draws a variable number of times; `second`: another number for the same element.
  Variable sample(std::string_view row, const std::vector<Operand>& parameters, bool second = false) const {
    Variable count = state_[1];
    if (second) count = count | constant(Array(std::uint64_t{1} << 63));
    Variable total = constant(Array(std::int64_t{1}));
    for (const Operand& size : sizes_) total = total * ops::whole_number(size.variable);
    std::vector<Variable> inputs{state_[0], count, cast(reshape(arange(total), sizes_), DType::uint64)};
    for (const Operand& parameter : parameters)
      inputs.push_back(map("bits_of_double", {cast(parameter, DType::float64)}));
    return map(row, inputs);
  }

 private:
  static std::vector<Operand> values(const std::vector<Operand*>& operands) {
    std::vector<Operand> result;
    for (const Operand* operand : operands) result.push_back(*operand);
    return result;
  }
  static SharedVariable new_state(Shared& shared, Where where) {
    const std::lock_guard lock(shared.mutex);
    const std::size_t n = shared.draws.states.size();
    SharedVariable state =
        croton::shared(state_of(key_of(shared.seed, n), 0), {.name = fmt::format("random_{}", n)}, where);
    shared.draws.add(state, state + constant(state_of(0, 1)));
    return state;
  }
  Variable map(std::string_view row, const std::vector<Variable>& inputs) const {
    return builder::apply(row, inputs, {}, where());
  }

  SharedVariable state_;
};

Variable random_bits(Operand state, const DrawShape& shape, Where where) {
  std::vector<Variable> inputs{state.variable};
  if (shape.sizes()) {
    for (const Operand& size : *shape.sizes()) inputs.push_back(size.variable);
  }
  return builder::apply("random_bits", inputs, {{"high", std::int64_t{0}}}, where);
}

// Nodes that a method builds get its caller's line.

RandomStreams::RandomStreams(Where where)
    : RandomStreams(
          [] {
            std::random_device device;
            return std::uint64_t{device()} << 32 | device();
          }(),
          where) {}
RandomStreams::RandomStreams(std::uint64_t seed, Where) : shared_(std::make_shared<Shared>()) { shared_->seed = seed; }

Variable RandomStreams::uniform(const DrawShape& shape, Operand low, Operand high, std::optional<DType> dtype,
                                Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "uniform", shape, {&low, &high}, where);
  const DType result = draw.real_dtype(dtype), wide = compute_dtype(result);
  Variable u = draw.unit(wide);
  const bool plain = ops::known_number(low) == 0 && ops::known_number(high) == 1;
  if (wide !=
      result) {  // as many bits as the dtype holds; with other bounds, half of the last bit would be rounded away
    const double steps = result == DType::float16 ? 1024 : 128;
    u = (floor(u * number(steps, u)) + number(plain ? 0.5 : 0, u)) * number(1 / steps, u);
  }
  if (plain) return cast(u, result);
  const Variable from = cast(low, wide);
  return cast(from + (cast(high, wide) - from) * u, result);
}

Variable RandomStreams::normal(const DrawShape& shape, Operand mean, Operand deviation, std::optional<DType> dtype,
                               Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "normal", shape, {&mean, &deviation}, where);
  const DType result = draw.real_dtype(dtype), wide = compute_dtype(result);
  return cast(cast(mean, wide) + cast(deviation, wide) * draw.standard_normal(wide), result);
}

Variable RandomStreams::truncated_normal(const DrawShape& shape, Operand mean, Operand deviation,
                                         std::optional<DType> dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "truncated_normal", shape, {&mean, &deviation}, where);
  const DType result = draw.real_dtype(dtype), wide = compute_dtype(result);
  const Variable u = draw.unit(wide);
  // The share of normal numbers between -2 and 2 is erf(sqrt(2)).
  const Variable z = number(1.4142135623730951, u) * erfinv((2 * u - 1) * number(0.9544997361036416, u));
  return cast(cast(mean, wide) + cast(deviation, wide) * z, result);
}

Variable RandomStreams::exponential(const DrawShape& shape, Operand scale, std::optional<DType> dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "exponential", shape, {&scale}, where);
  const DType result = draw.real_dtype(dtype), wide = compute_dtype(result);
  return cast(cast(scale, wide) * -log(draw.unit(wide)), result);
}

Variable RandomStreams::gamma(const DrawShape& shape, Operand alpha, Operand scale, std::optional<DType> dtype,
                              Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "gamma", shape, {&alpha, &scale}, where);
  const DType result = draw.real_dtype(dtype), wide = compute_dtype(result);
  return cast(cast(scale, wide) * cast(exp(draw.sample("sample_log_gamma", {alpha})), wide), result);
}

Variable RandomStreams::beta(const DrawShape& shape, Operand a, Operand b, std::optional<DType> dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "beta", shape, {&a, &b}, where);
  const DType result = draw.real_dtype(dtype);
  // x / (x + y): the logarithms are finite even if both numbers underflow.
  return cast(sigmoid(draw.sample("sample_log_gamma", {a}) - draw.sample("sample_log_gamma", {b}, true)), result);
}

Variable RandomStreams::Draw::whole_numbers(const Operand& low, const Operand& high, bool inclusive,
                                            DType dtype) const {
  demand_real(dtype);
  for (const Operand* bound : {&low, &high}) {
    if (!is_discrete(bound->variable.dtype())) throw_type_error(*bound, "bounds are integers");
  }
  const auto known = [](const Operand& x) { return x.variable.is_constant() && x.variable.rank() == 0; };
  // Bounds are int64; they are uint64 if the upper one is and the lower one is not negative.
  const bool natural = low.variable.dtype() == DType::uint64 || ops::known_number(low).value_or(-1) >= 0;
  const DType wide = high.variable.dtype() == DType::uint64 && natural ? DType::uint64 : DType::int64;
  const Variable from = cast(low, wide), end = cast(high, wide), last = inclusive ? end : end - number(1, end);
  const Variable exist = inclusive ? from <= end : from < end;
  // Differences do not overflow in uint64; the count of all numbers of 64 bits is 0.
  const Variable first = cast(from, DType::uint64),
                 count = cast(last, DType::uint64) - first + constant(Array(std::uint64_t{1}));
  const auto words = [&](const Variable& offset) { return cast(cast(first + offset, wide), dtype); };
  if (known(low) && known(high)) {
    if (!exist.eval({}).item<bool>()) {
      throw ValueError(fmt::format("{}: no whole number is at least {} and {} {}", line(), from.eval({}).to_string(),
                                   inclusive ? "at most" : "below", end.eval({}).to_string()));
    }
    for (const Variable& bound : {from, last}) {
      if (is_discrete(dtype) && !cast(cast(bound, dtype), wide).eval({}).equals(bound.eval({})))
        throw ValueError(fmt::format("{}: {} does not hold {}", line(), name_of(dtype), bound.eval({}).to_string()));
    }
    const auto counted = count.eval({}).item<std::uint64_t>();
    return words(counted == 0 ? bits() : below(constant(Array(counted)), counted < max_small));
  }
  const bool small = size_of(low.variable.dtype()) <= 4 && size_of(high.variable.dtype()) <= 4;
  const Variable none = constant(Array(std::uint64_t{0}));
  const Variable some = below(count, small);
  return words(croton::where(exist, small ? some : croton::where(eq(count, none), bits(), some), none));
}

Variable RandomStreams::integers(const DrawShape& shape, Operand low, Operand high, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "integers", shape, {&low, &high}, where);
  return draw.whole_numbers(low, high, false, dtype);
}

Variable RandomStreams::random_integers(const DrawShape& shape, Operand low, Operand high, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "random_integers", shape, {&low, &high}, where);
  return draw.whole_numbers(low, high, true, dtype);
}

Variable RandomStreams::bernoulli(const DrawShape& shape, Operand p, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "bernoulli", shape, {&p}, where);
  draw.demand_real(dtype);
  const DType wide = is_float(p.variable.dtype()) ? compute_dtype(p.variable.dtype()) : base::config().float_x();
  return cast(draw.unit(compute_dtype(wide)) < p, dtype);
}

Variable RandomStreams::binomial(const DrawShape& shape, Operand n, Operand p, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  if (ops::known_number(n) == 1) return bernoulli(shape, p, dtype, where);
  const Draw draw(*this, "binomial", shape, {&n, &p}, where);
  draw.demand_real(dtype);
  return cast(draw.sample("sample_binomial", {n, p}), dtype);
}

Variable RandomStreams::poisson(const DrawShape& shape, Operand lambda, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "poisson", shape, {&lambda}, where);
  draw.demand_real(dtype);
  return cast(draw.sample("sample_poisson", {lambda}), dtype);
}

Variable RandomStreams::multinomial(const DrawShape& shape, Operand n, Operand pvals, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Variable& p = pvals.variable;
  DrawShape batch = shape;
  if (!shape.sizes() && p.rank() > 0) {
    std::vector<Variable> sizes = p.shape();
    sizes.pop_back();
    batch = DrawShape(sizes);
  }
  Draw draw(*this, "multinomial", batch, {}, where);
  draw.demand_real(dtype);
  if (p.rank() == 0) draw.throw_type_error(pvals, "probabilities have an axis of classes, the last");
  if (p.type().rank() > draw.sizes().size() + 1)
    draw.throw_type_error(
        pvals, fmt::format("probabilities of {} dimension(s) for a shape of {}", p.rank(), draw.sizes().size()));
  if (shape.sizes()) draw.fit(pvals, p.type().rank() - 1);
  if (n.variable.rank() != 0 || !is_discrete(n.variable.dtype()))
    draw.throw_type_error(n, "n must be an integer scalar");
  draw.add_axis(n);
  // The class of a draw is the number of cumulative probabilities below it: it never is a class of probability 0.
  const Variable ends = cumsum(probabilities(pvals), -1);
  const Variable total = max(ends, ReduceOptions(std::vector<int>{-1}, true));  // the last one
  const Variable at = draw.unit(DType::float64) * total;
  const Variable each = sum(cast(expand_dims(ends, ends.rank() - 1) < expand_dims(at, at.rank()), DType::int64), -1);
  return cast(sum(cast(eq(expand_dims(each, each.rank()), arange(p.shape(-1))), DType::int64), -2), dtype);
}

Variable RandomStreams::choice(const DrawShape& shape, Operand a, Where where) { return choice(shape, a, {}, where); }
Variable RandomStreams::choice(const DrawShape& shape, Operand a, const ChoiceOptions& options, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "choice", shape.sizes() ? shape : DrawShape{}, {}, where);
  const Variable& given = a.variable;
  if (given.rank() > 1 || (given.rank() == 0 && !is_discrete(given.dtype())))
    draw.throw_type_error(a, "a vector or an integer scalar is chosen from");
  const Variable n = given.rank() == 1 ? given.shape(0) : cast(given, DType::int64);
  Variable total = constant(Array(std::int64_t{1}));
  for (const Operand& size : draw.sizes()) total = ops::size_arithmetic("mul", total, ops::whole_number(size.variable));
  const std::optional<double> known = given.rank() == 0 ? ops::known_number(a) : std::nullopt;
  if (known && *known <= 0)
    throw ValueError(fmt::format("{}: a choice of the whole numbers below {}", draw.line(), *known));
  Variable positions;
  if (options.replace && !options.p) {
    const bool small = given.rank() == 1 || size_of(given.dtype()) <= 4 || known.value_or(1e19) < double(max_small);
    positions = cast(draw.below(cast(maximum(n, number(0, n)), DType::uint64), small), DType::int64);
  } else {
    Variable p;
    if (options.p) {
      p = probabilities(*options.p);
      if (p.rank() != 1) draw.throw_type_error(*options.p, "probabilities are a vector");
      p = ops::require_shape(p, {Operand(n, where)}, "choice: there must be a probability for each element");
    }
    if (options.replace) {
      const Variable ends = cumsum(p);
      positions = searchsorted(ends, draw.unit(DType::float64) * ends[-1]);
    } else {
      // The largest of random keys; with probabilities the keys are log p plus numbers of Gumbel's distribution
      // (Efraimidis and Spirakis 2006).
      const Draw keys = draw.with_sizes({Operand(n, where)});
      const Variable key = options.p ? log(p) - log(-log(keys.unit(DType::float64))) : keys.bits();
      Variable most = total;  // only those of probability above 0
      if (options.p) most = minimum(most, sum(cast(p > number(0, p), DType::int64)));
      const Variable order = ops::part_along(argsort(options.p ? -key : key), 0, std::nullopt, Operand(most, where));
      const Variable all = ops::require_shape(order, {Operand(total, where)},
                                              "choice without replacement: more elements than there are");
      positions = reshape(all, draw.sizes());
    }
  }
  return given.rank() == 1 ? take(given, positions) : positions;
}

Variable RandomStreams::permutation(Operand n, const DrawShape& shape, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  Draw draw(*this, "permutation", shape.sizes() ? shape : DrawShape{}, {}, where);
  draw.demand_real(dtype);
  draw.add_axis(n);
  return cast(argsort(draw.bits()), dtype);
}

Variable RandomStreams::shuffle_row_elements(Operand x, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "shuffle_row_elements", DrawShape(x.variable.shape()), {}, where);
  if (x.variable.rank() == 0) draw.throw_type_error(x, "a scalar has no elements to shuffle");
  return take_along_axis(x, argsort(draw.bits()), -1);
}

void RandomStreams::seed(std::uint64_t seed) {
  const std::lock_guard lock(shared_->mutex);
  shared_->seed = seed;
  std::vector<SharedVariable>& states = shared_->draws.states;
  for (std::size_t n = 0; n < states.size(); ++n) states[n].set_value(state_of(key_of(seed, n), 0));
}

RandomStreams RandomStreams::independent(std::uint64_t number, Where where) const {
  const std::lock_guard lock(shared_->mutex);
  return RandomStreams(splitmix64(key_of(shared_->seed, 0) + (number + 1) * base::splitmix64_step), where);
}

Array RandomStreams::state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.stacked(DType::uint64, 2);
}

void RandomStreams::set_state(const Array& state) {
  const std::lock_guard lock(shared_->mutex);
  shared_->draws.set_stacked(state, DType::uint64, 2);
}

std::vector<std::pair<SharedVariable, Variable>> RandomStreams::state_updates() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.updates();
}

}  // namespace croton
