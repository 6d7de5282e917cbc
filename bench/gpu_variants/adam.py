"""The experiment with Adam on many tensors."""
import ctypes
import itertools
import math

import numpy as np

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, f32, grid_name, i64, instance, u32, u64
from orders import relative


class Rates(ctypes.Structure):
    """`Rates` of adam.cu."""
    _fields_ = [(name, f32) for name in ("rate", "beta_1", "beta_2", "epsilon")]


class Tensor(ctypes.Structure):
    """`Tensor` of adam.cu."""
    _fields_ = [(name, u64) for name in ("value", "mean", "square", "gradient")] + [("first_tile", u32), ("size", u32)]


class Table(ctypes.Structure):
    """`Table` of adam.cu."""
    MOST = 128
    _fields_ = [("tensors", Tensor * MOST), ("first_tiles", u32 * MOST)]


def tensor_sizes(small):
    """The sizes in bench/gpu/adam.cpp: 100 tensors of a transformer, of 768 to 38.6 million elements."""
    n = 16 if small else 768
    layer = [n, n, 3 * n * n, 3 * n, n * n, n, n, n, 4 * n * n, 4 * n, 4 * n * n, n]
    return [(500 if small else 50257) * n, (10 if small else 1024) * n, n, n] + 8 * layer


def adam_experiment(sms, small):
    sizes, rates = tensor_sizes(small), Rates(1e-3, 0.9, 0.999, 1e-7)
    starts = [0, *itertools.accumulate(sizes)]
    total, parts = starts[-1], ("value", "mean", "square", "gradient")

    def tensors(addresses, tile):
        """The tensors with their first tiles; `tile`: elements of a tile."""
        first = 0
        for start, size in zip(starts[:-1], sizes, strict=True):
            yield Tensor(*(addresses[part] + FLOAT * start for part in parts), first, size)
            first += math.ceil(size / tile)

    def table(addresses, tile):
        """The argument of a launch for all tensors."""
        filled = Table(first_tiles=(u32 * Table.MOST)(*[0xffffffff] * Table.MOST))
        for i, tensor in enumerate(tensors(addresses, tile)):
            filled.tensors[i] = tensor
            filled.first_tiles[i] = tensor.first_tile
        return filled

    def numbers(tile):
        """The tensor of each tile."""
        return np.repeat(np.arange(len(sizes), dtype=np.uint32), [math.ceil(size / tile) for size in sizes])

    variants = []
    for vectors, threads, exact in ((1, 256, True), (2, 256, True), (1, 128, True), (2, 128, True), (4, 128, True),
                                    (1, 512, True), (1, 256, False), (2, 256, False)):
        tile = 4 * vectors * threads
        tiles = len(numbers(tile))
        for lookup, per_sm in itertools.product(("map", "search", "parameter"), (0, 4, 8)):
            grid = min(tiles, per_sm * sms) if per_sm else tiles
            facets = {
                "launches": 1, "lookup": lookup, "in flight": vectors, "threads": threads, "grid": grid_name(per_sm),
                "exact": exact}
            if lookup == "parameter":
                step = Step(instance("adam.cu", "adam_of_parameter", vectors, threads, exact), (grid, 1), threads,
                            [lambda addresses, tile=tile: table(addresses, tile), u32(tiles), rates])
            else:
                step = Step(instance("adam.cu", "adam", lookup, vectors, threads, exact), (grid, 1), threads,
                            [lambda addresses, tile=tile: np.frombuffer(table(addresses, tile), np.uint8),
                             lambda addresses, tile=tile: numbers(tile), u32(tiles), rates])
            variants.append(Variant(facets, [step]))
        if not exact:
            continue
        for per_sm in (0, 8):
            steps = []
            for i, size in enumerate(sizes):
                alone = math.ceil(size / tile)
                grid = min(alone, per_sm * sms) if per_sm else alone
                steps.append(Step(instance("adam.cu", "adam_alone", vectors, threads, exact), (grid, 1), threads,
                                  [lambda addresses, i=i, tile=tile: list(tensors(addresses, tile))[i], u32(alone),
                                   rates]))
            facets = {
                "launches": len(sizes), "in flight": vectors, "threads": threads, "grid": grid_name(per_sm),
                "exact": exact}
            variants.append(Variant(facets, steps))
            variants.append(Variant({**facets, "replayed": True}, steps))
    variants.sort(key=lambda variant: variant.facets["launches"] > 1 and variant.facets["threads"] != 256)

    def sampled(read):
        first = max(0, total - 3000)
        g, m = (read(b, first, total - first).astype(np.float64) for b in ("gradient", "old_mean"))
        return relative(read("wanted_mean", first, total - first),
                        np.float32(0.9) * m + (np.float32(1) - np.float32(0.9)) * g, .01)

    noises = {
        "value": (611, -.05, .05), "mean": (613, -.01, .01), "square": (614, 1e-6, 1e-4), "gradient": (612, -.01, .01)}
    buffers = {part: Buffer(FLOAT * total, noise) for part, noise in noises.items()}
    buffers |= {f"old_{part}": Buffer(FLOAT * total, noises[part], each=False) for part in parts[:3]}
    buffers |= {f"wanted_{part}": Buffer(FLOAT * total, each=False) for part in parts[:3]}
    wanted = [Step(instance("reference.cu", "adam_wanted"), (4096, 1), 256,
                   ["old_value", "old_mean", "old_square", "gradient", "wanted_value", "wanted_mean", "wanted_square",
                    i64(total), *map(f32, (rates.rate, rates.beta_1, rates.beta_2, rates.epsilon))])]
    outputs = [Output(part, f"wanted_{part}", total, floor, 4e-6)
               for part, floor in (("value", .05), ("mean", .01), ("square", 1e-5))]
    return Experiment("adam_100", f"Adam on {total} parameters in {len(sizes)} tensors", 7 * FLOAT * total, buffers,
                      wanted, outputs, variants, renewed=parts[:3], sampled=sampled)
