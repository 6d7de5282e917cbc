"""Shared code of the drivers; it runs in the program's process, under Croton or under Theano 1.0.5."""

import importlib.util
import os
import sys
import types
import warnings

import numpy

# By path, so that the reference, which has no Croton, converts Python 2 in the same way.
_spec = importlib.util.spec_from_file_location("croton_python2", os.environ["CROTON_PYTHON2"])
python2 = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(python2)


def old_numpy():
    """Names and behaviour of older NumPy, from the time of the programs, that later versions removed."""
    for name, value in {"float": float, "int": int, "bool": bool, "object": object, "product": numpy.prod}.items():
        if name not in vars(numpy):
            setattr(numpy, name, value)
    plain = numpy.asarray

    def asarray(a, *args, **kwargs):
        # Lists of unequal lengths made an array of lists.
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return plain(a, *args, **kwargs)
        except ValueError:
            ragged = isinstance(a, list) and not args and not kwargs and all(isinstance(item, list) for item in a)
            if not ragged:
                raise
            array = numpy.empty(len(a), object)
            array[:] = a
            return array

    numpy.asarray = asarray


def old_scipy():
    """scipy.misc with imsave and imread, which programs import and do not call in these runs."""
    import scipy

    misc = types.ModuleType("scipy.misc")
    misc.imsave = misc.imread = lambda *args, **kwargs: None
    scipy.misc = sys.modules["scipy.misc"] = misc


def package(name, **attributes):
    """Adds a module with this dotted name, and its parent packages."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        if path not in sys.modules:
            sys.modules[path] = types.ModuleType(path)
            sys.modules[path].__path__ = []
            if length > 1:
                setattr(sys.modules[".".join(parts[: length - 1])], parts[length - 1], sys.modules[path])
    vars(sys.modules[name]).update(attributes)


def reference():
    """Names that the programs, written for Theano 0.7 and 0.8, use, and that Theano 1.0.5 no longer has; Croton has
    them."""
    import collections

    import theano
    import theano.tensor.signal.pool as pool

    if not hasattr(theano, "Param"):
        theano.Param = lambda variable, default=None, name=None, **other: theano.In(variable, name=name, value=default, **other)
    package("theano.tensor.signal.downsample", max_pool_2d=lambda input, ds, ignore_border=False: pool.pool_2d(
        input, ds, ignore_border=ignore_border))
    package("theano.compat.python2x", OrderedDict=collections.OrderedDict)


class _Counter(object):
    def __init__(self, stream, lines):
        self.stream, self.left = stream, lines

    def write(self, text):
        self.stream.write(text)
        self.left -= text.count("\n")
        if self.left <= 0:
            self.stream.flush()
            # The program's own loop is longer than the test; its output so far is the result.
            raise SystemExit(0)

    def __getattr__(self, name):
        return getattr(self.stream, name)


def stop_after(lines):
    """Ends the program after this many printed lines."""
    sys.stdout = _Counter(sys.stdout, lines)


def start(seed=1):
    """The first step of every driver."""
    numpy.random.seed(seed)
    if os.environ.get("CROTON_REFERENCE"):
        reference()


def run(path):
    """Runs a program as `__main__`, converted if it is Python 2, and returns its names."""
    return python2.run(path)


def newmu(ntrain, ntest):
    """Theano-Tutorials: tells load.py the folder of its data, and limits the data that the programs get."""
    import functools

    python2.install(os.getcwd(), python2=True)
    import load

    load.datasets_dir = os.environ["PROGRAMS_DATA"]
    load.mnist = functools.partial(load.mnist, ntrain=ntrain, ntest=ntest)
