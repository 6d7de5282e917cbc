// Products of all ranks. The dtype is the promoted one; float16 and bfloat16 are added up in float32, integers wrap,
// and for bool the product is "or" of "and". With an inner size of 0 every element is 0. Summed sizes must be equal:
// ShapeError when the expression is built if they are known, else when the function is called. Definitions are NumPy's,
// names and arguments Theano's.
#pragma once

#include <croton/variable.hpp>

#include <string>
#include <vector>

namespace croton {

/// The sum of products over the last axis of a and the second-to-last of b (for vectors: the only one): vectors and
/// matrices multiply as in mathematics, and dot(a, b)[i, j, k, m] = sum(a[i, j, :] * b[k, :, m]). A scalar operand
/// scales the other one.
Variable dot(Operand a, Operand b);
/// NumPy's `@`: matrices are in the last two axes, and the axes before them broadcast (a static size of 1 is repeated).
/// A vector is a row on the left, a column on the right. TypeError for scalars.
Variable matmul(Operand a, Operand b);

/// The sum of products over the last `axes` axes of a and the first `axes` axes of b; 0 gives the outer product. The
/// result has the other axes of a, then those of b.
Variable tensordot(Operand a, Operand b, int axes = 2);
/// The sum of products over axes a_axes[i] of a and b_axes[i] of b, for each i; negative axes count from the end.
Variable tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);

/// dot(a[i], b[i]) for each i of the first axis, which both must have.
Variable batched_dot(Operand a, Operand b);
/// tensordot(a[i], b[i], axes) for each i of the first axis.
Variable batched_tensordot(Operand a, Operand b, int axes = 2);
/// The same with lists of axes, where the batch is axis 0.
Variable batched_tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);

/// a[i] * b[j] of all elements, in C order: a matrix.
Variable outer(Operand a, Operand b);
/// The sum of products over the last axis of both; a scalar operand scales the other one.
Variable inner(Operand a, Operand b);
/// The sum of the products conj(a) b of all elements, in C order: a scalar.
Variable vdot(Operand a, Operand b);
// NumPy's products of vectors and matrices in the last axes; the axes before them broadcast (a static size of 1 is
// repeated), the summed sizes must be equal. The left operand is conjugated if it is a vector, but not matvec's matrix.
// TypeError for scalars, and for vectors instead of matrices.
/// sum(conj(a) b) over the last axis.
Variable vecdot(Operand a, Operand b);
/// The sum of matrix[..., i, j] vector[..., j] over j.
Variable matvec(Operand matrix, Operand vector);
/// The sum of conj(vector[..., i]) matrix[..., i, j] over i.
Variable vecmat(Operand vector, Operand matrix);
/// The Kronecker product: blocks a[i, j] * b. The operand of lower rank gets new first axes of size 1.
Variable kron(Operand a, Operand b);
/// x multiplied by itself n times, by squaring; the unit matrix for n = 0. x is a square matrix, or a batch of square
/// matrices in the last two axes. ValueError for negative n: invert x first.
Variable matrix_power(Operand x, int n);

/// Sums of products by Einstein's convention: einsum("bij,jk->bik", {a, b}). Letters name axes; an axis that is not in
/// the result is summed over; without "->" the result has the letters that occur once, in alphabetical order. Operands
/// are multiplied from left to right. ValueError for invalid subscripts; NotImplementedError for "..." and for a
/// repeated letter in one operand.
Variable einsum(const std::string& subscripts, const std::vector<Variable>& operands,
                Where where = std::source_location::current());

}  // namespace croton
