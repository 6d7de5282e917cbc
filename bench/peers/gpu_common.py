"""What the peers on a GPU share: inputs, references in float64, timing, checks, the lines of JSON that they print.

The rules are those of croton_gpu_bench (bench/README.md, "On a GPU"). A peer calls `start(name, package)` and then
`run(options, versions, variants, build, wait)`, where `build(workload, variant, weights, inputs)` moves the NumPy
arrays to the device and returns `(step, results)`: `step()` starts the work once, `results()` gives the list of its
results as NumPy arrays.
"""
import argparse
import functools
import importlib.util
import json
import math
import statistics
import sys
import time

import common

WORKLOADS = ["axpy_chain_1e8", "axpy_chain_1e6", "softmax_rows", "reduce_sum_0", "reduce_sum_1", "reduce_sum_all",
             "mlp_step"]
TOLERANCES = {"mlp_step": 1e-4}
CHECKED_STEPS = {"mlp_step": 3}


def show(**fields):
    print(json.dumps(fields), flush=True)


def start(program, package):
    """The options of the command line; ends the program where the package is missing."""
    parser = argparse.ArgumentParser(description=f"the workloads of bench/README.md, 'On a GPU', on {program}")
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=WORKLOADS)
    parser.add_argument("--variants", type=lambda text: text.split(","), help="default: all that the peer has")
    parser.add_argument("--budget", type=float, default=1, help="seconds of timing per workload and variant")
    parser.add_argument("--scale", type=int, default=1, help="divides the sizes, for trials on small machines")
    options = parser.parse_args()
    options.program = program
    for needed in ("numpy", package):
        if importlib.util.find_spec(needed) is None:
            show(program=program, missing=f"{needed} is not installed")
            sys.exit(0)
    return options


@functools.lru_cache(maxsize=1)
def uniform(*arguments):
    """Kept for the next workload, which may have the same inputs: making them takes seconds."""
    return common.uniform(*arguments)


def inputs_of(name, scale):
    """(weights, inputs)"""
    part = lambda size: max(1, size // scale)
    if name.startswith("axpy_chain_"):
        return [], [uniform(101, -2, 2, part(int(float(name.split("_")[2]))))]
    if name == "softmax_rows":
        return [], [uniform(301, -4, 4, part(65536), 1024)]
    if name.startswith("reduce_sum_"):
        return [], [uniform(401, 0, 1, part(16384), 8192)]
    return common.inputs_of(name)


def reference(name, inputs):
    """(part, want): `part` takes what is compared out of the list of results."""
    import numpy as np
    if name in common.RATES:
        return lambda results: results, common.reference(name)[1:]
    step = 101 if name.startswith("axpy_chain_") else 61 if name == "softmax_rows" else 1
    x = inputs[0][::step].astype("float64")
    part = lambda results: [np.asarray(results[0])[::step] if step > 1 else results[0]]
    return part, common.numpy_work(name, [], [x])()


def norm_error(got, want):
    """|got - want| / |want|, of the worst result; infinite where a shape is wrong or an element is no number."""
    import numpy as np
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g, "float64"), np.asarray(w, "float64")
        error = float(np.linalg.norm(g - w) / np.linalg.norm(w)) if g.shape == w.shape else math.inf
        worst = max(worst, math.inf if math.isnan(error) else error)
    return worst


def spread(step, wait, times, budget):
    def seconds():
        begin = time.perf_counter()
        for _ in range(times):
            step()
        wait()
        return time.perf_counter() - begin

    end = time.perf_counter() + min(0.5, budget / 2)
    while time.perf_counter() < end:
        seconds()
    samples, end = [], time.perf_counter() + budget
    while len(samples) < 20 or (time.perf_counter() < end and len(samples) < 1000):
        samples.append(seconds() / times)
        if time.perf_counter() > end + 10 * budget:
            break
    tenths = statistics.quantiles(samples, n=10, method="inclusive") if len(samples) > 1 else samples * 9
    return {"median_s": statistics.median(samples), "p10_s": tenths[0], "p90_s": tenths[8], "samples": len(samples),
            "calls_per_sample": times}


def timing(step, wait, budget):
    for _ in range(3):
        step()
    wait()
    begin = time.perf_counter()
    step()
    wait()
    one = max(time.perf_counter() - begin, 1e-7)
    times = min(max(int(5e-3 / one), 1 if one > budget / 20 else 20), 20000)
    synced = spread(step, wait, 1, budget / 4)
    return spread(step, wait, times, budget) | {"synced_" + key: value for key, value in synced.items()}


def run_one(options, name, variant, build, wait, weights, inputs, want):
    begin = time.perf_counter()
    step, results = build(name, variant, weights, inputs)
    step()
    wait()
    record = {"first_call_s": time.perf_counter() - begin}
    for _ in range(1, CHECKED_STEPS.get(name, 1)):
        step()
    part, values = want
    error, allowed = norm_error(part(results()), values), TOLERANCES.get(name, 1e-5)
    record.update(error_vs_float64=error if math.isfinite(error) else None, tolerance=allowed)
    if not error <= allowed:
        return record | {"error": f"wrong result: error {error:.3g}"}
    return record | timing(step, wait, options.budget)


def run(options, versions, variants, build, wait):
    """The exit status is 1 if a workload failed."""
    show(program=options.program, **versions)
    good = True
    for name in options.workloads:
        weights, inputs = inputs_of(name, options.scale)
        want = reference(name, inputs)
        for variant in options.variants or variants:
            try:
                record = run_one(options, name, variant, build, wait, weights, inputs, want)
            except Exception as error:  # a variant that fails is a result, and the others still run
                record = {"error": f"{type(error).__name__}: {error}"[:500]}
            good = good and "error" not in record
            show(program=options.program, workload=name, variant=variant, **record)
    sys.exit(0 if good else 1)
