#include "ops/random/draw_request.hpp"

#include <croton/elementwise.hpp>
#include <croton/error.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include "base/config.hpp"
#include "builder/node.hpp"

namespace croton::ops {

DrawRequest::DrawRequest(std::string_view method, const DrawShape& shape, const std::vector<Operand>& parameters,
                         Where where)
    : method_(method), where_(where) {
  for (const Operand& parameter : parameters) {
    if (is_complex(parameter.variable.dtype())) throw_type_error(parameter, "a parameter is a real number");
  }
  if (shape.sizes()) {
    sizes_ = *shape.sizes();
    for (const Operand& size : sizes_) check_size(size);
  } else if (!parameters.empty()) {
    Variable all = parameters[0].variable;
    for (const Operand& parameter : parameters) all = all + parameter;  // only its shape is used
    for (const Variable& size : all.shape()) sizes_.emplace_back(size);
  }
}

void DrawRequest::add_axis(const Operand& size) {
  check_size(size);
  sizes_.push_back(size);
}

std::string DrawRequest::line() const { return fmt::format("{} ({})", method_, builder::describe(where_)); }

DType DrawRequest::real_dtype(std::optional<DType> dtype) const {
  const DType result = dtype.value_or(base::config().float_x());
  if (!is_float(result))
    throw TypeError(
        fmt::format("{}: dtype {}; real numbers are floats: cast them afterwards", line(), name_of(result)));
  return result;
}

void DrawRequest::demand_real(DType dtype) const {
  if (is_complex(dtype)) throw TypeError(fmt::format("{}: dtype {}; it must be real", line(), name_of(dtype)));
}

void DrawRequest::throw_type_error(const Operand& what, const std::string& why) const {
  throw TypeError(fmt::format("{}: {}: {}", line(), builder::describe(what.variable), why));
}

void DrawRequest::check_size(const Operand& size) const {
  if (!is_discrete(size.variable.dtype()) || size.variable.rank() != 0)
    throw_type_error(size, "a size must be an integer scalar");
}

std::optional<double> known_number(const Operand& x) {
  const Variable& v = x.variable;
  if (!v.is_constant() || v.rank() != 0) return std::nullopt;
  return v.node()->value.as_double(0);
}

DType float_of_parameters(const std::vector<Operand>& parameters) {
  DType dtype = base::config().float_x();
  for (const Operand& parameter : parameters) dtype = promote(dtype, parameter.variable.dtype());
  return dtype;
}

}  // namespace croton::ops
