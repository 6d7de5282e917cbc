"""Experiments with sums over axis 0."""
import math

import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, i32, i64, instance, sets_for
from orders import column_tree, relative


def columns_experiment(name, rows, columns, shapes, small):
    """`shapes`: (team, splits of the rows, finish)."""
    moved = FLOAT * (rows + 1) * columns
    variants = []
    for (vec, x, y, held), splits, finish in shapes:
        chunks, tiles = rows // (16 * y * splits), columns // (vec * x)
        if chunks < 1 or chunks > 64 or tiles < 1:
            continue
        last = finish == "last block"
        if splits == 1 and not last:
            continue
        steps = [Step(instance("columns.cu", "column_sum", vec, x, y, held, last), (tiles, splits), x * y,
                      ["x", "partial", "out", "counters", i32(columns), i32(chunks)])]
        if finish == "second kernel":
            steps.append(Step(instance("columns.cu", "column_join", 1, 32, 8), (columns // 32, 1), 256,
                              ["partial", "out", i32(columns), i32(splits)]))
        facets = {"floats a lane": vec, "lanes": x, "groups of rows": y, "held to": held, "splits": splits,
                  "blocks": tiles * splits, "finish": finish, "tree": "fixed"}
        variants.append(Variant(facets, steps))

    def places():
        return [0, columns // 2 // 16 * 16, columns - 16]

    def sampled(read):
        def error(c):
            want = read.columns("x", rows, columns, c, 16).sum(axis=0, dtype=np.float64)
            return relative(read("wanted", c, 16), want, 1)
        return max(map(error, places()))

    def tree(read):
        return [("out", c, column_tree(read.columns("x", rows, columns, c, 16))) for c in places()]

    buffers = {"x": Buffer(FLOAT * rows * columns, (401, 0, 1)), "out": Buffer(FLOAT * columns),
               "partial": Buffer(FLOAT * 256 * columns), "counters": Buffer(FLOAT * columns),
               "wanted": Buffer(FLOAT * columns, each=False)}
    wanted = [Step(instance("reference.cu", "column_sum_wanted"), (math.ceil(columns / 256), 1), 256,
                   ["x", "wanted", i64(rows), i64(columns)])]
    return Experiment(name, f"sum over axis 0 of {rows} x {columns}", moved,
                      buffers, wanted, [Output("out", "wanted", columns, tolerance=2e-6)], variants,
                      sets_for(moved, small), sampled=sampled, tree=tree)


def columns_experiments(small):
    """Sums of a large and of a medium matrix."""
    # Floats a lane, lanes, groups of rows, and the minimum of blocks an SM, which limits the registers.
    teams = [(4, 32, 8, 2), (4, 32, 8, 1), (4, 32, 8, 3), (4, 32, 8, 4), (4, 32, 4, 2), (4, 32, 16, 1), (4, 16, 16, 2),
             (4, 8, 32, 2), (4, 8, 16, 4), (2, 32, 8, 1), (2, 32, 8, 4), (1, 32, 8, 1), (1, 32, 32, 1), (1, 128, 2, 1)]
    long = [(team, splits, "last block") for team in teams for splits in (4, 8, 16, 32, 2, 64)]
    long += [(team, splits, "second kernel") for team in teams[:2] for splits in (4, 8, 16, 32)]
    short = [(team, splits, "last block") for team in teams for splits in (16, 32, 8, 4, 2, 1, 64)]
    short += [(team, splits, "second kernel") for team in teams[:2] for splits in (8, 16, 32)]
    large, medium = ((1024, 256), (512, 128)) if small else ((16384, 8192), (4096, 1024))
    return [columns_experiment("sum_0_16384x8192", *large, long, small),
            columns_experiment("sum_0_4096x1024", *medium, short, small)]
