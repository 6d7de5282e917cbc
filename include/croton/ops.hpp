// Operations on symbolic variables. Elementwise operations broadcast: trailing axes are aligned, and an axis of static
// size 1 (or a missing axis) is repeated; unknown sizes must be equal when the function is called. dtypes follow
// docs/use/types.md. Errors are TypeError or ShapeError that name the arguments and their lines.
#pragma once

#include <croton/products.hpp>
#include <croton/variable.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace croton {

// ---- arithmetic: dtype is promote(a, b) ----

Variable operator+(Operand a, Operand b);
Variable operator-(Operand a, Operand b);
Variable operator*(Operand a, Operand b);
/// True division; two integers give floatX.
Variable operator/(Operand a, Operand b);
/// The remainder with the sign of the divisor (Python's %); x % 0 is 0 for integers, nan for floats.
Variable operator%(Operand a, Operand b);
/// The negative of a. TypeError for bool.
Variable operator-(Operand a);
/// The quotient rounded towards minus infinity; x // 0 is 0 for integers.
Variable floor_divide(Operand a, Operand b);
/// a to the power b; 0^0 = 1. Integers stay integers (a negative exponent gives 0 unless |a| is 1).
Variable pow(Operand a, Operand b);
/// The larger (smaller) operand; nan if either is nan.
Variable maximum(Operand a, Operand b);
Variable minimum(Operand a, Operand b);
/// min(max(x, low), high).
Variable clip(Operand x, Operand low, Operand high);
/// The sum of variables of one shape.
Variable add_n(const std::vector<Variable>& terms, Where where = std::source_location::current());
/// The largest (smallest) of several variables element by element, like `maximum` of two. ValueError for an empty list.
Variable largest(const std::vector<Variable>& all, Where where = std::source_location::current());
Variable smallest(const std::vector<Variable>& all, Where where = std::source_location::current());

// ---- comparison and logic: bool ----

Variable operator<(Operand a, Operand b);
Variable operator<=(Operand a, Operand b);
Variable operator>(Operand a, Operand b);
Variable operator>=(Operand a, Operand b);
Variable eq(Operand a, Operand b);
Variable neq(Operand a, Operand b);
Variable isnan(Operand x);
Variable isinf(Operand x);
/// Bitwise operations on integers, logical ones on bool.
Variable operator&(Operand a, Operand b);
Variable operator|(Operand a, Operand b);
Variable operator^(Operand a, Operand b);
Variable operator~(Operand a);
/// `a` where the condition is true, else `b`; both are computed.
Variable where(Operand condition, Operand a, Operand b);
/// Theano's name for `where`.
Variable switch_(Operand condition, Operand a, Operand b);

// ---- functions of one variable: integers become float32 (up to 16 bits) or float64 ----

Variable exp(Operand x);
Variable exp2(Operand x);
Variable expm1(Operand x);
Variable log(Operand x);
Variable log2(Operand x);
Variable log10(Operand x);
Variable log1p(Operand x);
Variable sqrt(Operand x);
Variable rsqrt(Operand x);
Variable reciprocal(Operand x);
Variable sin(Operand x);
Variable cos(Operand x);
Variable tan(Operand x);
Variable tanh(Operand x);
Variable sinh(Operand x);
Variable cosh(Operand x);
Variable erf(Operand x);
Variable erfc(Operand x);
/// 1 / (1 + exp(-x)).
Variable sigmoid(Operand x);
/// log(1 + exp(x)).
Variable softplus(Operand x);
// ---- functions that keep the dtype ----

Variable sqr(Operand x);
Variable abs(Operand x);
/// The sign: -1, 0 or 1; nan stays nan. TypeError for bool.
Variable sgn(Operand x);
Variable floor(Operand x);
Variable ceil(Operand x);
Variable trunc(Operand x);
/// x rounded to the nearest integer, half to even, as in NumPy.
Variable round(Operand x);
/// x converted to dtype; float to integer truncates towards zero and saturates, nan gives 0.
Variable cast(Operand x, DType dtype);

// ---- reductions ----

struct ReduceOptions {
  std::optional<std::vector<int>> axis;  ///< all axes if absent; negative ones count from the end
  bool keepdims = false;                 ///< keep reduced axes with size 1
  std::optional<DType> dtype;            ///< of the result
  std::optional<DType> acc_dtype;        ///< of the computation, before the conversion to `dtype`
  ReduceOptions() = default;
  ReduceOptions(int one_axis) : axis(std::vector<int>{one_axis}) {}
  ReduceOptions(std::vector<int> axes) : axis(std::move(axes)) {}
  ReduceOptions(std::optional<std::vector<int>> axes, bool keep) : axis(std::move(axes)), keepdims(keep) {}
};
// Each reduction accepts the dtypes for which it is defined and raises TypeError for others. Without acc_dtype, sums
// and functions of sums are computed in the promoted dtype of x and the result; float16 and bfloat16 are computed in
// float32, even if acc_dtype is one of them.

/// The sum (the product) of the elements. Integers are summed in 64 bits; floats along a fixed pairwise tree, so that
/// the result does not depend on the device.
Variable sum(Operand x, const ReduceOptions& options = {});
Variable prod(Operand x, const ReduceOptions& options = {});
/// sum / count; integers give float64; nan without elements. With an integer acc_dtype the sum is computed in it, and
/// the division in floats.
Variable mean(Operand x, const ReduceOptions& options = {});
/// sum((x - mean)^2) / (count - ddof), in two passes; nan (or inf) if count <= ddof. TypeError for an integer
/// acc_dtype.
Variable var(Operand x, const ReduceOptions& options = {}, double ddof = 0);
/// sqrt(var).
Variable std(Operand x, const ReduceOptions& options = {}, double ddof = 0);
/// The largest (smallest) element, converted to `dtype`; nan if there is one; an axis without elements raises
/// ValueError when called. TypeError for an acc_dtype.
Variable max(Operand x, const ReduceOptions& options = {});
Variable min(Operand x, const ReduceOptions& options = {});
/// Whether all elements (any elements) are nonzero; bool. TypeError for another dtype, and for an acc_dtype.
Variable all(Operand x, const ReduceOptions& options = {});
Variable any(Operand x, const ReduceOptions& options = {});
/// Index (int64, or the integer `dtype`) of the first largest (smallest) element, or of the first nan if there is one;
/// without axis, in the flattened variable. TypeError for a dtype that is not an integer, and for an acc_dtype.
Variable argmax(Operand x, const ReduceOptions& options = {});
Variable argmin(Operand x, const ReduceOptions& options = {});
/// max - min; nan if there is one; an axis without elements raises ValueError when called. The difference is computed
/// in acc_dtype, else in the promoted dtype of x and the result: with dtype=int16 that of int8 cannot overflow.
Variable ptp(Operand x, const ReduceOptions& options = {});
/// (sum |x|^order)^(1 / order) over the axes, by default all. Order infinity is max |x|, -infinity min |x|, 0 the count
/// of nonzero elements. (For matrices this is the entrywise norm; order 2 is the Frobenius norm.) TypeError for an
/// integer acc_dtype.
Variable norm(Operand x, double order = 2, const ReduceOptions& options = {});
/// log(sum(exp(x))) over the axes, computed with the maximum subtracted: finite for finite x; -infinity for an axis
/// without elements. TypeError for an integer acc_dtype.
Variable logsumexp(Operand x, const ReduceOptions& options = {});
/// The number of nonzero elements, int64.
Variable count_nonzero(Operand x, const ReduceOptions& options = {});
/// {max, argmax}, like Theano's max_and_argmax. TypeError for a dtype, because there are two results.
std::pair<Variable, Variable> max_and_argmax(Operand x, const ReduceOptions& options = {});

// ---- views ----

/// The entry of a dimshuffle pattern that adds a broadcastable axis.
inline constexpr int broadcast_axis = -1;
/// Axis i of the result is axis pattern[i] of x, or new (broadcast_axis); omitted axes must have static size 1.
Variable dimshuffle(Operand x, const std::vector<int>& pattern);
Variable transpose(Operand x, const std::vector<int>& axes = {});
/// The same elements in C order with another shape; one size may be -1. Sizes may be symbolic.
Variable reshape(Operand x, const std::vector<Operand>& shape);
Variable flatten(Operand x, int ndim = 1);
/// x with a new axis of size 1 at that position.
Variable expand_dims(Operand x, int axis);
Variable squeeze(Operand x, int axis);

// ---- generators ----

/// `value` repeated to the shape.
Variable alloc(Operand value, const std::vector<Operand>& shape);
Variable zeros(const std::vector<Operand>& shape, std::optional<DType> dtype = {},
               Where where = std::source_location::current());
Variable ones(const std::vector<Operand>& shape, std::optional<DType> dtype = {},
              Where where = std::source_location::current());
Variable zeros_like(Operand x);
Variable ones_like(Operand x);
/// 0, 1, ... below n; int64, or n's dtype if that is a float.
Variable arange(Operand n);
/// start, start+step, ... below stop; the promoted dtype (whole numbers: int64).
Variable arange(Operand start, Operand stop, Operand step = 1);

}  // namespace croton
