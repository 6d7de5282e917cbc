// The ops of matrix products and batches of matrix products. The functions for users are in products.cpp.
#include <croton/ops.hpp>
#include <croton/products.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "builder/batch.hpp"
#include "builder/gradient_context.hpp"
#include "expr/axes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;

// ---- dot: (m, k) by (k, n) of one dtype ----

InferredType infer(InferContext& c) {
  const InferredType &a = c.inputs[0], &b = c.inputs[1];
  if (a.shape.size() != 2 || b.shape.size() != 2) c.type_error("dot of the graph takes matrices");
  if (a.dtype != b.dtype) c.type_error("both sides must have one dtype");
  c.require_equal(a.shape[1], b.shape[0], "the last axis of the left side must equal the first of the right side");
  return {a.dtype, {a.shape[0], b.shape[1]}};
}

/// Accumulates in T; integers wrap.
template <class T>
Array products(const EvaluateContext& c, DType wide) {
  const Array x = c.inputs[0].astype(wide).copy(), y = c.inputs[1].astype(wide).copy();
  Array out = Array::zeros(wide, c.shape);
  if (out.size() == 0 || x.size() == 0) return out.astype(c.dtype);
  const std::int64_t m = c.shape.end()[-2], n = c.shape.back(), k = x.shape().back();
  const std::int64_t batch = out.size() / (m * n);
  const bool repeats_x = x.size() == m * k, repeats_y = y.size() == k * n;
  for (std::int64_t index = 0; index < batch; ++index) {
    const T* left = x.data<T>().data() + (repeats_x ? 0 : index * m * k);
    const T* right = y.data<T>().data() + (repeats_y ? 0 : index * k * n);
    T* to = out.data<T>().data() + index * m * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t p = 0; p < k; ++p) {
        for (std::int64_t j = 0; j < n; ++j) to[i * n + j] += left[i * k + p] * right[p * n + j];
      }
    }
  }
  return out.astype(c.dtype);
}

Array evaluate(const EvaluateContext& c) {
  return is_discrete(c.dtype) ? products<std::uint64_t>(c, DType::uint64) : products<double>(c, DType::float64);
}

std::vector<Variable> gradient(const GradientContext& c) {
  return {dot(c.gradient, transpose(c.input(1))), dot(transpose(c.input(0)), c.gradient)};
}

// ---- batched_dot: (..., m, k) by (..., k, n) of one dtype and rank ----

/// The axes before the matrices are equal on both sides, or all have the stated size 1 on one side: then its matrix is
/// used for all matrices of the other side.
InferredType infer_batched(InferContext& c) {
  const InferredType &a = c.inputs[0], &b = c.inputs[1];
  const std::size_t rank = a.shape.size();
  if (rank < 3 || b.shape.size() != rank)
    c.type_error("batched_dot of the graph takes batches of matrices of one rank");
  if (a.dtype != b.dtype) c.type_error("both sides must have one dtype");
  c.require_equal(a.shape[rank - 1], b.shape[rank - 2],
                  "the last axis of the left side must equal the last but one of the right side");
  const auto repeats = [&](const InferredType& x) {
    return std::all_of(x.shape.begin(), x.shape.end() - 2, [&](expr::Dim dim) { return c.known(dim) == 1; });
  };
  InferredType result{a.dtype, repeats(a) ? b.shape : a.shape};
  if (!repeats(a) && !repeats(b)) {
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      result.shape[axis] = c.require_equal(a.shape[axis], b.shape[axis],
                                           fmt::format("sizes along axis {} of the batch must be equal", axis));
    }
  }
  result.shape[rank - 2] = a.shape[rank - 2];
  result.shape[rank - 1] = b.shape[rank - 1];
  return result;
}

Variable swapped(const Variable& x) {
  std::vector<int> axes = expr::axes_from(0, x.rank());
  std::swap(axes.end()[-1], axes.end()[-2]);
  return transpose(x, axes);
}

std::vector<Variable> batched_gradient(const GradientContext& c) {  // grad sums over broadcast axes
  const auto times = [&](const Variable& a, const Variable& b) {
    return builder::apply("batched_dot", {a, b}, {}, c.node.where);
  };
  return {times(c.gradient, swapped(c.input(1))), times(swapped(c.input(0)), c.gradient)};
}

/// Products with one more first axis of some operands.
builder::Batched batch_products(const builder::BatchContext& c) {
  std::vector<Variable> sides = c.inputs;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!c.batched[i] && c.node.inputs[i].rank() > 2) sides[i] = expand_dims(sides[i], 0);
  }
  return {matmul(sides[0], sides[1])};
}

// ---- gemm: c, a, b -> beta c + alpha a b; made when kernels are formed, so it has no gradient ----

InferredType infer_gemm(InferContext& c) {
  c.attrs.real("alpha");
  c.attrs.real("beta");
  const InferredType &base = c.inputs[0], &a = c.inputs[1], &b = c.inputs[2];
  if (base.shape.size() != 2 || a.shape.size() != 2 || b.shape.size() != 2) c.type_error("matrices are expected");
  if (base.dtype != a.dtype || a.dtype != b.dtype) c.type_error("all sides must have one dtype");
  c.require_equal(a.shape[1], b.shape[0], "the last axis of the left side must equal the first of the right side");
  c.require_equal(base.shape[0], a.shape[0], "the sum must have the product's shape");
  c.require_equal(base.shape[1], b.shape[1], "the sum must have the product's shape");
  return base;
}

Array evaluate_gemm(const EvaluateContext& c) {
  const Array product = evaluate({c.attrs, {c.inputs[1], c.inputs[2]}, DType::float64, c.shape});
  const Array base = c.inputs[0].astype(DType::float64).copy();
  Array out = Array::empty(DType::float64, c.shape);
  const std::span<double> sums = out.data<double>();
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = c.attrs.real("beta") * base.data<double>()[i] + c.attrs.real("alpha") * product.data<double>()[i];
  return out.astype(c.dtype);
}

}  // namespace

void register_contract(Registry& registry) {
  static const expr::Op gemm{.name = "gemm",
                             .kind = expr::Kind::Contract,
                             .arity = 3,
                             .doc = "beta c + alpha (a b)",
                             .infer = infer_gemm,
                             .evaluate = evaluate_gemm};
  registry.add(gemm);
  static const expr::Op op{.name = "dot",
                           .kind = expr::Kind::Contract,
                           .arity = 2,
                           .doc = "the product of two matrices",
                           .infer = infer,
                           .gradient = gradient,
                           .evaluate = evaluate,
                           .batch = batch_products};
  registry.add(op);
  static const expr::Op batched{.name = "batched_dot",
                                .kind = expr::Kind::Contract,
                                .arity = 2,
                                .doc = "the products of the matrices of two batches",
                                .infer = infer_batched,
                                .gradient = batched_gradient,
                                .evaluate = evaluate,
                                .batch = batch_products};
  registry.add(batched);
}

}  // namespace croton::ops
