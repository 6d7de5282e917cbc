// Workloads that reduce rows or columns of a matrix.
#include <cmath>
#include <span>

#include "gpu/checks.hpp"
#include "gpu/makers.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::SharedVariable;

Work softmax(std::int64_t rows, std::int64_t columns) {
  const Noise noise(301, -4, 4, rows * columns);
  const SharedVariable x = ct::shared(noise.array({rows, columns}), {.name = "x", .borrow = true});
  const SharedVariable y = written(2, "y");
  Work work = work_of({y}, [&] { return Updates{{y, ct::nnet::softmax(x, 1)}}; });
  work.bytes = 2 * float_bytes * static_cast<double>(rows * columns);
  work.error = [=] {
    return error_of_rows(y.get_value(true), {rows, columns}, [&](std::int64_t row, std::span<double> want) {
      double total = 0;
      for (std::int64_t i = row * columns; double& value : want) total += value = std::exp(noise(i++));
      for (double& value : want) value /= total;
    });
  };
  return work;
}

Work reduce_sum(std::int64_t rows, std::int64_t columns, int axis) {
  const Noise noise(401, 0, 1, rows * columns);
  const SharedVariable x = ct::shared(noise.array({rows, columns}), {.name = "x", .borrow = true});
  const SharedVariable y = written(1, "y");
  Work work = work_of({y}, [&] { return Updates{{y, ct::sum(x, axis)}}; });
  const std::int64_t lines = axis == 0 ? columns : rows, length = axis == 0 ? rows : columns;
  const std::int64_t to_next = axis == 0 ? columns : 1, to_line = axis == 0 ? 1 : columns;
  work.bytes = float_bytes * static_cast<double>(rows * columns + lines);
  work.error = [=] {
    const auto want = [&](std::int64_t line) {
      double total = 0;
      for (std::int64_t i = 0; i < length; ++i) total += noise(line * to_line + i * to_next);
      return total;
    };
    return error_of_elements(y.get_value(true), {lines}, want, sampled_lines);
  };
  return work;
}

Work reduce_sum_all(std::int64_t rows, std::int64_t columns) {
  const Noise noise(401, 0, 1, rows * columns);
  const SharedVariable x = ct::shared(noise.array({rows, columns}), {.name = "x", .borrow = true});
  const SharedVariable y = written(0, "y");
  Work work = work_of({y}, [&] { return Updates{{y, ct::sum(x)}}; });
  work.bytes = float_bytes * static_cast<double>(rows * columns + 1);
  work.error = [=] {
    return error_of_elements(y.get_value(true), {}, [&](std::int64_t) { return noise.sum(rows * columns); });
  };
  return work;
}

}  // namespace bench::gpu
