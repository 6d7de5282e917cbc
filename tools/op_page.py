#!/usr/bin/env python3
"""Writes docs/use/ops.md from the records of tests: a row for each public operation, one for each op of graphs, and the
missing parts.

    PYTHONPATH=build/release/python build/venv/bin/python tools/op_page.py build/release/op_records [--check]

A record is a line `operation back-end dtype what count`, where `what` is one of
    numpy              `count` calls agree with NumPy or SciPy; the back-end `refusal`: `count` errors were raised
    accepts            `role:dtypes`: the operand of this role ("": all others) accepts these, separated by commas
    compared           `role:dtype`: a result for an operand of this dtype agreed
    special            the "dtype" is a kind of special values in the arguments
    gradient:KIND      `operand:dtype`; yes, zero: checked by differences to the order `count`; undefined: the library
                       says that there is none; none: no result is a float; fault: in tests/oracle/known_faults.py;
                       other: on purpose not the slope of the value
or, for the C++ tests, whose operations are the ops of graphs with the prefix "op:",
    op                 the op exists; it has a gradient to check (count 1), or none (0)
    runs               it was part of a program with results on this back-end or device
    special            the same, with nan or an infinity in the arguments
    gradient           part of a function whose gradient agrees with differences to the order `count`
    batch              part of an expression that was vectorized, which agrees with one value at a time
--check compares with the committed page. The exit status is 1 if it differs, if an operation of WANTED is missing, or
if a row is incomplete."""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The names that must exist, NumPy's and Theano's; `wanted=ours` if Croton has another name. The elementwise functions
# of NumPy are its own list of ufuncs (wanted_names).
WANTED = {
    "Elementwise": """
        add sub mul true_div int_div floor_div mod remainder divmod fmod pow power float_power neg negative positive
        abs_ absolute abs fabs=abs sgn sign rint round round_half_to_even=rint round_half_away_from_zero iround fix
        floor ceil trunc exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt sqr square inv reciprocal
        sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot deg2rad rad2deg
        sinc logaddexp logaddexp2 log1mexp xlogx xlogy0 xlog1py maximum minimum fmax fmin clip heaviside copysign
        nextafter signbit ldexp frexp modf isnan isinf isfinite isposinf isneginf nan_to_num isclose allclose
        where switch cast fill second=fill lt le gt ge eq neq logical_and logical_or logical_xor logical_not
        and_ or_ xor invert bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_count left_shift right_shift
        gcd lcm sigmoid softplus add_n largest smallest zeros_like ones_like identity_like=eye""",
    "Special functions": "erf erfc erfinv erfcinv erfcx gamma gammaln psi digamma tri_gamma polygamma "
                         "gammainc gammaincc gammal gammau chi2sf i0 i1 j0 j1 "
                         "jv iv",
    "Complex numbers": "real imag isreal iscomplex conj angle complex complex_from_polar",
    "Reductions": """
        sum prod mean var std max min argmax argmin max_and_argmax all any ptp norm logsumexp count_nonzero""",
    "Products": """
        dot matmul batched_dot batched_tensordot tensordot outer inner vdot matrix_power kron einsum""",
    "Views and axes": """
        dimshuffle transpose reshape flatten ravel=flatten expand_dims squeeze atleast_1d atleast_2d
        atleast_3d atleast_Nd moveaxis swapaxes shape_padleft shape_padright shape_padaxis broadcast_to
        specify_shape addbroadcast unbroadcast patternbroadcast diagonal diag flip""",
    "Joins and repetition": "concatenate join stack split tile repeat roll pad diff",
    "Made from sizes": """
        alloc zeros ones full full_like empty empty_like arange linspace logspace geomspace meshgrid mgrid
        ogrid eye identity tri tril triu trace fill_diagonal fill_diagonal_offset one_hot to_one_hot""",
    "Indexing": """
        getitem=Variable.__getitem__ take take_along_axis choose set_subtensor inc_subtensor
        ravel_multi_index unravel_index inverse_permutation""",
    "Running sums, sorting, computed sizes": """
        cumsum cumprod sort argsort topk argtopk topk_and_argtopk searchsorted nonzero flatnonzero
        nonzero_values compress extract unique bincount""",
    # Theano's and Keras' (keras.activations, keras.losses), the latter with sparse_... for integer labels.
    "Activations": " ".join("nnet." + n for n in """
        sigmoid ultra_fast_sigmoid hard_sigmoid softplus softmax log_softmax softmin softsign relu relu6
        leaky_relu prelu elu selu celu gelu silu swish mish hard_silu hard_swish hard_tanh log_sigmoid
        exponential linear glu squareplus soft_shrink hard_shrink tanh_shrink threshold sparse_plus
        sparse_sigmoid sparsemax""".split()) + " tanh",
    "Losses": " ".join("nnet." + n for n in """
        categorical_crossentropy sparse_categorical_crossentropy=nnet.categorical_crossentropy
        binary_crossentropy sigmoid_binary_crossentropy softmax_crossentropy
        crossentropy_softmax_argmax_1hot_with_bias crossentropy_softmax_1hot_with_bias crossentropy_softmax_1hot
        crossentropy_categorical_1hot=nnet.categorical_crossentropy softmax_with_bias h_softmax
        binary_focal_crossentropy categorical_focal_crossentropy mean_squared_error mean_absolute_error
        mean_absolute_percentage_error mean_squared_logarithmic_error huber log_cosh hinge squared_hinge
        categorical_hinge kl_divergence poisson cosine_similarity dice tversky logsumexp layer_norm circle
        categorical_generalized_cross_entropy ctc
        confusion_matrix""".split()),
    "Convolutions and layers": " ".join("nnet." + n for n in """
        conv conv1d conv2d conv3d conv_transpose conv_filter_gradient pool batch_norm_train batch_norm_test group_norm
        instance_norm local_response_norm embedding upsample""".split()),
    "Gradient tools": """
        grad jacobian hessian Rop Lop hessian_times_vector disconnected_grad zero_grad consider_constant grad_clip
        grad_scale undefined_grad subgraph_grad vectorize""",
}
# NumPy's ufuncs that have another name in Croton.
SYNONYMS = {"conjugate": "conj", "divide": "true_divide", "fabs": "abs"}
NOT_HERE = {
    "isnat": "there are no dates",
    "cov": "a product of operands minus their means",
    "permute_row_elements": "`take_along_axis` along the last axis is the same",
}
# Options that Croton does not have, of operations that it has.
OPTIONS_NOT_HERE = {
    "pad": "the modes `linear_ramp`, `mean`, `maximum`, `minimum`, `median` and `empty`",
}


def wanted_names():
    """WANTED, with all ufuncs of NumPy."""
    import numpy
    ufuncs = {f.__name__ for f in vars(numpy).values() if isinstance(f, numpy.ufunc)}
    # Products are listed as such.
    names = {family: wanted.split() for family, wanted in WANTED.items()}
    listed = {name for family in names.values() for entry in family for name in entry.split("=")}
    names["Elementwise"] += sorted(f"{name}={SYNONYMS[name]}" if name in SYNONYMS else name
                                   for name in ufuncs - listed - set(NOT_HERE))
    return names


BACKENDS = {"run": "CPU", "simulate": "simulated CUDA", "reference": "reference"}
DEVICES = {"cuda0": "simulated device", "cpu1": "part of the host"}
DTYPES = {"bool": ["bool"], "int": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
          "float": ["float16", "bfloat16", "float32", "float64"], "complex": ["complex64", "complex128"]}
# Names that differ between Python and C++.
CPP_NAMES = {
    "xor": "xor_", "switch": "switch_", "topk_and_argtopk": "topk_and_argtopk", "Variable.__getitem__": "Variable::at",
    "floor_div": "floor_divide", "abs_": "abs"
}


class Operation:
    def __init__(self):
        self.numpy, self.refusals, self.backends = 0, 0, set()
        self.accepts = defaultdict(list)  # {role: dtypes}
        self.compared = defaultdict(set)  # {(role, dtype): back-ends}
        self.special, self.gradients = set(), {}  # {(operand, dtype): (kind, order)}

    def take(self, backend, dtype, what, count):
        """Adds a record; returns whether it is valid."""
        role, _, plain = dtype.partition(":")
        if what == "numpy" and backend == "refusal":
            self.refusals += count
        elif what == "numpy":
            self.numpy += count
            self.backends.add(backend)
        elif what == "accepts":
            self.accepts[role] += [d for d in plain.split(",") if d not in self.accepts[role]]
        elif what == "compared":
            self.compared[role, plain].add(backend)
        elif what == "special":
            self.special.add(dtype)
        elif what.startswith("gradient:"):
            self.gradients[role, plain] = (what.partition(":")[2], count)
        else:
            return False
        return True

    def agreed(self, role):
        """The dtypes of an operand that were compared both compiled for the CPU and on the reference evaluator."""
        return [d for d in self.accepts[role] if {"run", "reference"} <= self.compared[role, d]]


class GraphOp:
    """The records of the C++ tests about an op of graphs."""
    def __init__(self):
        self.has_gradient = self.batch = self.special = False
        self.dtypes, self.order = defaultdict(set), 0

    def take(self, backend, dtype, what, count):
        """Adds a record; returns whether it is valid."""
        if what == "op":
            self.has_gradient = count > 0
        elif what == "runs":
            self.dtypes[backend].add(dtype)
        elif what == "special":
            self.special = True
        elif what == "gradient":
            self.order = max(self.order, count)
        elif what == "batch":
            self.batch = True
        else:
            return False
        return True

    def missing(self, is_mark, is_made):
        words = [f"not on {name}" for backend, name in (BACKENDS | DEVICES).items() if not self.dtypes[backend]]
        words += ["no gradient by differences"] * (self.has_gradient and not self.order and not is_mark)
        return words + ["no special values"] * (self.has_floats() and not self.special and not is_made)

    def has_floats(self):
        return bool(set(DTYPES["float"]) & set().union(*self.dtypes.values()))


def read(folder):
    """{name: Operation}, {name: GraphOp}."""
    operations, graph_ops = defaultdict(Operation), defaultdict(GraphOp)
    for file in sorted(Path(folder).glob("*.txt")):
        for line in file.read_text().splitlines():
            name, backend, dtype, what, count = line.split()
            if name.startswith("op:"):
                if not graph_ops[name[3:]].take(backend, dtype, what, int(count)):
                    raise SystemExit(f"{file}: '{line}' is no record")
                continue
            if not operations[name].take(backend, dtype, what, int(count)):
                raise SystemExit(f"{file}: '{line}' is no record")
    # The oracle also records names that are not ops: constants and similar.
    return operations, {name: op for name, op in graph_ops.items() if op.dtypes}


def described(dtypes):
    """"bool, int, float", with the names of the accepted dtypes if a family is incomplete."""
    words = []
    for family, members in DTYPES.items():
        taken = [m for m in members if m in dtypes]
        words += [family] if taken == members else taken
    return ", ".join(words) or "-"


def first_sentence(text):
    """The text on one line, without its full stop; three dots do not end a sentence."""
    return re.split(r"(?<!\.)\.(?: |$)", " ".join(text.split()))[0]


def cpp_functions():
    """Names that the public headers declare."""
    text = "\n".join(f.read_text() for f in (ROOT / "include/croton").glob("*.hpp"))
    return set(re.findall(r"^(?:inline |constexpr )*[\w:<>, ]+[ &](\w+)\(", text, re.M))


def dtypes_of(op):
    """The compared dtypes: of most operands, then of operands with their own role."""
    words = [described(op.agreed(""))] if "" in op.accepts else []
    words += [f"{role}: {described(op.agreed(role))}" for role in sorted(op.accepts) if role]
    return "; ".join(words) or "-"


def of_family(found):
    """{operand: (kind, order)} of one family of dtypes, in words."""
    kinds = {kind for kind, _ in found.values()} - {"none"}
    if not kinds:
        return "-"
    if "fault" in kinds:
        return "known fault"
    if kinds == {"other"}:
        return "on purpose another"
    if kinds == {"zero"}:
        return "zero"
    if "yes" not in kinds:
        return "not defined"
    text = f"order {min(order for kind, order in found.values() if kind == 'yes')}"
    if "undefined" in kinds:
        text += ", by " + " and ".join(operand for operand, (kind, _) in found.items() if kind == "yes") + " only"
    return text


def gradient_of(op):
    families = {"real": {}, "complex": {}}
    for (operand, dtype), found in op.gradients.items():
        families["complex" if dtype == "complex128" else "real"][operand] = found
    words = {family: of_family(found) for family, found in families.items() if found}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return "; ".join(f"{family}: {text}" for family, text in words.items()) or "-"


SPECIAL = {"floats": ("nan", "inf", "-inf", "-0"), "integers": ("largest", "lowest")}


def special_of(op, rows):
    """The special values in the arguments, and the missing ones."""
    taken = op.accepts.get("", [])
    wanted = [family for family, dtype in (("floats", "float32"), ("integers", "int32")) if dtype in taken]
    seen = [family for family in wanted if op.special >= set(SPECIAL[family])]
    excused = {family for row in rows for family, dtype in (("floats", "float32"), ("integers", "int32"))
               if dtype in row.special}
    return ", ".join(seen) or "-", [f"no special {family}" for family in wanted if family not in {*seen, *excused}]


def row(name, op, function, known, rows, faults):
    plain = name.removeprefix("nnet.")
    cpp = CPP_NAMES.get(name, plain)
    if "::" not in cpp:
        cpp = ("nnet::" if name.startswith("nnet.") else "") + cpp if cpp in known else "-"
    doc = (function.__doc__ or "").strip()
    doc = re.sub(r"^\w+\(.*\)( -> .*)?(\n|$)", "", doc)  # nanobind puts the signature first
    doc = first_sentence(doc).replace("|", "\\|").replace("*", "\\*")
    backends = [BACKENDS.get(b, b) for b in sorted(op.backends, key=["run", "simulate", "reference"].index)]
    special, missing = special_of(op, rows)
    if any("float32" in (dtypes or ["float32"]) for _, dtypes, _, _ in faults):
        missing = []  # a special value may be the fault itself
    missing += [word for word, there in (("no NumPy samples", op.numpy), ("no dtypes", op.accepts),
                *((f"not on {BACKENDS[b]}", b in op.backends) for b in BACKENDS)) if not there]
    allowed = {dtype for each in rows for dtype in each.left_out}
    for _, dtypes, _, _ in faults:
        allowed |= set(dtypes or [d for family in DTYPES.values() for d in family])
    for role in op.accepts:
        holes = [d for d in op.accepts[role] if d not in op.agreed(role) and (role or d not in allowed)]
        missing += [f"{role + ': ' if role else ''}{', '.join(holes)} not compared"] * bool(holes)
    if not op.gradients and any(set(op.accepts.get("", [])) & {"float64", "complex128"} for _ in rows):
        missing.append("gradient not checked")
    status = ", ".join(missing) or ("complete but for known faults" if faults else "complete")
    cells = [f"`{name}`", f"`{cpp}`" if cpp != "-" else "-", doc, dtypes_of(op), gradient_of(op), special,
             ", ".join(backends), str(op.numpy), str(op.refusals or "-"), status]
    return "| " + " | ".join(cells) + " |", not missing


def excuses(rows):
    """The omitted parts, with the reasons of the table."""
    found = {}
    for row in rows:
        for what in ("left_out", "special"):
            for dtype, why in getattr(row, what).items():
                found.setdefault((what, why), {}).setdefault(row.name, []).append(dtype)
    lines = []
    for (what, why), names in found.items():
        where = ", ".join(f"`{name}`" for name in names)
        dtypes = ", ".join(dict.fromkeys(d for each in names.values() for d in each))
        lines.append(f"- {where}: {'special values of ' if what == 'special' else ''}{dtypes} left out: {why}\n")
    return lines


def faults_of(known):
    found = {}
    for name, dtypes, _, why in known:
        found.setdefault((dtypes, why), []).append(f"`{name}`")
    return [f"- {', '.join(names)} of {', '.join(dtypes or ['all dtypes'])}: {why}\n"
            for (dtypes, why), names in found.items()]


HEAD = ("| Python | C++ | | dtypes | gradient | special | compared on | NumPy samples | refusals | status |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n")
INTRODUCTION = """# Operations

All public operations, and at the end the ops of graphs; `tools/op_page.py` writes this page from the records of a test
run (`ctest -R '^operations$'` runs the tests and compares this page with their results). Python names are those of
`croton.tensor` and `croton.nnet`; methods of a Variable and operators do the same.

- *dtypes*: those for which results were compared with NumPy's, compiled for the CPU and on the reference evaluator. All
  operands have the dtype, except those with a role (positions, sizes, ...), whose dtypes vary separately. A dtype that
  is accepted and was not compared is a hole, which fails the test. *int*: all eight, *float*: float16, bfloat16,
  float32, float64, *complex*: complex64, complex128.
- *gradient*: with respect to each float operand, and to each complex one where the text says so. "order 2": it and its
  own gradient agree with differences; "order 1": only it; "zero": it agrees, and is zero; "by b only": for the other
  operands the library says that there is none; "-": neither operands nor results are floats that vary together; "on
  purpose another": it is not the slope of the value, and has separate rows.
- *special*: "floats": nan, inf, -inf and -0 were among the arguments (with the flag special_values=ieee), each of them
  in each operand that varies; "integers": the largest and the lowest.
- *compared on*: the back-ends on which results were compared with NumPy's: compiled for the CPU, CUDA text in the
  simulator, the reference evaluator. The test `cuda_texts` compiles at least one text of each operation with NVRTC.
- *NumPy samples*: calls of the operation on sets of arrays with results that agree with NumPy's or SciPy's (tests/oracle
  has the permitted differences, and the cases in which Croton differs on purpose). *Refusals*: errors that raise.

"""


GRAPH_HEAD = """## Ops of graphs

The operations above consist of these ops, under the names that `debugprint` shows; from the tests in C++ (tests/ops), which
compare results on every back-end with separate references.

- *dtypes*: of the first operand, in programs that ran both on the CPU and as CUDA text in the simulator.
- *gradient*: of functions with the op, compared with differences to that order in float64 (complex128); "-": it has none.
- *batch*: it was part of an expression that `vectorize` applied to a batch.
- *special values*: nan and infinities were among the arguments, of these tests or of NumPy's samples above.
- *ran on*: it was part of programs with results on these back-ends, and depended on an argument: "simulated device" is the
  simulator as the device cuda0, "part of the host" the device cpu1.

| op | dtypes | gradient | batch | special values | ran on | status |
|---|---|---|---|---|---|---|
"""
# Ops that users' graphs do not have: their origin, and the tests that run them.
NOT_IN_USERS_GRAPHS = {
    "crossentropy_logits": "made by a rule, `ctest -R rules`",
    "crossentropy_logits_grad": "made by a rule, `ctest -R rules`",
    "gemm": "made when products join sums, `ctest -R '^products$'`",
    "max_or_lowest": "softmax is made of it",
    "transfer": "made when devices are chosen, `ctest -R '^devices$'`",
}
NO_SPECIAL_VALUES = {}
# Their gradient is not that of their value.
MARKS = {"disconnected_grad", "zero_grad", "grad_clip", "grad_scale", "undefined_grad"}


def graph_row(name, op):
    """The row, and whether it is complete."""
    dtypes = op.dtypes["run"] & op.dtypes["simulate"]
    missing = op.missing(name in MARKS, name in NO_SPECIAL_VALUES) if name not in NOT_IN_USERS_GRAPHS else []
    gradient = f"order {op.order}" if op.order else "on purpose another" if name in MARKS else "-"
    places = [word for backend, word in (BACKENDS | DEVICES).items() if op.dtypes[backend]]
    status = NOT_IN_USERS_GRAPHS.get(name) or ", ".join(missing) or "complete"
    special = "yes" if op.special else NO_SPECIAL_VALUES.get(name, "-") if op.has_floats() else "no floats"
    cells = [f"`{name}`", described(dtypes), gradient, "yes" if op.batch else "-", special,
             ", ".join(places) or "-", status]
    return "| " + " | ".join(cells) + " |\n", not missing


class Page:
    """The text under construction, and the list of missing items."""
    def __init__(self, operations):
        sys.path.insert(0, str(ROOT / "tests/oracle"))
        import known_faults
        import operations as public
        from table import ROWS
        self.operations, self.find, self.known = operations, public.find, cpp_functions()
        self.names, self.seen, self.lines, self.holes = set(public.names()), set(), [], []
        self.rows, self.faults = ROWS, known_faults.KNOWN

    def add(self, name):
        rows = [row for row in self.rows if row.name == name]
        faults = [fault for fault in self.faults if fault[0] == name]
        text, complete = row(name, self.operations[name], self.find(name), self.known, rows, faults)
        self.lines.append(text + "\n")
        self.holes += [f"{name} (not complete)"] * (not complete)

    def family(self, title, wanted):
        self.lines.append(f"## {title}\n\n{HEAD}")
        for entry in wanted:
            theirs, _, ours = entry.partition("=")
            ours = ours or theirs
            if ours not in self.names:
                self.lines.append(f"| `{theirs}` | | | | | | | | | MISSING |\n")
                self.holes.append(theirs)
            elif ours not in self.seen:
                self.add(ours)
            self.seen.add(ours)
        self.lines.append("\n")

    def section(self, title, text, lines):
        if lines:
            self.lines.append(f"## {title}\n\n{text}\n\n" + "".join(lines) + "\n")


def page(operations, graph_ops):
    """The text, and a list of missing items."""
    out = Page(operations)
    for family, names in wanted_names().items():
        out.family(family, names)
    if out.names - out.seen:
        out.family("Others", sorted(out.names - out.seen))
    total = sum(op.numpy for op in operations.values())
    pairs = sum(len(op.agreed(role)) for op in operations.values() for role in list(op.accepts))
    checked = sum(any(kind in ("yes", "zero") for kind, _ in op.gradients.values()) for op in operations.values())
    out.lines.append(f"{len(out.names)} operations; {pairs} pairs of an operand and a dtype compared by {total} NumPy "
                     f"samples; gradients of {checked} operations checked.\n\n")
    out.section("Known faults", "Faults that the samples found and that are not fixed yet (tests/oracle/known_faults.py):",
                faults_of(out.faults))
    out.section("Left out", "Accepted dtypes and values that were not compared, from the table of tests/oracle:", excuses(out.rows))
    out.holes += [f"{name} (is here, and NOT_HERE in tools/op_page.py)" for name in set(NOT_HERE) & out.names]
    out.section("Not here", "Some functions that NumPy, Theano or Keras has, and Croton does not have:",
                [f"- `{name}`: {why}\n" for name, why in NOT_HERE.items()] +
                [f"- of `{name}`: {what}\n" for name, what in OPTIONS_NOT_HERE.items()])
    out.lines.append(GRAPH_HEAD)
    for name, op in sorted(graph_ops.items()):
        text, complete = graph_row(name, op)
        out.lines.append(text)
        if not complete:
            out.holes.append(f"the op {name} of graphs (not complete)")
    return INTRODUCTION + "".join(out.lines), out.holes


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("records")
    options.add_argument("--out", default=str(ROOT / "docs/use/ops.md"))
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    operations, graph_ops = read(options.records)
    if not any(op.numpy for op in operations.values()) or not graph_ops:
        raise SystemExit(f"{options.records}: no records; run `ctest -R '^operations$'` first, which runs what leaves them")
    text, holes = page(operations, graph_ops)
    for hole in holes:
        print(f"MISSING: {hole}")
    out = Path(options.out)
    if not options.check:
        out.write_text(text)
        print(f"{out}: written")
        return 1 if holes else 0
    committed = out.read_text() if out.exists() else ""
    if committed != text:
        import difflib
        print("\n".join(
            difflib.unified_diff(committed.splitlines(), text.splitlines(), str(out), "the records", lineterm="", n=0)))
        print(f"\n{out} is not what the tests found; write it by tools/op_page.py {options.records}")
        return 1
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
