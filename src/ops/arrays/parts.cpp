#include "ops/arrays/parts.hpp"

#include <croton/indexing.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <cmath>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"

namespace croton::ops {

Variable part_along(const Variable& x, int axis, std::optional<Operand> start, std::optional<Operand> stop,
                    std::optional<Operand> step) {
  std::vector<SliceSpec> specs(base::to_size(axis), slice());
  specs.push_back(slice(std::move(start), std::move(stop), std::move(step)));
  return x.at(std::move(specs));
}

Variable size_arithmetic(std::string_view op, const Variable& a, const Variable& b) {
  if (!a.is_constant() || !b.is_constant())
    return builder::apply(op, {cast(a, DType::int64), cast(b, DType::int64)}, {}, a.where());
  const auto number = [](const Variable& v) { return v.node()->value.astype(DType::int64).item<std::int64_t>(); };
  if (const auto value = expr::exact_integers(expr::op(op), number(a), number(b)))
    return constant(Array(*value), "", a.where());
  return builder::apply(op, {a, b}, {}, a.where());
}

void replace_line(const Operand& number, Where where) {
  const Variable& v = number.variable;
  if (v.defined() && v.is_constant() && v.where() == number.where) v.node()->where = where;
}

namespace {

[[noreturn]] void throw_not_integer_scalar(std::string_view op, const Operand& x, std::string_view what,
                                           const Operand& number) {
  throw TypeError(fmt::format("{} ({}): {}: {} must be an integer scalar, but {}", op, builder::describe(x.where),
                              builder::describe(x.variable), what, builder::describe(number.variable)));
}

}  // namespace

void demand_whole(std::string_view op, const Operand& x, std::string_view what, const Operand& number) {
  if (number.variable.rank() != 0 || !is_integer(number.variable.dtype()))
    throw_not_integer_scalar(op, x, what, number);
}

void demand_count(std::string_view op, const Operand& x, std::string_view what, const Operand& number) {
  if (number.variable.rank() != 0 || !is_discrete(number.variable.dtype()))
    throw_not_integer_scalar(op, x, what, number);
  if (!number.variable.is_constant()) return;
  const Array& value = number.variable.node()->value;
  const auto text = [&](std::string_view why) {
    return fmt::format("{} ({}): {}: {} of {}{}", op, builder::describe(x.where), builder::describe(x.variable), what,
                       value.to_string(), why);
  };
  if (value.as_double(0) < 0) throw ValueError(text("; it is at least 0"));
  if (value.as_double(0) >= std::ldexp(1.0, 63)) throw ShapeError(text(" is more than an index can count"));
}

Variable whole_number(const Variable& number) {
  const bool known = number.is_constant() && number.rank() == 0 && builder::fits_index(number.node()->value);
  return known ? size_arithmetic("add", number, builder::scalar_constant(0, DType::int64)) : cast(number, DType::int64);
}

Variable whole_index(const Variable& index) { return cast(builder::as_index(index), DType::int64); }

Variable numbers_below(const Variable& count, Where where) {
  const Variable zero = builder::scalar_constant(0, DType::int64), one = builder::scalar_constant(1, DType::int64);
  return builder::apply("arange", {whole_number(count), zero, one}, {}, where);
}

Variable as_size(const Variable& number, Where where) { return numbers_below(number, where).shape(0, where); }

Variable array_of_sizes(const std::vector<Operand>& sizes, Where where) {
  std::vector<Operand> whole;
  for (const Operand& size : sizes) whole.emplace_back(whole_number(size.variable));
  return alloc(Operand(builder::scalar_constant(0, DType::int8), where), whole);
}

Variable repeat_each(const Variable& x, const Variable& times, int axis) {
  std::vector<Operand> merged = builder::shape_of(x), wide = merged;
  const Variable n = whole_number(times);
  wide.insert(wide.begin() + axis + 1, n);
  base::nth(merged, axis) = size_arithmetic("mul", x.shape(axis), n);
  return reshape(alloc(expand_dims(x, axis + 1), wide), merged);
}

Variable require_shape(const Variable& x, const std::vector<std::optional<Operand>>& shape, std::string_view why) {
  std::vector<Variable> inputs{x};
  expr::Ints axes;
  std::int64_t axis = -1;
  for (const std::optional<Operand>& size : shape) {
    ++axis;
    if (!size) continue;
    demand_whole("specify_shape", x, "a size", *size);
    inputs.push_back(size->variable);
    axes.push_back(axis);
  }
  if (axes.empty()) return x;
  return builder::apply("specify_shape", inputs, {{"axes", axes}, {"why", std::string(why)}}, x.where());
}

Variable require_shape(const Variable& x, int axis, const Operand& size, std::string_view why) {
  std::vector<std::optional<Operand>> shape(x.type().rank());
  base::nth(shape, axis) = size;
  return require_shape(x, shape, why);
}

}  // namespace croton::ops
