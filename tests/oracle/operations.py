"""The public operations, and which names of the modules are none."""

import importlib

import croton
import croton.nnet
import croton.tensor as T

from table import ROWS

# Make inputs, constants and functions; look at the machine; or belong to compiling: they compute nothing.
_KINDS = ["scalar", "vector", "matrix", "row", "col", "tensor3", "tensor4"]
NO_OPERATIONS = {prefix + kind for prefix in ["", *"bwilfdcz"] for kind in _KINDS} | {
    "scalars", "vectors", "matrices", "variable", "constant", "as_tensor_variable", "shared", "clone", "devices",
    "use", "transfer", "nnet", "Variable"}

for table in [
        "elementwise", "complex", "reductions", "shapes", "indexing", "routines", "products", "gradients", "nnet",
        "convolution"
]:
    importlib.import_module("table_" + table)


def find(name):
    """The function of that name: `nnet.` in front for those of croton.nnet."""
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
