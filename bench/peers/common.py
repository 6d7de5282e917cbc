"""Shared code of the Python peers: inputs, float64 references, timing, checks, the JSON that they print.

A peer calls `settings()` first, because the number of threads must be known before its package is imported, and then
`run(...)` with a function `build(name, weights, inputs)` that returns two functions: `call()`, one complete call, which
returns a list of results (a training step: the list of its loss), and `weights()`, the list of the current weights. For
a training (`fit_...`) it returns the one function `fit(rows)` of fits.py.
"""
import argparse
import collections
import ctypes
import gc
import json
import os
import statistics
import sys
import time

import cnn
import fits
import lstm

TIMED = ["axpy_chain_1e3", "axpy_chain_1e6", "axpy_chain_1e7", "black_scholes", "softmax_rows", "layernorm_rows",
         "reduce_sum_0", "reduce_sum_1", "reduce_sum_all", "transpose_add", "matpow", "mlp_step", "logreg_step",
         "cnn_step", "lstm_forward", "lstm_step", *fits.SAMPLES, "call_arg", "call_shared"]
RATES = {"mlp_step": 0.1, "logreg_step": 0.13, "lstm_step": 0.1}  # of gradient descent
TRAINED = {*RATES, "cnn_step"}
LOSSES_ALONE = {"cnn_step"}  # Adam's first steps are as large for tiny gradients: rounding changes signs
CHECKED_STEPS = 3
TOLERANCES = {"black_scholes": 1e-12, "mlp_step": 5e-4, "logreg_step": 1e-4, "cnn_step": 1e-4, "lstm_forward": 1e-4,
              "lstm_step": 1e-4, **dict.fromkeys(fits.SAMPLES, 1e-4), "matpow": 1e-4, "gemm_1000": 1e-4}
INTEREST, VOLATILITY = 0.02, 0.3  # of black_scholes


def settings(peer, variants=()):
    """Reads the command line and restricts the process to its cores."""
    parser = argparse.ArgumentParser(description=f"the workloads on {peer}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", choices=["time", "compile", "memory"], default="time")
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=TIMED)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of timing per workload")
    parser.add_argument("--json", default="-", help="file of the result, - for the standard output")
    if variants:
        parser.add_argument("--variant", choices=variants, default=variants[0])
    options = parser.parse_args()
    options.peer = f"{peer}-{options.variant}" if variants else peer
    cores = sorted(os.sched_getaffinity(0))[-options.threads:]
    os.sched_setaffinity(0, cores)
    options.threads = len(cores)
    for pool in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[pool + "_NUM_THREADS"] = str(len(cores))
    return options


# ---- inputs: SplitMix64 (Steele, Lea, Flood 2014), the upper 53 bits as a number in [0, 1)


def random_bits(seed, count):
    import numpy as np
    word = np.uint64
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=word) * word(0x9E3779B97F4A7C15) + word(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> word(shift))) * word(factor)
    return (z ^ (z >> word(31))) >> word(11)


def uniform(seed, low, high, *shape, dtype="float32"):
    import math
    u = random_bits(seed, math.prod(shape)) * 2.0**-53
    return (low + (high - low) * u).astype(dtype).reshape(shape)


def classes(seed, count):
    return uniform(seed, 0, 10, count, dtype="float64").astype("int64")


def inputs_of(name):
    """(weights, inputs)"""
    import numpy as np
    if name.startswith("axpy_chain_"):
        return [], [uniform(101, -2, 2, int(float(name.split("_")[2])))]
    if name.startswith("graph_"):
        return [], [uniform(1001, -1, 1, 1024)]
    if name.startswith("reduce_sum_") or name == "transpose_add":
        return [], [uniform(401, 0, 1, 4096, 4096)]
    if name.startswith("call_"):
        return [], [np.array([1, 2, 3], "float32")]
    if name == "black_scholes":
        ranges = {201: (10, 100), 202: (10, 100), 203: (0.1, 2)}
        return [], [uniform(seed, *r, 10**6, dtype="float64") for seed, r in ranges.items()]
    if name == "softmax_rows":
        return [], [uniform(301, -4, 4, 4096, 1024)]
    if name == "layernorm_rows":
        return [], [uniform(302, -4, 4, 4096, 1024), uniform(303, 0.5, 1.5, 1024), uniform(304, -1, 1, 1024)]
    if name == "matpow":
        bound = (3 / 1000)**0.5  # products of such matrices keep their size
        return [], [uniform(seed, -bound, bound, 1000, 1000) for seed in (901, 902)]
    if name == "mlp_step":
        weights = [uniform(seed, -0.05, 0.05, 1000, 1000) for seed in (502, 503)] + [uniform(504, -0.1, 0.1, 1000, 10)]
        return weights, [uniform(501, -1, 1, 800, 1000), classes(505, 800)]
    if name == "logreg_step":
        weights = [np.zeros((784, 10), "float32"), np.zeros(10, "float32")]
        return weights, [uniform(601, 0, 1, 600, 784), classes(602, 600)]
    if name == "cnn_step":
        weights = [uniform(703, -0.3, 0.3, 3, 3, 1, 32), np.zeros(32, "float32"), uniform(704, -0.3, 0.3, 32, 10),
                   np.zeros(10, "float32")]
        return weights, [uniform(701, 0, 1, 64, 28, 28, 1), classes(702, 64)]
    if name.startswith("lstm_"):
        bias = np.zeros(256, "float32")
        bias[64:128] = 1  # of the forget gate
        weights = [uniform(802, -0.1, 0.1, 256, 256), uniform(803, -0.1, 0.1, 64, 256), bias]
        targets = [uniform(804, -1, 1, 32, 64)] if name == "lstm_step" else []
        return weights, [uniform(801, -1, 1, 32, 140, 256), *targets]
    if name in fits.SAMPLES:
        return fits.inputs_of(name, uniform, classes)
    if name == "gemm_1000":
        return [], [uniform(901, -1, 1, 1000, 1000), uniform(902, -1, 1, 1000, 1000)]
    raise KeyError(name)


# ---- the work in NumPy: in float64 the reference for all, in float32 the work of peer_numpy.py


def fan_out(x, nodes, tanh):
    """A chain of elementwise operations, every second of which reads the result of an older tanh too."""
    recent = collections.deque([x], maxlen=36)  # nothing older is read
    for i in range(1, nodes + 1):
        previous, kind = recent[-1], i % 4
        if kind == 1:
            recent.append(tanh(previous))
            continue
        older = recent[1 + 4 * max(0, (i - 1) // 4 - 1 - 7 * i % 8) - i]
        recent.append({2: previous.__mul__, 3: previous.__sub__, 0: previous.__add__}[kind](older))
    return recent[-1]


def matpow(a, b):
    """a^10 + b^10, with nine products each."""
    p, q = a, b
    for _ in range(9):
        p, q = p @ a, q @ b
    return p + q


# Code that is the same for every package whose arrays have operators; numpy_work has its own, without nested calls.
PLAIN = {"reduce_sum_0": lambda x: x.sum(axis=0),
         "reduce_sum_1": lambda x: x.sum(axis=1),
         "reduce_sum_all": lambda x: x.sum(),
         "transpose_add": lambda x: x + x.T,
         "gemm_1000": lambda a, b: a @ b,
         "matpow": matpow,
         "call_arg": lambda x: x * 2}


def cross_entropy(logits, targets):
    """The mean loss and its gradient."""
    import numpy as np
    rows = np.arange(len(targets))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[rows, targets]).mean()
    p[rows, targets] -= 1
    return loss, p / p.dtype.type(len(targets))


def descend(name, weights, gradients):
    for w, g in zip(weights, gradients):
        w -= w.dtype.type(RATES[name]) * g


def mlp_step(weights, x, targets):
    import numpy as np
    w1, w2, w3 = weights
    h1 = np.maximum(x @ w1, 0)
    h2 = np.maximum(h1 @ w2, 0)
    loss, d3 = cross_entropy(h2 @ w3, targets)
    d2 = (d3 @ w3.T) * (h2 > 0)
    d1 = (d2 @ w2.T) * (h1 > 0)
    descend("mlp_step", weights, (x.T @ d1, h1.T @ d2, h2.T @ d3))
    return loss


def logreg_step(weights, x, targets):
    w, b = weights
    loss, d = cross_entropy(x @ w + b, targets)
    descend("logreg_step", weights, (x.T @ d, d.sum(axis=0)))
    return loss


def lstm_step(weights, x, targets):
    loss, slopes = lstm.gradients(weights, x, targets)
    descend("lstm_step", weights, slopes)
    return loss


def black_scholes(s, k, t, log, exp, sqrt, erf):
    root = VOLATILITY * sqrt(t)
    d = (log(s / k) + (INTEREST + VOLATILITY**2 / 2) * t) / root
    normal = lambda d: 0.5 * (1 + erf(d * 0.5**0.5))
    discounted = k * exp(-INTEREST * t)
    call = s * normal(d) - discounted * normal(d - root)
    return [call, call - s + discounted]


def softmax(x):
    import numpy as np
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gamma, beta, sqrt):
    d = x - x.mean(axis=1, keepdims=True)
    return d / sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta


def numpy_work(name, weights, inputs):
    """Returns a function that does the work once and returns the list of results."""
    import numpy as np
    x = inputs[0]
    if name == "cnn_step":
        train = cnn.stepper(weights, cross_entropy)
        return lambda: [train(*inputs)]
    if name in RATES:
        step = {"mlp_step": mlp_step, "logreg_step": logreg_step, "lstm_step": lstm_step}[name]
        return lambda: [step(weights, *inputs)]
    if name.startswith("axpy_chain_"):
        return lambda: [np.tanh(1.5 * x + 0.25) * (1 / (1 + np.exp(-x))) + np.exp(-x * x)]
    if name.startswith("graph_"):
        return lambda: [fan_out(x, int(name.split("_")[1]), np.tanh)]
    if name == "black_scholes":
        from scipy.special import erf
        return lambda: black_scholes(*inputs, np.log, np.exp, np.sqrt, erf)
    return {"softmax_rows": lambda: [softmax(x)],
            "layernorm_rows": lambda: [layer_norm(*inputs, np.sqrt)],
            "reduce_sum_0": lambda: [x.sum(axis=0)],
            "reduce_sum_1": lambda: [x.sum(axis=1)],
            "reduce_sum_all": lambda: [x.sum()],
            "transpose_add": lambda: [x + x.T],
            "gemm_1000": lambda: [x @ inputs[1]],
            "matpow": lambda: [matpow(*inputs)],
            "lstm_forward": lambda: [lstm.forward(weights, x)],
            "call_arg": lambda: [x * 2],
            "call_shared": lambda: [x * 2]}[name]


def reference(name):
    """The expected results of a peer; for a training step the first losses, then the weights after them; for a training
    the first losses and accuracies."""
    widen = lambda arrays: [a.astype("float64") if a.dtype == "float32" else a for a in arrays]
    weights, inputs = map(widen, inputs_of(name))
    if name in fits.SAMPLES:
        return fits.first_steps(name, fits.trainer(name, weights, inputs, cross_entropy), CHECKED_STEPS)
    work = numpy_work(name, weights, inputs)
    if name not in TRAINED:
        return work()
    losses = [work()[0] for _ in range(CHECKED_STEPS)]
    return [losses] + ([] if name in LOSSES_ALONE else weights)


# ---- memory


def status_mib(key):
    """MiB of this process: VmRSS, the resident memory now; VmHWM, its peak."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key + ":"))


def forget_peak():
    """Releases free memory and resets VmHWM, so that the memory for making the inputs does not count."""
    gc.collect()  # only this releases JAX's NumPy arrays
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as switch:
        switch.write("5")


# ---- checking and timing


def worst_error(got, want):
    """max|got - want| / max|want|, for the worst result."""
    import numpy as np
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g, "float64"), np.asarray(w, "float64")
        if g.shape != w.shape or not np.isfinite(g).all():
            raise ValueError(f"a result of shape {g.shape} is not finite or should have shape {w.shape}")
        worst = max(worst, float(np.abs(g - w).max() / max(1e-30, np.abs(w).max())))
    return worst


def sample(call, budget):
    """Seconds per call, from samples of at least 2 ms."""
    def seconds(times):
        start = time.perf_counter()
        for _ in range(times):
            call()
        return time.perf_counter() - start
    one = max(seconds(1), 1e-7)
    times = min(max(int(2e-3 / one), 1), 20000)
    seconds(min(3 * times, max(1, int(0.2 * budget / one))))
    samples, end = [], time.perf_counter() + budget
    while len(samples) < 5 or (time.perf_counter() < end and len(samples) < 400):
        samples.append(seconds(times) / times)
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median_s": middle, "p25_s": low, "p75_s": high, "min_s": min(samples), "samples": len(samples),
            "inner": times}


def placed(name, place):
    """(weights, inputs) in the peer's own arrays."""
    return [[place(array) for array in group] for group in inputs_of(name)]


def measure_memory(build, place, name, record):
    """Memory before the inputs, with them, and the peak while building and calling six times; the first result is
    kept."""
    record["before_mib"] = status_mib("VmRSS")
    given = placed(name, place)
    forget_peak()
    record["inputs_mib"] = status_mib("VmRSS")
    call, _ = build(name, *given)
    first = call()
    for _ in range(5):
        call()
    record["peak_mib"] = status_mib("VmHWM")
    del first


def check(name, got, record):
    import numpy as np
    got = [np.array(g) for g in got]
    record["error_vs_reference"] = error = worst_error(got, reference(name))
    record["checksum"] = float(sum(np.abs(g.astype("float64")).sum() for g in got))
    allowed = TOLERANCES.get(name, 2e-5)
    if not error <= allowed:
        raise ValueError(f"wrong result: error {error:.3g}, allowed {allowed:.3g}")


def measure_fit(options, build, place, name, record):
    """Seconds per step of an epoch in a new order."""
    import numpy as np
    if options.mode != "time":
        raise ValueError(f"a training is measured in mode time, not in mode {options.mode}")
    fit = build(name, *placed(name, place))
    check(name, fits.first_steps(name, fit, CHECKED_STEPS), record)
    order, samples = np.random.default_rng(0), fits.SAMPLES[name]
    timing = sample(lambda: fit(order.permutation(samples)), options.budget)
    steps = samples // fits.BATCH[name]
    record.update({key: value / steps if key.endswith("_s") else value for key, value in timing.items()})


def run_one(options, build, place, name, record):
    if name in fits.SAMPLES:
        return measure_fit(options, build, place, name, record)
    if options.mode == "memory":
        return measure_memory(build, place, name, record)
    given = placed(name, place)
    start = time.perf_counter()
    call, weights = build(name, *given)
    built = time.perf_counter()
    first = call()
    record.update(build_s=built - start, first_call_s=time.perf_counter() - built)
    if options.mode == "compile":
        again = time.perf_counter()
        call()
        record["later_call_s"] = time.perf_counter() - again
        if name in TRAINED:
            return  # the same step is checked in mode time
    got = first
    if name in TRAINED:
        losses = [float(first[0])] + [float(call()[0]) for _ in range(CHECKED_STEPS - 1)]
        got = [losses] + ([] if name in LOSSES_ALONE else weights())
    check(name, got, record)
    if options.mode == "time":
        record.update(sample(call, options.budget))


def run(options, build, versions, import_s, place=lambda array: array, cannot=()):
    """Prints the JSON object; the exit status is 1 if a workload failed. `place` converts a NumPy array to the peer's,
    `cannot` has the workloads that the peer does not support."""
    results = {}
    for name in options.workloads:
        record = results[name] = {}
        if name in cannot:
            record["instead"] = "-"
            continue
        try:
            run_one(options, build, place, name, record)
        except Exception as error:  # a failing workload is a result, and the others still run
            record["error"] = f"{type(error).__name__}: {error}"[:300]
        print(f"{options.peer}, threads {options.threads}, {name}: {json.dumps(record)}", file=sys.stderr, flush=True)
    text = json.dumps({"peer": options.peer, "threads": options.threads, "mode": options.mode, "import_s": import_s,
                       "versions": versions, "results": results})
    with (sys.stdout if options.json == "-" else open(options.json, "w")) as out:
        print(text, file=out)
        failed = any("error" in record for record in results.values())
    sys.exit(1 if failed else 0)
