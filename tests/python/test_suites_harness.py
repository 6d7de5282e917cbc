"""The runner of third-party suites (tools/suites) on a small suite: it must distinguish the kinds of results."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).parents[2] / "tools" / "suites" / "run.py"

PLAIN = '''
import os, signal, time, unittest
import numpy as np
import nose.tools
from nose.plugins.skip import SkipTest
from parameterized import parameterized


def test_pass():
    assert np.asscalar(np.array(3)) == 3


def test_fail():
    assert 1 + 1 == 3


def test_missing_name():
    np.no_such_function(1)


def test_hang():
    time.sleep(600)


def test_after_hang():
    pass


def test_crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def test_exit():
    os._exit(7)


def test_after_crash():
    pass


def test_skipped():
    raise SkipTest("not today")


def check(n):
    nose.tools.assert_equal(n % 2, 0)


def test_generator():
    for n in 0, 1, 2:
        yield check, n


class T_Case(unittest.TestCase):
    def setUp(self):
        self.value = 5

    def test_value(self):
        assert self.value == 5

    @parameterized.expand([(1,), ("two",)])
    def test_kind(self, value):
        assert isinstance(value, int)


class First(unittest.TestCase):
    def test_a(self):
        pass


class Between(unittest.TestCase):
    def test_b(self):
        pass


class Last(unittest.TestCase):
    def test_c(self):
        pass
'''


def run(folder, *options, package="none", suite="plain"):
    """The outcomes by case, and the text of the table."""
    cases, table = folder / "cases.jsonl", folder / "table.md"
    done = subprocess.run([sys.executable, RUN, f"--{suite}", folder, "--package", package, "--json", cases, "--markdown",
                           table, *options], capture_output=True, text=True, timeout=300)
    assert cases.exists(), done.stderr
    outcomes = [json.loads(line) for line in cases.read_text().splitlines()]
    return {outcome["case"].split("::", 1)[1]: outcome for outcome in outcomes}, table.read_text(), done


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "fake.py").write_text(PLAIN)
    return tmp_path


def test_one_case_costs_one_case(plain):
    outcomes, table, done = run(plain, "--units", "plain:fake", "--timeout", "5")
    status = {case: outcome["status"] for case, outcome in outcomes.items()}
    assert status == {
        "test_pass": "passed", "test_fail": "failed", "test_missing_name": "missing op", "test_hang": "failed",
        "test_after_hang": "passed", "test_crash": "failed", "test_exit": "failed", "test_after_crash": "passed",
        "test_skipped": "not counted", "test_generator[0]": "passed", "test_generator[1]": "failed",
        "test_generator[2]": "passed", "T_Case::test_value": "passed", "T_Case::test_kind_0": "passed",
        "T_Case::test_kind_1_two": "failed", "First::test_a": "passed", "Between::test_b": "passed",
        "Last::test_c": "passed"}
    assert "no end within 5 seconds" in outcomes["test_hang"]["reason"]
    assert "SIGSEGV" in outcomes["test_crash"]["reason"]
    assert "code 7" in outcomes["test_exit"]["reason"]
    assert "no_such_function" in outcomes["test_missing_name"]["reason"]
    assert "| plain:fake | 10 | 6 | 1 | 0 | 1 | 58.8 % | 58.8 % |" in table
    assert done.returncode == 1


def test_selection(plain):
    outcomes, _, done = run(plain, "--units", "plain:fake::First..Last,test_pass")
    assert sorted(outcomes) == ["Between::test_b", "First::test_a", "Last::test_c", "test_pass"]
    assert done.returncode == 0


def test_reference_and_internals(plain):
    passes, internals = plain / "passes.txt", plain / "internals.txt"
    passes.write_text("plain:fake::First::test_a\nplain:fake::test_pass\nplain:fake::test_gone\n- plain:fake::Between::test_b\n")
    internals.write_text("plain:fake::First\tlooks inside\n")
    outcomes, table, _ = run(plain, "--units", "plain:fake", "--passes", passes, "--internals", internals, "--case", "test_a",
                             "--case", "test_pass", "--case", "test_gone", "--case", "test_b")
    status = {case: outcome["status"] for case, outcome in outcomes.items()}
    assert status == {"First::test_a": "internals", "test_pass": "passed", "test_gone": "failed",
                      "Between::test_b": "not counted", "test_after_hang": "passed",
                      "test_after_crash": "passed"}
    assert "| plain:fake | 3 | 1 | 0 | 1 | 1 | 75.0 % | 60.0 % |" in table


def test_file_that_does_not_import(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module\ndef test_a():\n    pass\n")
    passes = tmp_path / "passes.txt"
    passes.write_text("plain:broken::test_a\nplain:broken::test_b\n")
    outcomes, _, _ = run(tmp_path, "--units", "plain:broken", "--passes", passes)
    assert {case: outcome["status"] for case, outcome in outcomes.items()} == {
        "test_a": "missing op", "test_b": "missing op"}
    assert "no_such_module" in outcomes["test_a"]["reason"]


THEANO = '''
import numpy as np
import theano
from theano import tensor as T
from theano.tensor import no_such_op
from theano.no_such_module import thing
from theano.tests import unittest_tools as utt

kept = T.no_such_class(3)


class Sub(T.NoSuchBase):
    pass


def test_value():
    x = T.dvector()
    utt.assert_allclose(np.exp([1., 2.]), theano.function([x], T.exp(x))([1, 2]))


def test_wrong_value():
    x = T.dvector()
    utt.assert_allclose(np.sin([1., 2.]), theano.function([x], T.exp(x))([1, 2]))


def test_gradient():
    utt.verify_grad(T.tanh, [np.random.rand(3)])


def test_uses_missing():
    no_such_op(T.dvector())


def test_uses_missing_module():
    thing(1)
'''


def test_croton_as_theano(tmp_path):
    folder = tmp_path / "theano" / "tensor" / "tests"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "test_fake.py").write_text(THEANO)
    outcomes, table, _ = run(tmp_path, "--units", "theano:tensor/tests/test_fake", package="croton", suite="theano")
    assert {case: outcome["status"] for case, outcome in outcomes.items()} == {
        "test_value": "passed", "test_wrong_value": "failed", "test_gradient": "passed", "test_uses_missing": "missing op",
        "test_uses_missing_module": "missing op"}
    assert "WrongValue" in outcomes["test_wrong_value"]["reason"]
    assert "theano.tensor.no_such_op" in outcomes["test_uses_missing"]["reason"]
    assert "theano.no_such_module" in table
    strict, _, _ = run(tmp_path, "--strict", "--units", "theano:tensor/tests/test_fake", package="croton", suite="theano")
    assert {outcome["status"] for outcome in strict.values()} == {"missing op"}


def test_missing_sources(tmp_path):
    done = subprocess.run([sys.executable, RUN, "--theano", tmp_path, "--units", "theano:tests/test_ifelse"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "theano/tests/test_ifelse.py" in done.stderr
