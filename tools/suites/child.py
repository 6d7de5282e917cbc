"""The runner's child process: collects the cases of one unit with pytest and runs requested ones, one by one.

It communicates by JSON lines through two file descriptors named on the command line. First it writes {"cases": [...],
"errors": [...], "missing": [...]}; then each line it reads is a case's name, and for each it writes {"case", "outcome",
"seconds"} and, if it failed, {"reason", "kind", "where", "text"}. Python's own output goes to standard output as usual.
"""
import argparse
import importlib
import inspect
import json
import os
import random
import sys
import time
import traceback
import types
import warnings

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", choices=["theano", "keras", "plain"], required=True)
    parser.add_argument("--package", choices=["croton", "theano", "none"], required=True)
    parser.add_argument("--sources", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--read", type=int, required=True)
    parser.add_argument("--write", type=int, required=True)
    parser.add_argument("--strict", action="store_true")
    return parser.parse_args()


def set_up_package(options):
    """Makes `import theano` import the package under test, and makes the suite's own helper folders importable."""
    sources = os.path.abspath(options.sources)
    if options.package == "theano":
        import reference
        reference.prepare()
        if options.suite == "theano":
            sys.path.insert(0, sources)
        elif os.environ.get("SUITES_THEANO"):
            sys.path.insert(0, os.environ["SUITES_THEANO"])
        import theano  # noqa: F401
    elif options.package == "croton":
        import croton.theano
        croton.theano.install()
    if options.suite == "keras":
        os.environ["KERAS_BACKEND"] = "theano"
        sys.path.insert(0, sources)
    if options.suite == "theano" and options.package == "croton":
        _test_folders(sources)
        import theano
        theano.__file__ = os.path.join(sources, "theano", "__init__.py")  # test files read data next to it


def _test_folders(sources):
    """theano.X.tests for each folder of tests in the sources. If the package has the folder too, its files come first,
    so that its own unittest_tools is found."""
    for folder, _, files in os.walk(os.path.join(sources, "theano")):
        if os.path.basename(folder) != "tests" or "__init__.py" not in files:
            continue
        name = os.path.relpath(folder, sources).replace(os.sep, ".")
        try:
            module = importlib.import_module(name)
            module.__path__ = [*module.__path__, folder]
            continue
        except ImportError:
            pass
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        try:
            setattr(importlib.import_module(parent), last, module)
        except ImportError:
            pass


def _test_file(sources, name):
    """The path of the suite's test file theano.X.tests.test_Y[.name], or None."""
    for dotted in (name, name.rpartition(".")[0]):
        path = os.path.join(os.path.abspath(sources), *dotted.split(".")) + ".py"
        if os.path.basename(path).startswith("test_") and os.path.exists(path):
            return path
    return None


class Dotted(pytest.Module):
    """A test file imported under its dotted name, so that test files that import each other get the same module."""

    def _getobj(self):
        return importlib.import_module(self.config.suites.dotted)


class Check(pytest.Item):
    """One check of a nose-style generator."""

    def __init__(self, *, call, **kwargs):
        super().__init__(**kwargs)
        self.call = call

    def runtest(self):
        function, *arguments = self.call if isinstance(self.call, tuple) else (self.call,)
        function(*arguments)


class Checks(pytest.Collector):
    """A nose-style generator: each yielded value is a case."""

    def __init__(self, *, obj, **kwargs):
        super().__init__(**kwargs)
        self.obj = obj

    def collect(self):
        owner = self.parent.obj
        if inspect.isclass(owner):
            self.owner = owner()
            getattr(self.owner, "setUp", lambda: None)()
            calls = list(self.obj(self.owner))
        else:
            calls = list(self.obj())
        for number, call in enumerate(calls):
            yield Check.from_parent(self, name=f"[{number}]", call=call)


def _generator(obj):
    while hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    return inspect.isgeneratorfunction(obj)


class Suites:
    """The plugin: finds the cases, and runs them on demand in a loop."""

    def __init__(self, options, dotted, read, write):
        self.options, self.dotted, self.read, self.write = options, dotted, read, write
        self.errors, self.missing, self.failure = [], [], None

    def pytest_configure(self, config):
        config.suites = self
        for mark in ("slow", "skip_on_travis"):
            config.addinivalue_line("markers", mark)

    def pytest_pycollect_makemodule(self, module_path, parent):
        if self.options.suite == "theano":
            return Dotted.from_parent(parent, path=module_path)

    def pytest_collect_file(self, file_path, parent):
        # The runner names one file, with any name.
        if os.path.abspath(str(file_path)) == self.path and not parent.session.isinitpath(file_path):
            return pytest.Module.from_parent(parent, path=file_path)

    def pytest_pycollect_makeitem(self, collector, name, obj):
        plain = inspect.isfunction(obj) and name.lower().startswith("test")
        if plain and _generator(obj) and self.options.suite != "keras":
            return Checks.from_parent(collector, name=name, obj=obj)

    def pytest_collectreport(self, report):
        if report.failed:
            where = report.nodeid.replace("()", "").split("::", 1)
            text = str(report.longrepr)
            self.errors.append({"case": where[1] if len(where) > 1 else "", "text": text[-4000:],
                                "reason": _last_line(text), "kind": _kind_of_text(text)})

    def pytest_runtestloop(self, session):
        items = {}
        for item in session.items:
            name = item.nodeid.replace("()", "").split("::", 1)[-1].replace("::[", "[")
            items[name] = item
        self.tell({"cases": list(items), "errors": self.errors, "missing": self.missing})
        for line in self.read:
            name = json.loads(line)
            self.run(name, items[name])
        return True

    def run(self, name, item):
        self.result = {"case": name, "outcome": "passed"}
        _seed()
        begin = time.perf_counter()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        self.result["seconds"] = round(time.perf_counter() - begin, 3)
        self.tell(self.result)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if report.skipped:
            self.result.update(outcome="skipped", reason=_last_line(str(report.longrepr)))
        elif report.failed and self.result["outcome"] != "failed":
            self.result.update(outcome="failed", when=report.when)
            if call.excinfo is not None:
                self.result.update(describe(call.excinfo.value))
            else:
                self.result.update(reason=_last_line(str(report.longrepr)), kind="failed", text="")

    def tell(self, message):
        self.write.write(json.dumps(message) + "\n")
        self.write.flush()


def _seed():
    """Each case starts from the same random state, independent of earlier cases."""
    import numpy
    numpy.random.seed(666)
    random.seed(666)


def _last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E  ")]
    return (errors or lines or [""])[-1].lstrip("E ")[:300]


def _kind_of_text(text):
    last = _last_line(text)
    return "missing" if "ImportError" in last or "MissingName" in last or "ModuleNotFoundError" in last or \
        "has no attribute" in last or "NotImplementedError" in last else "failed"


def _machinery(path):
    """Whether a frame is of the test runner's, not of the suite's or the package's."""
    return any(part in path.split(os.sep) for part in ("_pytest", "pluggy", "unittest"))


def describe(error):
    """The failure of a case: the reason in one line, its kind, and the innermost place in the suite and in the
    package."""
    name = type(error).__name__
    first = (str(error).strip().splitlines() or [""])[0]
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    missing = isinstance(error, (ImportError, NotImplementedError)) or name == "MissingName"
    if isinstance(error, AttributeError):
        missing = "has no attribute" in str(error)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        missing = True
    if isinstance(error, AssertionError) and not first:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        first = f"in {frame.name}: {frame.line}"
    elif isinstance(error, AssertionError) and len(lines) > 1:
        first = "; ".join(lines[:3])
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames if not _machinery(frame.filename)]
    text = "".join(traceback.format_list([frame for frame in frames if not _machinery(frame.filename)]) +
                   traceback.format_exception_only(type(error), error))
    return {"reason": f"{name}: {first}"[:400], "kind": "missing" if missing else "failed", "where": where[-4:],
            "text": text[-6000:]}


def main():
    options = parse()
    write, read = os.fdopen(options.write, "w"), os.fdopen(options.read)
    sys.path[:0] = [HERE, os.path.join(HERE, "stubs")]
    warnings.simplefilter("ignore")
    import missing
    import shims
    shims.apply()
    dotted = options.file[:-3].replace("/", ".")
    suites = Suites(options, dotted, read, write)
    path = suites.path = os.path.abspath(os.path.join(options.sources, options.file))
    try:
        set_up_package(options)
        if options.package == "croton" and options.suite == "theano" and not options.strict:
            suites.missing = missing.fill(path, "theano", lambda name: _test_file(options.sources, name))
            missing.importing = True
    except BaseException as error:
        suites.tell({"cases": [], "errors": [{"case": "", **describe(error)}], "missing": []})
        return
    arguments = [path, "-c", os.devnull, "--rootdir", os.path.dirname(path), "-p", "no:cacheprovider", "-q",
                 "--continue-on-collection-errors", "-W", "ignore", "--import-mode=prepend", "-s",
                 "-o", "python_classes=Test* test*", "-o", "python_functions=test*"]

    class Collected:
        @staticmethod
        def pytest_collection_finish(session):
            missing.importing = False

    sys.argv = sys.argv[:1]
    pytest.main(arguments, plugins=[suites, Collected])


if __name__ == "__main__":
    main()
