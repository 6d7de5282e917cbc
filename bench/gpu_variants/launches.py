"""The experiment with launches of kernels that do next to nothing."""
import itertools

from experiment import FLOAT, Buffer, Experiment, Step, Variant, i32, instance


def launch_experiment(sms, small):
    """Each run is a single kernel and moves next to nothing. An increment reads the result of the previous kernel."""
    runs, variants = 4 if small else 200, []
    chains = [("empty", "nothing_at_all", [], ""), ("dependent", "increment", ["x"], ""),
              ("dependent, early start", "increment_early", ["x"], "early")]
    for (what, kernel, args, mode), (grid, block), replayed in itertools.product(
            chains, ((1, 32), (1, 256), (sms, 256), (8 * sms, 256)), (0, 20, runs)):
        count = replayed or runs
        facets = {
            "kernel": what, "blocks": grid, "threads": block, "launched": f"graph of {count}" if replayed else "stream"}
        steps = [Step(instance("launch.cu", kernel), (grid, 1), block, args, mode=mode)] * count
        variants.append(Variant({**facets, "replayed": True} if replayed else facets, steps, count))
    for blocks in (10_000, 100_000) if not small else (100, ):
        variants.append(Variant({"kernel": "empty", "blocks": blocks, "threads": 256, "launched": "stream"},
                                [Step(instance("launch.cu", "nothing_at_all"), (blocks, 1), 256, [])] * 8, 8))
    for per_sm, count in itertools.product((1, 2, 4), (3, ) if small else (100, )):
        grid = 2 * per_sm if small else per_sm * sms
        variants.append(
            Variant(
                {"kernel": "barrier of the grid", "blocks": grid, "threads": 256, "launched": "cooperative"},
                [Step(instance("launch.cu", "barriers"),
                      (grid, 1), 256, ["counters", i32(count)], mode="cooperative")], count))
    buffers = {"x": Buffer(FLOAT * 256 * 8 * sms, (1, 0, 1)), "counters": Buffer(64)}
    return Experiment("launch", "the time of a kernel that does next to nothing", 0, buffers, [], [], variants)
