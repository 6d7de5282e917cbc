// The trainings fit_mlp, fit_cnn and fit_tiny of README.md: models of layers, trained with compile and fit.
#pragma once

#include <croton/nn.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

class Fit {
 public:
  /// Makes and compiles the model; the function of a step is made by the first fit.
  explicit Fit(std::string_view workload);
  /// The losses, and for classes then the accuracies, of the first `count` steps in the order of the samples, each a
  /// fit of one batch.
  std::vector<croton::Array> first_steps(int count);
  /// Runs an epoch over all samples in a new order.
  void epoch();
  std::int64_t steps() const { return x_.shape(0) / options_.batch_size; }
  croton::Function step_function() const { return model_.train_function(); }

 private:
  croton::nn::Sequential model_;
  croton::Array x_, y_;
  croton::nn::FitOptions options_;
};

}  // namespace bench
