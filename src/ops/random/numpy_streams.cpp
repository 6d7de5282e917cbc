// NumpyRandomStreams: its draws, their states, and their shapes by Theano's rules.
#include <croton/error.hpp>
#include <croton/indexing.hpp>
#include <croton/ops.hpp>
#include <croton/theano_random.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <mutex>
#include <random>

#include "base/index.hpp"
#include "base/numpy_random.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/random/draw_request.hpp"
#include "ops/random/draw_states.hpp"
#include "ops/random/numpy_draws.hpp"

namespace croton {
namespace {

using base::NumpyRandom;
using builder::describe;

std::int64_t seed_of_system() {
  std::random_device device;
  return std::int64_t{device()};
}

/// The state of the next draw.
Array next_state(NumpyRandom& seeds) { return NumpyRandom(seeds.randint(0, std::int64_t{1} << 30)).state(); }

}  // namespace

struct NumpyRandomStreams::Shared {
  explicit Shared(std::optional<std::int64_t> seed) : initial_seed(seed), seeds(seed.value_or(seed_of_system())) {}

  void seed(std::int64_t value) {
    const std::lock_guard lock(mutex);
    NumpyRandom fresh(value);
    for (SharedVariable& state : draws.states) state.set_value(next_state(fresh));
  }

  mutable std::mutex mutex;
  const std::optional<std::int64_t> initial_seed;  // the constructor's
  NumpyRandom seeds;
  ops::DrawStates draws;
};

/// One draw: its shape and its numbers.
class NumpyRandomStreams::Draw : public ops::DrawRequest {
 public:
  /// `parameters` broadcast to the shape, or determine it.
  Draw(const NumpyRandomStreams& streams, std::string_view method, const DrawShape& shape,
       const std::vector<Operand>& parameters, Where where)
      : DrawRequest(method, shape, parameters, where),
        shared_(*streams.shared_),
        method_(fmt::format("NumpyRandomStreams.{}", method)) {
    for (const Operand& parameter : parameters) {
      if (parameter.variable.type().rank() > sizes_.size())
        throw ValueError(fmt::format("{}: {}: a parameter of {} dimension(s) for a shape of {}", line(),
                                     describe(parameter.variable), parameter.variable.rank(), sizes_.size()));
    }
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) resolve(axis, parameters);
  }
  /// For methods whose parameters do not determine a shape.
  void demand_shape(const DrawShape& shape) const {
    if (!shape.sizes()) throw TypeError(fmt::format("{}: a shape must be given, not std::nullopt", line()));
  }
  void demand_integer(const Operand& x, std::string_view what) const {
    if (!is_discrete(x.variable.dtype())) throw_type_error(x, fmt::format("{} must be an integer", what));
  }
  void demand_scalar(const Operand& x, std::string_view what) const {
    if (x.variable.rank() != 0) throw_type_error(x, fmt::format("{} must be a scalar", what));
  }

  Variable draw(ops::DrawFunction function, DType dtype, const std::vector<Operand>& parameters) const {
    demand_real(dtype);
    const std::lock_guard lock(shared_.mutex);
    NumpyRandom seeds = shared_.seeds;
    const SharedVariable state =
        shared(next_state(seeds), {.name = fmt::format("numpy_random_{}", shared_.draws.states.size())}, where());
    const std::vector<Variable> made =
        ops::draw_on_host({method_, function, dtype}, {state}, sizes_, parameters, where());
    shared_.draws.add(state, made[1]);
    shared_.seeds = seeds;
    return made[0];
  }

 private:
  /// Replaces a size of -1 by the size of the first parameter whose size along the axis is not a stated 1.
  void resolve(std::size_t axis, const std::vector<Operand>& parameters) {
    const auto known = ops::known_number(sizes_[axis]);
    if (!known || *known >= 0) return;
    if (*known != -1)
      throw ValueError(
          fmt::format("{}: a size of {}; it is at least 0, or -1 for that of the parameters", line(), *known));
    const std::size_t from_end = sizes_.size() - axis;
    bool reached = false;
    for (const Operand& parameter : parameters) {
      const Type& type = parameter.variable.type();
      if (type.rank() < from_end) continue;
      reached = true;
      if (type.broadcasts(type.rank() - from_end)) continue;
      sizes_[axis] = Operand(parameter.variable.shape(-base::to_int(from_end)), where());
      return;
    }
    if (!reached) throw ValueError(fmt::format("{}: a size of -1 for axis {}, which no parameter has", line(), axis));
    sizes_[axis] = Operand(1, where());
  }

  Shared& shared_;
  std::string method_;
};

NumpyRandomStreams::NumpyRandomStreams() : shared_(std::make_shared<Shared>(std::nullopt)) {}
NumpyRandomStreams::NumpyRandomStreams(std::int64_t seed) : shared_(std::make_shared<Shared>(seed)) {}

Variable NumpyRandomStreams::uniform(const DrawShape& shape, Operand low, Operand high, std::optional<DType> dtype,
                                     Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "uniform", shape, {low, high}, where);
  return draw.draw(ops::numpy_draw_uniform, dtype.value_or(ops::float_of_parameters({low, high})), {low, high});
}

Variable NumpyRandomStreams::normal(const DrawShape& shape, Operand avg, Operand std, std::optional<DType> dtype,
                                    Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "normal", shape, {avg, std}, where);
  return draw.draw(ops::numpy_draw_normal, dtype.value_or(ops::float_of_parameters({avg, std})), {avg, std});
}

Variable NumpyRandomStreams::binomial(const DrawShape& shape, Operand n, Operand p, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "binomial", shape, {n, p}, where);
  draw.demand_integer(n, "n");
  return draw.draw(ops::numpy_draw_binomial, dtype, {n, p});
}

Variable NumpyRandomStreams::random_integers(const DrawShape& shape, Operand low, Operand high, DType dtype,
                                             Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "random_integers", shape, {low, high}, where);
  draw.demand_integer(low, "low");
  draw.demand_integer(high, "high");
  return draw.draw(ops::numpy_draw_random_integers, dtype, {low, high});
}

Variable NumpyRandomStreams::choice(const DrawShape& shape, Operand a, DType dtype, Where where) {
  return choice(shape, a, {}, dtype, where);
}
Variable NumpyRandomStreams::choice(const DrawShape& shape, Operand a, const ChoiceOptions& options, DType dtype,
                                    Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "choice", shape, {}, where);
  draw.demand_shape(shape);
  ops::replace_line(options.replace, where);  // a default has no line of the user
  const Operand p = options.p.value_or(Operand(Array::zeros(DType::float64, {0}), where));
  if (a.variable.rank() > 1)
    throw ValueError(
        fmt::format("{}: {}; a vector or an integer scalar is chosen from", draw.line(), describe(a.variable)));
  if (a.variable.rank() == 0) draw.demand_integer(a, "a number to choose below");
  if (is_complex(a.variable.dtype()) || is_complex(p.variable.dtype()))
    draw.throw_type_error(is_complex(a.variable.dtype()) ? a : p, "it must be real");
  if (p.variable.rank() != 1)
    throw ValueError(fmt::format("{}: {}; probabilities are a vector", draw.line(), describe(p.variable)));
  draw.demand_scalar(options.replace, "replace");
  return draw.draw(ops::numpy_draw_choice, dtype, {a, options.replace, p});
}

Variable NumpyRandomStreams::poisson(const DrawShape& shape, Operand lam, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Draw draw(*this, "poisson", shape, {lam}, where);
  draw.demand_shape(shape);
  return draw.draw(ops::numpy_draw_poisson, dtype, {lam});
}

Variable NumpyRandomStreams::permutation(const DrawShape& shape, Operand n, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  Draw draw(*this, "permutation", shape, {}, where);
  draw.add_axis(n);
  return draw.draw(ops::numpy_draw_permutation, dtype, {});
}

Variable NumpyRandomStreams::multinomial(const DrawShape& shape, Operand n, Operand pvals, DType dtype, Where where) {
  const builder::OriginScope origin(where);
  const Variable& p = pvals.variable;
  const ops::DrawRequest request("multinomial", {}, {n, pvals}, where);
  if (p.rank() == 0 || !is_float(p.dtype()))
    request.throw_type_error(pvals, "probabilities are floats with an axis of classes, the last");
  std::vector<SliceSpec> first(p.type().rank(), slice());
  first.back() = SliceSpec(0);
  Draw draw(*this, "multinomial", shape, {n, p.at(first)}, where);  // only its shape is used
  draw.demand_integer(n, "n");
  draw.add_axis(p.shape(-1));
  return draw.draw(ops::numpy_draw_multinomial, dtype, {n, pvals});
}

NumpyRandomStreams::Shuffled NumpyRandomStreams::shuffle_row_elements(Operand x, Where where) {
  const builder::OriginScope origin(where);
  std::vector<Variable> sizes = x.variable.shape();
  if (sizes.empty())
    throw TypeError(fmt::format("shuffle_row_elements ({}): {}: a scalar has no elements to shuffle", describe(where),
                                describe(x.variable)));
  const Variable count = sizes.back();
  sizes.pop_back();
  const Variable order = permutation(DrawShape(sizes), count, DType::int64, where);
  return {take_along_axis(x, order, -1), order};
}

void NumpyRandomStreams::seed() { seed(shared_->initial_seed.value_or(seed_of_system())); }
void NumpyRandomStreams::seed(std::int64_t seed) { shared_->seed(seed); }

Array NumpyRandomStreams::state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.stacked(DType::uint32, NumpyRandom::state_size);
}

void NumpyRandomStreams::set_state(const Array& state) {
  const std::lock_guard lock(shared_->mutex);
  shared_->draws.set_stacked(state, DType::uint32, NumpyRandom::state_size);
}

std::vector<std::pair<SharedVariable, Variable>> NumpyRandomStreams::state_updates() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->draws.updates();
}

}  // namespace croton
