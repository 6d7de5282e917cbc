"""Programs of Python 2, converted in memory (croton/theano/python2.py)."""

import importlib.util
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import croton

# By path: the module is independent, and its test needs no other part of croton.theano.
_PATH = pathlib.Path(croton.__file__).parent / "theano" / "python2.py"
_SPEC = importlib.util.spec_from_file_location("croton_python2", _PATH)
python2 = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(python2)


@pytest.fixture(autouse=True)
def no_traces():
    modules = set(sys.modules)
    yield
    python2.uninstall()
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Writes files, runs the first one and returns its names; the files must not change."""

    def runner(text, **others):
        for name, other in others.items():
            path = tmp_path / (name + ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(other))
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(text))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.chdir(tmp_path)
        names = python2.run(program)
        assert program.read_text() == textwrap.dedent(text)
        assert not list(tmp_path.glob("**/*.pyc"))
        return names

    return runner


def test_print_statements_and_old_names(run, capsys):
    names = run(
        """
        print "a", 1
        print >>None, 2
        d = {1: 2}
        k = d.keys()
        k.sort()
        big = long(7)
        r = range(3) + [9]
        m = map(lambda (a, b): a + b, [(1, 2), (3, 4)])
        try:
            raise ValueError, "x"
        except ValueError, e:
            said = str(e)
        """
    )
    assert capsys.readouterr().out == "a 1\n2\n"
    assert names["r"] == [0, 1, 2, 9] and names["m"] == [3, 7] and names["k"] == [1] and names["big"] == 7
    assert names["said"] == "x"


@pytest.mark.parametrize(
    "expression, value",
    [
        ("7 / 2", 3),
        ("-7 / 2", -4),
        ("7 / 2.0", 3.5),
        ("1 / 2 / 2.0", 0.0),
        ("(1 + 6) / (1 + 1)", 3),
        ("2 * 7 / 2 * 3", 21),
        ("8 /  (  # why\n 3)", 2),
        ("True / 2", 0),
        ("[x / 2 for x in (3, 5)]", [1, 2]),
        ("'%d/%d' % (1, 2)", "1/2"),
        ("numpy.int64(7) / 2", 3),
        ("(numpy.arange(4) / 2).tolist()", [0, 0, 1, 1]),
        ("(numpy.arange(4) / [2, 2, 2, 2]).tolist()", [0, 0, 1, 1]),
        ("(numpy.arange(2.) / 2).tolist()", [0.0, 0.5]),
        ("round(2.5)", 3.0),
        ("round(-2.5)", -3.0),
        ("round(1.26, 1)", 1.3),
        ("cmp(1, 2)", -1),
        ("'a'.decode('utf-8')", "a"),
        ("'é' + 'ü'.decode('utf-8')", "éü"),
        ("reduce(lambda a, b: a * b, [1, 2, 3])", 6),
        ("0777", 511),
        ("isinstance(u'a', basestring)", True),
    ],
)
def test_expressions(run, expression, value):
    got = run("# -*- coding: utf-8 -*-\nimport numpy\nprint 0\ngot = " + expression + "\n")["got"]
    assert got == value and type(got) in (type(value), np.int64, int if type(value) is bool else type(value))


def test_division_in_place(run):
    names = run(
        """
        import numpy
        print 0
        class Box: pass
        calls = []
        def pick():
            calls.append(1)
            return box
        box = Box(); box.n = 7; box.items = [9, 8.0]
        n = 7; n /= 2
        pick().n /= 1 + 1
        pick().items[len(calls) - 2] /= 2
        box.items[1] /= 16 / 3
        ints = numpy.arange(4); same = ints
        ints /= 2
        floats = numpy.arange(4.)
        floats[1:3] /= 2
        grid = numpy.ones((2, 2)); grid[:, 0] /= 4; grid[1, ...] /= 2
        """
    )
    assert names["n"] == 3 and names["box"].n == 3 and names["box"].items == [4, 1.6]
    assert len(names["calls"]) == 2
    assert names["same"].tolist() == [0, 0, 1, 1] and names["same"] is names["ints"]
    assert names["floats"].tolist() == [0, 0.5, 1, 3]
    assert names["grid"].tolist() == [[0.25, 1], [0.125, 0.5]]


def test_division_in_a_function_keeps_its_scope(run):
    names = run(
        """
        print 0
        total = 9
        def half():
            global total
            total /= 2
            local = 5
            local /= 2
            return local
        got = half()
        """
    )
    assert names["total"] == 4 and names["got"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "from __future__ import division",
        "from __future__ import print_function, division",
        "from __future__ import (print_function,\n                        division)",
        "'about'\nfrom __future__ import with_statement\nfrom __future__ import division",
    ],
)
def test_true_division_where_the_file_asks_for_it(run, line):
    text = line + "\nd = {}\nd.has_key(1)\ngot = 7 / 2\n"
    assert python2.is_python2(text)
    assert run(text)["got"] == 3.5


def test_symbolic_integers_round_down():
    class Symbol:
        def __init__(self, dtype):
            self.dtype = dtype

        def __floordiv__(self, other):
            return "floor"

        def __truediv__(self, other):
            return "true"

        def __rtruediv__(self, other):
            return "true from the right"

    assert python2.divide(Symbol("int64"), 2) == "floor"
    assert python2.divide(Symbol("float32"), 2) == "true"
    assert python2.divide(Symbol("int64"), 2.0) == "true"
    assert python2.divide(1, Symbol("float64")) == "true from the right"


@pytest.mark.parametrize(
    "text, old",
    [
        ("print('a')\n", False),
        ("print 'a'\n", True),
        ("import cPickle\n", True),
        ("try:\n    import cPickle\nexcept ImportError:\n    import pickle\n", False),
        ("import six.moves.cPickle as pickle\n", False),
        ("for i in xrange(3): pass\n", True),
        ("xrange = range\nfor i in xrange(3): pass\n", False),
        ("from six.moves import xrange\nxrange(3)\n", False),
        ("from numpy import *\nlong(3)\n", False),
        ("for a in {}.iteritems(): pass\n", True),
        ("import urllib\nurllib.urlopen('x')\n", True),
        ("from itertools import izip\n", True),
        ("1 / 2\n", False),
    ],
)
def test_what_is_taken_as_python2(text, old):
    assert python2.is_python2(text) == old


def test_a_wrong_program_says_what_python_says(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("x = 1\ndef f(:\n    pass\n")
    with pytest.raises(SyntaxError) as error:
        python2.source_of(program)
    assert error.value.lineno == 2 and error.value.filename == str(program)


def test_lines_keep_their_numbers(run):
    with pytest.raises(ZeroDivisionError) as error:
        run("print 1\n\nfrom helper import f\n\n\nf(1, 0)\n", helper="\n\ndef f(a, b):\n    print a\n    return a / b\n")
    lines = [(entry.path.name, entry.lineno + 1) for entry in error.traceback if hasattr(entry.path, "name")]
    assert ("program.py", 6) in lines and ("helper.py", 5) in lines


def test_modules_beside_an_old_program_divide_as_it_does(run):
    names = run("print 0\nimport helper\ngot = helper.half(7)\n", helper="def half(n):\n    return n / 2\n")
    assert names["got"] == 3


def test_modules_beside_a_new_program_are_told_apart(run):
    names = run(
        "import new, old\ngot = new.half(7), old.half(7)\n",
        new="def half(n):\n    return n / 2\n",
        old="def half(n):\n    print n\n    return n / 2\n",
    )
    assert names["got"] == (3.5, 3)


def test_packages_import_what_lies_beside(run):
    names = run(
        "import pack\ngot = pack.part.half(7)\n",
        **{"pack/__init__": "import part\n", "pack/part": "def half(n):\n    return n / 2\n"},
    )
    assert names["got"] == 3.5


def test_modules_elsewhere_stay_python3(run):
    assert run("print 0\nimport textwrap, numpy\ngot = numpy.mean([1, 2])\n")["got"] == 1.5


def test_pickles_of_python2(run, tmp_path):
    # Python 2's pickle of a str that is not ASCII: SHORT_BINSTRING, which Python 3 cannot read as text.
    (tmp_path / "old.pkl").write_bytes(b"\x80\x02U\x02\xe9\xfcq\x00.")
    names = run(
        """
        import cPickle, pickle
        from cPickle import load
        print 0
        first = cPickle.load(open("old.pkl"))
        second = pickle.load(open("old.pkl", "rb"))
        third = load(open("old.pkl"))
        cPickle.dump([1, 2], open("new.pkl", "w"))
        """
    )
    assert names["first"] == names["second"] == names["third"] == "éü"
    with open(tmp_path / "new.pkl", "rb") as file:
        assert pickle.load(file) == [1, 2]


def test_classes_of_the_program_are_pickled(run):
    names = run("import cPickle\nclass Box(object):\n    pass\nprint 0\ngot = cPickle.loads(cPickle.dumps(Box()))\n")
    assert type(names["got"]) is names["Box"]


def test_tabs_among_blanks(run):
    assert run("print 0\ndef f(a):\n    if a:\n\treturn 1\n    return 2\ngot = f(1), f(0)\n")["got"] == (1, 2)


def test_without_lib2to3_and_fissix(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print 1\n")
    code = textwrap.dedent(
        """
        import importlib.util, sys
        sys.modules["lib2to3"] = sys.modules["fissix"] = None
        spec = importlib.util.spec_from_file_location("python2", sys.argv[1])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            module.source_of(sys.argv[2])
        except ImportError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", code, _PATH, program], capture_output=True, text=True)
    assert "pip install fissix" in done.stdout, done.stderr
