"""Experiments with the softmax of rows."""
import itertools

import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, grid_name, i32, i64, instance, sets_for
from orders import relative, some_rows


def softmax_variants(rows, length, sms):
    """Variants for rows of 1024: by warps; for longer rows: by blocks and clusters."""
    variants = []

    def add(where, kernel, grid, threads, facets, shared=0, args=()):
        choices = {"row in": where, "threads a row": threads, **facets}
        step = Step(kernel, (grid, 1), facets.get("block", threads), ["x", "y", *args], shared)
        variants.append(Variant(choices, [step]))

    maths = [("exp_croton", True), ("exp_croton", False), ("exp_library", True), ("exp_library", False),
             ("exp_fast", False)]
    if length == 1024:
        for (exp, divide), (teams, held), ahead in itertools.product(maths, ((8, 1), (8, 3), (8, 4), (4, 1), (4, 7)),
                                                                     (False, True)):
            if ahead and (held > 1 or exp == "exp_fast"):
                continue
            for per_sm in (8, 4) if ahead else (0, 8, 4):
                grid = min(rows // teams, per_sm * sms) if per_sm else rows // teams
                kernel = instance("softmax.cu", "softmax_registers", teams, 1, 8, True, exp, divide, ahead, held)
                facets = {"exp": exp, "divide": divide, "ahead": ahead, "block": 32 * teams, "held to": held,
                          "grid": grid_name(per_sm), "tree": "fixed"}
                add("registers", kernel, grid, 32, facets, args=[i32(rows)])
        for warps in (2, 4, 8):
            kernel = instance("softmax.cu", "softmax_registers", 1, warps, 8 // warps, False, "exp_croton", True, False,
                              1)
            add("registers", kernel, rows, 32 * warps,
                {"exp": "exp_croton", "divide": True, "ahead": False, "grid": "one pass", "tree": "loose"},
                args=[i32(rows)])
        return variants
    row_bytes, blocks = FLOAT * length, length // 1024
    for exp, divide in maths:
        facets = {"exp": exp, "divide": divide, "tree": "fixed"}
        for warps in (32, 16, 8):
            vectors = length // (128 * warps)
            one = instance("softmax.cu", "softmax_registers", 1, warps, vectors, True, exp, divide, False, 1)
            add("registers", one, rows, 32 * warps, {**facets, "grid": "one pass"}, args=[i32(rows)])
        for cluster, warps in ((2, 16), (4, 8), (8, 4)):
            add(f"registers of {cluster} blocks",
                instance("softmax.cu", "softmax_cluster", cluster, warps, 8, exp, divide), rows * cluster, 32 * warps,
                {**facets, "grid": "one pass"}, 8 * cluster)
        if exp == "exp_library":
            continue
        for warps in (32, 16):
            both = instance("softmax.cu", "softmax_registers_and_shared", warps, length // (128 * warps), True, exp,
                            divide)
            add("registers, the next in shared", both, min(rows, sms), 32 * warps, {**facets, "grid": grid_name(1)},
                row_bytes, [i32(rows)])
        for warps in (32, 16, 8):
            shared = instance("softmax.cu", "softmax_shared", warps, length // (128 * warps), exp, divide)
            add("shared", shared, rows, 32 * warps, {**facets, "grid": "one pass"}, row_bytes, [i32(rows)])
            for name, kernel in (("read twice", "softmax_two_reads"), ("read three times", "softmax_three_reads")):
                tree = "blocks" if kernel == "softmax_two_reads" else "fixed"
                add(name, instance("softmax.cu", kernel, warps, exp, divide), rows, 32 * warps,
                    {**facets, "grid": "one pass", "tree": tree}, args=[i32(rows), i32(blocks)])
    return variants


def softmax_experiment(rows, length, variants, small):
    moved = 2 * FLOAT * rows * length

    def sampled(read):
        def error(r):
            e = np.exp(read("x", r * length, length).astype(np.float64))
            return relative(read("wanted", r * length, length), e / e.sum(), 1e-30)
        return max(error(r) for r in some_rows(rows))

    buffers = {"x": Buffer(FLOAT * rows * length, (301, -4, 4)), "y": Buffer(FLOAT * rows * length),
               "wanted": Buffer(FLOAT * rows * length, each=False)}
    wanted = [Step(instance("reference.cu", "softmax_wanted"), (min(rows, 4096), 1), 256,
                   ["x", "wanted", i64(rows), i64(length)])]
    return Experiment(f"softmax_{rows}x{length}", f"softmax of the rows of {rows} x {length}", moved,
                      buffers, wanted, [Output("y", "wanted", rows * length, 1e-30, 4e-6)], variants,
                      sets_for(moved, small), sampled=sampled)


def softmax_experiments(sms, small):
    shapes = [(16, 1024), (3, 32768)] if small else [(65536, 1024), (4096, 32768), (128, 32768), (4096, 1024)]
    return [softmax_experiment(*shape, softmax_variants(*shape, sms), small) for shape in shapes]
