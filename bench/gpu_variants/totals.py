"""Experiments with sums of whole arrays."""
import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, i64, instance, sets_for, u32
from orders import pairwise, relative, row_tree


def total_experiment(name, blocks, shapes, small):
    """The sum of `blocks` blocks of 1024. Shapes: (warps, in flight, ahead, run, grid, finish)."""
    moved, variants = FLOAT * 1024 * blocks, []
    template = {"last block": "last_block", "last block, ordering atomic": "last_block_in_order",
                "barrier of the grid": "grid_wide"}
    for warps, flight, ahead, run, grid, finish in dict.fromkeys(shapes):
        runs = blocks // run
        if runs < 128 or run % max(1, flight // 8) or grid * warps > runs:
            continue
        steps = [Step(instance("rows.cu", "sum_all", warps, flight, ahead, template.get(finish, "nothing")), (grid, 1),
                      32 * warps, ["x", "pieces", "out", "counters", u32(runs), u32(run)])]
        if finish == "barrier of the grid":
            steps[0].mode = "cooperative"
        if finish.startswith("second kernel"):
            steps.append(Step(instance("rows.cu", "sum_pieces", 8), (1, 1), 256, ["pieces", "out", u32(runs)]))
            if finish == "second kernel, early":
                for step in steps:
                    step.mode = "early"
        facets = {
            "in flight": flight, "ahead": ahead, "threads": 32 * warps, "run": run, "blocks": grid, "finish": finish,
            "tree": "fixed"}
        variants.append(Variant(facets, steps))

    def total(read):
        """All elements in double precision and in the fixed tree, 64 MB at a time."""
        part = min(blocks, 16384) * 1024
        double, pieces = 0.0, []
        for first in range(0, blocks * 1024, part):
            values = read("x", first, part)
            double += values.sum(dtype=np.float64)
            pieces.append(row_tree(values[None]))
        return double, pairwise(np.stack(pieces))

    kept = []

    def once(read):
        if not kept:
            kept.append(total(read))
        return kept[0]

    buffers = {"x": Buffer(moved, (401, 0, 1)), "out": Buffer(FLOAT), "pieces": Buffer(FLOAT * blocks),
               "counters": Buffer(64), "wanted": Buffer(FLOAT, each=False)}
    wanted = [
        Step(instance("reference.cu", "row_sum_wanted"), (1, 1), 256,
             ["x", "wanted", i64(1), i64(1024 * blocks)])]
    return Experiment(name, f"sum of {1024 * blocks} floats", moved, buffers, wanted,
                      [Output("out", "wanted", 1, tolerance=2e-6)], variants, sets_for(moved, small),
                      sampled=lambda read: relative(read("wanted", 0, 1), once(read)[0], 1),
                      tree=lambda read: [("out", 0, once(read)[1])])


def total_experiments(sms, small):
    large, tiny = (512, 256) if small else (1 << 17, 1 << 10)
    shapes = [(8, flight, ahead, run, per_sm * sms, "last block")
              for flight, ahead in ((8, False), (8, True), (16, False), (4, True))
              for run, per_sm in ((2, 8), (4, 8), (16, 2), (4, 4), (8, 4), (4, 2), (8, 2), (8, 1), (1, 8))]
    shapes += [(8, flight, False, run, (1 << 17) // (8 * run), "last block")
               for flight in (8, 16)
               for run in (16, 32, 64, 128)]
    shapes += [(8, 8, False, run, per_sm * sms, "second kernel") for run, per_sm in ((4, 8), (8, 4))]
    shapes += [(warps, 8, False, 4, blocks * sms, "last block")
               for warps, blocks in ((4, 8), (4, 16), (16, 2), (16, 4), (32, 2))]
    if small:
        shapes = [(warps, flight, ahead, run, grid, finish) for warps, flight, ahead, run, _, finish in shapes
                  for grid in (3, 8)]
    ways = ("last block", "last block, ordering atomic", "second kernel", "second kernel, early", "barrier of the grid",
            "not finished")
    finishes = [(warps, flight, False, run, grid, finish)
                for finish in ways
                for warps, flight, run, grid in ((8, 8, 1, 128), (8, 8, 2, 64), (8, 16, 2, 64), (8, 8, 4, 32),
                                                 (4, 8, 1, 128), (4, 8, 1, 256), (16, 8, 1, 64), (32, 8, 1, 32))]
    if small:
        finishes = [(4, 8, False, 1, 8, finish) for finish in ways] + [(8, 16, False, 2, 8, finish) for finish in ways]
    return [
        total_experiment("sum_all_16384x8192", large, shapes, small),
        total_experiment("sum_all_1048576", tiny, finishes, small)]
