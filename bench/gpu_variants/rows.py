"""Experiments with sums over axis 1."""
import itertools

import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, grid_name, i32, i64, instance, sets_for
from orders import relative, row_tree, some_rows


def rows_experiment(name, rows, length, variants, small):
    moved = FLOAT * rows * (length + 1)

    def sampled(read):
        return max(relative(read("wanted", r, 1), read("x", r * length, length).sum(dtype=np.float64), 1)
                   for r in some_rows(rows))

    def tree(read):  # of many rows, since most have the same bits in other orders
        return [("out", r, row_tree(read("x", r * length, length)[None])) for r in range(0, rows, max(1, rows // 64))]

    buffers = {"x": Buffer(FLOAT * rows * length, (401, 0, 1)), "out": Buffer(FLOAT * rows),
               "wanted": Buffer(FLOAT * rows, each=False)}
    wanted = [Step(instance("reference.cu", "row_sum_wanted"), (min(rows, 4096), 1), 256,
                   ["x", "wanted", i64(rows), i64(length)])]
    return Experiment(name, f"sum over axis 1 of {rows} x {length}",
                      moved, buffers, wanted, [Output("out", "wanted", rows, tolerance=2e-6)], variants,
                      sets_for(moved, small), sampled=sampled, tree=tree)


def short_rows(rows, length):
    """Variants for rows of at most 1024 elements: a team is a part of a warp."""
    variants = []
    for lanes, at_once, threads in itertools.product((32, 16, 8, 4, 2), (1, 2, 4), (128, 256)):
        if lanes > length // 4 or at_once * length // lanes > 128:
            continue
        facets = {"team": f"{lanes} lanes", "rows at once": at_once, "threads": threads, "tree": "fixed"}
        variants.append(Variant(facets, [Step(instance("rows.cu", "sum_short_rows", length, lanes, at_once, threads),
                                              (max(1, rows * lanes // (at_once * threads)), 1), threads,
                                              ["x", "out", i32(rows)])]))
    return variants


def long_rows(rows, length, sms):
    """Variants for rows of 1024 elements or more: a team is a warp or a block."""
    blocks, variants = length // 1024, []
    for flight, ahead in ((8, False), (8, True), (16, False), (4, False), (4, True), (2, False), (16, True)):
        together = max(1, flight // 8)
        for warps, per_sm in itertools.product((4, 8), (0, 4, 8)):
            if blocks % together:
                continue
            grid = min(rows // warps, per_sm * sms) if per_sm else rows // warps
            facets = {
                "team": "warp", "in flight": flight, "ahead": ahead, "threads": 32 * warps, "grid": grid_name(per_sm),
                "tree": "fixed"}
            variants.append(
                Variant(facets, [
                    Step(instance("rows.cu", "sum_rows_by_warp", flight, ahead, warps),
                         (grid, 1), 32 * warps, ["x", "out", i32(rows), i32(blocks)])]))
        for warps in (2, 4, 8, 16, 32):
            if blocks < warps * together:
                continue
            facets = {"team": "block", "in flight": flight, "ahead": ahead, "threads": 32 * warps, "grid": "one pass",
                      "tree": "fixed"}
            variants.append(
                Variant(facets, [
                    Step(instance("rows.cu", "sum_rows_by_block", flight, ahead, warps),
                         (rows, 1), 32 * warps, ["x", "out", i32(blocks)])]))
    return variants


def rows_experiments(sms, small):
    bench, medium, short, shortest = ((64, 8192), (64, 1024), (512, 128), (512, 32)) if small else (
        (16384, 8192), (65536, 1024), (1 << 20, 128), (1 << 22, 32))
    return [rows_experiment("sum_1_16384x8192", *bench, long_rows(*bench, sms), small),
            rows_experiment("sum_1_65536x1024", *medium, short_rows(*medium) + long_rows(*medium, sms), small),
            rows_experiment("sum_1_1048576x128", *short, short_rows(*short), small),
            rows_experiment("sum_1_4194304x32", *shortest, short_rows(*shortest), small)]
