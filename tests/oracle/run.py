"""Runs every row of the table against NumPy and SciPy: `python run.py [--only NAME ...] [--records FOLDER]`.

Rows that are fed with the same arrays become outputs of one compiled function, so that thousands of samples need few
compilations. A sample is one call of one operation on one set of arrays, compared as a whole. Prints the samples of
each operation, and a program for every one that fails."""

import argparse
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

import croton
import croton.nnet
import croton.tensor as T

import gradients
import operations
from compare import fault, self_test, wide
from known_faults import known
from samples import LAYOUTS, REALS, One, generator, placed
from table import ROWS, Call, Row, floats

np.seterr(all="ignore")
warnings.simplefilter("ignore")  # of NumPy, about nan and empty arrays
GROUP = 10  # outputs of one function: dozens of pointers in one loop compile slowly
FLAGS = {"special_values": "ieee"}  # x * 0 stays what it is
SIMULATED = {"float32", "int32", "bool", "complex64"}


@dataclass
class Case:
    row: Row
    call: Call
    dtype: str
    label: str


def variables_of(arrays, shapes):
    """Inputs of the ranks and dtypes of the arrays; sizes are unknown but where the table states 1."""
    return [
        T.variable(str(a.dtype), [1 if isinstance(n, One) else None for n in shape])
        for a, shape in zip(arrays, shapes)
    ]


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def expression(case, variables):
    function = operations.find(case.row.name)
    build = case.row.build or (lambda f, *a, **k: f(*a, **k))
    return as_list(build(function, *variables, *case.call.args, **case.call.kwargs))


def expected(case, arrays):
    """The reference's results, each as wide as they come, and the dtype that the operation should give."""
    row = case.row
    apply = lambda operands: as_list(row.reference(*operands, *case.call.args, **case.call.kwargs))
    if not row.wide:
        exact = apply(arrays)
    elif row.result is floats:
        varies = [not getattr(draw, "fixed", False) for draw in row.draws]
        exact = apply(
            [wide(a.astype(np.float64) if v and a.dtype.kind in "iub" else a) for a, v in zip(arrays, varies)])
    else:
        exact = apply([wide(a) for a in arrays])
    if row.result:
        return [(e, row.result(arrays[0].dtype if arrays else None)) for e in exact]
    return [(e, np.asarray(n).dtype) for e, n in zip(exact, apply(arrays))]


def check(case, arrays, results):
    """None, or what is wrong."""
    try:
        wanted = expected(case, arrays)
    except Exception as error:  # a mistake in the table
        return f"the reference raises {type(error).__name__}: {error}"
    if len(wanted) != len(results):
        return f"{len(results)} results, not {len(wanted)}"
    for got, (exact, dtype) in zip(results, wanted):
        got = np.asarray(got)
        if got.dtype != dtype:
            return f"the dtype is {got.dtype}, not {dtype}"
        problem = fault(got, exact, case.row.tolerance(got.dtype), case.row.margin(got.dtype), case.row.zero_sign)
        if problem:
            return problem
    return None


def repro(case, arrays, mode):
    """A program that shows the fault."""
    lines = ["import numpy as np, croton, croton.tensor as T"]
    for i, a in enumerate(arrays):
        lines.append(f"a{i} = np.array({np.array2string(a, separator=', ', threshold=200)}, '{a.dtype}')  # {a.shape}")
    names = ", ".join(f"a{i}" for i in range(len(arrays)))
    lines.append(f"# mode={mode}: {case.row.name}({names}{', ' if str(case.call) else ''}{case.call})")
    return "\n      ".join(line.replace("array(", "(").replace("np.(", "np.array(") for line in lines)


class Tally:
    def __init__(self):
        self.good, self.bad = Counter(), {}  # bad: the first fault of each case
        self.stepped_round = Counter()

    def add(self, case, backend, arrays, problem):
        if problem is None:
            self.good[case.row.name, backend, case.dtype] += 1
        elif known(case.row.name, case.dtype, problem):
            self.stepped_round[case.row.name] += 1
        else:
            self.bad.setdefault((case.label, backend),
                                f"{case.label}: {problem}\n      " + repro(case, arrays, backend))


def compiled(mode, variables, outputs):
    return croton.function(variables, outputs, on_unused_input="ignore")


def run_group(cases, sets, shapes, mode, tally, **flags):
    """All cases as outputs of one function; one by one where that does not work."""
    with croton.change_flags(mode=mode, **FLAGS, **flags):
        variables = variables_of(sets[0], shapes)
        outputs, spans, working = [], [], []
        for case in cases:
            try:
                mine = expression(case, variables)
            except Exception as error:
                tally.add(case, mode, sets[0], f"was refused: {type(error).__name__}: {error}")
                continue
            spans.append((len(outputs), len(outputs) + len(mine)))
            outputs += mine
            working.append(case)
        if not working:
            return
        try:
            function = compiled(mode, variables, outputs)
            for arrays in sets:
                results = function(*arrays)
                for case, (first, last) in zip(working, spans):
                    tally.add(case, mode, arrays, check(case, arrays, results[first:last]))
        except croton.Error as error:
            if len(cases) == 1:
                tally.add(cases[0], mode, sets[0], f"raised {type(error).__name__}: {error}")
                return
            for case in cases:
                run_group([case], sets, shapes, mode, tally, **flags)


def sets_of(row, dtype):
    """The arrays of every call: the table's shapes, then the first ones in awkward places."""
    key = tuple(getattr(d, "__qualname__", "") + str(getattr(d, "interval", "")) for d in row.draws)
    random = generator(key, dtype, row.shapes)
    sets = [tuple(draw(dtype, shape, random) for draw, shape in zip(row.draws, shapes)) for shapes in row.shapes]
    if row.layouts and any(a.ndim for a in sets[0]) and dtype in ("float32", "int16", "complex64", "float64", "int8"):
        few = LAYOUTS if dtype in ("float32",) else LAYOUTS[-2:]
        sets += [tuple(placed(a, layout, random) for a in sets[0]) for layout in few]
    return sets


def groups(rows):
    """Cases that are fed with the same arrays, by these."""
    found = defaultdict(list)
    for row in rows:
        if not row.shapes:
            continue
        for dtype in row.dtypes:
            for call in row.calls:
                label = f"{row.name}({dtype}{', ' if str(call) else ''}{call})"
                key = (dtype, row.shapes, tuple(id(d) for d in row.draws), row.layouts)
                found[key].append(Case(row, call, dtype, label))
    return found


def run_samples(rows, tally, progress, texts):
    written = set()  # operations of which a CUDA text has been written, for NVRTC
    for (dtype, shapes, _, _), cases in groups(rows).items():
        sets = sets_of(cases[0].row, dtype)
        for first in range(0, len(cases), GROUP):
            part = cases[first:first + GROUP]
            started = time.time()
            run_group(part, sets, shapes[0], "run", tally)
            # A share on the other back-ends: one full set of arrays.
            run_group(part, sets[:1], shapes[0], "reference", tally)
            if dtype in SIMULATED or any(not SIMULATED & set(case.row.dtypes) for case in part):
                new = {case.row.name for case in part} - written if texts else set()
                flags = {"dump_kernels": texts, "dump_forms": "text"} if new else {}
                run_group(part, sets[-1:], shapes[0], "simulate", tally, **flags)
                written |= new
            if progress:
                print(
                    f"{time.time() - started:6.2f} s  {', '.join(dict.fromkeys(c.row.name for c in part))} of {dtype}",
                    flush=True)


def run_refusals(rows, tally):
    """What NumPy refuses, and what Croton refuses on purpose: a TypeError, ValueError or IndexError of Croton's."""
    for row in rows:
        for arrays, call in row.refusals:
            arrays = [np.asarray(a) for a in arrays]
            case = Case(row, call, str(arrays[0].dtype) if arrays else "", f"{row.name} refuses")
            try:
                variables = variables_of(arrays, [a.shape for a in arrays])
                croton.function(variables, expression(case, variables), on_unused_input="ignore")(*arrays)
                problem = "nothing was raised"
            except croton.InternalError as error:
                problem = f"an internal error: {error}"
            except (croton.Error, ValueError, TypeError, IndexError):
                problem = None
            tally.add(case, "refusal", arrays, problem)


def accepted(row):
    """The dtypes of the first operand with which the expression can be built."""
    taken = []
    for dtype in REALS + ["bfloat16", "complex64", "complex128"]:
        try:
            random = generator(row.name)
            variables = []
            for draw, shape in zip(row.draws, row.shapes[0]):
                name = str(draw("float32", (2,) * len(shape), random).dtype) if getattr(draw, "fixed", False) else dtype
                variables.append(T.variable(name, [1 if isinstance(n, One) else None for n in shape]))
            expression(Case(row, row.calls[0], dtype, ""), variables)
            taken.append(dtype)
        except (croton.Error, TypeError):
            pass
    return taken


def write_records(path, tally, rows, found_gradients):
    """Lines of: operation, back-end, dtype, what, count."""
    with open(path, "w") as out:
        for (name, backend, dtype), count in sorted(tally.good.items()):
            out.write(f"{name} {backend} {dtype or '-'} numpy {count}\n")
        for row in {row.name: row for row in reversed(rows)}.values():
            if row.shapes:
                out.write(f"{row.name} - {','.join(accepted(row)) or '-'} accepts 1\n")
        for name, (order, kind) in sorted(found_gradients.items()):
            out.write(f"{name} reference float64 gradient:{kind} {order}\n")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--records", help="a folder for what docs/ops.md is made from (tools/op_page.py)")
    options.add_argument("--least", type=int, default=0)
    options.add_argument("--texts", default="", help="a folder for CUDA texts, one at least of each operation")
    options.add_argument("--progress", action="store_true")
    options = options.parse_args()
    self_test()
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    tally, started = Tally(), time.time()
    missing = operations.without_row() if not options.only else []
    run_samples(rows, tally, options.progress, options.texts)
    run_refusals(rows, tally)
    found_gradients, wrong = gradients.check_all(rows)
    counts = Counter()
    for (name, _, _), count in tally.good.items():
        counts[name] += count
    for name in sorted({row.name for row in rows}):
        print(f"{counts[name]:6}  {name}" +
              (f"  ({tally.stepped_round[name]} known faults)" if tally.stepped_round[name] else ""))
    total = sum(counts.values())
    backends = Counter()
    for (_, backend, _), count in tally.good.items():
        backends[backend] += count
    where = ", ".join(f"{backend}: {count}" for backend, count in backends.items())
    stepped = sum(tally.stepped_round.values())
    print(f"\n{total} samples of {len(counts)} operations agree ({where}); {len(found_gradients)} gradients; "
          f"{stepped} known faults; {time.time() - started:.0f} s")
    problems = list(tally.bad.values()) + wrong
    problems += [f"{name} has no row in the table, and is not in operations.py" for name in missing]
    if total < options.least:
        problems.append(f"fewer than {options.least} samples")
    for problem in problems:
        print(f"\nFAILED {problem}")
    if problems:
        print(f"\n{len(problems)} failed")
        return 1
    if options.records:
        os.makedirs(options.records, exist_ok=True)
        write_records(os.path.join(options.records, "oracle.txt"), tally, rows, found_gradients)
    return 0


if __name__ == "__main__":
    sys.exit(main())
