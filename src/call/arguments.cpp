#include "call/arguments.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "base/config.hpp"
#include "base/shape.hpp"
#include "builder/node.hpp"

namespace croton::detail {
namespace {

using builder::describe;

/// The array converted to the input's dtype, by its rules for casts.
Array convert(const InputRules& rules, const Argument& argument) {
  const Type& type = rules.variable.type();
  const Array& array = argument.array();
  const auto refuse = [&](const std::string& why) {
    throw TypeError(fmt::format("{} was given {}: {}", describe(rules.variable),
                                Type{array.dtype(), array.shape()}.to_string(), why));
  };
  if (std::cmp_not_equal(array.rank(), type.rank())) {
    refuse(fmt::format("it takes {} dimension(s), not {}", type.rank(), array.rank()));
  }
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    if (type.shape[axis] != unknown_size && type.shape[axis] != array.shape()[axis]) {
      throw ShapeError(fmt::format("{} was given {}: axis {} must have size {}", describe(rules.variable),
                                   Type{array.dtype(), array.shape()}.to_string(), axis, type.shape[axis]));
    }
  }
  if (array.dtype() == type.dtype) return array;
  if (rules.strict) refuse("the input is strict: pass exactly its dtype");
  if (is_complex(array.dtype()) && !is_complex(type.dtype))
    refuse("complex numbers are not accepted; pass a part of them, such as real or imag");
  if (rules.allow_downcast.value_or(false) || can_cast_safely(array.dtype(), type.dtype))
    return array.astype(type.dtype);
  if (argument.is_number()) {
    const bool single = type.dtype == DType::float32 || type.dtype == DType::complex64;
    const bool float_literal = !rules.allow_downcast.has_value() && !is_discrete(array.dtype()) && single &&
                               base::config().float_x() == DType::float32;
    if (float_literal) {
      Array narrow = array.astype(type.dtype);
      const auto is_finite = [](std::complex<double> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); };
      if (is_finite(narrow.as_complex(0)) || !is_finite(array.as_complex(0))) return narrow;
      refuse(fmt::format("{} does not fit into {}", array.to_string(), name_of(type.dtype)));
    }
    if (is_discrete(array.dtype())) {
      // An integer is accepted if the dtype can represent its value.
      const Array converted = array.astype(type.dtype);
      if (converted.as_double(0) == array.as_double(0)) return converted;
      refuse(fmt::format("{} does not fit into {}", array.to_string(), name_of(type.dtype)));
    }
  }
  refuse(fmt::format("converting {} to {} may lose precision; pass allow_input_downcast, or convert with astype to {}",
                     name_of(array.dtype()), name_of(type.dtype), name_of(type.dtype)));
  return array;
}

/// Whether the array needs no conversion.
bool fits(const InputRules& rules, const Array& array) {
  const Type& type = rules.variable.type();
  if (array.dtype() != type.dtype || array.shape().size() != type.shape.size()) return false;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] != unknown_size && type.shape[axis] != array.shape()[axis]) return false;
  }
  return true;
}

/// Whether the array must be copied: kernels need strides in whole elements; products and the simulated GPU need
/// contiguous arrays.
bool needs_copy(const Array& array, bool needs_contiguous) {
  const std::int64_t item = base::element_size(array.dtype());  // a power of 2
  if ((reinterpret_cast<std::intptr_t>(array.raw()) & (item - 1)) != 0) return true;
  if (array.is_contiguous()) return false;
  return needs_contiguous || std::ranges::any_of(array.strides(), [&](std::int64_t s) { return s % item != 0; });
}

}  // namespace

void Arguments::take(const CompiledFunction& function, std::span<const Argument> arguments,
                     const runtime::Executable& executable, const SharedLocks& shared,
                     std::vector<const Array*>& arrays) {
  const std::vector<InputRules>& inputs = function.inputs;
  if (arguments.size() > inputs.size()) {
    std::string taken;
    for (const InputRules& rules : inputs) taken += (taken.empty() ? ": " : ", ") + describe(rules.variable);
    throw TypeError(
        fmt::format("{}: {} arguments for {} input(s){}", function.name, arguments.size(), inputs.size(), taken));
  }
  const auto keep = [&](Array array) {
    copies_.reserve(2 * inputs.size());  // pointers to elements must stay valid
    return &copies_.emplace_back(std::move(array));
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputRules& rules = inputs[i];
    const bool given = i < arguments.size();
    if (!given && !rules.value)
      throw TypeError(fmt::format("{}: the input {} is missing", function.name, describe(rules.variable)));
    const Array* array = given ? &arguments[i].array() : &*rules.value;
    if (!fits(rules, *array)) array = keep(convert(rules, given ? arguments[i] : Argument(*rules.value)));
    if (needs_copy(*array, executable.needs_contiguous[i]) || shared.may_be_written(*array))
      array = keep(array->copy());
    arrays.push_back(array);
  }
}

}  // namespace croton::detail
