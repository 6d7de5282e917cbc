"""The line of the Python program: in errors, graphs and kernels, however the code is run."""

import functools
import operator
import sys
import threading

import numpy as np
import pytest

import croton
import croton.tensor as T


def line(after=0):
    """Croton's text for the caller's line, or for a line below it."""
    return f"test_lines.py:{sys._getframe(1).f_lineno + after}"


def message(kind, function):
    with pytest.raises(kind) as error:
        function()
    return str(error.value)


def graph(inputs, *outputs):
    return croton.function(inputs, list(outputs)).graph()


def run_file(folder, name, text, **variables):
    """Runs the text as a file with this name."""
    path = folder / name
    exec(compile(text, str(path), "exec"), variables)
    return variables


def test_errors_name_the_lines_of_all_that_is_involved():
    line_x, line_y, line_sum = line(1), line(2), line(3)
    x = T.variable("float32", (2, 3), "x")
    y = T.variable("float32", (2, 4), "y")
    text = message(croton.ShapeError, lambda: x + y)
    assert f"add ({line_sum})" in text
    assert f"x is f32[2, 3] ({line_x})" in text and f"y is f32[2, 4] ({line_y})" in text


def test_errors_of_gradients_functions_and_calls():
    x, v = T.fmatrix("x"), T.fvector("v")
    assert f"grad ({line()})" in message(croton.TypeError, lambda: croton.grad(x, x))
    assert f"function ({line()})" in message(croton.ValueError, lambda: croton.function([], x))
    assert f"function ({line()})" in message(croton.ValueError, lambda: x.eval())
    assert f"indexing ({line()})" in message(croton.TypeError, lambda: x[0, 0, 0])
    at, total = line(), x + v
    f = croton.function([x, v], total)
    assert at in message(croton.ShapeError, lambda: f(np.zeros((2, 3), np.float32), np.zeros(2, np.float32)))


def test_graphs_and_kernels_name_the_lines():
    x = T.fmatrix("x")
    at_exp, at_tanh = line(1), line(2)
    e = T.exp(x)
    y = T.tanh(e)
    y.name = "y"
    f = croton.function([x], y)
    assert f"exp(x)  # {at_exp}\n" in f.graph() and f"# y {at_tanh}\n" in f.graph()
    for kernel in [*f.kernels("cpu"), *f.kernels("cuda:sm_90")]:
        assert set(kernel.lines) == {at_exp, f"{at_tanh} y"}
        assert f"// from y, {at_tanh}\n" in kernel.source
        rows = kernel.source.splitlines()
        assert [row.split("  // ")[1] for row in rows if "ct::exp(" in row] == [at_exp]
        assert [row.split("  // ")[1] for row in rows if "ct::tanh(" in row] == [f"y, {at_tanh}"]


def test_gradients_lead_to_the_line_of_what_they_are_the_gradient_of():
    x = T.fvector("x")
    at = line(1)
    cost = T.sin(x).sum()
    rows = [row for row in graph([x], croton.grad(cost, x)).splitlines() if "cos" in row]
    assert rows and all(at in row for row in rows)


def test_the_row_of_an_expression_of_several_rows():
    x, y = T.fvector("x"), T.fvector("y")
    at_exp, at_tanh = line(2), line(3)
    text = graph([x, y],
                 T.exp(x),
                 T.tanh(y))
    assert any("exp" in row and at_exp in row for row in text.splitlines())
    assert any("tanh" in row and at_tanh in row for row in text.splitlines())


def test_what_is_made_by_crotons_own_python_files_is_the_callers():
    x = T.fmatrix("x")
    at = line(1)
    y = T.floor_div(T.sub(x.sum(axis=0), T.neg(x).max(axis=0)), x.flatten().reshape(3, -1).mean())
    places = [row.split("  # ")[1] for row in graph([x], y).splitlines() if "  # " in row]
    assert len(places) > 4 and set(places) == {at}


def test_every_line_is_the_programs():
    x, i, t = T.fmatrix("x"), T.imatrix("i"), T.lvector("t")
    w = croton.shared(np.ones((3, 3), np.float32), "w")
    n = T.lscalar("n")
    outputs = [x % 2, 2 ** x, abs(-x), x @ w, i @ i, x.var(), x.mean(axis=0), (i > 0).all(), x.any(), T.clip(x, 0, n),
               T.arange(n), T.arange(1, n), T.zeros((n, 2)), T.ones_like(x), x[0, ::2], x[:, None, :n], x.T,
               T.nnet.relu(x, 0.1), T.nnet.layer_norm(x), T.nnet.binary_crossentropy(T.nnet.sigmoid(x), 1),
               T.nnet.categorical_crossentropy(T.nnet.softmax(x), t), T.nnet.categorical_crossentropy(x, x),
               croton.grad((x @ w).sum() + T.nnet.layer_norm(x).var(), w)]
    for optimizer in ("none", "fast_run"):
        with croton.change_flags(optimizer=optimizer):
            f = croton.function([x, i, t, n], outputs)
        places = [row.split("  # ")[1] for row in f.graph().splitlines() if "  # " in row]
        places += [place for kernel in f.kernels() for place in kernel.lines]
        assert len(places) > 20 and all("test_lines.py:" in place for place in places)


def test_a_function_called_from_another_file(tmp_path):
    library = run_file(tmp_path, "layers.py", "\n\ndef scaled(f, x):\n    return f(x) * 2\n")
    x = T.fvector("x")
    text = graph([x], library["scaled"](lambda v: T.exp(v), x))
    assert f"  # {line(-1)}\n" in text and "  # layers.py:4\n" in text


def test_code_without_a_file():
    scope = {"T": T}
    exec("\nx = T.fvector('x')\ny = T.exp(x)", scope)
    assert "  # <string>:3\n" in graph([scope["x"]], scope["y"])
    bare = {"exp": T.exp, "x": scope["x"], "__builtins__": {}}  # no __name__: not a module at all
    assert "  # <string>:1\n" in graph([scope["x"]], eval("exp(x)", bare))


def test_calls_by_way_of_c():
    x = T.fvector("x")
    at = line(1)
    y = functools.reduce(operator.add, map(T.exp, [x, x * 2]))
    assert graph([x], y).count(at) == 4


def test_threads():
    x, made = T.fvector("x"), []
    at = line(1)
    thread = threading.Thread(target=lambda: made.append(T.exp(x)))
    thread.start()
    thread.join()
    assert at in graph([x], made[0])


def test_names_of_files_cannot_leave_their_comment(tmp_path):
    x = T.fvector("x")
    name = 'a\n#error b\\\r"é\udcff.py'
    y = run_file(tmp_path, name, "y = T.exp(x)", T=T, x=x)["y"]
    f = croton.function([x], y)
    f(np.zeros(3, np.float32))
    assert '  # a?#error b\\?"é\\udcff.py:1\n' in f.graph()
    for target in ("cpu", "cuda:sm_90"):
        kernel, = f.kernels(target)
        assert '// a?#error b??"???udcff.py:1\n' in kernel.source


def test_the_text_of_a_name_outlives_the_code(tmp_path):
    x = T.fvector("x")
    made = [run_file(tmp_path, f"cell_{i}.py", "y = T.exp(x)", T=T, x=x)["y"] for i in range(200)]
    assert all(f"  # cell_{i}.py:1\n" in graph([x], y) for i, y in enumerate(made))
