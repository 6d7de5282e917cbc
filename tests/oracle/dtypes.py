"""The dtypes that each operand of a row accepts, found by building expressions. Each of them is compared at least once
(run.py): docs/use/ops.md lists the compared dtypes, and a dtype that is accepted but not compared is a hole."""

import croton
import croton.tensor as T

from samples import DTYPES, One, drawn, generator

# Arrays of float32 represent bfloat16, which NumPy lacks; the dtypes of results are those of float16.
STORED, LIKE = {"bfloat16": "float32"}, {"bfloat16": "float16"}


def varying(row):
    """The operands that have the dtype of a sample."""
    return tuple(i for i, draw in enumerate(row.draws) if not getattr(draw, "fixed", False))


def slots(row):
    """The operands whose dtype varies together, under the role "", and those with separate dtypes, under their
    roles."""
    together = varying(row)
    alone = [(draw.role, (i,)) for i, draw in enumerate(row.draws) if getattr(draw, "fixed", False)]
    return [("", together)] * bool(together) + alone


def dtypes_of(row, dtype, at=None):
    """The dtype of each operand: `dtype` for those at `at` (by default for those that vary together)."""
    names = []
    for i, draw in enumerate(row.draws):
        fixed = getattr(draw, "fixed", False)
        chosen = i in at if at is not None else not fixed
        names.append(dtype if chosen else draw.dtype if fixed else row.dtypes[0])
    return names


def arrays_of(row, names, shapes, random):
    return tuple(drawn(draw, name, tuple(shape), random) for draw, name, shape in zip(row.draws, names, shapes))


def inputs_of(names, shapes):
    """Inputs, and the variables for them in the expression. Sizes are unknown unless the table declares 1."""
    inputs = [
        T.variable(STORED.get(name, name), [1 if isinstance(n, One) else None for n in shape])
        for name, shape in zip(names, shapes)
    ]
    return inputs, [T.cast(x, name) if name in STORED else x for x, name in zip(inputs, names)]


def accepted(row, build):
    """{role: [dtype]}: the dtypes of operands for which `build(names)` makes the expression."""
    found = {}
    for role, at in slots(row):
        for dtype in DTYPES:
            try:
                build(dtypes_of(row, dtype, at))
            except (croton.Error, TypeError, ValueError):
                continue
            taken = found.setdefault(role, [])
            taken += [dtype] * (dtype not in taken)
    return found


def like(dtype):
    return LIKE.get(dtype, dtype)


def result_dtype(name, names):
    """The dtype of a result for operands of these dtypes, if NumPy's rules give `name` with float16 for bfloat16."""
    return "bfloat16" if name == "float16" and "bfloat16" in names else name
