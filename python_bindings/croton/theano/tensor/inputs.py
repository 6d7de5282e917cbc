"""Inputs: theano.tensor.matrix, fvector, ..."""

import numpy

from ..configuration import config
from .constants import TensorType


def dtype_or_floatX(dtype):
    """The dtype; None and "floatX" are that of the flag floatX."""
    return config.floatX if dtype is None or str(dtype) == "floatX" else dtype


def _maker(name, broadcastable):
    def make(name=None, dtype=None):
        return TensorType(dtype_or_floatX(dtype), broadcastable)(name)

    make.__name__ = name
    make.__doc__ = f"An input of the type {name}; its dtype is floatX by default."
    return make


_KINDS = {"scalar": (), "vector": (False,), "matrix": (False,) * 2, "row": (True, False), "col": (False, True),
          "tensor3": (False,) * 3, "tensor4": (False,) * 4, "tensor5": (False,) * 5, "tensor6": (False,) * 6,
          "tensor7": (False,) * 7}
PREFIXES = {"b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64", "c": "complex64",
             "z": "complex128"}


def _several(make):
    def several(*names):
        """Several inputs: with these names, scalars("a", "b"), or one for each letter of a text; or a number of inputs
        without names."""
        if names and isinstance(names[0], (int, numpy.integer)):
            inputs = [make() for _ in range(names[0])]
        else:
            inputs = [make(name) for name in (names[0] if len(names) == 1 else names)]
        return inputs[0] if len(inputs) == 1 else inputs

    return several


_PLURALS = {"scalar": "scalars", "vector": "vectors", "matrix": "matrices", "row": "rows", "col": "cols"}
__all__ = ["tensor"]
for _kind, _pattern in _KINDS.items():
    globals()[_kind] = _maker(_kind, _pattern)
    _plural = _PLURALS.get(_kind, _kind + "s")
    globals()[_plural] = _several(globals()[_kind])
    __all__ += [_kind, _plural]
    for _prefix, _name in PREFIXES.items():
        globals()[_prefix + _kind] = TensorType(_name, _pattern)
        globals()[_prefix + _plural] = _several(globals()[_prefix + _kind])
        __all__ += [_prefix + _kind, _prefix + _plural]


def tensor(*args, **kwargs):
    """An input: tensor(dtype=, broadcastable=, name=)."""
    name = kwargs.pop("name", None)
    return TensorType(*args, **kwargs)(name=name)
