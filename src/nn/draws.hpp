// Random numbers of layers. Their state, {key, count of draws}, is a state of the layer: checkpoints save it, so that
// training resumes with the same numbers.
#pragma once

#include <croton/nn/layer.hpp>

namespace croton::nn {

class Draws {
 public:
  /// The first value of a state, by the seed of layers.
  static Array first_state();

  Draws() = default;
  explicit Draws(SharedVariable state) : state_(std::move(state)) {}

  /// x / (1 - rate), where each element of the shape is 0 with probability `rate`; the shape broadcasts against x.
  Variable dropout(const Variable& x, double rate, const std::vector<Variable>& shape, CallContext& context);
  /// Standard normal numbers of the shape and dtype of x.
  Variable normal(const Variable& x, CallContext& context);

 private:
  /// The state of the next draw. It gets a default update, so that each call of a function continues after the last
  /// draw of the call before.
  Variable next_state(CallContext& context);
  /// 64 random bits for each element, new ones in each call; axis 0 is the batch.
  Variable bits(const std::vector<Variable>& shape, CallContext& context);

  SharedVariable state_;
  std::int64_t max_draws_ = 0;  // of one context
};

}  // namespace croton::nn
