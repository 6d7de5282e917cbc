// What layers of networks compute, beside convolutions (convolution.hpp) and activations (activations.hpp):
// normalisation, dropout, rows of tables, images enlarged. All of it is composed of other operations, so that kernels
// fuse it and gradients of any order follow; integers count as floatX, complex numbers are a TypeError.
#pragma once

#include <croton/convolution.hpp>
#include <croton/random.hpp>

#include <optional>
#include <vector>

namespace croton::nnet {

/// Which axes statistics are taken over. gamma, beta and statistics have either as many axes as x, of size 1 where
/// statistics are taken, or only the others.
struct BatchNormOptions {
  /// Over all axes but the second (of matrices: but the last), Theano's `spatial`; {0} is its `per-activation`.
  std::optional<std::vector<int>> axes = {};
  double epsilon = 1e-4;
  double running_average_factor = 0.1;  ///< the share of a batch in the new running averages
};

struct BatchNormed {
  Variable out;
  Variable mean;                                                   ///< of the batch, shaped as gamma
  Variable inverse_deviation;                                      ///< 1 / sqrt(variance + epsilon), shaped as gamma
  std::optional<Variable> new_running_mean, new_running_variance;  ///< where running averages were given
};

/// gamma (x - mean) / sqrt(variance + epsilon) + beta with mean and biased variance of the batch (Ioffe and Szegedy
/// 2015). New running averages are (1 - f) old + f new, the new variance being the unbiased one, as in Theano and
/// PyTorch; of a single element the biased one. TypeError for gamma or beta of another number of axes.
BatchNormed batch_norm_train(Operand x, Operand gamma, Operand beta, const BatchNormOptions& options = {},
                             std::optional<Operand> running_mean = {}, std::optional<Operand> running_variance = {});
/// The same with given statistics.
Variable batch_norm_test(Operand x, Operand gamma, Operand beta, Operand mean, Operand variance,
                         const BatchNormOptions& options = {});

struct NormOptions {
  double epsilon = 1e-5;
  Layout layout = Layout::channels_first;
};
/// (x - mean) / sqrt(variance + epsilon), the statistics being of each image and group of channels; channels divide
/// evenly into groups (ShapeError). gamma and beta have one number for each channel (Wu and He 2018).
Variable group_norm(Operand x, std::int64_t groups, std::optional<Operand> gamma = {}, std::optional<Operand> beta = {},
                    const NormOptions& options = {});
/// The same of each image and channel (Ulyanov et al. 2016).
Variable instance_norm(Operand x, std::optional<Operand> gamma = {}, std::optional<Operand> beta = {},
                       const NormOptions& options = {});

struct LocalResponseOptions {
  std::int64_t size = 5;  ///< channels of a window, which is centred; an even one reaches one farther down
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 2;
  Layout layout = Layout::channels_first;
};
/// x / (bias + alpha s)^beta, s being the sum of squares of neighbouring channels (Krizhevsky et al. 2012; PyTorch's
/// alpha is divided by the size, TensorFlow's is not). ValueError for a size below 1.
Variable local_response_norm(Operand x, const LocalResponseOptions& options = {});

/// x / (1 - rate) with probability 1 - rate, else 0, each element by itself: a mask of one draw of the streams, which
/// is never stored. ValueError unless 0 <= rate < 1.
Variable dropout(Operand x, double rate, RandomStreams& streams);

/// The rows of a table at integer positions: positions.shape + table.shape[1:]. Its gradient adds up what comes back to
/// a row. IndexError outside the table; negative positions count from its end.
Variable embedding(Operand table, Operand positions);

enum class Interpolation {
  nearest,
  linear,  ///< between the centres of the nearest two elements along each axis, as TensorFlow and PyTorch do
};
/// Images with each element of their axes of sizes in place of `factors` ones (one number for all axes, or one each).
/// ValueError for factors below 1.
Variable upsample(Operand x, const std::vector<std::int64_t>& factors,
                  Interpolation interpolation = Interpolation::nearest, Layout layout = Layout::channels_first);

}  // namespace croton::nnet
