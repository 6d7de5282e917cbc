// verify_grad: compares analytic gradients with finite differences of the compiled function. It compiles functions, so
// it is in this folder, and uses only the public interface, except for lines: expressions that are neither the user's
// function nor a gradient get the caller's line.
#include <croton/complex.hpp>
#include <croton/function.hpp>
#include <croton/grad.hpp>
#include <croton/ops.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"

namespace croton {
namespace {

using Build = std::function<Variable(const std::vector<Variable>&)>;

/// The inputs of the check: float points become float64, complex points complex128; other points do not change and are
/// not differentiated.
struct Inputs {
  std::vector<Variable> variables, differentiable;
  std::vector<Array> values;
  std::vector<std::size_t> differentiable_at;
  Where where;

  Inputs(const std::vector<Array>& points, Where caller) : where(caller) {
    for (const Array& point : points) {
      const bool real = !is_discrete(point.dtype());
      values.push_back(real ? point.astype(promote(point.dtype(), DType::float64)) : point);
      Type type{values.back().dtype(), Sizes(point.shape().size(), unknown_size)};
      variables.push_back(variable(std::move(type), "x" + std::to_string(variables.size()), where));
      if (!real) continue;
      differentiable.push_back(variables.back());
      differentiable_at.push_back(variables.size() - 1);
    }
  }

  Function compile(const OutputList& outputs) const {
    FunctionOptions options;
    options.name = "verify_grad";
    options.on_unused_input = UnusedInput::ignore;
    return function(std::vector<In>(variables.begin(), variables.end()), outputs, options, where);
  }
  Outputs call(const Function& f) const { return f.call(std::vector<Argument>(values.begin(), values.end())); }
};

/// The elements as doubles: a complex number is two, as in memory, and so is its gradient.
std::span<double> elements_of(Array& array) {
  if (!is_complex(array.dtype())) return array.data<double>();
  return {reinterpret_cast<double*>(array.data<std::complex<double>>().data()), 2 * base::to_size(array.size())};
}

/// sum(y r) with fixed numbers r in [0.5, 1.5): none is near 0, so that every element of y counts.
Variable weighted_sum(const Variable& y, const Sizes& shape, std::uint64_t seed) {
  if (is_complex(y.dtype())) return weighted_sum(real(y), shape, seed) + weighted_sum(imag(y), shape, seed + 100);
  return sum(y * constant(Array::uniform(DType::float64, shape, seed, 0.5, 1.5)));
}

/// The derivative along one element by the central difference of fourth order, (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) /
/// 12h. Its truncation error is about h^4 |f^(5)| / 30, and its rounding error about 1e-16 |f| / h: with h = 1e-4 both
/// are far below the tolerance.
double difference(const Inputs& inputs, const Function& cost, double& element) {
  const double at = element, h = 1e-4 * std::max(1.0, std::abs(at));
  const auto shifted = [&](double steps) {
    element = at + steps * h;
    return inputs.call(cost).item<double>();
  };
  const double near = shifted(1) - shifted(-1), far = shifted(2) - shifted(-2);
  element = at;
  return (8 * near - far) / (12 * h);
}

double relative_error(double analytic, double numeric) {
  const double error = std::abs(analytic - numeric) / std::max(std::abs(analytic) + std::abs(numeric), 1e-2);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double verify_first_order(Inputs& inputs, const Variable& cost, const std::vector<Variable>& gradients) {
  const Outputs analytic = inputs.call(inputs.compile(gradients));
  const Function f = inputs.compile(cost);
  double worst = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Array& value = inputs.values[inputs.differentiable_at[i]];
    const std::span<double> elements = elements_of(value);
    Array gradient = analytic[i].copy();
    const std::span<double> analytic_elements = elements_of(gradient);
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const double numeric = difference(inputs, f, elements[k]);
      worst = std::max(worst, relative_error(analytic_elements[k], numeric));
    }
  }
  return worst;
}

}  // namespace

double verify_grad(const Build& f, const std::vector<Array>& points, int order, std::uint64_t seed, Where where) {
  if (order != 1 && order != 2) throw ValueError("verify_grad: the order is 1 or 2, not " + std::to_string(order));
  Inputs inputs(points, where);
  if (inputs.differentiable.empty()) throw ValueError("verify_grad: none of the points is a float array");
  const Variable y = f(inputs.variables);
  if (is_discrete(y.dtype()))
    throw TypeError("verify_grad: the function gives " + y.type().to_string() + "; a float is needed");
  const Sizes shape = inputs.call(inputs.compile(y)).only().shape();
  const Variable cost = [&] {
    const builder::OriginScope origin(where);
    return weighted_sum(cast(y, promote(y.dtype(), DType::float64)), shape, seed);
  }();
  const GradOptions options{.disconnected_inputs = Disconnected::ignore};
  const std::vector<Variable> gradients = grad(cost, inputs.differentiable, options, where);
  const double error = verify_first_order(inputs, cost, gradients);
  if (order == 1) return error;

  // The gradient of the gradients, with other weights, so that no symmetry hides an error.
  const Variable slope = [&] {
    const builder::OriginScope origin(where);
    Variable total = constant(Array(0.0));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      total = total + weighted_sum(gradients[i], inputs.values[inputs.differentiable_at[i]].shape(), seed + 1 + i);
    return total;
  }();
  return std::max(error, verify_first_order(inputs, slope, grad(slope, inputs.differentiable, options, where)));
}

}  // namespace croton
