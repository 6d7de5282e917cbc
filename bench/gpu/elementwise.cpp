// Workloads in which no element depends on a neighbour.
#include <cmath>
#include <span>

#include "gpu/checks.hpp"
#include "gpu/makers.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::SharedVariable;

Work copy(std::int64_t n) {
  const Noise noise(411, -1, 1, n);
  const SharedVariable x = ct::shared(noise.array({n}), {.name = "x", .borrow = true}), y = written(1, "y");
  Work work = work_of({y}, [&] { return Updates{{y, x}}; });
  work.bytes = 2 * float_bytes * static_cast<double>(n);
  work.tolerance = 0;  // bits are moved
  work.error = [=] { return error_of_elements(y.get_value(true), {n}, noise); };
  return work;
}

Work add(std::int64_t n) {
  const Noise a(411, -1, 1, n), b(412, -1, 1, n);
  const SharedVariable x = ct::shared(a.array({n}), {.name = "x", .borrow = true});
  const SharedVariable y = ct::shared(b.array({n}), {.name = "y", .borrow = true}), z = written(1, "z");
  Work work = work_of({z}, [&] { return Updates{{z, x + y}}; });
  work.bytes = 3 * float_bytes * static_cast<double>(n);
  work.tolerance = 1e-7;  // each sum is rounded once, by up to 6e-8 of itself
  work.error = [=] { return error_of_elements(z.get_value(true), {n}, [&](std::int64_t i) { return a(i) + b(i); }); };
  return work;
}

Work axpy_chain(std::int64_t n) {
  const Noise noise(101, -2, 2, n);
  const SharedVariable x = ct::shared(noise.array({n}), {.name = "x", .borrow = true}), y = written(1, "y");
  Work work = work_of({y}, [&] { return Updates{{y, ct::tanh(1.5 * x + 0.25) * ct::sigmoid(x) + ct::exp(-x * x)}}; });
  work.bytes = 2 * float_bytes * static_cast<double>(n);
  work.error = [=] {
    return error_of_elements(y.get_value(true), {n}, [&noise](std::int64_t i) {
      const double v = noise(i);
      return std::tanh(1.5 * v + 0.25) / (1 + std::exp(-v)) + std::exp(-v * v);
    });
  };
  return work;
}

Work transpose(std::int64_t rows, std::int64_t columns) {
  const Noise noise(411, -1, 1, rows * columns);
  const SharedVariable x = ct::shared(noise.array({rows, columns}), {.name = "x", .borrow = true});
  const SharedVariable y = written(2, "y");
  Work work = work_of({y}, [&] { return Updates{{y, ct::transpose(x)}}; });
  work.bytes = 2 * float_bytes * static_cast<double>(rows * columns);
  work.tolerance = 0;  // bits are moved
  work.error = [=] {
    return error_of_rows(y.get_value(true), {columns, rows}, [&](std::int64_t column, std::span<double> want) {
      for (std::int64_t row = 0; double& value : want) value = noise(columns * row++ + column);
    });
  };
  return work;
}

}  // namespace bench::gpu
