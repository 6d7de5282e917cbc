"""Runs every row of the table against NumPy and SciPy: `python run.py [--only NAME ...] [--records FOLDER]`.

Many rows become outputs of one compiled function, and share its inputs if they have the same arrays, so that thousands
of samples need few compilations. A sample is one call of one operation on one set of arrays, compared as a whole. Prints the samples of
each operation, and a program for every one that fails."""

import argparse
import os
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import numpy as np

import croton
import croton.nnet
import croton.tensor as T

import gradients
import operations
import special
from compare import fault, self_test, wide
from dtypes import STORED, accepted, arrays_of, dtypes_of, inputs_of, like, result_dtype, slots, varying
from known_faults import known, mended
from samples import LAYOUTS, REALS, generator, placed
from table import ROWS, Call, Row

np.seterr(all="ignore")
warnings.simplefilter("ignore")  # NumPy warns about nan and empty arrays
GROUP = 10  # samples of one kernel: dozens of pointers in one loop compile slowly
QUICK_GROUP = 40  # without optimisation they do not
BATCH = 60  # samples of one function: to begin a compilation takes as long as five small kernels
QUICK = {"llvm_level": 0}  # for samples that run once
FLAGS = {"special_values": "ieee"}  # x * 0 is not simplified
PARTS = ["samples", "dtypes", "special", "gradients"]
MODES = ["reference", "run"]
SIMULATED = {"float32", "int32", "bool", "complex64"}


@dataclass
class Case:
    row: Row
    call: Call
    dtype: str
    names: tuple  # the dtype of each operand
    label: str
    ops: frozenset = frozenset()  # of the graph, if special values are planted


def variables_of(arrays):
    return [T.variable(str(a.dtype), [None] * a.ndim) for a in arrays]


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def expression(row, call, variables):
    function = operations.find(row.name)
    build = row.build or (lambda f, *a, **k: f(*a, **k))
    return as_list(build(function, *variables, *call.args, **call.kwargs))


def expected(case, arrays):
    """The reference's results, each as wide as NumPy gives it, and the dtype that the operation should give."""
    row = case.row
    apply = lambda operands: as_list(row.reference(*operands, *case.call.args, **case.call.kwargs))
    varies = varying(row)
    first = like(case.names[varies[0]]) if varies else None
    whole = bool(varies) and all(arrays[i].dtype.kind in "iub" for i in varies)
    if row.result:
        dtypes = row.result(first)
        dtypes = dtypes if isinstance(dtypes, list) else [dtypes]
    else:
        dtypes = [np.asarray(n).dtype.name for n in apply([a.astype(like(n)) for a, n in zip(arrays, case.names)])]
        # NumPy's functions give float16 for int8.
        dtypes = ["float32" if dtype == "float16" and whole and row.wide else dtype for dtype in dtypes]
    if row.wide and whole and dtypes[0] in ("float32", "float64"):
        arrays = [a.astype(np.float64) if i in varies else a for i, a in enumerate(arrays)]
    exact = apply([wide(a) for a in arrays] if row.wide else arrays)
    dtypes = dtypes * len(exact) if len(dtypes) == 1 else dtypes
    return [(e, result_dtype(dtype, case.names)) for e, dtype in zip(exact, dtypes)]


def check(case, arrays, results):
    """None, or the fault in (number, dtype) of each result."""
    try:
        wanted = expected(case, arrays)
    except Exception as error:  # a mistake in the table
        return f"the reference raises {type(error).__name__}: {error}"
    if len(wanted) != len(results):
        return f"{len(results)} results, not {len(wanted)}"
    for (got, is_a), (exact, dtype) in zip(results, wanted):
        got = np.asarray(got)
        if is_a != dtype or got.dtype != STORED.get(dtype, dtype):
            return f"the dtype is {is_a}, not {dtype}"
        problem = fault(got, exact, case.row.tolerance(dtype), case.row.margin(dtype) if got.dtype.kind in "fc" else 0,
                        case.row.zero_sign, dtype)
        if problem:
            return problem
    return None


def repro(case, arrays, mode):
    """A program that shows the fault."""
    lines = ["import numpy as np, croton, croton.tensor as T"]
    for i, a in enumerate(arrays):
        dtype = f" of {case.names[i]}" if case.names and case.names[i] != a.dtype else ""
        text = np.array2string(a, separator=", ", threshold=200)
        lines.append(f"a{i} = np.array({text}, '{a.dtype}')  # {a.shape}{dtype}")
    names = ", ".join(f"a{i}" for i in range(len(arrays)))
    lines.append(f"# mode={mode}: {case.row.name}({names}{', ' if str(case.call) else ''}{case.call})")
    return "\n      ".join(line.replace("array(", "(").replace("np.(", "np.array(") for line in lines)


class Tally:
    def __init__(self):
        self.good, self.bad = Counter(), {}  # bad: the first fault of each case
        self.stepped_round = Counter()
        self.pairs = set()  # (operation, back-end, role of the operand, dtype) with right results
        self.special = defaultdict(set)  # kinds of special values among the arguments
        self.ops = set()  # of graphs, in programs with right results for such values

    def faults(self):
        return len(self.bad) + sum(self.stepped_round.values())

    def add(self, case, backend, arrays, problem, what=""):
        name = case.row.name
        if problem is None:
            self.good[name, backend, case.dtype] += 1
            if backend == "refusal":
                return
            for role, at in slots(case.row):
                self.pairs.add((name, backend, role, case.names[at[0]]))
            self.special[name] |= special.kinds(case, arrays, self.special[name])
            if backend == "run":
                self.ops |= case.ops
        elif known(name, case.dtype, problem):
            self.stepped_round[name] += 1
        else:
            label = f"{case.label} of {what}" if what else case.label
            self.bad.setdefault((label, backend), f"{label}: {problem}\n      " + repro(case, arrays, backend))


@dataclass(eq=False)
class Group:
    """Cases that have the same inputs. `words` names the sets of arrays in messages."""
    cases: list
    sets: list
    shapes: tuple
    words: list = None


def batches(groups):
    """Groups that become one function."""
    batch, size = [], 0
    for group in groups:
        if batch and size + len(group.cases) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(group)
        size += len(group.cases)
    if batch:
        yield batch


def run_batch(batch, mode, tally, **flags):
    """Computes all cases as outputs of one function, or separately if that fails."""
    if not batch:
        return
    with croton.change_flags(mode=mode, **FLAGS, **flags):
        inputs, outputs, working = [], [], []
        for group in batch:
            mine, variables = inputs_of(group.cases[0].names, group.shapes)
            inputs += mine
            for case in group.cases:
                try:
                    results = expression(case.row, case.call, variables)
                except Exception as error:
                    tally.add(case, mode, group.sets[0], f"was refused: {type(error).__name__}: {error}")
                    continue
                working.append((group, case, len(outputs), len(outputs) + len(results)))
                outputs += results
        if not working:
            return
        try:
            stored = [T.cast(y, STORED[y.dtype]) if y.dtype in STORED else y for y in outputs]
            function = croton.function(inputs, stored, on_unused_input="ignore")
            for k in range(max(len(group.sets) for group in batch)):  # groups with fewer sets repeat their last one
                values = function(*(a for group in batch for a in group.sets[min(k, len(group.sets) - 1)]))
                results = [(value, y.dtype) for value, y in zip(values, outputs)]
                for group, case, first, last in working:
                    if k < len(group.sets):
                        arrays, word = group.sets[k], group.words[k] if group.words else ""
                        tally.add(case, mode, arrays, check(case, arrays, results[first:last]), word)
        except croton.Error as error:
            if len(working) == 1:
                group, case, _, _ = working[0]
                tally.add(case, mode, group.sets[0], f"raised {type(error).__name__}: {error}")
                return
            before = tally.faults()
            for group, case, _, _ in working:
                run_batch([replace(group, cases=[case])], mode, tally, **flags)
            if tally.faults() == before:
                labels = ", ".join(case.label for _, case, _, _ in working)
                tally.bad[labels, mode] = f"only together, with mode={mode}, these raise {error}: {labels}"


def sets_of(row, dtype):
    """The arrays of every call: the table's shapes, then the first ones with awkward memory layouts."""
    key = tuple(getattr(d, "__qualname__", "") + str(getattr(d, "interval", "")) for d in row.draws)
    random = generator(key, dtype, row.shapes)
    sets = [tuple(draw(dtype, shape, random) for draw, shape in zip(row.draws, shapes)) for shapes in row.shapes]
    if row.layouts and any(a.ndim for a in sets[0]) and dtype in ("float32", "int16", "complex64", "float64", "int8"):
        few = LAYOUTS if dtype in ("float32",) else LAYOUTS[-2:]
        sets += [tuple(placed(a, layout, random) for a in sets[0]) for layout in few]
    return sets


def cases_of(rows):
    """Cases with the same input arrays, by these arrays."""
    found = defaultdict(list)
    for row in rows:
        if not row.shapes:
            continue
        for dtype in row.dtypes:
            for call in row.calls:
                label = f"{row.name}({dtype}{', ' if str(call) else ''}{call})"
                key = (dtype, row.shapes, tuple(id(d) for d in row.draws), row.layouts)
                found[key].append(Case(row, call, dtype, tuple(dtypes_of(row, dtype)), label))
    return found


def parts(cases, size):
    """Parts of the cases: each part has the same operand dtypes, and fits into one function."""
    by_names = defaultdict(list)
    for case in cases:
        by_names[case.names].append(case)
    for same in by_names.values():
        for first in range(0, len(same), size):
            yield same[first:first + size]


def in_one_dtype(row):
    """The row in float32, or in the first of its dtypes."""
    return replace(row, dtypes=["float32"] if "float32" in row.dtypes else row.dtypes[:1])


def run_samples(rows, tally, options):
    written = set()  # operations for which a CUDA text was written, for NVRTC
    quick = {} if options.optimise else QUICK
    groups = []
    for (dtype, shapes, _, _), cases in cases_of(rows).items():
        sets = sets_of(cases[0].row, dtype)
        groups += [Group(part, sets, shapes[0]) for part in parts(cases, GROUP if options.optimise else QUICK_GROUP)]
    for batch in batches(groups):
        started = time.time()
        run_batch(batch, "run", tally, **quick)
        # A part of the samples on the other back-ends: one full set of arrays.
        run_batch([replace(group, sets=group.sets[:1]) for group in batch], "reference", tally)
        simulated = [
            replace(group, sets=group.sets[-1:], cases=cases) for group in batch
            if (cases := [case for case in group.cases if is_simulated(case, options.optimise)])
        ]
        if not options.quick:
            shown = new_groups(simulated, written) if options.texts else []
            run_batch(shown, "simulate", tally, **quick, dump_kernels=options.texts, dump_forms="text")
            run_batch([group for group in simulated if group not in shown], "simulate", tally, **quick)
        if options.progress:
            names = dict.fromkeys(f"{case.row.name} of {case.dtype}" for group in batch for case in group.cases)
            print(f"{time.time() - started:6.2f} s  {', '.join(names)}", flush=True)


def new_groups(groups, written):
    """The groups with an operation that is not in `written`, which gets it."""
    new = []
    for group in groups:
        names = {case.row.name for case in group.cases}
        if names - written:
            new.append(group)
            written |= names
    return new


def is_simulated(case, all_calls):
    """Whether the simulator, which compiles slowly, gets the case: in a few dtypes of each row, and unless `all_calls`,
    those but float32 for one call."""
    if case.dtype == "float32":
        return True
    few = case.dtype in SIMULATED or not SIMULATED & set(case.row.dtypes)
    return few and (all_calls or case.call is case.row.calls[0])


def accepted_by(row):
    build = lambda names: expression(row, row.calls[0], inputs_of(names, row.shapes[0])[1])
    return accepted(row, build)


def kind_of(row, role):
    """Rows that differ only in draws, shapes and dtypes are of one kind; positions are of one kind in all rows."""
    if role:
        return row.name, role
    ranks = tuple(len(shape) for shape in row.shapes[0])
    return row.name, ranks, str(row.calls[0]), row.build.__code__ if row.build else None


def run_other_dtypes(rows, taken, tally):
    """One set of arrays for each dtype that an operand of a row accepts and the row does not list."""
    found, named = defaultdict(list), {}
    # Rows of one kind are one here, and their dtypes are combined; rows of real numbers come first.
    for row in sorted(rows, key=lambda row: (row.own, not set(row.dtypes) & set(REALS))):
        for role, at in slots(row):
            stated = row.dtypes if not role else [row.draws[at[0]].dtype]
            named.setdefault(kind_of(row, role), (row, set()))[1].update(stated)
    for row, roles in zip(rows, taken):
        for role, at in slots(row):
            first, stated = named[kind_of(row, role)]
            for dtype in roles.get(role, []):
                names = tuple(dtypes_of(row, dtype, at))
                if row.own or row is not first or dtype in stated or dtype in row.left_out:
                    continue
                word = f"{role}:{dtype}" if role else dtype
                case = Case(row, row.calls[0], word, names, f"{row.name}({word}, {row.calls[0]})")
                found[names, row.shapes[0], tuple(id(d) for d in row.draws)].append(case)
    groups = []
    for (names, shapes, _), cases in found.items():
        arrays = arrays_of(cases[0].row, names, shapes, generator("others", names, shapes))
        groups += [Group(part, [arrays], shapes) for part in parts(cases, QUICK_GROUP)]
    for mode in MODES:
        for batch in batches(groups):
            run_batch(batch, mode, tally, **QUICK)
    for batch in batches(group for group in groups if group.cases[0].dtype in SIMULATED):
        run_batch(batch, "simulate", tally, **QUICK)


def ops_of(row, names):
    """The ops of the graph that a row builds."""
    graphs = [croton.debugprint(y) for y in expression(row, row.calls[0], inputs_of(names, row.shapes[0])[1])]
    return frozenset(re.findall(r"^ *([a-z]\w*)(?:\{.*?\})? \[id", "\n".join(graphs), re.M)) - {"input"}


def run_special(rows, taken, tally):
    """nan, infinities, -0 and the extreme integers, one at a time among ordinary numbers."""
    found = defaultdict(list)
    for row, roles in zip(rows, taken):
        if row.own:
            continue
        for dtype in special.dtypes(row, roles.get("", [])):
            names = tuple(dtypes_of(row, dtype))
            case = Case(row, row.calls[0], dtype, names, f"{row.name}({dtype}, {row.calls[0]})", ops_of(row, names))
            found[names, row.shapes[0], tuple(id(d) for d in row.draws)].append(case)
    groups = []
    for (names, shapes, _), cases in found.items():
        row = cases[0].row
        arrays = arrays_of(row, names, shapes, generator("special", names, shapes))
        sets = special.planted(row, arrays) if all(a.size for a in arrays) else {}
        if sets:
            groups += [Group(part, list(sets.values()), shapes, list(sets)) for part in parts(cases, QUICK_GROUP)]
    for mode in MODES:
        for batch in batches(groups):
            run_batch(batch, mode, tally, **QUICK)


def run_refusals(rows, tally):
    """Calls that NumPy rejects, and that Croton rejects on purpose: a TypeError, ValueError or IndexError of
    Croton's."""
    for row in rows:
        for arrays, call in row.refusals:
            arrays = [np.asarray(a) for a in arrays]
            case = Case(row, call, str(arrays[0].dtype) if arrays else "", (), f"{row.name} refuses")
            try:
                variables = variables_of(arrays)
                croton.function(variables, expression(row, call, variables), on_unused_input="ignore")(*arrays)
                problem = "nothing was raised"
            except croton.InternalError as error:
                problem = f"an internal error: {error}"
            except (croton.Error, ValueError, TypeError, IndexError):
                problem = None
            tally.add(case, "refusal", arrays, problem)


def write_records(path, tally, rows, taken, found_gradients):
    """Lines with operation, back-end, dtype, what, count."""
    with open(path, "w") as out:
        for (name, backend, dtype), count in sorted(tally.good.items()):
            out.write(f"{name} {backend} {dtype or '-'} numpy {count}\n")
        for name, backend, role, dtype in sorted(tally.pairs):
            out.write(f"{name} {backend} {role}:{dtype} compared 1\n")
        for row, roles in zip(rows, taken):
            for role, dtypes in sorted(roles.items()):
                out.write(f"{row.name} - {role}:{','.join(dtypes)} accepts 1\n")
        for name, kinds in sorted(tally.special.items()):
            for kind in sorted(kinds):
                out.write(f"{name} - {kind} special 1\n")
        for name in sorted(tally.ops):
            out.write(f"op:{name} run - special 1\n")
        for name, operands in sorted(found_gradients.items()):
            for operand, (kind, order) in operands.items():
                out.write(f"{name} reference {operand} gradient:{kind} {order}\n")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--records", help="a folder for what docs/use/ops.md is made from (tools/op_page.py)")
    options.add_argument("--least", type=int, default=0)
    options.add_argument("--texts", default="", help="a folder for CUDA texts, one at least of each operation")
    options.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    options.add_argument("--optimise", action="store_true", help="compiles all samples of the table as users' functions are")
    options.add_argument("--quick", action="store_true", help="samples of one dtype, without optimisation, not simulated")
    options.add_argument("--progress", action="store_true")
    options = options.parse_args()
    if options.quick:
        options.parts = ["samples"]
    self_test()
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    tally, started = Tally(), time.time()
    missing = operations.without_row() if not options.only else []
    if "samples" in options.parts:
        run_samples([in_one_dtype(row) for row in rows] if options.quick else rows, tally, options)
    sampled = [row for row in rows if row.shapes]
    taken = [] if options.quick else [accepted_by(row) for row in sampled]  # for every dtype
    if "dtypes" in options.parts:
        run_other_dtypes(sampled, taken, tally)
    if "special" in options.parts:
        run_special(sampled, taken, tally)
    run_refusals(rows, tally)
    found_gradients, wrong = gradients.check_all(sampled, taken) if "gradients" in options.parts else ({}, [])
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
    if not options.only and set(options.parts) == set(PARTS):
        problems += [f"a known fault was not met, take it from known_faults.py: {fault}" for fault in mended()]
    if total < options.least:
        problems.append(f"fewer than {options.least} samples")
    for problem in problems:
        print(f"\nFAILED {problem}")
    if problems:
        print(f"\n{len(problems)} failed")
        return 1
    if options.records:
        os.makedirs(options.records, exist_ok=True)
        write_records(os.path.join(options.records, "oracle.txt"), tally, sampled, taken, found_gradients)
    return 0


if __name__ == "__main__":
    sys.exit(main())
