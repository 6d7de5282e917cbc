#include "nn/draws.hpp"

#include <croton/ops.hpp>
#include <croton/random.hpp>
#include <croton/views.hpp>

#include <algorithm>
#include <cmath>

#include "builder/device_scope.hpp"
#include "builder/gradient_context.hpp"
#include "nn/replica.hpp"

namespace croton::nn {

Array Draws::first_state() { return Array(std::vector<std::uint64_t>{next_seed(), 0}); }

Variable Draws::next_state(CallContext& context) {
  const auto state_after = [&](std::int64_t draws) -> Variable {
    if (draws == 0) return state_;
    return state_ + constant(Array(std::vector<std::uint64_t>{0, static_cast<std::uint64_t>(draws)}));
  };
  const std::int64_t draw = context.draws[state_.node()]++;
  max_draws_ = std::max(max_draws_, draw + 1);
  const builder::PlaceScope anywhere = builder::PlaceScope::anywhere();
  SharedVariable(state_).set_default_update(state_after(max_draws_));
  return state_after(draw);
}

Variable Draws::bits(const std::vector<Variable>& shape, CallContext& context) {
  const Variable state = next_state(context);
  const Replica* replica = Replica::current();
  if (replica == nullptr || !replica->rows.defined()) return random_bits(state, shape);
  // A row has the bits of its position in the whole batch: only this slice of the whole batch's bits is computed.
  const auto [begin, whole] = replica->positions(shape.at(0));
  std::vector<Variable> all = shape;
  all[0] = whole;
  std::vector<std::optional<Operand>> own(shape.begin(), shape.end());
  return specify_shape(random_bits(state, all)[slice(begin, begin + shape[0])], own);
}

Variable Draws::dropout(const Variable& x, double rate, const std::vector<Variable>& shape, CallContext& context) {
  // Elements whose bits are below 2^64 times the rate are dropped.
  const auto bound = static_cast<std::uint64_t>(std::ldexp(rate, 64));
  const Variable kept = bits(shape, context) >= constant(Array(bound));
  return where(kept, x * builder::number(1 / (1 - rate), x), builder::number(0, x));
}

Variable Draws::normal(const Variable& x, CallContext& context) {
  return cast(builder::apply(expr::Core::normal32, {bits(x.shape(), context)}, {}, x.where()), x.dtype());
}

}  // namespace croton::nn
