// Matrices of doubles in C order and the operations that the references of README.md's workloads share.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

using Values = std::vector<double>;

struct Matrix {
  std::size_t rows = 0, columns = 0;
  Values data;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), data(r * c) {}
  Matrix(std::size_t r, std::size_t c, Values d) : rows(r), columns(c), data(std::move(d)) {}
  double* row(std::size_t i) { return data.data() + i * columns; }
  const double* row(std::size_t i) const { return data.data() + i * columns; }
};

Matrix product(const Matrix& a, const Matrix& b);
Matrix transposed(const Matrix& a);

void relu(Matrix& a);
/// Sets the gradient to zero for units that relu turned off.
void mask(Matrix& slope, const Matrix& activation);
/// The row becomes its own softmax.
void softmax(double* row, std::size_t n);
/// The mean cross-entropy of logits z; z becomes its own gradient.
double cross_entropy(Matrix& z, const Values& targets);

}  // namespace bench
