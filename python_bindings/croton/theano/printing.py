"""Graphs and values as text: pp, debugprint, Print."""

import hashlib
import sys

import numpy

from croton import _croton

from .compiling import Function
from .graph import Variable
from .variables import TensorConstant
from .wrapping import as_variable, wrap

_SIGNS = {"add": " + ", "sub": " - ", "mul": " * ", "div": " / ", "true_div": " / ", "pow": " ** ", "lt": " < ", "gt":
          " > ", "le": " <= ", "ge": " >= ", "floor_div": " // ", "mod": " % ", "eq": " == ", "dot": " \\dot "}


def pprint(x):
    """The expression in infix form: "(x + y)"."""
    if isinstance(x, Function):
        return "[" + ", ".join(pprint(o) for o in x.outputs) + "]"
    x = as_variable(x)
    if x.name is not None and x.owner is None:
        return x.name
    if isinstance(x, TensorConstant):
        return str(x) if x.data.size > 1 else str(x.data.reshape(-1)[0])
    if x.owner is None:
        return f"<{x.type}>"
    name = str(x.owner.op)
    parts = [pprint(i) for i in x.owner.inputs]
    if name in _SIGNS and len(parts) == 2:
        return f"({_SIGNS[name].join(parts)})"
    if name == "neg":
        return f"(-{parts[0]})"
    return f"{name}({', '.join(parts)})"


pp = pprint


def _tree(x, indent, seen, lines, depth):
    """Adds the lines of a variable, and below it those of its inputs, indented by one more bar."""
    label = str(x.owner.op) if x.owner is not None else str(x)
    known = x in seen
    if not known:
        seen[x] = f"[id {_letters(len(seen))}]"
    name = f" '{x.name or ''}'" if x.owner is not None else ""
    lines.append(f"{indent}{label} {seen[x]}{name}")
    if x.owner is None or depth == 0:
        return
    if known:
        lines.append(f"{indent} |...")
        return
    for i in x.owner.inputs:
        _tree(i, indent + " |", seen, lines, depth - 1)


def _letters(n):
    text = ""
    n += 1
    while n:
        n, digit = divmod(n - 1, 26)
        text = chr(65 + digit) + text
    return text


def debugprint(obj, depth=-1, print_type=False, file=None, ids="CHAR", stop_on_name=False, done=None,
               print_storage=False, print_clients=False, used_ids=None):
    """Prints the graph as a tree to the standard output or a file, or returns it as text (file="str"). For a compiled
    function: the graph before rewriting."""
    roots = obj if isinstance(obj, (list, tuple)) else [obj]
    variables = []
    for root in roots:
        if isinstance(root, Function):
            variables += root.maker.fgraph.outputs
        elif isinstance(root, Variable):
            variables.append(root)
        elif hasattr(root, "outputs"):
            variables += root.outputs
        else:
            raise TypeError(f"debugprint cannot print an object of type {type(root)}", root)
    lines, seen = [], {}
    for x in variables:
        _tree(x, "", seen, lines, depth)
    text = "\n".join(lines) + "\n"
    if file == "str":
        return text
    (file or sys.stdout).write(text)
    return file or sys.stdout


def _print(op, value):
    for attribute in op.attrs:
        content = getattr(value, attribute)
        print(op.message, attribute, "=", content() if callable(content) else content)


class Print:
    """Print(message)(x): x, whose value is printed when a function computes it. attrs: the attributes that are
    printed."""

    def __init__(self, message="", attrs=("__str__",), global_fn=_print):
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def __call__(self, x):
        x = as_variable(x)

        def compute(value):
            self.global_fn(self, numpy.asarray(value))
            return value

        op = _croton.HostOp("Print", lambda v: (v.dtype, list(v.shape)), compute, lambda inputs, outputs, gs: [gs[0]],
                            pure=False)
        return wrap(op(x._croton))


def pydotprint(*args, **kwargs):
    raise NotImplementedError("Croton does not support pydotprint, which draws graphs by Graphviz; debugprint prints "
                              "the graph, and function.graph(), .kernels() and .plan() what it is compiled to")


def var_descriptor(obj, _prev_obs=None, _tag_generator=None):
    """A text that identifies an expression."""
    return debugprint(obj, file="str") if isinstance(obj, Variable) else str(obj)


def min_informative_str(obj, indent_level=0, _prev_obs=None, _tag_generator=None):
    """A short text of an expression."""
    return debugprint(obj, file="str")


def hex_digest(x):
    """A text that identifies an array's value."""
    x = numpy.asarray(x)
    return f"{hashlib.sha256(x.tobytes()).hexdigest()}|strides={list(x.strides)}|shape={list(x.shape)}"


__all__ = ["pp", "pprint", "debugprint", "Print", "pydotprint", "var_descriptor", "min_informative_str", "hex_digest"]
