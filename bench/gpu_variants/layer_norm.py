"""Experiments with layer normalisation and its gradients."""
import itertools
import math

import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, grid_name, i32, i64, instance, sets_for
from orders import relative, some_rows

LAYER_NORM_EPSILON = 1e-5


def layer_norm_inputs(rows, length):
    return {"x": Buffer(FLOAT * rows * length, (302, -4, 4)), "gamma": Buffer(FLOAT * length, (303, 0.5, 1.5)),
            "beta": Buffer(FLOAT * length, (304, -1, 1)), "dy": Buffer(FLOAT * rows * length, (305, -1, 1))}


def normalised(read, row, length):
    """A normalised row in double precision, and the factor of its normalisation."""
    x = read("x", row * length, length).astype(np.float64)
    scale = 1 / np.sqrt(x.var() + LAYER_NORM_EPSILON)
    return (x - x.mean()) * scale, scale


def layer_norm_experiment(sms, small):
    rows, length = (8, 4096) if small else (8192, 4096)
    moved, variants = 2 * FLOAT * (rows + 1) * length, []
    teams = [(1, 4, 8, True), (1, 2, 16, True), (4, 1, 32, True), (1, 8, 4, False), (1, 16, 2, False),
             (1, 32, 1, False)]
    for (at_once, warps, vectors, fixed), kept, ahead, narrow in itertools.product(teams, *[(False, True)] * 3):
        full = max(1, 64 // (warps * at_once))  # blocks that give an SM its 2048 threads
        held = full // 2 if narrow else 1
        if (kept or ahead) and vectors > 16 or narrow and (vectors > 8 or warps > 8):
            continue
        for per_sm in (full, full // 2) if kept or ahead else (0, full // 2):
            grid = min(rows // at_once, max(1, per_sm) * sms) if per_sm or kept or ahead else rows // at_once
            facets = {"threads a row": 32 * warps, "parameters": "kept" if kept else "read again", "ahead": ahead,
                      "held to": held, "grid": grid_name(per_sm), "tree": "fixed" if fixed else "loose"}
            kernel = instance("layer_norm.cu", "layer_norm", at_once, warps, vectors, fixed, kept, ahead, held)
            variants.append(Variant(facets, [Step(kernel, (grid, 1), 32 * warps * at_once,
                                                  ["x", "gamma", "beta", "y", i32(rows)])]))

    def sampled(read):
        gamma, beta = read("gamma", 0, length), read("beta", 0, length)
        return max(relative(read("wanted", r * length, length), normalised(read, r, length)[0] * gamma + beta, 1)
                   for r in some_rows(rows))

    buffers = layer_norm_inputs(rows, length)
    del buffers["dy"]
    buffers.update(y=Buffer(FLOAT * rows * length), wanted=Buffer(FLOAT * rows * length, each=False))
    wanted = [Step(instance("reference.cu", "layer_norm_wanted"), (min(rows, 4096), 1), 256,
                   ["x", "gamma", "beta", "wanted", i64(rows), i64(length)])]
    return Experiment(f"layer_norm_{rows}x{length}", f"layer normalisation of the rows of {rows} x {length}",
                      moved, buffers, wanted, [Output("y", "wanted", rows * length, 1, 4e-6)], variants,
                      sets_for(moved, small), sampled=sampled)


def gradients_join(length, runs):
    """The launch that joins the partial sums of both parameters' gradients."""
    return Step(instance("layer_norm.cu", "gradients_join", 1, 32, 8), (2 * length // 32, 1), 256,
                ["partial", "parameters", i32(2 * length), i32(runs)])


def layer_norm_grad_experiment(sms, small):
    rows, length = (128, 4096) if small else (8192, 4096)
    moved, variants = 3 * FLOAT * (rows + 1) * length, []
    args = ["x", "dy", "gamma", "dx", "partial", "statistics"]
    teams = [(4, 8, True), (8, 4, False), (16, 2, False), (32, 1, False)]
    least_of = {4: (1, 3), 8: (1, 2), 16: (1, 2), 32: (1, )}
    for (warps, vectors, fixed), chunks, rounds, ahead in itertools.product(teams, (1, 2, 4), (3, 2), (False, True)):
        runs, least_and_grid = rows // (16 * chunks), [(least, 0) for least in least_of[warps]]
        if ahead:
            least_and_grid += [(least, max(least_of[warps])) for least in least_of[warps]] + [(1, 2)] * (warps == 4)
        if chunks > 1 and rounds == 2:
            continue
        shared = (ahead + int(math.log2(chunks))) * 2 * FLOAT * length
        for least, per_sm in least_and_grid:
            grid = min(runs, per_sm * sms) if per_sm else runs
            facets = {
                "kernels": "one pass", "threads a row": 32 * warps, "rows a block": 16 * chunks, "rounds": rounds,
                "ahead": ahead, "grid": grid_name(per_sm), "held to": least, "tree": "fixed" if fixed else "loose"}
            kernel = instance("layer_norm.cu", "layer_norm_grad", warps, vectors, fixed, True, chunks, rounds, ahead,
                              least)
            variants.append(Variant(facets, [Step(kernel, (grid, 1), 32 * warps, args + [i32(runs)], shared),
                                             gradients_join(length, runs)]))
    for (warps, vectors, fixed), (vec, x, y, held), splits in itertools.product(
            teams, ((4, 32, 8, 2), (4, 32, 8, 1), (4, 32, 4, 3), (2, 32, 8, 3), (1, 32, 8, 2)), (16, 32, 8)):
        chunks = rows // (16 * y * splits)
        if chunks < 1 or chunks > 16 or (not fixed and (vec != 4 or splits != 16)):
            continue
        runs = rows // 16
        row_kernel = instance("layer_norm.cu", "layer_norm_grad", warps, vectors, fixed, False, 1, 3, False, 1)
        column_kernel = instance("layer_norm.cu", "parameter_gradients", vec, x, y, held)
        facets = {
            "kernels": "two passes", "threads a row": 32 * warps, "column lanes": f"{x} of {vec}", "held to": held,
            "splits": splits, "tree": "fixed" if fixed else "loose"}
        variants.append(Variant(facets, [
            Step(row_kernel, (runs, 1), 32 * warps, args + [i32(runs)]),
            Step(column_kernel, (length // (vec * x), splits), x * y,
                 ["x", "dy", "statistics", "partial", i32(length), i32(chunks)]),
            gradients_join(length, splits)]))

    def sampled(read):
        gamma = read("gamma", 0, length)

        def error(r):
            normal, scale = normalised(read, r, length)
            slope = read("dy", r * length, length).astype(np.float64) * gamma
            want = scale * (slope - slope.mean() - normal * (slope * normal).mean())
            return relative(read("wanted_dx", r * length, length), want, 1)
        of_beta = read.columns("dy", rows, length, 16, 16).sum(axis=0, dtype=np.float64)
        return max(max(map(error, some_rows(rows))), relative(read("wanted_parameters", length + 16, 16), of_beta, 100))

    buffers = layer_norm_inputs(rows, length)
    del buffers["beta"]
    buffers.update(dx=Buffer(FLOAT * rows * length), partial=Buffer(FLOAT * max(rows // 16, 256) * 2 * length),
                   statistics=Buffer(2 * FLOAT * rows), parameters=Buffer(FLOAT * 2 * length),
                   wanted_dx=Buffer(FLOAT * rows * length, each=False), wanted_statistics=Buffer(16 * rows, each=False),
                   wanted_parameters=Buffer(FLOAT * 2 * length, each=False))
    wanted = [Step(instance("reference.cu", "layer_norm_grad_wanted"), (min(rows, 4096), 1), 256,
                   ["x", "dy", "gamma", "wanted_dx", "wanted_statistics", i64(rows), i64(length)]),
              Step(instance("reference.cu", "parameter_gradients_wanted"), (math.ceil(length / 256), 1), 256,
                   ["x", "dy", "wanted_statistics", "wanted_parameters", i64(rows), i64(length)])]
    outputs = [
        Output("dx", "wanted_dx", rows * length, 1, 4e-6),
        Output("parameters", "wanted_parameters", 2 * length, 100, 4e-6)]
    return Experiment(f"layer_norm_grad_{rows}x{length}", f"its gradients for x, gamma and beta, {rows} x {length}",
                      moved, buffers, wanted, outputs, variants, sampled=sampled)
