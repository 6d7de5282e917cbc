"""Dtypes, constants, broadcasting and conversions: measured on Theano 1.0.5 (docs/use/theano.md)."""

import numpy as np
import pytest

import croton.theano as theano
import croton.theano.tensor as T

PAIRS = [("int8", "uint8", "int16"), ("int32", "uint32", "int64"), ("int64", "uint64", "float64"),
         ("int32", "float32", "float64"), ("int16", "float32", "float32"), ("int16", "float16", "float32"),
         ("uint8", "float16", "float16"), ("bool", "int8", "int8"), ("float64", "complex64", "complex128"),
         ("int32", "complex64", "complex128"), ("int64", "float32", "float64"), ("float16", "float32", "float32")]


@pytest.mark.parametrize("a, b, both", PAIRS)
def test_two_arrays_upcast(a, b, both):
    x, y = T.TensorType(a, (False,))("x"), T.TensorType(b, (False,))("y")
    for z in (x + y, y + x, T.concatenate([x, y]), T.switch(T.eq(x, 0), x, y)):
        assert z.dtype == both


@pytest.mark.parametrize("dtype, number, result", [
    ("int8", 1, "int8"), ("int8", 300, "int16"), ("uint8", 1, "int16"), ("uint32", 1, "int64"), ("float16", 1000, "float32"),
    ("float32", 1, "float32"), ("float32", 0.5, "float32"), ("float16", 0.5, "float32"), ("float32", 1.1, "float64"),
    ("int32", 2, "int32")])
def test_numbers_with_floatX_float64(dtype, number, result):
    assert (T.vector(dtype=dtype) + number).dtype == result


def test_numbers_with_floatX_float32():
    theano.config.floatX = "float32"
    x = T.vector(dtype="float32")
    assert (x + 1.1).dtype == "float32" and (x * np.ones(3)).dtype == "float64" and T.matrix().dtype == "float32"
    assert theano.shared(1.0).dtype == "float64" and theano.shared(1).dtype == "int64"


@pytest.mark.parametrize("floatX", ["float32", "float64"])
def test_numbers_of_numpy_keep_their_dtype(floatX):
    theano.config.floatX = floatX
    x = T.vector(dtype="float32")
    for number in (np.float64(0.5), np.float64(1.1), np.float32(1.1), np.int64(1), np.int8(1)):
        assert T.constant(number).dtype == T.as_tensor_variable(number).dtype == number.dtype
        assert (x + number).dtype == (number * x).dtype == ("float64" if number.dtype.itemsize == 8 else "float32")


@pytest.mark.parametrize("value, dtype", [(3, "int8"), (300, "int16"), (70000, "int32"), (2**40, "int64"), (0.5, "float32"),
                                          (0.1, "float64")])
def test_constants(value, dtype):
    c = T.constant(value)
    assert c.dtype == dtype and c.data == value and c.value.dtype == dtype


@pytest.mark.parametrize("dtype, of_exp, of_sum", [
    ("int8", "float32", "int64"), ("int16", "float32", "int64"), ("int32", "float64", "int64"), ("uint8", "float32", "uint64"),
    ("bool", "float32", "int64"), ("float32", "float32", "float32"), ("float16", "float16", "float16")])
def test_functions_of_dtypes(dtype, of_exp, of_sum):
    x = T.TensorType(dtype, (False,))("x")
    assert (T.exp(x).dtype, T.sum(x).dtype, T.argmax(x).dtype) == (of_exp, of_sum, "int64")
    assert T.mean(x).dtype == (dtype if dtype.startswith("float") else "float64")
    assert T.gt(x, 0).dtype == "bool" and T.cumsum(x).dtype == dtype if dtype != "bool" else True


def test_small_rules():
    i = T.iscalar("i")
    assert T.arange(i).dtype == "int64" and T.arange(0, 1, .25).dtype == "float32"
    assert T.switch(i, 1, 0).dtype == "int8" and T.alloc(0., 2, 2).dtype == "float32" and T.zeros((2, 2)).dtype == "float64"
    assert (i / i).dtype == "float64" and (i // i).dtype == "int32" and (i**2).dtype == "int32"
    assert T.true_div(i, 2).dtype == "float64"


def test_types_are_values():
    assert T.TensorType("float32", (False, True)) == T.TensorType("float32", [0, 1])
    assert hash(T.TensorType("float32", ())) == hash(T.TensorType("float32", ()))
    assert T.TensorType("float32", ()) != T.TensorType("float64", ()) and T.fmatrix != T.frow
    texts = [str(t) for t in (T.fmatrix, T.drow, T.icol, T.lvector, T.bscalar, T.ftensor3, T.dtensor4)]
    assert texts == ["TensorType(float32, matrix)", "TensorType(float64, row)", "TensorType(int32, col)",
                     "TensorType(int64, vector)", "TensorType(int8, scalar)", "TensorType(float32, 3D)",
                     "TensorType(float64, 4D)"]
    assert T.tensor("float32", (False, False), "x").type == T.fmatrix
    x = T.fmatrix("x")
    assert x.type == T.fmatrix and x.name == "x" and str(x) == "x" and x.type("y").name == "y"
    with pytest.raises(ValueError, match="float99"):
        theano.config.floatX = "float99"


def test_a_matrix_of_one_row_does_not_broadcast():
    x, y, r = T.matrix("x"), T.matrix("y"), T.row("r")
    with pytest.raises(ValueError):
        theano.function([x, y], x + y)(np.ones((2, 3)), np.ones((1, 3)))
    assert theano.function([x, r], x + r)(np.ones((2, 3)), np.ones((1, 3))).shape == (2, 3)
    with pytest.raises(TypeError):
        theano.function([r], r)(np.ones((2, 3)))
    assert theano.shared(np.ones((1, 3))).broadcastable == (False, False)
    assert theano.shared(np.ones((1, 3)), broadcastable=(True, False)).broadcastable == (True, False)
    assert x.sum(axis=0, keepdims=True).broadcastable == (True, False) and x.reshape((1, -1)).broadcastable == (True, False)
    with pytest.raises(ValueError, match="drop a non-broadcastable"):
        x.dimshuffle(0)
    with pytest.raises(ValueError):
        theano.function([x], T.addbroadcast(x, 0))(np.ones((2, 3)))
    assert T.unbroadcast(T.zeros((1, 3)), 0).broadcastable == (False, False)
    assert T.patternbroadcast(r, (False, False)).broadcastable == (False, False)
    rows, _ = theano.scan(lambda v, s: s + v, sequences=T.dmatrix("v"),
                          outputs_info=T.unbroadcast(T.zeros((1, 3)), 0))
    assert rows.ndim == 3


def test_what_inputs_take():
    f = theano.function([T.fvector("v"), T.fscalar("s"), T.bscalar("b")], [], on_unused_input="ignore")
    v = np.ones(2, "float32")
    f(np.ones(2, "int8"), 1, 3)
    f([1, 2], 1, 3)
    for wrong in [(np.ones(2), 1, 3), (np.ones(2, "int64"), 1, 3), (np.ones((2, 2), "float32"), 1, 3), (v, 0.1, 3), (v, 1, 300)]:
        with pytest.raises(TypeError, match="Bad input argument to theano function at index"):
            f(*wrong)
    theano.config.floatX = "float32"
    f(v, 0.1, 3)
    for arguments in [(v, 1), (v, 1, 3, 4)]:
        with pytest.raises(TypeError):
            f(*arguments)
    with pytest.raises(TypeError):
        f(v, 1, 3, v=v)


def test_refusals():
    x = T.vector("x")
    for fails in (lambda: len(x), lambda: float(x), lambda: iter(x), lambda: x.__setitem__(0, 1), lambda: bool(x > 0),
                  lambda: T.set_subtensor(x, 1), lambda: T.nnet.categorical_crossentropy(T.matrix(), T.vector())):
        with pytest.raises(TypeError):
            fails()
    assert (x == x) is True and (x == T.vector("x")) is False and len({x, x}) == 1
    with pytest.raises(IndexError):
        theano.function([x], x[3])(np.ones(2))
    with pytest.raises(ValueError):
        T.nnet.softmax(T.tensor3())
    assert isinstance(np.ones(3) * x, T.TensorVariable)
