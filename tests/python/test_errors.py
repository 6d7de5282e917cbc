"""Errors: Croton's kinds as Python exceptions, and messages that name the variables, types and shapes."""

import builtins
import datetime

import numpy as np
import pytest

import croton
import croton.tensor as T

X = T.fmatrix("x")


def test_classes():
    for name, native in [("TypeError", TypeError), ("ValueError", ValueError), ("ShapeError", ValueError),
                         ("IndexError", IndexError), ("DisconnectedInputError", ValueError),
                         ("FileError", OSError), ("OutOfMemory", MemoryError),
                         ("DeviceError", RuntimeError), ("AssertionError", AssertionError),
                         ("NotImplementedError", NotImplementedError), ("ConfigError", Exception)]:
        kind = getattr(croton, name)
        assert issubclass(kind, croton.Error) and issubclass(kind, native), name
        assert kind.__module__ == "croton" and kind.__doc__
    assert issubclass(croton.ShapeError, croton.ValueError)
    assert not issubclass(croton.InternalError, croton.Error)


def test_a_star_import_hides_nothing_of_python():
    scope = {}
    exec("from croton import *", scope)
    assert not [name for name in scope if name != "__builtins__" and hasattr(builtins, name)]


def refused(kind, message, function, *arguments, **named):
    with pytest.raises(kind) as error:
        function(*arguments, **named)
    assert message in str(error.value)


def test_variables_have_no_truth_length_or_items():
    refused(croton.TypeError, "truth value", bool, X)
    refused(croton.TypeError, "x.shape[0]", len, X)
    refused(croton.TypeError, "iterated", list, X)
    refused(TypeError, "", float, X)
    refused(TypeError, "", lambda: 1 in X)
    refused(TypeError, "", lambda: [1, 2][X])


def test_operands():
    refused(TypeError, "unsupported operand", lambda: X + "a")
    refused(TypeError, "unsupported operand", lambda: None * X)
    refused(croton.TypeError, "str", T.exp, "a")
    refused(TypeError, "NoneType", T.exp, None)
    refused(croton.TypeError, "variables", lambda: X + [X, X])
    refused(croton.TypeError, "dtype", lambda: X + np.array(["a"]))
    refused(croton.TypeError, "dtype object", lambda: X + np.array([None]))
    refused(croton.ValueError, "64 bits", lambda: X + 2**64)
    refused(croton.TypeError, "float32", T.cast, X, "floot")
    refused(croton.TypeError, "dtype", X.astype, "x")
    refused(croton.TypeError, "number of decimals is a whole number, not Variable", T.round, X, T.iscalar())
    refused(croton.TypeError, "'nuc'", T.norm, X, "nuc")
    refused(croton.TypeError, "dict", X.sum().eval, [np.zeros((2, 2), np.float32)])
    refused(croton.TypeError, "keys are variables", X.sum().eval, {"x": np.zeros((2, 2), np.float32)})


def test_indices_and_axes():
    refused(croton.TypeError, "index", lambda: X[1.5])
    refused(croton.TypeError, "index", lambda: X[True])
    refused(croton.TypeError, "", lambda: X[0, 0, 0])
    refused(croton.TypeError, "bound", lambda: X[0:1.5])
    refused(croton.ValueError, "axis 5", X.sum, axis=5)
    refused(croton.TypeError, "axis", X.sum, axis="0")
    refused(croton.ValueError, "dimshuffle", X.dimshuffle, -1)
    refused(IndexError, "", croton.function([X], X[3]), np.zeros((2, 2), np.float32))


def test_gradients():
    cost = X.sum()
    refused(croton.TypeError, "0-d", croton.grad, X, X)
    refused(croton.DisconnectedInputError, "q", croton.grad, cost, T.fscalar("q"))
    refused(croton.ValueError, "'raise'", croton.grad, cost, X, disconnected_inputs="no")


def test_functions():
    y = T.fmatrix("y")
    refused(croton.ValueError, "y", croton.function, [X], y)
    refused(croton.TypeError, "list", croton.function, X, X)
    refused(croton.TypeError, "str", croton.function, ["x"], X)
    refused(croton.TypeError, "pairs", croton.function, [X], X, updates=[X])
    refused(croton.TypeError, "shared", croton.function, [X], X, updates=[(X, X)])
    refused(croton.TypeError, "dtype", croton.function, [], updates={croton.shared(np.float32(0)): T.dscalar("d")})
    refused(croton.ValueError, "'ignore'", croton.function, [X], X, on_unused_input="no")


def test_an_output_that_was_overwritten_by_a_result():  # row C0.7 of docs/use/programs.md
    y_pred = X * 2
    f = croton.function([X], y_pred)
    y_pred = f(np.zeros((2, 2), "float32"))
    message = "output 1 of 1 is a NumPy array, not a variable or an Out; was the symbolic variable of that name overwritten"
    with pytest.raises(croton.TypeError, match=message):
        croton.function(inputs=[X], outputs=y_pred)
    with pytest.raises(croton.TypeError, match="output 2 of 2 is of type float, not a variable.*croton.constant"):
        croton.function([X], [X, 0.5])
    assert croton.function([], croton.constant(0.5))() == 0.5


def test_calls():
    y = T.fmatrix("y")
    f = croton.function([X, y], X + y, name="total")
    a = np.zeros((2, 3), np.float32)
    refused(croton.TypeError, "y", f, a)
    refused(croton.TypeError, "3 arguments", f, a, a, a)
    refused(croton.TypeError, "'z'", f, a, z=a)
    refused(croton.TypeError, "by position and by name", f, a, x=a)
    refused(croton.ShapeError, "", f, a, np.zeros((2, 4), np.float32))
    refused(croton.TypeError, "float64", f, a, a.astype(float))
    refused(croton.TypeError, "dimension", f, a, 3)
    refused(croton.TypeError, "str", f, a, "b")
    refused(croton.ValueError, "cuda:sm_XX", f.kernels, "amd")
    refused(croton.ValueError, "sm_90", f.kernels()[0].ptx)


def test_a_call_that_raises_changes_nothing():
    t, total = T.ivector("t"), croton.shared(np.float32(0))
    loss = T.nnet.categorical_crossentropy(T.nnet.softmax(X), t).sum()
    f = croton.function([X, t], loss, updates=[(total, total + loss)])
    with pytest.raises(IndexError):
        f(np.zeros((1, 3), np.float32), [3])
    assert total.get_value() == 0


DATE = np.datetime64("2020-01-01")


@pytest.mark.parametrize("value, dtype", [
    (DATE, "datetime64"), (np.timedelta64(3, "s"), "timedelta64"), (np.array([DATE]), "datetime64"), ([DATE, DATE], "datetime64"),
    (np.array(DATE), "datetime64"), (np.zeros(2, "i4,f8"), "'f1', '<f8'"), (np.zeros(2, "i4,f8")[0], "'f1', '<f8'"),
    (np.array([1, None]), "object"), (np.array(["a"]), "<U1"), (np.array([b"a"]), r"\|S1"), (np.void(b"abc"), r"\|V3"),
    (np.longdouble(1), "float128|longdouble"), (datetime.date(2020, 1, 1), "object .from date")])
def test_what_holds_no_numbers(value, dtype):
    f, w = croton.function([croton.In(X, allow_downcast=True)], X), croton.shared(np.zeros((1, 1), "float32"))
    takers = [croton.constant, croton.shared, T.exp, f, w.set_value, lambda v: T.maximum(X, v), lambda v: X.eval({X: v}), lambda v: croton.In(X, value=v),
              lambda v: T.where(X > 0, X, v), lambda v: T.concatenate([X, v]), lambda v: f(x=v), lambda v: T.zeros((v,)) if np.ndim(v) == 0 else T.exp(v)]
    for take in takers:
        with pytest.raises(croton.TypeError, match=f"dtype .*({dtype}).* cannot be used; numbers of at most 64 bits"):
            take(value)
    for operation in (lambda: X + value, lambda: value * X, lambda: T.add(1, value), lambda: X < value, lambda: X[value], lambda: X[value:], lambda: T.max(X, axis=value)):
        with pytest.raises(TypeError):
            operation()


def test_dates_are_told_how_to_become_numbers():
    refused(croton.TypeError, "(from datetime64)", croton.constant, DATE)
    refused(croton.TypeError, "astype('int64')", croton.constant, DATE)
    assert croton.constant(DATE.astype("int64")).eval() == 18262


def test_numbers_that_only_look_like_whole_numbers():
    refused(croton.TypeError, "an axis is a whole number, not ndarray", T.max, X, axis=np.array([object()]))
    refused(croton.TypeError, "an axis is a whole number, not ndarray", T.max, X, np.array([0, 1]))
    refused(croton.TypeError, "a bound of a slice is a whole number", lambda: X[np.array([1, 2]):])
    refused(croton.TypeError, "one axis is needed, not 0", T.take, X, T.lvector(), ())
    refused(croton.TypeError, "one axis is needed, not 2", T.take, X, T.lvector(), (0, 1))
    refused(croton.TypeError, "ndim is a whole number, not list", T.tile, X, 2.0, [])
    refused(croton.ValueError, "ndim of 2147483647; 0 to 64", T.tile, X, 2, 2**31 - 1)
    refused(croton.ValueError, "ndim of -1; 0 to 64", T.tile, X, 2, -1)
    refused(croton.TypeError, "not dict", T.tile, X, {})
    refused(croton.ValueError, "between -2^40 and 2^40, not 2199023255552", lambda: X[::2**41])
    refused(croton.ValueError, "between -2^40 and 2^40", lambda: X[::-10**30])
    refused(croton.ValueError, "a number of differences of 2147483647", T.diff, X, 2**31 - 1)
    refused(croton.ValueError, "a number of parts of 2147483647", T.split, X, 2**31 - 1)

    class Broken:
        def __index__(self):
            raise KeyError("an error of the user")

    refused(KeyError, "an error of the user", T.max, X, Broken())
    assert X[:10**30].ndim == 2  # beyond the end, as in Python


def test_misspelt_keywords():
    refused(croton.TypeError, "max() got an unexpected keyword 'axs'; did you mean 'axis'?", T.max, X, axs=1)
    refused(croton.TypeError, "max() got an unexpected keyword 'axs'; did you mean 'axis'?", X.max, axs=1)
    refused(croton.TypeError, "'borow'; did you mean 'borrow'?", croton.shared, 1.0, borow=True)
    refused(croton.TypeError, "SharedVariable.get_value() got an unexpected keyword 'borow'", croton.shared(1.0).get_value, borow=True)
    refused(croton.TypeError, "In() got an unexpected keyword 'strct'; did you mean 'strict'?", croton.In, X, strct=True)
    refused(croton.TypeError, "function() got an unexpected keyword 'update'; did you mean 'updates'?", croton.function, [X], X, update=[])
    refused(croton.TypeError, "'colour'; it takes x, axis, dtype", T.max, X, colour=1)
    refused(TypeError, "incompatible function arguments", T.max, X, keepdims="x")  # the keyword is not the reason
    refused(TypeError, "incompatible function arguments", T.max, axis=1)


def test_default_updates_are_of_the_type_of_the_variable():
    w = croton.shared(np.arange(3.0), "w")
    for wrong in (croton.constant(1), w.sum(), T.cast(w, "float32"), 2.0):
        refused(croton.TypeError, "set_default_update: 'w' is f64[?], but its update is", w.set_default_update, wrong)
    w.set_default_update(w + 1)
    assert w.eval().tolist() == [0, 1, 2] and w.eval().tolist() == [1, 2, 3]


def test_lines_are_of_the_user():
    with pytest.raises(croton.TypeError, match=r"eye \(test_errors.py:\d+\): .* the number of rows must be an integer scalar"):
        T.eye(1.5)
