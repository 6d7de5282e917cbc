// Sorting: the routine finds positions; values are read at them, and gradients are written to them.
#include <croton/ops.hpp>
#include <croton/sorting.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "base/shape.hpp"
#include "builder/gradient_context.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "expr/evaluate.hpp"
#include "expr/routine.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/lines.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::Lines;
using expr::RoutinePhase;
using expr::RoutineSizes;
using expr::RoutineWork;
using expr::Scalar;

InferredType infer_argsort(InferContext& c) {
  line_axis(c, 0);
  c.attrs.integer_or("descending", 0);
  return {DType::int64, c.inputs[0].shape};
}

/// The phases of a merge sort. Two pairs of buffers alternate, and the last merge writes the positions to the result.
std::vector<RoutinePhase> merge_sort(std::int64_t lines, std::int64_t length) {
  if (lines == 0 || length == 0) return {};
  std::int64_t merges = 0;
  for (std::int64_t width = ct::sorted_run; width < length; width *= 2) ++merges;
  const auto parts = [&](std::int64_t size) { return lines * ((length - 1) / size + 1); };
  std::vector<RoutinePhase> phases = {{.phase = merges % 2, .items = parts(ct::sorted_run), .cost = 256}};
  for (std::int64_t m = 0; m < merges; ++m)
    phases.push_back({.phase = 2 + (merges - 1 - m) % 2,
                      .items = parts(2 * ct::sorted_run),
                      .step = ct::sorted_run << m,
                      .cost = 256});
  return phases;
}

RoutineWork argsort_work(const RoutineSizes& s) {
  const Lines lines(s.result, s.attrs.integer("axis"));
  RoutineWork work;
  const std::int64_t count = lines.outer * lines.inner;
  work.numbers = {count, lines.length, lines.inner, s.attrs.integer_or("descending", 0)};
  work.phases = merge_sort(count, lines.length);
  work.workspace_bytes = lines.count() * (std::int64_t{sizeof(std::int64_t)} + 2 * base::element_size(s.dtypes[0]));
  return work;
}

/// nan is last.
bool is_before(const Scalar& a, const Scalar& b) {
  if (is_float(a.dtype)) return a.d < b.d || (b.d != b.d && a.d == a.d);
  if (a.dtype == DType::uint64) return a.as_unsigned() < b.as_unsigned();
  return a.i < b.i;
}

Array evaluate_argsort(const EvaluateContext& c) {
  const Lines lines(c.shape, c.attrs.integer("axis"));
  const bool descending = c.attrs.integer_or("descending", 0) != 0;
  Array result = Array::empty(DType::int64, c.shape);
  const std::span<std::int64_t> positions = result.data<std::int64_t>();
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::vector<Scalar> keys;
    for (std::int64_t i = 0; i < lines.length; ++i) keys.push_back(expr::element_of(c.inputs[0], lines.at(line, i)));
    std::vector<std::int64_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const Scalar &x = base::nth(keys, a), &y = base::nth(keys, b);
      return descending ? is_before(y, x) : is_before(x, y);
    });
    for (std::int64_t i = 0; i < lines.length; ++i) base::nth(positions, lines.at(line, i)) = base::nth(order, i);
  }
  return result;
}

// ---- argsort_rows: a matrix ----

InferredType infer_argsort_rows(InferContext& c) {
  if (c.inputs[0].shape.size() != 2) c.type_error("the rows of a matrix are sorted");
  return {DType::int64, {c.inputs[0].shape[0]}};
}

RoutineWork argsort_rows_work(const RoutineSizes& s) {
  const std::int64_t rows = s.inputs[0][0], width = s.inputs[0][1];
  return {{rows, width}, merge_sort(1, rows), rows * std::int64_t{sizeof(std::int64_t)}};
}

Array evaluate_argsort_rows(const EvaluateContext& c) {
  const std::int64_t width = c.inputs[0].shape()[1];
  Array result = Array::empty(DType::int64, c.shape);
  const std::span<std::int64_t> order = result.data<std::int64_t>();
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t k = 0; k < width; ++k) {
      const Scalar x = expr::element_of(c.inputs[0], a * width + k), y = expr::element_of(c.inputs[0], b * width + k);
      if (is_before(x, y)) return true;
      if (is_before(y, x)) return false;
    }
    return false;
  });
  return result;
}

// ---- searchsorted: a sorted vector, values of its dtype ----

InferredType infer_search(InferContext& c) {
  c.attrs.integer("right");
  if (c.inputs[0].shape.size() != 1 || c.inputs[0].dtype != c.inputs[1].dtype || c.inputs[1].shape.empty())
    c.type_error("a vector and an array of values of its dtype are expected");
  return {DType::int64, c.inputs[1].shape};
}

RoutineWork search_work(const RoutineSizes& s) {
  std::int64_t items = 1;
  for (const std::int64_t size : s.result) items *= size;
  return {{s.inputs[0][0], s.attrs.integer("right")}, {{.items = items, .cost = 16}}, 0};
}

/// A batch of values, searched in one vector.
builder::Batched batch_search(const builder::BatchContext& c) {
  if (c.batched[0]) c.require_same(0, "the vector that is searched");
  return {builder::apply(*c.node.op, c.inputs, c.node.attrs, c.node.where)};
}

Array evaluate_search(const EvaluateContext& c) {
  const bool right = c.attrs.integer("right") != 0;
  Array result = Array::empty(DType::int64, c.shape);
  for (std::int64_t i = 0; std::int64_t& position : result.data<std::int64_t>()) {
    const Scalar value = expr::element_of(c.inputs[1], i++);
    position = 0;
    for (; position < c.inputs[0].size(); ++position) {
      const Scalar element = expr::element_of(c.inputs[0], position);
      if (right ? is_before(value, element) : !is_before(element, value)) break;
    }
  }
  return result;
}

}  // namespace

void register_sort(Registry& registry) {
  static const expr::RoutineInfo sorting{"routines/sort.cuh", "ct::ArgSort<{0}>", "lines length inner descending",
                                         argsort_work};
  static const expr::RoutineInfo sorting_rows{"routines/sort.cuh", "ct::ArgSortRows<{0}>", "length width",
                                              argsort_rows_work};
  static const expr::RoutineInfo searching{"routines/search.cuh", "ct::SearchSorted<{0}>", "length right", search_work};
  static const expr::Op ops[] = {
      {.name = "argsort",
       .kind = expr::Kind::Routine,
       .doc = "the positions that sort an axis; stable, nan last",
       .infer = infer_argsort,
       .evaluate = evaluate_argsort,
       .routine = &sorting,
       .batch = builder::batch_along_axis},
      {.name = "argsort_rows",
       .kind = expr::Kind::Routine,
       .doc = "the positions that sort the rows of a matrix, compared from their first element on; stable, nan last",
       .infer = infer_argsort_rows,
       .evaluate = evaluate_argsort_rows,
       .routine = &sorting_rows},
      {.name = "searchsorted",
       .kind = expr::Kind::Routine,
       .arity = 2,
       .doc = "where values belong in a rising vector",
       .infer = infer_search,
       .evaluate = evaluate_search,
       .routine = &searching,
       .batch = batch_search},
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton {
namespace {

Variable order_of(const Variable& x, int axis, bool descending, Where where) {
  expr::Attrs attrs{{"axis", std::int64_t{axis}}};
  if (descending) attrs.set("descending", std::int64_t{1});
  return builder::apply("argsort", {x}, attrs, where);
}

/// The lines, their axis, and the positions of the first k in the order.
struct Top {
  Variable lines, positions;
  int axis;
};

/// The first `count` of an order along the axis: a slice may be shorter, so its size is checked.
Variable first_of(const Variable& order, int axis, const Operand& count) {
  return ops::require_shape(ops::part_along(order, axis, {}, count), axis, count,
                            "there must be at least as many elements as are requested");
}

Top top(std::string_view name, const Operand& x, const Operand& k, std::optional<int> axis) {
  const auto [lines, at] = ops::flat_or_axis(x, axis, name);
  ops::demand_whole(name, x, "k", k);
  const Variable& wanted = k.variable;
  if (!wanted.is_constant()) {
    const Variable count = abs(ops::whole_index(wanted));
    const Variable order = where(wanted < 0, order_of(lines, at, false, x.where), order_of(lines, at, true, x.where));
    return {lines, first_of(order, at, count), at};
  }
  const std::int64_t number = expr::element_of(wanted.node()->value, 0).i, count = number < 0 ? -number : number;
  const std::int64_t size = base::nth(lines.type().shape, at);
  const auto refuse = [&](const std::string& why) {
    throw ValueError(
        fmt::format("{} ({}): {}: {}", name, builder::describe(x.where), builder::describe(x.variable), why));
  };
  if (number == 0) refuse("k is 0; it is above 0 for the k largest, or below 0 for the -k smallest");
  if (size != unknown_size && count > size) refuse(fmt::format("{} of {} elements along axis {}", count, size, at));
  return {lines, first_of(order_of(lines, at, number > 0, x.where), at, Operand(count)), at};
}

}  // namespace

Variable argsort(Operand x, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  const auto [lines, at] = ops::flat_or_axis(x, axis, "argsort");
  return order_of(lines, at, false, x.where);
}

Variable sort(Operand x, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  const auto [lines, at] = ops::flat_or_axis(x, axis, "sort");
  return ops::take_in_lines(lines, order_of(lines, at, false, x.where), at);
}

Variable topk(Operand x, Operand k, std::optional<int> axis) { return topk_and_argtopk(x, k, axis).first; }

Variable argtopk(Operand x, Operand k, std::optional<int> axis, std::optional<DType> dtype) {
  const builder::OriginScope origin(x.where);
  return cast(top("argtopk", x, k, axis).positions, dtype.value_or(DType::int64));
}

std::pair<Variable, Variable> topk_and_argtopk(Operand x, Operand k, std::optional<int> axis,
                                               std::optional<DType> dtype) {
  const builder::OriginScope origin(x.where);
  const Top found = top("topk", x, k, axis);
  return {ops::take_in_lines(found.lines, found.positions, found.axis),
          cast(found.positions, dtype.value_or(DType::int64))};
}

Variable searchsorted(Operand x, Operand v, Side side, std::optional<Operand> sorter) {
  const builder::OriginScope origin(x.where);
  const auto refuse = [&](const Variable& what, std::string_view why) {
    throw TypeError(fmt::format("searchsorted ({}): {}: {}", builder::describe(x.where), builder::describe(what), why));
  };
  if (x.variable.rank() != 1) refuse(x.variable, "a sorted vector is searched");
  const DType dtype = promote(x.variable.dtype(), v.variable.dtype());
  Variable rising = cast(x, dtype);
  if (sorter) {
    const Variable& order = sorter->variable;
    if (order.rank() != 1 || !is_integer(order.dtype())) refuse(order, "a sorter is an integer vector");
    const std::string message = "searchsorted: the sorter holds {}, which is not a position of the vector";
    rising = ops::pick(rising, builder::apply("checked_index", {ops::whole_index(order), x.variable.shape(0)},
                                              {{"message", message}}, x.where));
  }
  const Variable values = v.variable.rank() == 0 ? flatten(v) : v.variable;
  const Variable found = builder::apply("searchsorted", {rising, cast(values, dtype)},
                                        {{"right", std::int64_t{side == Side::right}}}, x.where);
  return v.variable.rank() == 0 ? reshape(found, {}) : found;
}

}  // namespace croton
