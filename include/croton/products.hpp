// Products of all ranks. Two dtypes give the promoted one; float16 and bfloat16 are added up in float32, integers wrap,
// and bool is "or" of "and". Without terms (an inner size of 0) every element is 0. Sizes that are met must be equal:
// ShapeError, where they are known, else when the function is called. Definitions are NumPy's, names and arguments
// Theano's.
#pragma once

#include <croton/variable.hpp>

#include <string>
#include <vector>

namespace croton {

/// The sum over the last axis of a and the last but one of b (of vectors: the only one): vectors and matrices multiply
/// as in mathematics, and dot(a, b)[i, j, k, m] = sum(a[i, j, :] * b[k, :, m]). A scalar multiplies.
Variable dot(Operand a, Operand b);
/// NumPy's `@`: matrices lie in the last two axes, and the axes in front of them broadcast (a stated size of 1
/// repeats). A vector is a row on the left, a column on the right. TypeError for scalars.
Variable matmul(Operand a, Operand b);

/// The sum over the last `axes` axes of a and the first of b; 0 gives the outer product. The result has the other axes
/// of a, then those of b.
Variable tensordot(Operand a, Operand b, int axes = 2);
/// The sum over axes a_axes[i] of a and b_axes[i] of b, for each i; negative axes count from the end.
Variable tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);

/// dot(a[i], b[i]) for each i of the first axis, which both must have.
Variable batched_dot(Operand a, Operand b);
/// tensordot(a[i], b[i], axes) for each i of the first axis.
Variable batched_tensordot(Operand a, Operand b, int axes = 2);
/// The same with axes by number, the first one, 0, counted too.
Variable batched_tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);

/// a[i] * b[j] of all elements, in C order: a matrix.
Variable outer(Operand a, Operand b);
/// The sum over the last axis of both; a scalar multiplies.
Variable inner(Operand a, Operand b);
/// The sum of the products conj(a) b of all elements, in C order: a scalar.
Variable vdot(Operand a, Operand b);
/// NumPy's products of vectors and matrices that lie in the last axes; those in front broadcast (a stated size of 1
/// repeats), the summed ones must be equal. Complex numbers of vectors on the left are conjugated, but for matvec's
/// matrix. TypeError for scalars, and for vectors where matrices are taken.
/// vecdot: sum(conj(a) b) over the last axis.
Variable vecdot(Operand a, Operand b);
/// The sum of matrix[..., i, j] vector[..., j] over j.
Variable matvec(Operand matrix, Operand vector);
/// The sum of conj(vector[..., i]) matrix[..., i, j] over i.
Variable vecmat(Operand vector, Operand matrix);
/// The Kronecker product: blocks a[i, j] * b. The lower rank is filled up with axes of size 1 in front.
Variable kron(Operand a, Operand b);
/// x multiplied by itself n times, by squaring; the unit matrix for n = 0. x is a square matrix, or a batch of them in
/// the last two axes. ValueError for negative n: invert x first.
Variable matrix_power(Operand x, int n);

/// Sums of products by Einstein's convention: einsum("bij,jk->bik", {a, b}). Letters name axes; one that is not in the
/// result is summed over; without "->" the result has the letters met once, in the order of the alphabet. Operands are
/// multiplied from left to right. ValueError for a text that does not fit; NotImplementedError for "..." and for a
/// letter twice in one operand.
Variable einsum(const std::string& subscripts, const std::vector<Variable>& operands,
                Where where = std::source_location::current());

}  // namespace croton
