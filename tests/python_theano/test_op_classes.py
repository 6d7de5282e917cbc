"""Op classes: the objects of owner.op, and calls of such objects."""

import gc

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano import graph
from croton.theano.tensor import op_classes as ops
from croton.theano.tensor.sort import ArgSortOp, SortOp, TopKOp


def test_a_call_of_an_op_shows_that_op_and_its_inputs():
    x = T.matrix("x")
    op = TopKOp(axis=0, sorted=False)
    values, positions = op(x, 2)
    assert values.owner is positions.owner and values.owner.op is op and values.owner.inputs[0] is x
    array = numpy.array([[1.0, 5.0], [3.0, 2.0], [2.0, 4.0]], theano.config.floatX)
    found, at = theano.function([x], [values, positions])(array)
    assert numpy.array_equal(numpy.sort(found, axis=0), [[2.0, 4.0], [3.0, 5.0]])
    assert numpy.array_equal(numpy.sort(at, axis=0), [[1, 0], [2, 2]])


def test_the_graph_of_a_function_has_the_op():
    x = T.vector("x")
    f = theano.function([x], T.sort(x) + 1)
    gc.collect()
    assert [type(node.op) for node in f.maker.fgraph.toposort()][0] is SortOp


def test_what_a_graph_was_built_from_lives_as_long_as_the_graph():
    x, step = T.matrix("x"), theano.shared(2.0, "step")
    order, step.tag.role = T.sort(x), "rate"
    order.tag.note = "rising"
    result = T.nnet.softmax(order * step)
    gradient, = T.grad(result[:, 0].sum(), [step])
    del x, step, order, result
    gc.collect()
    found = graph.ancestors([gradient])
    assert [v.tag.note for v in found if v.owner is not None and type(v.owner.op) is SortOp] == ["rising"]
    assert [v.tag.role for v in found if v.name == "step"] == ["rate"]


def test_ops_are_compared_by_class_and_parameters():
    assert SortOp("mergesort") == SortOp("mergesort") and hash(SortOp("mergesort")) == hash(SortOp("quicksort"))
    assert SortOp("mergesort") != SortOp("quicksort") and SortOp("mergesort") != ArgSortOp("mergesort")


def test_parameters_are_checked_when_an_op_is_made():
    with pytest.raises(TypeError, match="idx_dtype"):
        TopKOp(sorted=False, idx_dtype="float32")
    with pytest.raises(ValueError, match="Neither return_values nor return_indices"):
        TopKOp(sorted=False, return_values=False, return_indices=False)


def test_an_op_that_is_only_shown_cannot_be_applied():
    x = T.vector("x")
    with pytest.raises(NotImplementedError, match="subtensor"):
        x[1:].owner.op(x)


_A = numpy.arange(12.0).reshape(3, 4)
_SQUARE = numpy.arange(9.0).reshape(3, 3)
_POSITIONS = numpy.array([2, 0, 1])


@pytest.mark.parametrize("op, values, expected", [
    (ops.Dot(), [_A, _A.T], _A @ _A.T),
    (ops.BatchedDot(), [numpy.stack([_SQUARE] * 2)] * 2, numpy.stack([_SQUARE @ _SQUARE] * 2)),
    (ops.Reshape(2), [_A, numpy.array([2, 6])], _A.reshape(2, 6)),
    (ops.Flatten(1), [_A], _A.ravel()),
    (ops.DimShuffle((False, False), (1, "x", 0)), [_A], _A.T[:, None, :]),
    (ops.Shape(), [_A], [3, 4]),
    (ops.Shape_i(1), [_A], 4),
    (ops.Tile(2), [_A, numpy.array([2, 1])], numpy.tile(_A, (2, 1))),
    (ops.AllocEmpty("float64"), [numpy.array(2), numpy.array(3)], numpy.zeros((2, 3))),
    (ops.Eye("float64"), [numpy.array(2), numpy.array(3), numpy.array(1)], numpy.eye(2, 3, 1)),
    (ops.AllocDiag(), [_A[0]], numpy.diag(_A[0])),
    (ops.AllocDiag(-1), [_A[0]], numpy.diag(_A[0], -1)),
    (ops.ExtractDiag(1), [_A], numpy.diagonal(_A, 1)),
    (ops.Sum(axis=0), [_A], _A.sum(0)),
    (ops.Prod(axis=(0, 1)), [_A + 1], (_A + 1).prod()),
    (ops.CAReduce(T.maximum, axis=1), [_A], _A.max(1)),
    (ops.All(axis=0), [_A], (_A != 0).all(0)),
    (ops.Argmax(axis=1), [_A], _A.argmax(1)),
    (ops.AdvancedSubtensor1(), [_A, _POSITIONS], _A[_POSITIONS]),
    (ops.Subtensor((slice(None), 1)), [_A], _A[:, 1]),
    (ops.Choose("raise"), [numpy.array([0, 1, 0, 1]), _A], numpy.choose([0, 1, 0, 1], _A)),
    (ops.PermuteRowElements(), [_SQUARE, numpy.stack([_POSITIONS] * 3)], _SQUARE[:, _POSITIONS]),
    (T.Elemwise(T.exp), [_A], numpy.exp(_A)),
])
def test_ops_are_applied(op, values, expected):
    inputs = [theano.shared(v) for v in values]
    found = op(*inputs)
    assert numpy.allclose(theano.function([], found)(), expected)
    assert found.owner.op is op or type(op) in (ops.AllocEmpty, T.Elemwise, ops.Shape_i)


def test_ops_of_several_results_and_of_updates():
    x = theano.shared(_A)
    values, positions = theano.function([], ops.MaxAndArgmax(1)(x))()
    assert numpy.array_equal(values, _A.max(1)) and numpy.array_equal(positions, _A.argmax(1))
    first, second = theano.function([], ops.Split(2)(x, 1, [1, 3]))()
    assert numpy.array_equal(first, _A[:, :1]) and numpy.array_equal(second, _A[:, 1:])
    assert numpy.array_equal(ops.Join()(0, x, x).eval(), numpy.concatenate([_A, _A]))
    changed = _A.copy()
    numpy.add.at(changed, [0, 0], _A[:2])
    index = theano.shared(numpy.array([0, 0]))
    assert numpy.array_equal(ops.AdvancedIncSubtensor1()(x, x[:2], index).eval(), changed)
    changed = _A.copy()
    changed[[2]] = 7.0
    assert numpy.array_equal(ops.AdvancedIncSubtensor(set_instead_of_inc=True)(x, numpy.full((1, 4), 7.0), [2]).eval(), changed)


def test_diagonals_of_any_axes():
    values = numpy.arange(24.0).reshape(2, 3, 4)
    for offset in (-2, 0, 1):
        for axes in ((0, 1), (1, 3), (2, 0)):
            made = ops.AllocDiag(offset, *axes)(theano.shared(values)).eval()
            assert made.sum() == values.sum()
            assert numpy.array_equal(numpy.diagonal(made, offset, *axes), values)


def test_dimshuffle_is_checked():
    with pytest.raises(ValueError, match="may not appear twice"):
        ops.DimShuffle((False,), (0, 0))
    with pytest.raises(TypeError, match="broadcastable pattern"):
        ops.DimShuffle((False,), ("x", 0))(T.matrix())


def test_what_graphs_show():
    x, i = T.matrix("x"), T.lvector("i")
    shown = {T.exp(x): T.Elemwise, x[0]: ops.Subtensor, x[i]: ops.AdvancedSubtensor1, x.sum(): ops.Sum, x.T:
             ops.DimShuffle, T.dot(x, x): ops.Dot, T.set_subtensor(x[0], 1): ops.IncSubtensor, x[:, None]: ops.DimShuffle,
             T.stack([x[0, 0], x[1, 1]]): ops.MakeVector, T.concatenate([x, x]): ops.Join, T.nnet.softmax(x):
             T.nnet.Softmax}
    for expression, kind in shown.items():
        assert isinstance(expression.owner.op, kind), (expression, kind)
    assert (x + x).owner.op == T.add and (x * x).owner.op != T.add and (x + x).owner.op.scalar_op is T.add
    assert str((x / x).owner.op) == "Elemwise{true_div,no_inplace}"


def test_pooling_as_ops():
    rng = numpy.random.RandomState(3)
    image = rng.uniform(size=(1, 1, 4, 6))
    x = theano.shared(image)
    pooled = T.signal.pool.Pool(ignore_border=True, mode="max")(x, (2, 2))
    weights = rng.uniform(size=(1, 1, 2, 3))
    blocks = image.reshape(1, 1, 2, 2, 3, 2)
    largest = blocks.max((3, 5))
    assert numpy.array_equal(pooled.eval(), largest)
    at = blocks == largest[:, :, :, None, :, None]
    expected = (at * weights[:, :, :, None, :, None]).reshape(image.shape)
    gradient = T.signal.pool.MaxPoolGrad(ignore_border=True)(x, pooled, weights, (2, 2))
    assert numpy.allclose(gradient.eval(), expected)
    second = T.signal.pool.DownsampleFactorMaxGradGrad(ignore_border=True)(x, pooled, image * 2, (2, 2))
    assert numpy.allclose(second.eval(), 2 * largest)
    mean = T.signal.pool.AveragePoolGrad(ignore_border=True, mode="average_inc_pad")(x, weights, (2, 2))
    assert numpy.allclose(mean.eval(), numpy.repeat(numpy.repeat(weights, 2, 2), 2, 3) / 4)


def test_softmax_ops():
    rng = numpy.random.RandomState(5)
    x, b, y = rng.normal(size=(4, 3)), rng.normal(size=3), numpy.array([0, 2, 1, 1])
    soft = numpy.exp(x + b) / numpy.exp(x + b).sum(1, keepdims=True)
    nll, found, position = T.nnet.CrossentropySoftmaxArgmax1HotWithBias()(theano.shared(x), theano.shared(b), theano.shared(y))
    assert numpy.allclose(found.eval(), soft) and numpy.array_equal(position.eval(), (x + b).argmax(1))
    assert numpy.allclose(nll.eval(), -numpy.log(soft[numpy.arange(4), y]))
    dy = rng.uniform(size=4)
    dx = T.nnet.CrossentropySoftmax1HotWithBiasDx()(theano.shared(dy), theano.shared(soft), theano.shared(y))
    assert numpy.allclose(dx.eval(), (soft - numpy.eye(3)[y]) * dy[:, None])
    g = rng.uniform(size=(4, 3))
    assert numpy.allclose(T.nnet.SoftmaxGrad()(g, soft).eval(), (g - (g * soft).sum(1, keepdims=True)) * soft)
    picked = T.nnet.CrossentropyCategorical1HotGrad()(dy, theano.shared(soft), theano.shared(y))
    assert numpy.allclose(picked.eval(), -dy[:, None] / soft * numpy.eye(3)[y])
    assert numpy.allclose(T.nnet.Prepend_scalar_constant_to_each_row(4.0)(theano.shared(x)).eval()[:, 0], 4.0)


def test_gradient_marks_as_ops():
    x = T.vector("x")
    clip = theano.gradient.GradClip(-1.0, 1.0)
    assert numpy.array_equal(T.grad((clip(x)**2).sum(), x).eval({x: [0.25, 3.0]}), [0.5, 1.0])
    assert numpy.array_equal(T.grad((theano.gradient.GradScale(3)(x)**2).sum(), x).eval({x: [1.0]}), [6.0])
    assert theano.gradient.GradClip(-1, 1) == theano.gradient.GradClip(-1, 1) != theano.gradient.GradClip(-2, 1)
