// Ranges of numbers and grids, composed of arange.
#include <croton/views.hpp>

#include <fmt/format.h>

#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/parts.hpp"

namespace croton {
namespace {

using builder::describe;

void demand_scalars(std::string_view op, const Operand& start, const Operand& stop) {
  for (const Operand* bound : {&start, &stop}) {
    if (bound->variable.rank() == 0) continue;
    throw TypeError(fmt::format("{} ({}): start and stop must be scalars, but {}", op, describe(start.where),
                                describe(bound->variable)));
  }
}

DType range_dtype(const Operand& start, const Operand& stop) {
  const DType both = promote(start.variable.dtype(), stop.variable.dtype());
  return is_discrete(both) ? base::config().float_x() : both;
}

/// linspace(0, 1, count) in float64.
Variable unit_steps(const Variable& count, bool endpoint) {
  const Variable steps = maximum(endpoint ? count - 1 : count, 1);
  return cast(ops::numbers_below(count, count.where()), DType::float64) / cast(steps, DType::float64);
}

}  // namespace

Variable linspace(Operand start, Operand stop, Operand count, bool endpoint, std::optional<DType> dtype) {
  const builder::OriginScope origin(start.where);
  demand_scalars("linspace", start, stop);
  ops::demand_count("linspace", start, "the count", count);
  const DType to = dtype.value_or(range_dtype(start, stop));
  const Variable n = ops::whole_number(count.variable), at = ops::numbers_below(n, start.where);
  const Variable a = cast(start, DType::float64), b = cast(stop, DType::float64);
  const Variable step = (b - a) / cast(maximum(endpoint ? n - 1 : n, 1), DType::float64);
  Variable values = a + cast(at, DType::float64) * step;
  // The last number is exactly stop, regardless of rounding.
  if (endpoint) values = where(eq(at, n - 1) & (n > 1), b, values);
  return is_discrete(to) ? cast(floor(values), to) : cast(values, to);
}

Variable logspace(Operand start, Operand stop, Operand count, bool endpoint, Operand base) {
  const builder::OriginScope origin(start.where);
  demand_scalars("logspace", start, stop);
  const Variable exponents = linspace(start, stop, count, endpoint, DType::float64);
  return cast(pow(cast(base, DType::float64), exponents), range_dtype(start, stop));
}

Variable geomspace(Operand start, Operand stop, Operand count, bool endpoint) {
  const builder::OriginScope origin(start.where);
  demand_scalars("geomspace", start, stop);
  ops::demand_count("geomspace", start, "the count", count);
  const Variable a = cast(start, DType::float64), b = cast(stop, DType::float64), n = ops::whole_number(count.variable);
  Variable values = a * pow(b / a, unit_steps(n, endpoint));
  if (endpoint) values = where(eq(ops::numbers_below(n, start.where), n - 1) & (n > 1), b, values);
  return cast(values, range_dtype(start, stop));
}

std::vector<Variable> meshgrid(const std::vector<Variable>& vectors, bool matrix_indexing) {
  const int rank = base::to_int(vectors.size());
  std::vector<Variable> grids;
  if (rank == 0) return grids;
  const builder::OriginScope origin(vectors[0].where());
  const auto axis_of = [&](int i) { return !matrix_indexing && rank > 1 && i < 2 ? 1 - i : i; };
  std::vector<Operand> shape(vectors.size(), Operand(1));
  for (int i = 0; i < rank; ++i) {
    const Variable& v = base::nth(vectors, i);
    if (v.rank() > 1) throw TypeError(fmt::format("meshgrid: {}: vectors and scalars are expected", describe(v)));
    base::nth(shape, axis_of(i)) = v.size();
  }
  for (int i = 0; i < rank; ++i) {
    const Variable along = atleast_1d(base::nth(vectors, i));
    grids.push_back(alloc(shape_padleft(shape_padright(along, rank - 1 - axis_of(i)), axis_of(i)), shape));
  }
  return grids;
}

namespace {

std::vector<Variable> ranges_of(std::string_view op, const std::vector<SliceSpec>& ranges, Where where) {
  std::vector<Variable> vectors;
  for (const SliceSpec& range : ranges) {
    if (range.kind != SliceSpec::Kind::slice || !range.start || !range.stop)
      throw ValueError(fmt::format("{} ({}): ranges are slices with a start and a stop", op, describe(where)));
    vectors.push_back(arange(*range.start, *range.stop, range.step ? *range.step : Operand(1)));
  }
  return vectors;
}

}  // namespace

std::vector<Variable> mgrid(const std::vector<SliceSpec>& ranges, Where where) {
  const builder::OriginScope origin(where);
  return meshgrid(ranges_of("mgrid", ranges, where));
}

std::vector<Variable> ogrid(const std::vector<SliceSpec>& ranges, Where where) {
  const builder::OriginScope origin(where);
  std::vector<Variable> vectors = ranges_of("ogrid", ranges, where);
  int left = 0, right = base::to_int(vectors.size());
  for (Variable& v : vectors) v = shape_padleft(shape_padright(v, --right), left++);
  return vectors;
}

}  // namespace croton
