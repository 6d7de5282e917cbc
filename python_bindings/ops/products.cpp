// The functions of <croton/products.hpp>.
#include <croton/products.hpp>

#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

struct Row {
  const char* name;
  Variable (*f)(Operand, Operand);
  const char* doc;
};

constexpr Row rows[] = {
    {"dot", &dot,
     "The sum of products over the last axis of a and the last but one of b (of a vector: the only one); a scalar "
     "operand scales the other one."},
    {"matmul", &matmul,
     "The matrix product a @ b, as NumPy's matmul: matrices are in the last two axes, the axes before them broadcast. "
     "TypeError for scalars."},
    {"batched_dot", &batched_dot, "dot(a[i], b[i]) for each i of the first axis."},
    {"outer", &outer, "The matrix a[i] * b[j] of all elements, in C order."},
    {"inner", &inner, "The sum of products over the last axis of both; a scalar operand scales the other one."},
    {"vdot", &vdot, "The sum of the products conj(a) b of all elements, in C order."},
    {"vecdot", &vecdot, "The sum of conj(a) b over the last axis; the axes before it broadcast."},
    {"matvec", &matvec, "The sum of a[..., i, j] b[..., j] over j; the axes before broadcast."},
    {"vecmat", &vecmat, "The sum of conj(a[..., i]) b[..., i, j] over i; the axes before broadcast."},
    {"kron", &kron, "The Kronecker product: blocks a[i, j] * b."},
};

using ByCount = Variable (*)(Operand, Operand, int);
using ByAxes = Variable (*)(Operand, Operand, const std::vector<int>&, const std::vector<int>&);

/// `axes`: a number, or two axes or lists of axes.
Variable contract(ByCount by_count, ByAxes by_axes, nb::handle a, nb::handle b, nb::handle axes) {
  if (!is_list(axes)) return by_count(to_operand(a), to_operand(b), to_axis(axes));
  if (nb::len(axes) != 2) throw TypeError("axes is a number, or a pair: the axes of a and those of b");
  return by_axes(to_operand(a), to_operand(b), to_axes(axes[0]), to_axes(axes[1]));
}

}  // namespace

void bind_products(nb::module_& m) {
  for (const Row& row : rows) {
    m.def(
        row.name, [f = row.f](nb::handle a, nb::handle b) { return f(to_operand(a), to_operand(b)); }, "a"_a, "b"_a,
        row.doc);
  }
  m.def(
      "tensordot",
      [](nb::handle a, nb::handle b, nb::handle axes) {
        return contract(static_cast<ByCount>(&tensordot), static_cast<ByAxes>(&tensordot), a, b, axes);
      },
      "a"_a, "b"_a, "axes"_a = 2,
      "The sum of products over the last `axes` axes of a and the first of b, or over pairs of them: axes=[[1, 2], [0, "
      "1]].");
  m.def(
      "batched_tensordot",
      [](nb::handle x, nb::handle y, nb::handle axes) {
        return contract(static_cast<ByCount>(&batched_tensordot), static_cast<ByAxes>(&batched_tensordot), x, y, axes);
      },
      "x"_a, "y"_a, "axes"_a = 2,
      "tensordot(x[i], y[i], axes) for each i of the first axis; lists of axes count it too.");
  m.def(
      "matrix_power", [](nb::handle x, int n) { return matrix_power(to_operand(x), n); }, "x"_a, "n"_a,
      "The matrix power of x: the product of n factors x, by squaring; the identity matrix for n = 0. ValueError for "
      "negative n.");
  m.def(
      "einsum",
      [](const std::string& subscripts, nb::args operands) {
        return einsum(subscripts, to_variables(operands), here());
      },
      "subscripts"_a, "operands"_a,
      "Sums of products by Einstein's convention: einsum('bij,jk->bik', a, b). Letters name axes; one that is not in "
      "the result is summed over.");
}

}  // namespace croton::python
