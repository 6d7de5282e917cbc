// Random numbers of layers. Their state, {key, count of draws}, is one of the layer: it is saved with checkpoints, so
// that training resumes with the same numbers.
#pragma once

#include <croton/nn/layer.hpp>

namespace croton::nn {

class Draws {
 public:
  /// Where a state begins: by the seed of layers.
  static Array first_state();

  Draws() = default;
  explicit Draws(SharedVariable state) : state_(std::move(state)) {}

  /// x / (1 - rate), each element of the shape with probability `rate` 0; the shape broadcasts against x.
  Variable dropout(const Variable& x, double rate, const std::vector<Variable>& shape, CallContext& context);
  /// Standard normal numbers of the shape and dtype of x.
  Variable normal(const Variable& x, CallContext& context);

 private:
  /// The state of the next draw. Functions that use it go on behind the last draw.
  Variable next_state(CallContext& context);
  /// 64 random bits an element, others at each call; axis 0 is the batch's.
  Variable bits(const std::vector<Variable>& shape, CallContext& context);

  SharedVariable state_;
  std::int64_t most_ = 0;  // draws of one context
};

}  // namespace croton::nn
