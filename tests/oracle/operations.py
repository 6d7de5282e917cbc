"""The public operations, and the public names that are none."""

import importlib

import croton
import croton.nnet
import croton.tensor as T

from table import ROWS

# Names that make inputs, constants and functions, inspect the machine, or belong to compilation: they compute nothing.
_KINDS = ["scalar", "vector", "matrix", "row", "col", "tensor3", "tensor4"]
NO_OPERATIONS = {prefix + kind for prefix in ["", *"bwilfdcz"] for kind in _KINDS} | {
    "scalars", "vectors", "matrices", "variable", "constant", "as_tensor_variable", "shared", "clone", "devices",
    "known_gpus", "use", "transfer", "nnet", "Variable"}

for table in [
        "elementwise", "complex", "reductions", "shapes", "indexing", "routines", "products", "gradients", "nnet",
        "convolution"
]:
    importlib.import_module("table_" + table)


def find(name):
    """The function with this name; names in croton.nnet begin with `nnet.`."""
    where = T
    for part in name.split("."):
        where = croton.nnet if part == "nnet" else getattr(where, part)
    return where


def names():
    """All public operations."""
    public = ["Variable.__getitem__"] + [n for n in dir(T) if not n.startswith("_") and n not in NO_OPERATIONS]
    return public + ["nnet." + n for n in dir(croton.nnet) if not n.startswith("_")]


def without_row():
    rows = {row.name for row in ROWS}
    return [name for name in names() if name not in rows]
