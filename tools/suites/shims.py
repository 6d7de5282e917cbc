"""Names of Python and NumPy that old test code expects and that no longer exist; only for the runner's child processes.

The suites were written for Python 2.7 to 3.6 and NumPy 1.x. Nothing here changes what a test computes: each entry is
another spelling of something that still exists.
"""
import collections
import collections.abc
import functools
import inspect
import math
import sys
import types
import unittest

import numpy as np


def apply():
    _python_names()
    _numpy_names()
    _numpy_testing()
    _scipy_names()
    _h5py_text()
    _yaml_loader()


def _python_names():
    for name in ("Callable", "Iterable", "Iterator", "Hashable", "Mapping", "MutableMapping", "MutableSet", "Sequence",
                 "MutableSequence", "Set", "Sized", "Container", "ValuesView", "KeysView", "ItemsView"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
        inspect.getargspec = lambda function: ArgSpec(*inspect.getfullargspec(function)[:4])
    if sys.version_info >= (3, 12):
        sys.modules.setdefault("imp", types.ModuleType("imp"))
        for old, new in (("assertEquals", "assertEqual"), ("assertRaisesRegexp", "assertRaisesRegex"),
                         ("assertItemsEqual", "assertCountEqual"), ("assert_", "assertTrue"),
                         ("failUnless", "assertTrue"), ("assertNotEquals", "assertNotEqual")):
            if not hasattr(unittest.TestCase, old):
                setattr(unittest.TestCase, old, getattr(unittest.TestCase, new))


def _numpy_names():
    old = {"bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str, "long": int,
           "unicode": str, "asscalar": lambda a: a.item(), "product": np.prod, "cumproduct": np.cumprod,
           "sometrue": np.any, "alltrue": np.all, "float_": np.float64, "complex_": np.complex128,
           "string_": np.bytes_, "unicode_": np.str_, "Inf": np.inf, "Infinity": np.inf, "NaN": np.nan,
           "NAN": np.nan, "PINF": np.inf, "NINF": -np.inf, "infty": np.inf, "round_": np.round,
           "mat": np.asmatrix, "row_stack": np.vstack, "math": math,
           "find_common_type": lambda arrays, scalars: np.result_type(*arrays, *scalars)}
    for name, value in old.items():
        # vars(): reading a removed name through NumPy's module raises or warns, and np.bool has another meaning from 2.0.
        if name not in vars(np):
            setattr(np, name, value)
    if not hasattr(np, "in1d"):
        np.in1d = lambda a, b, assume_unique=False, invert=False: np.isin(
            np.ravel(a), b, assume_unique=assume_unique, invert=invert)
    if not hasattr(np, "trapz") and hasattr(np, "trapezoid"):
        np.trapz = np.trapezoid
    if not hasattr(np, "sctypes"):
        np.sctypes = {"int": [np.int8, np.int16, np.int32, np.int64],
                      "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
                      "float": [np.float16, np.float32, np.float64, np.longdouble],
                      "complex": [np.complex64, np.complex128, np.clongdouble],
                      "others": [bool, object, bytes, str, np.void]}
    for name in ("ComplexWarning", "VisibleDeprecationWarning", "AxisError", "RankWarning"):
        if not hasattr(np, name) and hasattr(np.exceptions, name):
            setattr(np, name, getattr(np.exceptions, name))
    if "cast" not in vars(np):
        np.cast = _Casts()
    if "typeDict" not in vars(np):
        np.typeDict = np.sctypeDict


class _Casts:
    """numpy.cast: cast[dtype](value)."""

    def __getitem__(self, dtype):
        return lambda value: np.asarray(value, dtype)


def _numpy_testing():
    """numpy.testing.dec, NumPy's former decorators for nose (versions that still have them need nose)."""

    def skipif(condition, message="skipped"):
        def decorate(function):
            @functools.wraps(function)
            def run(*args, **kwargs):
                if condition() if callable(condition) else condition:
                    raise unittest.SkipTest(message)
                return function(*args, **kwargs)
            return run
        return decorate

    same = lambda function: function  # noqa: E731
    np.testing.dec = types.SimpleNamespace(skipif=skipif, knownfailureif=skipif, slow=same,
                                           setastest=lambda flag=True: same, deprecated=lambda flag=True: same)


def _scipy_names():
    try:
        import scipy
    except ImportError:
        return
    for name in ("float32", "float64", "zeros", "ones", "array", "real", "imag", "arange"):
        if name not in vars(scipy):
            setattr(scipy, name, getattr(np, name))


def _h5py_text():
    """Texts that h5py 3 returns as str and h5py 2 returned as bytes: programs call decode() on them."""
    try:
        import h5py
    except ImportError:
        return

    class Text(str):
        def decode(self, encoding="utf-8", errors="strict"):
            return str(self)

    read = h5py.AttributeManager.__getitem__

    def __getitem__(self, name):
        value = read(self, name)
        if type(value) is str:
            return Text(value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            return np.array([v.encode() if type(v) is str else v for v in value.ravel()]).reshape(value.shape)
        return value

    h5py.AttributeManager.__getitem__ = __getitem__


def _yaml_loader():
    """yaml.load without a loader, as before PyYAML 6."""
    try:
        import yaml
    except ImportError:
        return
    load = yaml.load
    yaml.load = lambda stream, Loader=yaml.UnsafeLoader: load(stream, Loader)
