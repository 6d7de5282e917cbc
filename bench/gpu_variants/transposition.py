"""The experiment with transpositions."""
import itertools

from experiment import FLOAT, Buffer, Experiment, Output, Step, Variant, i32, instance, sets_for
from orders import relative


def transpose_experiment(small):
    side = 256 if small else 8192
    variants, args = [], ["x", "y", i32(side), i32(side)]
    for rolled in (False, True):
        facets = {"way": "4 bytes, tiles of 32", "in flight": 1 if rolled else 4, "threads": 256}
        variants.append(
            Variant(facets,
                    [Step(instance("transpose.cu", "transpose_scalar", rolled), (side // 32, side // 32), 256, args)]))
    for layout, along, tile, threads in itertools.product(("swizzled", "padded"), (False, True), (64, 32, 128),
                                                          (64, 128, 256, 512)):
        flight = tile * tile // 4 // threads
        if flight < (4 if layout == "swizzled" else 1) or flight > 16:
            continue
        shared = FLOAT * tile * (tile + (layout == "padded"))
        facets = {"way": f"16 bytes, tiles of {tile}, {layout}", "in flight": flight, "threads": threads,
                  "neighbours along": "y" if along else "x"}
        variants.append(Variant(facets, [Step(instance("transpose.cu", "transpose_tile", tile, threads, layout, along),
                                              (side // tile, side // tile), threads, args, shared)]))
    for across, threads in itertools.product((4, 8, 16), (128, 256)):
        facets = {"way": "16 bytes, in registers", "in flight": 4, "threads": threads, "lanes along x": across}
        grid = (side // (4 * across), side // (4 * (32 // across) * (threads // 32)))
        variants.append(
            Variant(facets,
                    [Step(instance("transpose.cu", "transpose_registers", across, threads), grid, threads, args)]))

    def sampled(read):
        return relative(read("wanted", 5 * side, side), read.columns("x", side, side, 0, 16)[:, 5], 1)

    size = FLOAT * side * side
    buffers = {"x": Buffer(size, (411, -1, 1)), "y": Buffer(size), "wanted": Buffer(size, each=False)}
    wanted = [Step(instance("reference.cu", "transpose_wanted"), (2048, 1), 256, ["x", "wanted", i32(side), i32(side)])]
    return Experiment(f"transpose_{side}", f"transposition of {side} x {side}", 2 * size, buffers, wanted,
                      [Output("y", "wanted", side * side)], variants, sets_for(2 * size, small), sampled=sampled)
