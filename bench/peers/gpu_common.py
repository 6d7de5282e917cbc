"""Shared code of the peers on a GPU: options, timing, checks, the lines of JSON that they print.

The rules are those of croton_gpu_bench (bench/README.md, "On a GPU"). A peer calls `start(name, package)`, makes a
`Peer` and passes it to `run(options, versions, peer)`. With --wait it first prepares all its workloads, prints a line
with "ready" and times nothing before it has read a line, so that several programs can compile at the same time and
measure in turn. An earlier line ends the preparation.
"""
import argparse
import dataclasses
import importlib.util
import json
import math
import select
import statistics
import sys
import time
import typing


def show(**fields):
    print(json.dumps(fields), flush=True)


def start(program, package):
    """The options of the command line; exits if the package is missing."""
    parser = argparse.ArgumentParser(description=f"the workloads of bench/README.md, 'On a GPU', on {program}")
    parser.add_argument("--workloads", type=lambda text: text.split(","), help="default: all that the peer has")
    parser.add_argument("--variants", type=lambda text: text.split(","), help="default: all that the peer has")
    parser.add_argument("--budget", type=float, default=1, help="seconds of timing per workload and variant")
    parser.add_argument("--scale", type=int, default=1, help="divides the sizes, for trials on small machines")
    parser.add_argument("--wait", action="store_true", help="prepare everything, then wait for a line before timing")
    options = parser.parse_args()
    options.program = program
    for needed in ("numpy", package):
        if importlib.util.find_spec(needed) is None:
            show(program=program, missing=f"{needed} is not installed")
            sys.exit(0)
    return options


@dataclasses.dataclass
class Peer:
    """One package. `place(array)` copies a NumPy array to the device. `build(kind, variant, weights, inputs)` returns
    `(step, results)`: `step()` starts the work once, `results()` returns the list of its results, on the device. It may
    keep the inputs, which other variants read too, and owns the weights. `take(array, index)` returns rows along the
    first axis (None: everything) as a NumPy array."""
    variants: list
    kinds: set
    place: typing.Callable
    build: typing.Callable
    take: typing.Callable
    wait: typing.Callable
    ceilings: typing.Callable = lambda: None  # measured when nothing else runs


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


def largest_error(peer, wants, results):
    """The error of the worst result; infinite if a shape is wrong."""
    errors = [want.error(peer.take(result, want.index)) if tuple(result.shape) == want.shape else math.inf
              for want, result in zip(wants, results, strict=True)]
    return max(errors)


def prepare(peer, kind, variant, problem, wants, weights, inputs):
    """(step, record): builds, calls and checks. A record with an error has no use for its step."""
    begin = time.perf_counter()
    step, results = peer.build(kind, variant, weights, inputs)
    step()
    peer.wait()
    record = {"first_call_s": time.perf_counter() - begin}
    for _ in range(1, problem.steps):
        step()
    error = largest_error(peer, wants, results())
    record.update(error_vs_float64=error if math.isfinite(error) else None, tolerance=problem.tolerance)
    if not error <= problem.tolerance:
        record["error"] = f"wrong result: error {error:.3g}"
    return step, record


def message(error):
    return {"error": f"{type(error).__name__}: {error}"[:500]}


def prepared(options, peer):
    """(name, variant, step, record) of each pair, in order. A failing one is a result too, and the others still run."""
    import gpu_workloads  # here, as it needs NumPy
    from gpu_samples import array_of
    for name in options.workloads or gpu_workloads.WORKLOADS:
        variants = options.variants or peer.variants
        try:
            kind, maker = gpu_workloads.WORKLOADS[name]
            if kind not in peer.kinds:
                continue
            problem = maker(options.scale)
            wants = problem.want()
            inputs = [peer.place(array_of(given)) for given in problem.inputs]
            weights = [array_of(given) for given in problem.weights]
        except Exception as error:
            yield from ((name, variant, None, message(error)) for variant in variants)
            continue
        for variant in variants:
            try:
                step, record = prepare(peer, kind, variant, problem, wants, [peer.place(w) for w in weights], inputs)
            except Exception as error:
                step, record = None, message(error)
            yield name, variant, step, record


def timed(options, peer, step, record):
    if "error" in record:
        return record
    try:
        return record | timing(step, peer.wait, options.budget)
    except Exception as error:
        return record | message(error)


def prepared_before(options, peer):
    """The same as prepared(), but all at once, and only after the timing was requested."""
    pairs = []
    for name, variant, step, record in prepared(options, peer):
        show(program=options.program, workload=name, variant=variant, prepared=True, **record)
        pairs.append((name, variant, step, record))
        if select.select([sys.stdin], [], [], 0)[0]:  # the line has arrived: the prepared workloads are timed
            break
    else:
        show(program=options.program, ready=True)
    if not sys.stdin.readline():
        sys.exit(0)
    return pairs


def run(options, versions, peer):
    """The exit status is 1 if a workload failed."""
    show(program=options.program, **versions)
    pairs = prepared_before(options, peer) if options.wait else prepared(options, peer)
    peer.ceilings()
    good = True
    for name, variant, step, record in pairs:
        is_known = options.wait and "error" in record
        record = timed(options, peer, step, record)
        good = good and "error" not in record
        if not is_known:
            show(program=options.program, workload=name, variant=variant, **record)
    sys.exit(0 if good else 1)
