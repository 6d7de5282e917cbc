// The computations of network layers, except convolutions (convolution.hpp) and activations (activations.hpp):
// normalisation, dropout, embeddings, upsampling. All are composed of other operations, so they fuse and have gradients
// of any order; integers are computed in floatX, complex numbers raise TypeError.
#pragma once

#include <croton/convolution.hpp>
#include <croton/random.hpp>

#include <optional>
#include <vector>

namespace croton::nnet {

/// Options of batch normalisation, such as the reduced axes. gamma, beta and statistics have either the rank of x, with
/// size 1 along the reduced axes, or only the other axes.
struct BatchNormOptions {
  /// The reduced axes. By default all except the second (of matrices: the last), Theano's `spatial`; {0} is its
  /// `per-activation`.
  std::optional<std::vector<int>> axes = {};
  double epsilon = 1e-4;
  double running_average_factor = 0.1;  ///< the weight of a batch in the new running averages
};

struct BatchNormed {
  Variable out;
  Variable mean;                                                   ///< of the batch, shaped as gamma
  Variable inverse_deviation;                                      ///< 1 / sqrt(variance + epsilon), shaped as gamma
  std::optional<Variable> new_running_mean, new_running_variance;  ///< if running averages were given
};

/// gamma (x - mean) / sqrt(variance + epsilon) + beta with mean and biased variance of the batch (Ioffe and Szegedy
/// 2015). New running averages are (1 - f) old + f new, where the new variance is unbiased, as in Theano and PyTorch;
/// of a single element it is the biased one. TypeError for gamma or beta of a wrong rank.
BatchNormed batch_norm_train(Operand x, Operand gamma, Operand beta, const BatchNormOptions& options = {},
                             std::optional<Operand> running_mean = {}, std::optional<Operand> running_variance = {});
/// Batch normalisation with given statistics.
Variable batch_norm_test(Operand x, Operand gamma, Operand beta, Operand mean, Operand variance,
                         const BatchNormOptions& options = {});

struct NormOptions {
  double epsilon = 1e-5;
  Layout layout = Layout::channels_first;
};
/// Group normalisation: (x - mean) / sqrt(variance + epsilon) with the statistics of each image and group of channels
/// (Wu and He 2018); the channels must divide evenly into groups (ShapeError). gamma and beta have one number for each
/// channel.
Variable group_norm(Operand x, std::int64_t groups, std::optional<Operand> gamma = {}, std::optional<Operand> beta = {},
                    const NormOptions& options = {});
/// Instance normalisation: the same with the statistics of each image and channel (Ulyanov et al. 2016).
Variable instance_norm(Operand x, std::optional<Operand> gamma = {}, std::optional<Operand> beta = {},
                       const NormOptions& options = {});

struct LocalResponseOptions {
  std::int64_t size = 5;  ///< channels of the centred window; an even one has one more channel before than after
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 2;
  Layout layout = Layout::channels_first;
};
/// x / (bias + alpha s)^beta, where s is the sum of squares of neighbouring channels (Krizhevsky et al. 2012; PyTorch's
/// alpha is divided by the size, TensorFlow's is not). ValueError for a size below 1.
Variable local_response_norm(Operand x, const LocalResponseOptions& options = {});

/// x / (1 - rate) with probability 1 - rate, else 0, independently for each element: the mask is one draw of the
/// streams and is never stored. ValueError unless 0 <= rate < 1.
Variable dropout(Operand x, double rate, RandomStreams& streams);

/// The rows of a table at integer positions: positions.shape + table.shape[1:]. Its gradient adds up the gradients of
/// each row. IndexError outside the table; negative positions count from its end.
Variable embedding(Operand table, Operand positions);

enum class Interpolation {
  nearest,
  linear,  ///< between the centres of the nearest two elements along each axis, as in TensorFlow and PyTorch
};
/// Images enlarged by `factors` along their spatial axes (one factor for all axes, or one for each). ValueError for
/// factors below 1.
Variable upsample(Operand x, const std::vector<std::int64_t>& factors,
                  Interpolation interpolation = Interpolation::nearest, Layout layout = Layout::channels_first);

}  // namespace croton::nnet
