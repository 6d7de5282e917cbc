// Products of matrices.
#include <croton/complex.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
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

Array evaluate(const EvaluateContext& c) {
  const Array &a = c.inputs[0], &b = c.inputs[1];
  const std::int64_t m = a.shape(0), k = a.shape(1), n = b.shape(1);
  if (is_discrete(c.dtype)) {
    const Array x = a.astype(DType::int64).copy(), y = b.astype(DType::int64).copy();
    Array out = Array::zeros(DType::int64, {m, n});
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::uint64_t total = 0;
        for (std::int64_t p = 0; p < k; ++p)
          total += static_cast<std::uint64_t>(x.at<std::int64_t>(i, p)) *
                   static_cast<std::uint64_t>(y.at<std::int64_t>(p, j));
        out.at<std::int64_t>(i, j) = static_cast<std::int64_t>(total);
      }
    }
    return out.astype(c.dtype);
  }
  const Array x = a.astype(DType::float64).copy(), y = b.astype(DType::float64).copy();
  Array out = Array::zeros(DType::float64, {m, n});
  const auto xs = x.data<double>(), ys = y.data<double>();
  const auto os = out.data<double>();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const double left = xs[static_cast<std::size_t>(i * k + p)];
      for (std::int64_t j = 0; j < n; ++j)
        os[static_cast<std::size_t>(i * n + j)] += left * ys[static_cast<std::size_t>(p * n + j)];
    }
  }
  return out.astype(c.dtype);
}

std::vector<Variable> gradient(const GradientContext& c) {
  return {dot(c.gradient, transpose(c.input(1))), dot(transpose(c.input(0)), c.gradient)};
}

// ---- gemm: c, a, b -> beta c + alpha a b; made when kernels are formed, so it has no gradient ----

InferredType infer_gemm(InferContext& c) {
  c.attrs.real("alpha");
  c.attrs.real("beta");
  const InferredType &base = c.inputs[0], &a = c.inputs[1], &b = c.inputs[2];
  if (base.shape.size() != 2 || a.shape.size() != 2 || b.shape.size() != 2) c.type_error("matrices are taken");
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
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.data<double>()[at] =
        c.attrs.real("beta") * base.data<double>()[at] + c.attrs.real("alpha") * product.data<double>()[at];
  }
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
                           .evaluate = evaluate};
  registry.add(op);
}

}  // namespace croton::ops

namespace croton {
namespace {

/// The product of integer matrices, which no library has: a sum of products, exact modulo 2^64, in one kernel.
Variable integer_product(Variable a, Variable b, Where where) {
  // A stated inner size of 1 would repeat beside an unknown one: a reshape demands that this be 1 too.
  const bool one_a = a.type().broadcasts(1), one_b = b.type().broadcasts(0);
  if (one_a && !one_b) b = reshape(Operand(b, where), {Operand(1, where), Operand(b.shape(1, where), where)});
  if (one_b && !one_a) a = reshape(Operand(a, where), {Operand(a.shape(0, where), where), Operand(1, where)});
  const Operand left(dimshuffle(Operand(a, where), {0, 1, broadcast_axis}), where);
  const Operand right(dimshuffle(Operand(b, where), {broadcast_axis, 0, 1}), where);
  const DType wide = is_unsigned_int(a.dtype()) ? DType::uint64 : DType::int64;
  return sum(Operand(Operand(cast(left, wide), where) * Operand(cast(right, wide), where), where), ReduceOptions(1));
}

/// The product of complex matrices, by up to four real ones: (a + ib)(c + id) = ac - bd + i(ad + bc). Each is a product
/// of a library, or a kernel, like any other.
Variable complex_product(const Operand& x, const Operand& y) {
  const auto times = [&](const Variable& a, const Variable& b) {
    return dot(Operand(a, x.where), Operand(b, x.where));
  };
  const Variable a = real(x), c = real(y);
  if (!is_complex(x.variable.dtype()))
    return complex(Operand(times(a, c), x.where), Operand(times(a, imag(y)), x.where));
  if (!is_complex(y.variable.dtype()))
    return complex(Operand(times(a, c), x.where), Operand(times(imag(x), c), x.where));
  const Variable b = imag(x), d = imag(y);
  return complex(Operand(Operand(times(a, c), x.where) - Operand(times(b, d), x.where), x.where),
                 Operand(Operand(times(a, d), x.where) + Operand(times(b, c), x.where), x.where));
}

}  // namespace

Variable dot(Operand a, Operand b) {
  Variable x = a.variable, y = b.variable;
  const Where where = x.is_constant() ? b.where : a.where;
  const auto fail = [&](std::string_view message) {
    throw TypeError(fmt::format("dot ({}): {}, {}: {}", builder::describe(where), builder::describe(a.variable),
                                builder::describe(b.variable), message));
  };
  if (x.rank() == 0 || y.rank() == 0) return a * b;
  if (x.rank() > 2 || y.rank() > 2) fail("vectors and matrices are taken");
  const DType dtype = promote(x.dtype(), y.dtype());
  // Sizes first, so that the message shows the user's own types.
  const std::int64_t inner_x = x.type().shape.back(), inner_y = y.type().shape.front();
  if (inner_x != unknown_size && inner_y != unknown_size && inner_x != inner_y) {
    throw ShapeError(fmt::format(
        "dot ({}): {} but {}: the last axis of the left side must equal the first of the right side, {} is not {}",
        builder::describe(where), builder::describe(x), builder::describe(y), inner_x, inner_y));
  }
  if (is_complex(dtype) && x.rank() + y.rank() > 2)
    return cast(Operand(complex_product(Operand(x, where), Operand(y, where)), where), dtype);
  x = cast(Operand(x, where), dtype);
  y = cast(Operand(y, where), dtype);
  if (x.rank() == 1 && y.rank() == 1) return sum(Operand(Operand(x, where) * Operand(y, where), where));
  // float16 products accumulate in float32, as reductions do.
  const DType compute = compute_dtype(dtype);
  const Variable left =
      cast(Operand(x.rank() == 1 ? dimshuffle(Operand(x, where), {broadcast_axis, 0}) : x, where), compute);
  const Variable right =
      cast(Operand(y.rank() == 1 ? dimshuffle(Operand(y, where), {0, broadcast_axis}) : y, where), compute);
  Variable result =
      is_discrete(dtype) ? integer_product(left, right, where) : builder::apply("dot", {left, right}, {}, where);
  if (x.rank() == 1) result = dimshuffle(Operand(result, where), {1});
  if (y.rank() == 1) result = dimshuffle(Operand(result, where), {0});
  return cast(Operand(result, where), dtype);
}

}  // namespace croton
