// Tables of functions of one or two operands, bound in a loop.
#pragma once

#include <span>

#include "core/bindings.hpp"
#include "core/operands.hpp"

namespace croton::python {

struct UnaryRow {
  const char* name;
  Variable (*f)(Operand);
  const char* doc;
};

struct BinaryRow {
  const char* name;
  Variable (*f)(Operand, Operand);
  const char* doc;
};

inline void bind_rows(nb::module_& m, std::span<const UnaryRow> rows) {
  for (const UnaryRow& row : rows)
    m.def(row.name, [f = row.f](nb::handle x) { return f(to_operand(x)); }, "x"_a, row.doc);
}

/// `a`, `b`: the names of the operands.
inline void bind_rows(nb::module_& m, std::span<const BinaryRow> rows, const char* a = "a", const char* b = "b") {
  for (const BinaryRow& row : rows) {
    m.def(
        row.name, [f = row.f](nb::handle x, nb::handle y) { return f(to_operand(x), to_operand(y)); }, nb::arg(a),
        nb::arg(b), row.doc);
  }
}

}  // namespace croton::python
