#include "nn/draws.hpp"

#include <croton/ops.hpp>
#include <croton/random.hpp>

#include <algorithm>
#include <cmath>

#include "builder/gradient_context.hpp"

namespace croton::nn {

Array Draws::first_state() { return Array(std::vector<std::uint64_t>{next_seed(), 0}); }

Variable Draws::bits(const std::vector<Variable>& shape, CallContext& context) {
  const auto behind = [&](std::int64_t draws) -> Variable {
    if (draws == 0) return state_;
    return state_ + constant(Array(std::vector<std::uint64_t>{0, static_cast<std::uint64_t>(draws)}));
  };
  const std::int64_t draw = context.draws[state_.node()]++;
  most_ = std::max(most_, draw + 1);
  SharedVariable(state_).set_default_update(behind(most_));
  return random_bits(behind(draw), shape);
}

Variable Draws::dropout(const Variable& x, double rate, const std::vector<Variable>& shape, CallContext& context) {
  // Below 2^64 times the rate.
  const auto bound = static_cast<std::uint64_t>(std::ldexp(rate, 64));
  const Variable kept = bits(shape, context) >= constant(Array(bound));
  return where(kept, x * builder::number(1 / (1 - rate), x), builder::number(0, x));
}

Variable Draws::normal(const Variable& x, CallContext& context) {
  return cast(builder::apply("normal32", {bits(x.shape(), context)}, {}, x.where()), x.dtype());
}

}  // namespace croton::nn
