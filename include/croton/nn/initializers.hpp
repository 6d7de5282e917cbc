// Initializers, regularizers and activations, as objects and by name.
#pragma once

#include <croton/array.hpp>
#include <croton/variable.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nn {

/// The shape of an input or output of a layer, without the batch axis.
using Shape = std::vector<std::int64_t>;
/// A size that may differ between batches, such as the length of texts.
inline constexpr std::int64_t any_size = -1;

/// An optional shape: `{28, 28, 1}`, `{}`.
class OptionalShape {
 public:
  OptionalShape() = default;
  OptionalShape(std::initializer_list<std::int64_t> sizes) : shape_(Shape(sizes)) {}
  OptionalShape(const Shape& shape) : shape_(shape) {}
  const std::optional<Shape>& shape() const { return shape_; }

 private:
  std::optional<Shape> shape_;
};

/// "(28, 28, 1)", with "?" for any_size.
std::string to_string(const Shape& shape);

/// Sets the seed from which this thread initializes the weights of later models. Without a call it is a seed from the
/// operating system.
void set_seed(std::uint64_t seed);
/// The next seed of the sequence that set_seed began.
std::uint64_t next_seed();

/// An initializer: initial values of a weight. The sizes of a kernel are (inputs, outputs), or (window..., inputs,
/// outputs): fan-in is inputs times the elements of the window, fan-out outputs times the elements of the window.
/// Initializers without arguments have names: "glorot_uniform", "glorot_normal", "he_uniform", "he_normal",
/// "lecun_uniform", "lecun_normal", "orthogonal", "zeros", "ones", "random_uniform" (-0.05 to 0.05), "random_normal"
/// and "truncated_normal" (deviation 0.05), "identity" (ValueError, with the list, for another name).
class Initializer {
 public:
  using Make = std::function<Array(const Sizes& shape, DType dtype, std::uint64_t seed)>;
  Initializer(const char* name) : Initializer(std::string_view(name)) {}
  Initializer(std::string_view name);
  Initializer(const std::string& name) : Initializer(std::string_view(name)) {}
  /// A user-defined function; its result must have the given shape.
  Initializer(Make make, std::string name = "own") : make_(std::move(make)), name_(std::move(name)) {}

  /// The initial values. ShapeError if the function returns another shape.
  Array operator()(const Sizes& shape, DType dtype, std::uint64_t seed) const;
  const std::string& name() const { return name_; }

 private:
  Make make_;
  std::string name_;
};

inline constexpr double default_constant = 0;
Initializer constant_values(double value = default_constant);
/// The given values, converted to the weight's dtype; ShapeError if a weight has another shape.
Initializer values_of(const Array& values);
inline constexpr double default_uniform_low = -0.05, default_uniform_high = 0.05;
Initializer uniform_between(double low = default_uniform_low, double high = default_uniform_high);
inline constexpr double default_normal_mean = 0, default_normal_deviation = 0.05;
Initializer normal_around(double mean = default_normal_mean, double deviation = default_normal_deviation);
/// Normal numbers; numbers beyond two deviations are drawn again.
Initializer truncated_normal_around(double mean = default_normal_mean, double deviation = default_normal_deviation);
enum class Fan { in, out, average };
inline constexpr double default_variance_scale = 1;
inline constexpr Fan default_variance_fan = Fan::in;
inline constexpr bool default_variance_uniform = false;
/// Numbers whose variance is scale / fan: uniform between -sqrt(3 scale / fan) and that, or truncated normal with a
/// deviation that is sqrt(scale / fan) after truncation (Glorot and Bengio 2010: average; He et al. 2015: in, scale 2).
Initializer variance_scaling(double scale = default_variance_scale, Fan fan = default_variance_fan,
                             bool uniform = default_variance_uniform);
inline constexpr double default_orthogonal_gain = 1;
/// gain times a matrix of orthonormal rows or columns (Saxe et al. 2013), by QR of a matrix of normal numbers; further
/// first axes count as rows.
Initializer orthogonal_matrix(double gain = default_orthogonal_gain);

/// A regularizer: a scalar that is added to the loss for a weight. Names: "l1", "l2" (both 0.01), "l1_l2".
class Regularizer {
 public:
  using Penalty = std::function<Variable(const Variable& weight)>;
  Regularizer() = default;
  Regularizer(const char* name);
  Regularizer(Penalty penalty) : penalty_(std::move(penalty)) {}
  bool defined() const { return penalty_ != nullptr; }
  Variable operator()(const Variable& weight) const { return penalty_(weight); }

 private:
  Penalty penalty_;
};
inline constexpr double default_penalty = 0.01;
/// l1 sum(|w|) + l2 sum(w^2).
Regularizer l1_l2(double l1 = default_penalty, double l2 = default_penalty);
Regularizer l1(double factor = default_penalty);
Regularizer l2(double factor = default_penalty);

/// An activation: an elementwise function, or a function along the last axis. Names: "linear", "relu" (its gradient at
/// 0 is 0, as in Keras), "softmax", "log_softmax", "sigmoid", "tanh", "elu", "selu", "gelu", "silu", "swish",
/// "softplus", "softsign", "leaky_relu", "relu6", "mish", "exponential", "hard_sigmoid" (slope 1/6, as in Keras 3),
/// "hard_silu", "hard_swish", "celu", "hard_tanh", "log_sigmoid", "sparse_plus", "sparse_sigmoid", "sparsemax",
/// "squareplus", "tanh_shrink", "soft_shrink", "hard_shrink"; ValueError, with the list, for another. Empty text is
/// linear.
class Activation {
 public:
  using Function = std::function<Variable(const Variable&)>;
  Activation() : Activation("linear") {}
  Activation(const char* name) : Activation(std::string_view(name)) {}
  Activation(std::string_view name);
  Activation(const std::string& name) : Activation(std::string_view(name)) {}
  Activation(Function function, std::string name = "own") : function_(std::move(function)), name_(std::move(name)) {}
  Variable operator()(const Variable& x) const { return function_(x); }
  const std::string& name() const { return name_; }
  bool is_linear() const { return name_ == "linear"; }

 private:
  Function function_;
  std::string name_;
};

}  // namespace croton::nn
