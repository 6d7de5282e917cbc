#!/usr/bin/env python3
"""Writes docs/ops.md from the records that tests leave: a row for each public operation, one for each op of graphs, and
what is missing.

    PYTHONPATH=build/release/python build/venv/bin/python tools/op_page.py build/release/op_records [--check]

A record is a line `operation back-end dtype what count`, `what` being one of
    numpy              so many calls agree with NumPy or SciPy; the back-end `refusal`: so many mistakes were refused
    accepts            these dtypes (separated by commas) are taken
    gradient:yes|zero|none  its gradient, checked by differences to the order `count`
or, of the C++ tests, whose operations are the ops of graphs with "op:" before them,
    op                 there is such an op; it has a gradient to check (count 1), or none (0)
    runs               it was part of a program that gave results on that back-end or device
    special            the same, with nan or an infinity among the arguments
    gradient           part of a function whose gradient agrees with differences to the order `count`
    batch              part of an expression that was made one for a batch, which agrees with one value at a time
--check compares with the committed page. Exits with 1 where that differs, where an operation of WANTED is missing, or
where something is not complete."""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What "the full set of everyday operations" means: NumPy's and Theano's names; `wanted=ours` where Croton has another
# name.
WANTED = {
    "Elementwise": """
        add subtract multiply true_divide floor_divide remainder mod divmod fmod power float_power negative
        positive absolute abs fabs=abs sign sgn rint round round_half_away_from_zero iround fix floor ceil
        trunc exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt square sqr reciprocal inv sin cos
        tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot deg2rad radians
        rad2deg degrees sinc logaddexp logaddexp2 log1mexp xlogx xlogy0 xlog1py maximum minimum fmax fmin
        clip heaviside copysign nextafter signbit ldexp frexp modf isnan isinf isfinite isposinf isneginf
        nan_to_num isclose allclose where switch cast fill second=fill lt le gt ge eq neq less less_equal
        greater greater_equal equal not_equal logical_and logical_or logical_xor logical_not and_ or_ xor
        invert bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_count left_shift right_shift gcd lcm
        zeros_like ones_like identity_like=eye""",
    "Special functions": "erf erfc erfinv erfcinv erfcx gamma gammaln psi digamma tri_gamma polygamma "
                         "gammainc gammaincc gammal gammau chi2sf i0 i1 j0 j1 "
                         "jv iv",
    "Complex numbers": "real imag conj angle complex complex_from_polar",
    "Reductions": "sum prod mean var std max min argmax argmin max_and_argmax all any ptp norm logsumexp count_nonzero",
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
    "Activations": " ".join("nnet." + n for n in """
        sigmoid ultra_fast_sigmoid hard_sigmoid softplus softmax log_softmax softmin softsign relu relu6
        leaky_relu prelu elu selu celu gelu silu swish mish hard_silu hard_swish hard_tanh log_sigmoid
        exponential linear glu squareplus soft_shrink hard_shrink tanh_shrink threshold sparse_plus
        sparse_sigmoid""".split()),
    "Losses": " ".join("nnet." + n for n in """
        categorical_crossentropy binary_crossentropy sigmoid_binary_crossentropy softmax_crossentropy
        crossentropy_softmax_argmax_1hot_with_bias softmax_with_bias h_softmax binary_focal_crossentropy
        categorical_focal_crossentropy mean_squared_error mean_absolute_error mean_absolute_percentage_error
        mean_squared_logarithmic_error huber log_cosh hinge squared_hinge categorical_hinge kl_divergence
        poisson cosine_similarity dice tversky logsumexp layer_norm confusion_matrix""".split()),
}

WANTED["Gradient tools"] = """
    grad jacobian hessian Rop Lop hessian_times_vector disconnected_grad zero_grad consider_constant grad_clip grad_scale
    undefined_grad subgraph_grad vectorize"""
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
        self.accepts, self.kind, self.order = [], None, 0


class GraphOp:
    """What the C++ tests did with an op of graphs."""
    def __init__(self):
        self.has_gradient = self.batch = self.special = False
        self.dtypes, self.order = defaultdict(set), 0

    def take(self, backend, dtype, what, count):
        """A record; whether it is one."""
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

    def missing(self, is_mark):
        words = [f"not on {name}" for backend, name in (BACKENDS | DEVICES).items() if not self.dtypes[backend]]
        return words + ["no gradient by differences"] * (self.has_gradient and not self.order and not is_mark)


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
            op = operations[name]
            if what == "numpy" and backend == "refusal":
                op.refusals += int(count)
            elif what == "numpy":
                op.numpy += int(count)
                op.backends.add(backend)
            elif what == "accepts":
                op.accepts = [] if dtype == "-" else dtype.split(",")
            elif what.startswith("gradient:"):
                op.order = max(op.order, int(count))
                if op.kind in (None, "none"):
                    op.kind = what.partition(":")[2]
            else:
                raise SystemExit(f"{file}: '{line}' is no record")
    return operations, graph_ops


def described(dtypes):
    """"bool, int, float", with the names of those that are taken where a family is not complete."""
    words = []
    for family, members in DTYPES.items():
        taken = [m for m in members if m in dtypes]
        words += [family] if taken == members else taken
    return ", ".join(words) or "-"


def cpp_functions():
    """Names that the public headers declare."""
    text = "\n".join(f.read_text() for f in (ROOT / "include/croton").glob("*.hpp"))
    return set(re.findall(r"^(?:inline |constexpr )*[\w:<>, ]+[ &](\w+)\(", text, re.M))


def row(name, op, function, known):
    plain = name.removeprefix("nnet.")
    cpp = CPP_NAMES.get(name, plain)
    if "::" not in cpp:
        cpp = ("nnet::" if name.startswith("nnet.") else "") + cpp if cpp in known else "-"
    doc = (function.__doc__ or "").strip().replace("\n", " ")
    # nanobind puts the signature first.
    doc = re.sub(r"^\w+\([^)]*\)( -> \S+)?\s*", "", doc)
    doc = doc.split(". ")[0].rstrip(".").replace("|", "\\|").replace("*", "\\*")
    gradient = {"yes": f"order {op.order}", "zero": "zero", "none": "-", None: "-"}[op.kind]
    backends = [BACKENDS.get(b, b) for b in sorted(op.backends, key=["run", "simulate", "reference"].index)]
    missing = [word for word, there in (("no NumPy samples", op.numpy), ("no dtypes", op.accepts),
               *((f"not on {BACKENDS[b]}", b in op.backends) for b in BACKENDS)) if not there]
    cells = [f"`{name}`", f"`{cpp}`" if cpp != "-" else "-", doc, described(op.accepts), gradient, ", ".join(backends),
             str(op.numpy), str(op.refusals or "-"), ", ".join(missing) or "complete"]
    return "| " + " | ".join(cells) + " |", not missing


HEAD = ("| Python | C++ | | dtypes | gradient | compared on | NumPy samples | refusals | status |\n"
        "|---|---|---|---|---|---|---|---|---|\n")
INTRODUCTION = """# Operations

All public operations, and at the end the ops that they are made of; written by `tools/op_page.py` from the records of a
test run (`ctest -R '^operations$'` runs the tests and compares this page with what they found). Python names are of
`croton.tensor` and `croton.nnet`; methods of a Variable and operators do the same.

- *dtypes*: of the first operand. *int*: all eight, *float*: float16, bfloat16, float32, float64.
- *gradient*: "order 2": it and its own gradient agree with differences; "order 1": only it; "zero": it is zero and
  connected; "-": the result is not differentiated.
- *compared on*: where results were compared with NumPy's: compiled for the CPU, CUDA text in the simulator, the
  reference evaluator. One text at least of each operation goes to the test `cuda_texts`, where NVRTC compiles it.
- *NumPy samples*: calls of the operation on sets of arrays that agreed with NumPy or SciPy (tests/oracle says how far
  they may differ, and where Croton differs on purpose). *Refusals*: mistakes that raise.

"""


GRAPH_HEAD = """## Ops of graphs

What the operations above are made of, under the names that `debugprint` shows; from the tests in C++ (tests/ops), which
compare results on every back-end with references of their own.

- *dtypes*: of the first operand, in programs that ran both on the CPU and as CUDA text in the simulator.
- *gradient*: of functions with the op, against differences to that order in float64 (complex128); "-": it has none.
- *batch*: it was part of an expression that `vectorize` made one for a batch.
- *special values*: nan and infinities were among the arguments.
- *ran on*: it was part of programs that gave results there, and depended on an argument: "simulated device" is the
  simulator as the device cuda0, "part of the host" the device cpu1.

| op | dtypes | gradient | batch | special values | ran on | status |
|---|---|---|---|---|---|---|
"""
# Ops that users' graphs do not have: where they come from, and what runs them.
NOT_IN_USERS_GRAPHS = {
    "crossentropy_logits": "made by a rule, `ctest -R rules`",
    "crossentropy_logits_grad": "made by a rule, `ctest -R rules`",
    "gemm": "made when products join sums, `ctest -R '^products$'`",
    "max_or_lowest": "softmax is made of it",
    "transfer": "made when devices are chosen, `ctest -R '^devices$'`",
}
# Their gradient is not that of their value.
MARKS = {"disconnected_grad", "zero_grad", "grad_clip", "grad_scale", "undefined_grad"}


def graph_row(name, op):
    """The row, and whether nothing is missing."""
    dtypes = op.dtypes["run"] & op.dtypes["simulate"]
    missing = op.missing(name in MARKS) if name not in NOT_IN_USERS_GRAPHS else []
    gradient = f"order {op.order}" if op.order else "on purpose another" if name in MARKS else "-"
    places = [word for backend, word in (BACKENDS | DEVICES).items() if op.dtypes[backend]]
    status = NOT_IN_USERS_GRAPHS.get(name) or ", ".join(missing) or "complete"
    cells = [f"`{name}`", described(dtypes), gradient, "yes" if op.batch else "-", "yes" if op.special else "-",
             ", ".join(places) or "-", status]
    return "| " + " | ".join(cells) + " |\n", not missing


def page(operations, graph_ops):
    """The text, and a list of what is missing."""
    sys.path.insert(0, str(ROOT / "tests/oracle"))
    import operations as public
    names, known, holes, seen = set(public.names()), cpp_functions(), [], set()
    lines = []
    for family, wanted in WANTED.items():
        lines.append(f"## {family}\n\n{HEAD}")
        for entry in wanted.split():
            theirs, _, ours = entry.partition("=")
            ours = ours or theirs
            if ours not in names:
                lines.append(f"| `{theirs}` | | | | | | | | MISSING |\n")
                holes.append(theirs)
            elif ours != theirs and ours in seen:
                continue
            elif ours not in seen:
                text, complete = row(ours, operations[ours], public.find(ours), known)
                lines.append(text + "\n")
                if not complete:
                    holes.append(f"{ours} (not complete)")
            seen.add(ours)
        lines.append("\n")
    rest = sorted(names - seen)
    if rest:
        lines.append(f"## Others\n\n{HEAD}")
        for name in rest:
            text, complete = row(name, operations[name], public.find(name), known)
            lines.append(text + "\n")
            if not complete:
                holes.append(f"{name} (not complete)")
        lines.append("\n")
    total = sum(op.numpy for op in operations.values())
    checked = sum(op.order > 0 for op in operations.values())
    lines.append(f"{len(names)} operations; {total} NumPy samples; {checked} gradients checked.\n\n")
    lines.append(GRAPH_HEAD)
    for name, op in sorted(graph_ops.items()):
        text, complete = graph_row(name, op)
        lines.append(text)
        if not complete:
            holes.append(f"the op {name} of graphs (not complete)")
    return INTRODUCTION + "".join(lines), holes


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("records")
    options.add_argument("--out", default=str(ROOT / "docs/ops.md"))
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    operations, graph_ops = read(options.records)
    if not any(op.numpy for op in operations.values()) or not graph_ops:
        raise SystemExit(f"{options.records}: no records; run `ctest -R '^(oracle|ops_on_cuda0|ops_on_cpu1)$'` first")
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
