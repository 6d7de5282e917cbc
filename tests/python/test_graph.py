"""Building graphs: every operation against NumPy, operands of all kinds on both sides, indexing."""

import math
import operator

import numpy as np
import pytest

import croton
import croton.tensor as T

A = np.array([[0.5, 1.5, -2.0], [3.0, -0.25, 1.0]], np.float32)
B = np.array([[2.0, -1.0, 0.5], [1.0, 4.0, -3.0]], np.float32)


def computed(expression, *pairs):
    return expression.eval(dict(pairs))


def check(expression, expected, *pairs, rtol=2e-6):
    result = computed(expression, *pairs)
    expected = np.asarray(expected)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-7)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
          operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_operators_take_variables_numbers_and_arrays_on_both_sides(op):
    x, y = T.fmatrix("x"), T.fmatrix("y")
    check(op(x, y), op(A, B), (x, A), (y, B))
    check(op(x, 2), op(A, np.float32(2)), (x, A))
    check(op(2.5, x), op(np.float32(2.5), A), (x, A))
    check(op(x, B), op(A, B), (x, A))
    check(op(B, x), op(B, A), (x, A))
    check(op(np.float32(1.5), x), op(np.float32(1.5), A), (x, A))
    check(op(x, np.float32(1.5)), op(A, np.float32(1.5)), (x, A))


def test_power_and_product():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    check(x**2, A**2, (x, A))
    check(2.0**x, np.float32(2)**A, (x, A))
    check(x @ y.T, A @ B.T, (x, A), (y, B))
    check(A.T @ x, A.T @ B, (x, B))
    check(T.dot(x, np.ones(3, np.float32)), A @ np.ones(3, np.float32), (x, A))


def test_numbers_beside_uint64_and_beyond_floatX():
    u, v = T.vector("u", dtype="uint64"), np.array([2**63 + 5, 12, 7], np.uint64)
    for op, number in ((operator.and_, 6), (operator.or_, 2**62), (operator.xor, 1), (operator.lshift, 1), (operator.rshift, 3)):
        check(op(u, number), op(v, np.uint64(number)), (u, v))
    check(T.gcd(u, 4), np.gcd(v, np.uint64(4)), (u, v))
    with pytest.raises(TypeError, match="only integers and bool"):
        u & -1
    x, f = np.array([1e-10, 2], np.float64), np.array([1e-10, 2], np.float32)
    d, s = T.dvector("d"), T.fvector("s")
    check(d * 1e300, x * 1e300, (d, x))
    check(s * -1e39, f * np.float64(-1e39), (s, f))
    assert (s * 0.1).dtype == (s * float("inf")).dtype == "float32"
    with croton.change_flags(floatX="float16"):
        h = T.vector("h", dtype="float16")
        assert (h * 0.1).dtype == "float16" and (h * 1e5).dtype == "float32" and (h * 1e39).dtype == "float64"


def test_bits_and_signs():
    i, j = T.ivector("i"), T.ivector("j")
    a, b = np.array([5, 6, -1], np.int32), np.array([3, 2, 8], np.int32)
    for op in (operator.and_, operator.or_, operator.xor):
        check(op(i, j), op(a, b), (i, a), (j, b))
        check(op(3, i), op(np.int32(3), a), (i, a))
    check(i << 1, a << 1, (i, a))
    check(i >> j, a >> (b - 2), (i, a), (j, b - 2))
    check(2 << j, np.int32(2) << b, (j, b))
    check(~i, ~a, (i, a))
    check(-i, -a, (i, a))
    check(abs(i), abs(a), (i, a))
    check(+i, a, (i, a))


UNARY = {name: getattr(np, name) for name in
         "exp exp2 expm1 sin cos tan tanh sinh cosh floor ceil trunc isnan isinf abs zeros_like ones_like".split()}
UNARY.update(sgn=np.sign, sqr=np.square, round=np.round, reciprocal=lambda x: 1 / x,
             sigmoid=lambda x: 1 / (1 + np.exp(-x)), softplus=lambda x: np.log1p(np.exp(x)),
             erf=np.vectorize(math.erf, otypes=[np.float32]),
             erfc=np.vectorize(math.erfc, otypes=[np.float32]))
POSITIVE = {"log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
            "rsqrt": lambda x: 1 / np.sqrt(x)}


@pytest.mark.parametrize("name", [*UNARY, *POSITIVE])
def test_functions_of_one_variable(name):
    x = T.fmatrix("x")
    a = A if name in UNARY else abs(A) + np.float32(0.1)
    function = UNARY.get(name) or POSITIVE[name]
    check(getattr(T, name)(x), function(a), (x, a))


def test_functions_of_several_variables():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    values = (x, A), (y, B)
    check(T.maximum(x, y), np.maximum(A, B), *values)
    check(T.minimum(x, y), np.minimum(A, B), *values)
    check(T.eq(x, y), A == B, *values)
    check(T.neq(x, y), A != B, *values)
    check(T.clip(x, -1, 1), A.clip(-1, 1), values[0])
    check(x.clip(-1, 1), A.clip(-1, 1), values[0])
    check(T.switch(x > y, x, y), np.where(A > B, A, B), *values)
    check(T.where(x > 0, x, 0), np.where(A > 0, A, np.float32(0)), values[0])
    check(T.add_n([x, y, x]), A + B + A, *values)
    check(T.cast(x, "int32"), A.astype(np.int32), values[0])
    check(x.astype(np.float64), A.astype(np.float64), values[0])


@pytest.mark.parametrize("name", "sum prod mean var max min argmax argmin".split())
def test_reductions(name):
    x = T.fmatrix("x")
    ours, numpys = getattr(T, name), getattr(np, name)
    check(ours(x), numpys(A), (x, A))
    check(ours(x, axis=0), numpys(A, axis=0), (x, A))
    check(getattr(x, name)(axis=-1, keepdims=True), numpys(A, axis=-1, keepdims=True), (x, A))


def test_reductions_over_several_axes_and_with_dtypes():
    x, b = T.tensor3("x", "float32"), T.variable("bool", (None, None), "b")
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(x.sum(axis=(0, 2)), a.sum(axis=(0, 2)), (x, a))
    check(x.sum(dtype="float64"), a.sum(dtype=np.float64), (x, a))
    check(b.all(axis=1), (A > 0).all(axis=1), (b, A > 0))
    check(b.any(), np.asarray((A > 0).any()), (b, A > 0))


def test_norms():
    x = T.fmatrix("x")
    for order in [1, 2, np.inf, -np.inf, 0, 2.5]:
        check(T.norm(x, order, axis=1), np.linalg.norm(A, order, axis=1), (x, A), rtol=1e-6)
    check(T.norm(x, "fro"), np.linalg.norm(A, "fro"), (x, A), rtol=1e-6)


def test_views():
    x = T.tensor3("x", "float32")
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(x.T, a.T, (x, a))
    check(x.transpose((1, 0, 2)), a.transpose(1, 0, 2), (x, a))
    check(x.dimshuffle(1, "x", 2, 0), a.transpose(1, 2, 0)[:, None], (x, a))
    check(x.dimshuffle((2, 1, 0)), a.T, (x, a))
    check(x.reshape(4, -1), a.reshape(4, 6), (x, a))
    check(x.reshape((x.shape[0], x.shape[1] * x.shape[2])), a.reshape(2, 12), (x, a))
    check(x.flatten(), a.ravel(), (x, a))
    check(x.flatten(2), a.reshape(2, 12), (x, a))
    check(T.expand_dims(x, 1).squeeze(1), a, (x, a))


def test_indexing():
    x, n = T.tensor3("x", "float32"), T.lscalar("n")
    a = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    index = np.s_
    for item in (index[1], index[-1], index[1:], index[::2], index[::-1], index[:, 1:3], index[..., 0],
                 index[0, ..., 1:4:2], index[None], index[:, None, 2], index[np.int64(2)], index[5:], index[-2:, -1]):
        check(x[item], a[item], (x, a))
    check(x[n], a[2], (x, a), (n, 2))
    check(x[1:n], a[1:3], (x, a), (n, 3))
    check(x[:, :n + 1], a[:, :3], (x, a), (n, 2))
    check(x[()], a, (x, a))


def test_generators():
    n = T.lscalar("n")
    check(T.arange(n), np.arange(5), (n, 5))
    check(T.arange(2, n), np.arange(2, 9), (n, 9))
    check(T.arange(1, 10, 3), np.arange(1, 10, 3))
    check(T.zeros((2, n)), np.zeros((2, 3), np.float32), (n, 3))
    check(T.ones(n, "int32"), np.ones(4, np.int32), (n, 4))
    check(T.alloc(7, 2, n), np.full((2, 3), 7, np.int8), (n, 3))


def test_inputs_of_all_ranks_and_dtypes():
    dtypes = dict(b="int8", w="int16", i="int32", l="int64", f="float32", d="float64", c="complex64", z="complex128")
    ranks = dict(scalar=0, vector=1, matrix=2, row=2, col=2, tensor3=3, tensor4=4)
    for kind, rank in ranks.items():
        for prefix, dtype in dtypes.items():
            x = getattr(T, prefix + kind)("x")
            assert (x.dtype, x.ndim, x.name) == (dtype, rank, "x")
        for dtype in "bool uint8 uint16 uint32 uint64 float16 bfloat16 complex64 complex128".split():
            assert getattr(T, kind)(dtype=dtype).dtype == dtype
        assert getattr(T, kind)().dtype == croton.config.floatX
    assert T.row().broadcastable == (True, False) and T.col().broadcastable == (False, True)
    assert T.variable(np.float64, (None, 10)).type == "f64[?, 10]"
    x, y = T.matrices("x", "y", dtype="float64")
    assert (x.name, y.name, y.dtype) == ("x", "y", "float64")


def test_constants_take_the_smallest_dtype():
    assert [croton.constant(v).dtype for v in (3, 300, 70000, 2**40, 2**63, True, 0.1)] == [
        "int8", "int16", "int32", "int64", "uint64", "bool", "float32"]
    assert croton.constant(np.int64(3)).dtype == "int64"
    assert croton.constant([[1, 2]]).type == "i64[1, 2]"
    assert (T.bscalar() + 1).dtype == "int8" and (T.fscalar() * 0.1).dtype == "float32"


def test_names_shapes_and_identity():
    x = T.fmatrix("x")
    assert x.name == "x" and T.fmatrix().name is None
    x.name = "renamed"
    assert x.name == "renamed" and "renamed" in repr(x)
    rows, columns = x.shape
    assert computed(rows * 10 + columns, (x, A)) == 23
    assert computed(x.size, (x, A)) == 6
    y = T.fmatrix("y")
    assert x == x and x != y and {x: 1, y: 2}[x] == 1 and not x == 3
    cost = (x * y).sum()
    assert "mul" in croton.debugprint(cost)


def test_neural_network_functions():
    x, t = T.fmatrix("x"), T.ivector("t")
    e = np.exp(A - A.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    check(T.nnet.softmax(x), p, (x, A))
    check(T.nnet.log_softmax(x), np.log(p), (x, A))
    check(T.nnet.logsumexp(x), np.log(np.exp(A).sum(axis=1)), (x, A))
    check(T.nnet.relu(x, 0.5), np.where(A > 0, A, np.float32(0.5) * A), (x, A))
    check(T.nnet.sigmoid(x), 1 / (1 + np.exp(-A)), (x, A))
    check(T.nnet.categorical_crossentropy(T.nnet.softmax(x), t), -np.log(p[[0, 1], [2, 0]]), (x, A), (t, [2, 0]))
    check(T.nnet.binary_crossentropy(T.nnet.sigmoid(x), np.ones_like(A)), np.log1p(np.exp(-A)), (x, A))
    mean, var = A.mean(axis=1, keepdims=True), A.var(axis=1, keepdims=True)
    check(T.nnet.layer_norm(x), (A - mean) / np.sqrt(var + np.float32(1e-5)), (x, A), rtol=1e-5)


def test_gradients():
    x, y = T.fvector("x"), T.fvector("y")
    cost = (x**3).sum() + T.dot(x, y)
    gx, gy = croton.grad(cost, [x, y])
    a, b = A[0], B[0]
    check(gx, 3 * a**2 + b, (x, a), (y, b))
    check(gy, a, (x, a), (y, b))
    check(croton.grad(cost, x, consider_constant=[y]), 3 * a**2 + b, (x, a), (y, b))
    check(croton.grad((x**2).sum(), y, disconnected_inputs="ignore"), np.zeros(3, np.float32), (x, a), (y, b))
