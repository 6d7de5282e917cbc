"""User-defined operations, made in Python."""

import numpy as np
import pytest

import croton
import croton.tensor as T


def gate():
    return croton.KernelOp("gate", ["x", "limit"], "return x > limit ? exp(x) : T(0.1) * x;",
                           gradient=lambda inputs, output, g: [g * T.where(inputs[0] > inputs[1], output, 0.1), None],
                           reference=lambda x, limit: np.exp(x) if x > limit else 0.1 * x)


@pytest.mark.parametrize("mode", ["run", "simulate", "reference"])
def test_kernel_op(mode):
    x = T.dvector("x")
    y = gate()(x, 0.5)
    with croton.change_flags(mode=mode):
        f = croton.function([x], [y, croton.grad(y.sum(), x)])
        value, slope = f([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(value, [-0.1, 0.05, np.exp(2)], rtol=1e-14)
    np.testing.assert_allclose(slope, [0.1, 0.1, np.exp(2)], rtol=1e-7)  # 0.1 is a float32 literal


def test_errors_of_kernel_op():
    with pytest.raises(croton.ValueError, match="must be a C\\+\\+ identifier"):
        croton.KernelOp("a b", ["x"], "return x;")
    x = T.vector("x")
    with pytest.raises(croton.ValueError, match="undeclared identifier 'z'"), croton.change_flags(dump_kernels=""):
        croton.function([x], croton.KernelOp("broken", ["x"], "return z;")(x))([1.0])


def test_op_from_graph():
    a, b = T.dvectors("a", "b") if hasattr(T, "dvectors") else (T.dvector("a"), T.dvector("b"))
    op = croton.OpFromGraph([a, b], [a * b, a.sum()], gradient=lambda i, o, g: [g[0] * 10, None], name="f")
    x = T.dvector("x")
    product, total = op(x, x + 1)
    f = croton.function([x], [product, total, croton.grad(product.sum(), x)])
    product, total, slope = f([1.0, 2.0])
    assert product.tolist() == [2.0, 6.0]
    assert total == 3.0
    assert slope.tolist() == [10.0, 10.0]
    single = croton.OpFromGraph([a], [a * 2])
    assert croton.function([x], single(x))([3.0]).tolist() == [6.0]


def test_clone():
    x, y = T.dscalar("x"), T.dscalar("y")
    e = x * y
    assert croton.function([x, y], croton.clone(e, {x: y + 1}), on_unused_input="ignore")(100.0, 3.0) == 12.0
    both = croton.clone([e, y], [(y, x)])
    assert croton.function([x], both)(3.0) == [9.0, 3.0]


@pytest.mark.parametrize("mode", ["run", "simulate", "reference"])
def test_host_op(mode):
    calls = []

    def compute(x, y):
        calls.append(x)
        return [np.sort(x) * y, np.array(x.shape[0])]

    op = croton.HostOp("sorted_scaled", lambda x, y: [(x.dtype, [x.shape[0]]), ("int64", [])], compute,
                       gradient=lambda inputs, outputs, gs: [None, (gs[0] * outputs[0] / inputs[1]).sum()])
    x, y = T.dvector("x"), T.dscalar("y")
    with croton.change_flags(mode=mode):
        ordered, count = op(x * 2, y)
        f = croton.function([x, y], [ordered, count, croton.grad(ordered.sum(), y)])
        values, n, slope = f([3.0, 1.0, 2.0], 10.0)
    assert values.tolist() == [20.0, 40.0, 60.0]
    assert n == 3
    assert slope == 12.0
    assert calls[0].tolist() == [6.0, 2.0, 4.0]  # Python keeps it: it is a copy


def test_errors_of_host_op():
    x = T.dvector("x")

    def raises(x):
        raise RuntimeError("from the function")

    same = lambda x: (x.dtype, [x.shape[0]])  # noqa: E731
    with pytest.raises(RuntimeError, match="from the function"):
        croton.function([x], croton.HostOp("f", same, raises)(x))([1.0])
    with pytest.raises(croton.ShapeError, match="where \\(1,\\) was declared"):
        croton.function([x], croton.HostOp("f", same, lambda x: np.zeros(3))(x))([1.0])
    with pytest.raises(croton.TypeError, match="float64 was declared"):
        croton.function([x], croton.HostOp("f", same, lambda x: x.astype("int32"))(x))([1.0])
    with pytest.raises(croton.TypeError, match="pairs"):
        croton.HostOp("f", lambda x: x.dtype, lambda x: x)(x)
