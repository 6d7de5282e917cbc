// The functions of <croton/nnet_layers.hpp>.
#include <croton/nnet_layers.hpp>

#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"

namespace croton::python {
namespace {

nnet::BatchNormOptions to_batch_options(nb::handle axes, double epsilon) {
  nnet::BatchNormOptions options;
  if (!axes.is_none()) options.axes = to_axes(axes);
  options.epsilon = epsilon;
  return options;
}

/// (out, mean, inverse_deviation), and the new running averages if there are old ones.
nb::tuple train(nb::handle x, nb::handle gamma, nb::handle beta, nb::handle axes, double epsilon, double factor,
                nb::handle running_mean, nb::handle running_variance) {
  nnet::BatchNormOptions options = to_batch_options(axes, epsilon);
  options.running_average_factor = factor;
  const nnet::BatchNormed all =
      nnet::batch_norm_train(to_operand(x), to_operand(gamma), to_operand(beta), options,
                             to_optional_operand(running_mean), to_optional_operand(running_variance));
  nb::list results;
  for (const Variable& each : {all.out, all.mean, all.inverse_deviation}) results.append(each);
  for (const auto& each : {all.new_running_mean, all.new_running_variance}) {
    if (each) results.append(*each);
  }
  return nb::tuple(results);
}

void bind_batch_norm(nb::module_& m) {
  m.def("batch_norm_train", &train, "x"_a, "gamma"_a, "beta"_a, nb::kw_only(), "axes"_a = nb::none(),
        "epsilon"_a = 1e-4, "running_average_factor"_a = 0.1, "running_mean"_a = nb::none(),
        "running_variance"_a = nb::none(),
        "Batch normalization with the statistics of the batch: (out, mean, inverse_deviation), where out is gamma (x - "
        "mean) / sqrt(variance + epsilon) + beta with the biased variance, and inverse_deviation is 1 / sqrt(variance "
        "+ epsilon). With running averages also the new ones, (1 - f) old + f new with the unbiased variance.\n\n"
        "axes: those over which statistics are computed; None: all but the second (of matrices: all but the last). "
        "gamma, beta and running averages have either as many axes as x, of size 1 where statistics are computed, or "
        "only the other axes; statistics have the shape of gamma, running averages keep theirs. Integers become "
        "floatX. TypeError for another number of axes, and for complex numbers.");
  m.def(
      "batch_norm_test",
      [](nb::handle x, nb::handle gamma, nb::handle beta, nb::handle mean, nb::handle variance, nb::handle axes,
         double epsilon) {
        return nnet::batch_norm_test(to_operand(x), to_operand(gamma), to_operand(beta), to_operand(mean),
                                     to_operand(variance), to_batch_options(axes, epsilon));
      },
      "x"_a, "gamma"_a, "beta"_a, "mean"_a, "variance"_a, nb::kw_only(), "axes"_a = nb::none(), "epsilon"_a = 1e-4,
      "Batch normalization with given statistics: gamma (x - mean) / sqrt(variance + epsilon) + beta; axes, shapes, "
      "dtypes and errors as for batch_norm_train.");
}

void bind_other_norms(nb::module_& m) {
  m.def(
      "group_norm",
      [](nb::handle x, std::int64_t groups, nb::handle gamma, nb::handle beta, double epsilon,
         const std::string& layout) {
        return nnet::group_norm(to_operand(x), groups, to_optional_operand(gamma), to_optional_operand(beta),
                                {epsilon, to_layout(layout)});
      },
      "x"_a, "groups"_a, "gamma"_a = nb::none(), "beta"_a = nb::none(), nb::kw_only(), "epsilon"_a = 1e-5,
      "layout"_a = "channels_first",
      "Group normalization: (x - mean) / sqrt(variance + epsilon) with the statistics of each image and group of "
      "channels, then scaled by gamma and shifted by beta, vectors with one number for each channel.\n\n"
      "Integers become floatX. ShapeError if the channels do not divide evenly into groups; ValueError for groups "
      "below 1; TypeError for images without channels, gamma or beta that are not vectors, and complex numbers.");
  m.def(
      "instance_norm",
      [](nb::handle x, nb::handle gamma, nb::handle beta, double epsilon, const std::string& layout) {
        return nnet::instance_norm(to_operand(x), to_optional_operand(gamma), to_optional_operand(beta),
                                   {epsilon, to_layout(layout)});
      },
      "x"_a, "gamma"_a = nb::none(), "beta"_a = nb::none(), nb::kw_only(), "epsilon"_a = 1e-5,
      "layout"_a = "channels_first",
      "Instance normalization: group_norm with one group for each channel, of images with at least three axes.");
  m.def(
      "local_response_norm",
      [](nb::handle x, std::int64_t size, double alpha, double beta, double bias, const std::string& layout) {
        return nnet::local_response_norm(to_operand(x), {size, alpha, beta, bias, to_layout(layout)});
      },
      "x"_a, nb::kw_only(), "size"_a = 5, "alpha"_a = 1e-4, "beta"_a = 0.75, "bias"_a = 2.0,
      "layout"_a = "channels_first",
      "Local response normalization: x / (bias + alpha s)^beta, where s is the sum of squares of `size` neighbouring "
      "channels with the element's own in the middle (an even size includes one more before it).\n\n"
      "PyTorch's alpha is divided by the size, TensorFlow's is not. Integers become floatX. ValueError for a size "
      "below 1; TypeError for images without channels and complex numbers.");
}

void bind_tables_and_sizes(nb::module_& m) {
  m.def(
      "embedding",
      [](nb::handle table, nb::handle positions) { return nnet::embedding(to_operand(table), to_operand(positions)); },
      "table"_a, "positions"_a,
      "The rows of a table at integer positions, of shape positions.shape + table.shape[1:] and the table's dtype. The "
      "gradient of a row is the sum over its positions. IndexError outside the table; negative positions count from "
      "its end. TypeError for positions that are not integers.");
  m.def(
      "upsample",
      [](nb::handle x, nb::handle factors, const std::string& interpolation, const std::string& layout) {
        using nnet::Interpolation;
        return nnet::upsample(
            to_operand(x), to_numbers(factors, "a factor"),
            choice<Interpolation>(interpolation, "interpolation",
                                  {{"nearest", Interpolation::nearest}, {"linear", Interpolation::linear}}),
            to_layout(layout));
      },
      "x"_a, "factors"_a, nb::kw_only(), "interpolation"_a = "nearest", "layout"_a = "channels_first",
      "Images enlarged by factors along their spatial axes: one number for all axes, or one for each.\n\n"
      "interpolation 'nearest' repeats elements, of any dtype; 'linear' interpolates between the centres of the "
      "nearest two along each axis, and integers become floatX. ValueError for factors below 1; TypeError for images "
      "without spatial axes, and for complex numbers with 'linear'.");
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_batch_norm(m);
  bind_other_norms(m);
  bind_tables_and_sizes(m);
}

}  // namespace croton::python
