// MrgRandomStreams: its draws, their states, and the expressions around the numbers.
#include <croton/elementwise.hpp>
#include <croton/error.hpp>
#include <croton/ops.hpp>
#include <croton/theano_random.hpp>

#include <fmt/format.h>

#include <mutex>

#include "base/config.hpp"
#include "base/mrg31k3p.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/random/draw_request.hpp"
#include "ops/random/draw_states.hpp"
#include "ops/random/mrg_draws.hpp"

namespace croton {
namespace {

using base::Mrg31k3p;
using builder::describe;

constexpr std::int64_t state_columns = 6;

}  // namespace

struct MrgRandomStreams::Shared {
  explicit Shared(const Mrg31k3p& first) : initial_seed(first), generator(first) {}

  void seed(const Mrg31k3p& start) {
    const std::lock_guard lock(mutex);
    Mrg31k3p next = start;
    for (std::size_t n = 0; n < draws.states.size(); ++n) draws.states[n].set_value(next.streams(counts[n]));
    generator = next;
  }

  mutable std::mutex mutex;
  const Mrg31k3p initial_seed;  // the constructor's
  Mrg31k3p generator;
  ops::DrawStates draws;
  std::vector<std::int64_t> counts;  // streams of each draw
};

/// One draw: its shape, and its number of streams.
class MrgRandomStreams::Draw : public ops::DrawRequest {
 public:
  Draw(const MrgRandomStreams& streams, std::string_view method, const DrawShape& shape,
       const std::vector<Operand>& parameters, Where where)
      : DrawRequest(method, shape, parameters, where),
        shared_(*streams.shared_),
        method_(fmt::format("MrgRandomStreams.{}", method)) {
    if (!shape.sizes()) throw TypeError(fmt::format("{}: a shape must be given, not std::nullopt", line()));
  }

  /// Checks the sizes that the user gave.
  void demand_elements() const {
    for (const Operand& size : sizes_) {
      if (const auto known = ops::known_number(size); known && *known < 1)
        throw ValueError(fmt::format("{}: a size of {}; as in Theano sizes are at least 1", line(), *known));
    }
  }

  /// The dtype of the numbers; TypeError unless the generator has it.
  DType dtype(std::optional<DType> given, const std::vector<Operand>& parameters) const {
    const DType result = given.value_or(ops::float_of_parameters(parameters));
    if (result != DType::float16 && result != DType::float32 && result != DType::float64)
      throw TypeError(fmt::format("{}: dtype {}; float16, float32 and float64 are drawn: cast them afterwards", line(),
                                  name_of(result)));
    return result;
  }
  /// The given number of streams, or Theano's choice.
  std::int64_t count(std::optional<std::int64_t> given) const {
    if (given) return *given;
    std::vector<std::int64_t> known;
    for (const Operand& size : sizes_) {
      const auto number = ops::known_number(size);
      if (!number) return base::mrg_most_streams;
      known.push_back(static_cast<std::int64_t>(*number));
    }
    return base::mrg_stream_count(known);
  }

  /// Numbers that `function` draws from `state_count` states of `count` streams each.
  Variable draw(ops::DrawFunction function, DType dtype, std::int64_t count, std::size_t state_count = 1) const {
    const std::lock_guard lock(shared_.mutex);
    Mrg31k3p generator = shared_.generator;
    std::vector<SharedVariable> states;
    for (std::size_t i = 0; i < state_count; ++i) {
      const std::string name = fmt::format("mrg_{}", shared_.draws.states.size() + i);
      states.push_back(shared(streams_of(generator, count), {.name = name}, where()));
    }
    const std::vector<Variable> made =
        ops::draw_on_host({method_, function, dtype}, {states.begin(), states.end()}, sizes_, {}, where());
    for (std::size_t i = 0; i < state_count; ++i) {
      shared_.draws.add(states[i], made[1 + i]);
      shared_.counts.push_back(count);
    }
    shared_.generator = generator;
    return made[0];
  }

 private:
  Array streams_of(Mrg31k3p& generator, std::int64_t count) const {
    try {
      return generator.streams(count);
    } catch (const ValueError& error) {
      throw ValueError(fmt::format("{}: {}", line(), error.what()));
    }
  }

  Shared& shared_;
  std::string method_;
};

MrgRandomStreams::MrgRandomStreams(std::int64_t seed) : shared_(std::make_shared<Shared>(Mrg31k3p(seed))) {}
MrgRandomStreams::MrgRandomStreams(const std::vector<std::int64_t>& seed)
    : shared_(std::make_shared<Shared>(Mrg31k3p(seed))) {}

Variable MrgRandomStreams::uniform(const DrawShape& shape, Operand low, Operand high, std::optional<DType> dtype,
                                   std::optional<std::int64_t> streams, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "uniform", shape, {low, high}, where);
  draw.demand_elements();
  const DType result = draw.dtype(dtype, {low, high});
  const Variable u = draw.draw(ops::mrg_draw_uniform, result, draw.count(streams));
  if (ops::known_number(low) == 0 && ops::known_number(high) == 1) return u;
  const Variable from = cast(low, result), scaled = u * (cast(high, result) - from) + from;
  bool same = scaled.rank() == u.rank();
  for (std::size_t axis = 0; same && axis < u.type().rank(); ++axis)
    same = scaled.type().broadcasts(axis) == u.type().broadcasts(axis);
  if (!same)
    throw NotImplementedError(
        fmt::format("{}: {} and {} would make {} of the requested shape, {}; request the larger one", draw.line(),
                    describe(low.variable), describe(high.variable), scaled.type().to_string(), u.type().to_string()));
  return scaled;
}

namespace {

/// numbers * std + avg, without a multiplication by 1 or an addition of 0.
Variable moved(const Variable& numbers, const Operand& avg, const Operand& std) {
  Variable result = numbers;
  if (ops::known_number(std) != 1) result = result * cast(std, numbers.dtype());
  if (ops::known_number(avg) != 0) result = result + cast(avg, numbers.dtype());
  return result;
}

}  // namespace

// In Theano the number of uniform numbers of a normal draw is symbolic for every shape, so the draw has the maximum of
// streams.

Variable MrgRandomStreams::normal(const DrawShape& shape, Operand avg, Operand std, std::optional<DType> dtype,
                                  std::optional<std::int64_t> streams, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "normal", shape, {avg, std}, where);
  draw.demand_elements();
  const DType result = draw.dtype(dtype, {avg, std});
  return moved(draw.draw(ops::mrg_draw_normal, result, streams.value_or(base::mrg_most_streams)), avg, std);
}

Variable MrgRandomStreams::truncated_normal(const DrawShape& shape, Operand avg, Operand std,
                                            std::optional<DType> dtype, std::optional<std::int64_t> streams,
                                            Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "truncated_normal", shape, {avg, std}, where);
  draw.demand_elements();
  const Operand wider = std / Operand(.87962566103423978, where);  // the deviation of normal numbers between -2 and 2
  const DType result = draw.dtype(dtype, {avg, wider});
  const Variable z = draw.draw(ops::mrg_draw_truncated_normal, result, streams.value_or(base::mrg_most_streams), 2);
  return moved(z, avg, wider);
}

Variable MrgRandomStreams::binomial(const DrawShape& shape, Operand n, Operand p, DType dtype,
                                    std::optional<std::int64_t> streams, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "binomial", shape, {p}, where);
  draw.demand_elements();
  draw.demand_real(dtype);
  if (ops::known_number(n) != 1)
    throw NotImplementedError(
        fmt::format("{}: {}; as in Theano n is the number 1 (NumpyRandomStreams and RandomStreams "
                    "take others)",
                    draw.line(), describe(n.variable)));
  const Variable u = draw.draw(ops::mrg_draw_uniform, draw.dtype({}, {}), draw.count(streams));
  return cast(u < p, dtype);
}

namespace {

/// TypeError or NotImplementedError unless p is a matrix of probabilities, and `count` an integer scalar.
void check_choice(const ops::DrawRequest& draw, const Operand& p, std::string_view what, const Operand& count) {
  if (p.variable.rank() != 2)
    throw NotImplementedError(
        fmt::format("{}: {}; as in Theano probabilities are a matrix, a row for each distribution", draw.line(),
                    describe(p.variable)));
  if (p.variable.dtype() != DType::float32 && p.variable.dtype() != DType::float64)
    draw.throw_type_error(p, "probabilities are float32 or float64");
  if (count.variable.rank() != 0 || !is_discrete(count.variable.dtype()))
    draw.throw_type_error(count, fmt::format("{} must be an integer scalar", what));
  if (const auto known = ops::known_number(count); known && *known < 1)
    throw ValueError(fmt::format("{}: {} is {}; it is at least 1", draw.line(), what, *known));
}

}  // namespace

// In Theano the number of uniform numbers of both is symbolic.

Variable MrgRandomStreams::multinomial(Operand pvals, Operand n, DType dtype, std::optional<std::int64_t> streams,
                                       Where where) {
  const builder::OriginScope origin(where);
  const ops::DrawRequest request("multinomial", {}, {pvals}, where);
  check_choice(request, pvals, "n", n);
  request.demand_real(dtype);
  const Variable& p = pvals.variable;
  const Draw draw(*this, "multinomial", {ops::size_arithmetic("mul", p.shape(0), n.variable)}, {}, where);
  const Variable u = draw.draw(ops::mrg_draw_uniform, draw.dtype({}, {}), streams.value_or(base::mrg_most_streams));
  return ops::draw_on_host({"MrgRandomStreams.multinomial", ops::mrg_count_classes, dtype}, {},
                           {p.shape(0), p.shape(1)}, {u, pvals, n}, where)[0];
}

Variable MrgRandomStreams::choice(Operand size, Operand p, DType dtype, std::optional<std::int64_t> streams,
                                  Where where) {
  const builder::OriginScope origin(where);
  const ops::DrawRequest request("choice", {}, {p}, where);
  check_choice(request, p, "size", size);
  request.demand_real(dtype);
  const Variable rows = p.variable.shape(0);
  const Draw draw(*this, "choice", {ops::size_arithmetic("mul", rows, size.variable)}, {}, where);
  const Variable u = draw.draw(ops::mrg_draw_uniform, draw.dtype({}, {}), streams.value_or(base::mrg_most_streams));
  return ops::draw_on_host({"MrgRandomStreams.choice", ops::mrg_choose_columns, dtype}, {}, {rows, size}, {u, p},
                           where)[0];
}

Variable MrgRandomStreams::multinomial_wo_replacement(Operand pvals, Operand n, DType dtype,
                                                      std::optional<std::int64_t> streams, Where where) {
  return choice(n, pvals, dtype, streams, where);
}

void MrgRandomStreams::seed() { shared_->seed(shared_->initial_seed); }
void MrgRandomStreams::seed(std::int64_t seed) { shared_->seed(Mrg31k3p(seed)); }
void MrgRandomStreams::seed(const std::vector<std::int64_t>& seed) { shared_->seed(Mrg31k3p(seed)); }

Array MrgRandomStreams::state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.stacked(DType::int32, state_columns);
}

void MrgRandomStreams::set_state(const Array& state) {
  const std::lock_guard lock(shared_->mutex);
  shared_->draws.set_stacked(state, DType::int32, state_columns);
}

std::vector<std::pair<SharedVariable, Variable>> MrgRandomStreams::state_updates() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.updates();
}

}  // namespace croton
