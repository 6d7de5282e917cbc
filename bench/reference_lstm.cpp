#include "reference_lstm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference.hpp"

namespace bench {

namespace {

constexpr std::size_t batch = 32, steps = 140, features = 256, size = 64, columns = 4 * size;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The values that the gradient of one step needs: the states before it and its gates i, f, c, o, concatenated.
struct Moment {
  Matrix x, h, c, gates, next_c, next_h;
};

/// x (batch, time, features) at one time.
Matrix at_time(const Values& x, std::size_t t) {
  Matrix part(batch, features);
  for (std::size_t i = 0; i < batch; ++i) {
    const double* from = x.data() + (i * steps + t) * features;
    std::copy(from, from + features, part.row(i));
  }
  return part;
}

Moment step(Matrix x, Matrix h, Matrix c, const Matrix& w, const Matrix& u, const Values& b) {
  Matrix gates = product(x, w), next_c(batch, size), next_h(batch, size);
  const Matrix recurrent = product(h, u);
  for (std::size_t i = 0; i < batch; ++i) {
    double* z = gates.row(i);
    for (std::size_t j = 0; j < columns; ++j) {
      z[j] += recurrent.row(i)[j] + b[j];
      z[j] = j / size == 2 ? std::tanh(z[j]) : sigmoid(z[j]);
    }
    for (std::size_t j = 0; j < size; ++j) {
      const double kept = z[size + j] * c.row(i)[j];
      next_c.row(i)[j] = kept + z[j] * z[2 * size + j];
      next_h.row(i)[j] = z[3 * size + j] * std::tanh(next_c.row(i)[j]);
    }
  }
  return {std::move(x), std::move(h), std::move(c), std::move(gates), std::move(next_c), std::move(next_h)};
}

std::vector<Moment> run(const Matrix& w, const Matrix& u, const Values& b, const Values& x) {
  std::vector<Moment> moments;
  Matrix h(batch, size), c(batch, size);
  for (std::size_t t = 0; t < steps; ++t) {
    moments.push_back(step(at_time(x, t), std::move(h), std::move(c), w, u, b));
    h = moments.back().next_h;
    c = moments.back().next_c;
  }
  return moments;
}

/// The gradient with respect to z = x w + h u + b of one step; `dh` and `dc` are the gradients with respect to its
/// states, and dc becomes that with respect to c.
Matrix slope_of_z(const Moment& m, const Matrix& dh, Matrix& dc) {
  Matrix dz(batch, columns);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double* gate = m.gates.row(i) + j;
      const double in = gate[0], forget = gate[size], value = gate[2 * size], out = gate[3 * size];
      const double squashed = std::tanh(m.next_c.row(i)[j]);
      double* to = dz.row(i) + j;
      double& slope = dc.row(i)[j];
      slope += dh.row(i)[j] * out * (1 - squashed * squashed);
      to[0] = slope * value * in * (1 - in);
      to[size] = slope * m.c.row(i)[j] * forget * (1 - forget);
      to[2 * size] = slope * in * (1 - value * value);
      to[3 * size] = dh.row(i)[j] * squashed * out * (1 - out);
      slope *= forget;
    }
  }
  return dz;
}

void subtract(Values& from, double rate, const Values& what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= rate * what[i];
}

/// Returns the loss; w, u and b are updated by gradient descent.
double descend(Matrix& w, Matrix& u, Values& b, const Values& x, const Values& target) {
  const std::vector<Moment> moments = run(w, u, b, x);
  Matrix dh = moments.back().next_h, dc(batch, size), dw(features, columns), du(size, columns);
  Values db(columns);
  double loss = 0;
  const double count = static_cast<double>(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const double off = dh.data[i] - target[i];
    loss += off * off / count;
    dh.data[i] = 2 * off / count;
  }
  for (auto moment = moments.rbegin(); moment != moments.rend(); ++moment) {
    const Matrix dz = slope_of_z(*moment, dh, dc);
    subtract(dw.data, -1, product(transposed(moment->x), dz).data);
    subtract(du.data, -1, product(transposed(moment->h), dz).data);
    for (std::size_t i = 0; i < dz.data.size(); ++i) db[i % columns] += dz.data[i];
    dh = product(dz, transposed(u));
  }
  subtract(w.data, 0.1, dw.data);
  subtract(u.data, 0.1, du.data);
  subtract(b, 0.1, db);
  return loss;
}

}  // namespace

std::vector<Values> lstm_forward_reference(const std::vector<Values>& in) {
  return {run({features, columns, in[0]}, {size, columns, in[1]}, in[2], in[3]).back().next_h.data};
}

std::vector<Values> lstm_step_reference(std::vector<Values> in) {
  Matrix w(features, columns, in[0]), u(size, columns, in[1]);
  Values b = in[2], losses;
  for (int i = 0; i < checked_steps; ++i) losses.push_back(descend(w, u, b, in[3], in[4]));
  return {losses, w.data, u.data, b};
}

}  // namespace bench
