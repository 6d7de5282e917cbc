// Layer normalisation with scale and shift, forward and backward.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "gpu/checks.hpp"
#include "gpu/makers.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::SharedVariable;
using ct::Variable;

namespace {

constexpr double epsilon = 1e-5;

/// Mean of a row and 1 / sqrt(variance + epsilon).
struct RowStatistics {
  double mean = 0, scale = 0;
};

struct Inputs {
  std::int64_t rows, columns;
  Noise x, gamma, beta, dy;

  Inputs(std::int64_t r, std::int64_t c)
      : rows(r),
        columns(c),
        x(302, -4, 4, r * c),
        gamma(303, 0.5, 1.5, c),
        beta(304, -1, 1, c),
        dy(305, -1, 1, r * c) {}

  RowStatistics statistics(std::int64_t row) const {
    double sum = 0, squares = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      sum += x(i);
      squares += x(i) * x(i);
    }
    const double n = static_cast<double>(columns), mean = sum / n;
    return {mean, 1 / std::sqrt(squares / n - mean * mean + epsilon)};
  }
};

Variable normalized(const Variable& x, const Variable& gamma, const Variable& beta) {
  return ct::nnet::layer_norm(x, epsilon) * gamma + beta;
}

SharedVariable kept(const Noise& noise, const ct::Sizes& shape, const std::string& name) {
  return ct::shared(noise.array(shape), {.name = name, .borrow = true});
}

void gradient_of_row(const Inputs& in, std::int64_t row, std::span<double> want) {
  const RowStatistics of = in.statistics(row);
  const std::int64_t start = row * in.columns;
  const auto normal = [&](std::int64_t j) { return (in.x(start + j) - of.mean) * of.scale; };
  double mean = 0, product = 0;
  for (std::int64_t j = 0; j < in.columns; ++j) {
    const double slope = in.dy(start + j) * in.gamma(j);
    mean += slope / static_cast<double>(in.columns);
    product += slope * normal(j) / static_cast<double>(in.columns);
  }
  for (std::int64_t j = 0; double& value : want) {
    value = of.scale * (in.dy(start + j) * in.gamma(j) - mean - normal(j) * product);
    ++j;
  }
}

double gradient_of_gamma(const Inputs& in, const std::vector<RowStatistics>& rows, std::int64_t column) {
  double sum = 0;
  for (std::int64_t i = column; const RowStatistics& of : rows) {
    sum += in.dy(i) * (in.x(i) - of.mean) * of.scale;
    i += in.columns;
  }
  return sum;
}

double gradient_of_beta(const Inputs& in, std::int64_t column) {
  double sum = 0;
  for (std::int64_t row = 0; row < in.rows; ++row) sum += in.dy(row * in.columns + column);
  return sum;
}

/// The largest of the three errors.
double error_of_gradients(const Inputs& in, const std::vector<SharedVariable>& got) {
  std::vector<RowStatistics> rows;
  for (std::int64_t row = 0; row < in.rows; ++row) rows.push_back(in.statistics(row));
  const auto dx = [&](std::int64_t row, std::span<double> want) { gradient_of_row(in, row, want); };
  const auto dgamma = [&](std::int64_t column) { return gradient_of_gamma(in, rows, column); };
  const auto dbeta = [&](std::int64_t column) { return gradient_of_beta(in, column); };
  return std::max({error_of_rows(got[0].get_value(true), {in.rows, in.columns}, dx),
                   error_of_elements(got[1].get_value(true), {in.columns}, dgamma, sampled_lines),
                   error_of_elements(got[2].get_value(true), {in.columns}, dbeta, sampled_lines)});
}

}  // namespace

Work layer_norm(std::int64_t rows, std::int64_t columns) {
  const Inputs in(rows, columns);
  const SharedVariable x = kept(in.x, {rows, columns}, "x"), y = written(2, "y");
  const SharedVariable gamma = kept(in.gamma, {columns}, "gamma"), beta = kept(in.beta, {columns}, "beta");
  Work work = work_of({y}, [&] { return Updates{{y, normalized(x, gamma, beta)}}; });
  work.bytes = 2 * float_bytes * static_cast<double>((rows + 1) * columns);
  work.error = [=] {
    return error_of_rows(y.get_value(true), {rows, columns}, [&](std::int64_t row, std::span<double> want) {
      const RowStatistics of = in.statistics(row);
      for (std::int64_t j = 0; double& value : want) {
        value = (in.x(row * columns + j) - of.mean) * of.scale * in.gamma(j) + in.beta(j);
        ++j;
      }
    });
  };
  return work;
}

Work layer_norm_grad(std::int64_t rows, std::int64_t columns) {
  const Inputs in(rows, columns);
  const SharedVariable x = kept(in.x, {rows, columns}, "x"), dy = kept(in.dy, {rows, columns}, "dy");
  const SharedVariable gamma = kept(in.gamma, {columns}, "gamma"), beta = kept(in.beta, {columns}, "beta");
  const std::vector<SharedVariable> results{written(2, "dx"), written(1, "dgamma"), written(1, "dbeta")};
  Work work = work_of(results, [&] {
    const std::vector<Variable> slopes = ct::grad(ct::sum(normalized(x, gamma, beta) * dy), {x, gamma, beta});
    return Updates{{results[0], slopes[0]}, {results[1], slopes[1]}, {results[2], slopes[2]}};
  });
  work.bytes = 3 * float_bytes * static_cast<double>((rows + 1) * columns);  // dy and x, dx; gamma, dgamma and dbeta
  work.error = [=] { return error_of_gradients(in, results); };
  return work;
}

}  // namespace bench::gpu
