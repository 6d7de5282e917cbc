// The functions of <croton/complex.hpp>.
#include <croton/complex.hpp>

#include "core/bindings.hpp"
#include "core/operands.hpp"

namespace croton::python {
namespace {

struct PartRow {
  const char* name;
  Variable (*f)(Operand);
  const char* doc;
};

constexpr PartRow part_rows[] = {
    {"real", &real, "The real part; a real x is returned as it is."},
    {"imag", &imag, "The imaginary part; zeros for a real x."},
    {"isreal", &isreal, "Whether the imaginary part is 0; True for a real x."},
    {"iscomplex", &iscomplex, "Whether the imaginary part is not 0; False for a real x."},
    {"conj", &conj, "The complex conjugate x - iy of x + iy; a real x is returned as it is."},
    {"conjugate", &conjugate, "The complex conjugate x - iy of x + iy; a real x is returned as it is."},
    {"angle", &angle, "The angle atan2(y, x) of x + iy, in [-pi, pi]; 0 or pi for real numbers."},
};

}  // namespace

void bind_complex(nb::module_& m) {
  for (const PartRow& row : part_rows) {
    m.def(row.name, [f = row.f](nb::handle z) { return f(to_operand(z)); }, "z"_a, row.doc);
  }
  m.def(
      "complex", [](nb::handle re, nb::handle im) { return complex(to_operand(re), to_operand(im)); }, "re"_a, "im"_a,
      "The complex number re + i im of real operands: complex64 if float32 holds both dtypes, else complex128.");
  m.def(
      "complex_from_polar",
      [](nb::handle r, nb::handle theta) { return complex_from_polar(to_operand(r), to_operand(theta)); }, "r"_a,
      "theta"_a, "The complex number r (cos(theta) + i sin(theta)), with the dtype rule of `complex`.");
}

}  // namespace croton::python
