"""The type stubs: a typed program passes mypy, mistakes do not, and the stubs have all names."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys
import warnings

import pytest

import croton
import croton.tensor as T

PACKAGE = pathlib.Path(croton.__file__).parent
PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


def mypy(file, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        warnings.warn("mypy is missing: the stubs are not checked (pip install -r scripts/requirements-test.txt)")
        pytest.skip("mypy is missing: pip install -r scripts/requirements-test.txt")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent) if "site-packages" not in PACKAGE.parts else ""}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--allow-untyped-calls", "--follow-imports=silent", "--no-error-summary",
         f"--cache-dir={tmp_path}", str(file)], capture_output=True, text=True, env=environment, cwd=tmp_path)
    return done.stdout + done.stderr


def test_a_typed_program_passes(tmp_path):
    assert mypy(PROGRAM, tmp_path) == ""


def test_mistakes_are_found(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text("import croton\nimport croton.tensor as T\n"
                    "a: int = T.exp(T.vector('x'))\n"
                    "b = T.no_such_function(1)\n"
                    "c = T.vector('x').no_such_method()\n"
                    "d: str = croton.function([], [])\n"
                    "T.vector(name=3)\n")
    found = mypy(file, tmp_path)
    assert [int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line] == [3, 4, 5, 6, 7], found


def names(file):
    """The names that a stub defines or imports at its top."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
    return found


def test_the_stubs_have_all_names():
    assert (PACKAGE / "py.typed").exists()
    for module, file in ((croton._croton, "_croton/__init__.pyi"), (croton._croton.nnet, "_croton/nnet.pyi"), (T, "tensor.pyi")):
        public = {name for name in vars(module) if not name.startswith("_")}
        assert public - names(PACKAGE / file) == set()
    methods = {node.name for part in ast.parse((PACKAGE / "_croton/__init__.pyi").read_text()).body
               if isinstance(part, ast.ClassDef) and part.name == "Variable" for node in part.body
               if isinstance(node, ast.FunctionDef)}
    assert {name for name in vars(croton.Variable) if not name.startswith("_")} - methods == set()


def test_every_name_is_documented():
    missing = [f"{module.__name__}.{name}" for module in (croton, croton.nnet, T) for name, value in vars(module).items()
               if not name.startswith("_") and callable(value) and not value.__doc__]
    for cls in (croton.Variable, croton.SharedVariable, croton.Function, croton._croton.KernelInfo):
        missing += [f"{cls.__name__}.{name}" for name, value in vars(cls).items() if not name.startswith("_") and
                    callable(value) and not value.__doc__]
    assert missing == []
