"""Elementwise experiments: a copy and additions, of aligned and of misaligned operands."""
import itertools

import numpy as np

from experiment import Buffer, Experiment, Output, Step, Variant, grid_name, instance, sets_for, u32
from orders import relative

OPERATIONS = {"Copy": (1, "copy_wanted"), "Add": (2, "add_wanted"), "AddBfloat16": (2, "add_bfloat16_wanted")}


def map_step(operation, words, sms, width, flight, threads, hint, per_sm):
    """A launch; with `per_sm` 0 each block has a tile, else the grid has so many blocks for each multiprocessor."""
    tiles = max(1, words // (width // 4 * flight * threads))
    grid = min(tiles, per_sm * sms) if per_sm else tiles
    return Step(instance("pointwise.cu", "map", operation, width, flight, threads, hint, per_sm > 0), (grid, 1),
                threads, ["x", "y", "z", u32(words)])


def bfloat16_sums(x, y):
    """Sums of the bfloat16 halves of words, added in float32 and rounded to nearest; NaN is 0x7fff."""
    def half(values):
        bits = values.view(np.uint32)
        return np.where(np.isnan(values), 0x7fff, (bits + 0x7fff + (bits >> 16 & 1)) >> 16)

    def parts(words):
        return (words << 16).view(np.float32), (words & 0xffff0000).view(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (half(a + b) for a, b in zip(parts(x), parts(y), strict=True))
    return low | high << 16


def elementwise(name, about, operation, words, choices, sms, small):
    """An operation on aligned operands. `choices`: (bytes a lane, in flight, threads, hint, blocks an SM)."""
    operands, wanted = OPERATIONS[operation]
    moved = (operands + 1) * 4 * words
    variants = []
    for width, flight, threads, hint, per_sm in dict.fromkeys(choices):
        facets = {
            "bytes a lane": width, "in flight": flight, "threads": threads, "hint": hint, "grid": grid_name(per_sm)}
        variants.append(Variant(facets, [map_step(operation, words, sms, width, flight, threads, hint, per_sm)]))
    args = ["x", "y"][:operands] + ["wanted", u32(words)]

    def sampled(read):
        first = max(0, words - 5000)
        if operation == "AddBfloat16":
            x, y, got = (read(b, first, words - first).view(np.uint32) for b in ("x", "y", "wanted"))
            return float(np.count_nonzero(got != bfloat16_sums(x, y)))
        values = [read(b, first, words - first).astype(np.float64) for b in ["x", "y"][:operands]]
        return relative(read("wanted", first, words - first), sum(values).astype(np.float32), 1)

    buffers = {"x": Buffer(4 * words, (411, -1, 1)), "y": Buffer(4 * words if operands == 2 else 16, (412, -1, 1)),
               "z": Buffer(4 * words), "wanted": Buffer(4 * words, each=False)}
    return Experiment(name, about, moved, buffers, [Step(instance("reference.cu", wanted), (2048, 1), 256, args)],
                      [Output("z", "wanted", words)], variants, sets_for(moved, small), sampled=sampled)


def elementwise_experiments(sms, small):
    grids = (0, 1, 2, 4, 8)
    many = [
        (width, flight, 256, "plain", per_sm) for width in (16, 8, 4) for flight in (1, 2, 4, 8) for per_sm in grids]
    blocks = [
        (16, flight, threads, "plain", per_sm) for threads in (128, 512) for flight in (1, 2, 4) for per_sm in grids]
    blocks += [(16, flight, 128, "plain", 16) for flight in (1, 2, 4)]
    hints = [(16, flight, 256, hint, per_sm) for hint in ("read_only", "streaming", "no_allocate")
             for flight in (1, 2, 4) for per_sm in (0, 4, 8)]
    few = [(width, flight, threads, "plain", per_sm) for width in (16, 8, 4) for flight in (1, 2, 4)
           for threads in (128, 256) for per_sm in (0, 8)]
    large, medium, tiny = (70_003, 40_000, 9_000) if small else (100_000_000, 25_000_000, 1_000_000)
    return [
        elementwise("add_1e8", "z = x + y, 1e8 floats", "Add", large, many + blocks + hints, sms, small),
        elementwise("copy_1e8", "z = x, 1e8 floats", "Copy", large, many + hints, sms, small),
        elementwise("add_2.5e7", "z = x + y, 2.5e7 floats", "Add", medium, few, sms, small),
        elementwise("add_1e6", "z = x + y, 1e6 floats, inputs not in the cache", "Add", tiny, few, sms, small),
        elementwise("add_bfloat16", "z = x + y, 1e8 bfloat16", "AddBfloat16", large // 2, few, sms, small),
    ]


def misaligned_experiment(name, about, ways, offsets, small):
    """z = x + y with operands that start `offsets` bytes after an aligned address."""
    size = 70_004 if small else 100_000_000
    variants = []
    for way, flight, threads in itertools.product(ways, (1, 2, 4), (128, 256)):
        grid = max(1, size // (4 * threads * flight))
        facets = {"way": way, "in flight": flight, "threads": threads}
        variants.append(
            Variant(facets, [
                Step(instance("pointwise.cu", "add_misaligned", way, flight, threads),
                     (grid, 1), threads, ["x", "y", "z", u32(size)])]))
    noises = {"x": (411, -1, 1), "y": (412, -1, 1), "z": None}
    buffers = {
        operand: Buffer(4 * size, noises[operand], offset=offset)
        for operand, offset in zip("xyz", offsets, strict=True)}
    buffers["wanted"] = Buffer(4 * size, each=False)
    wanted = [Step(instance("reference.cu", "add_wanted"), (2048, 1), 256, ["x", "y", "wanted", u32(size)])]
    return Experiment(name, about, 12 * size, buffers, wanted, [Output("z", "wanted", size)], variants)


def misaligned_experiments(small):
    return [misaligned_experiment("add_y_misaligned", "z = x + y, 1e8 floats, y four bytes off alignment",
                                  ("scalar", "mixed", "shifted"), (0, 4, 0), small),
            misaligned_experiment("add_all_misaligned", "z = x + y, 1e8 floats, all three four bytes off alignment",
                                  ("scalar", "peeled"), (4, 4, 4), small)]
