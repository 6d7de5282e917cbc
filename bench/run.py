#!/usr/bin/env python3
"""Times Croton, other libraries and handwritten C++, checks all of them, and writes the tables (README.md).

    cmake --build build/release --target croton_bench
    python3 bench/run.py [--quick] [--python PYTHON]

PYTHON is an interpreter with the packages of bench/peers/requirements.txt, or some of them; without it venv and pip
make one in a temporary folder. Only the standard library is needed here.
"""
import argparse
import contextlib
import datetime
import os
import signal
import sys
import tempfile
import time

import analysis
import report
from measure import COMPILED, REMEMBERED, TIMED, measure
from programs import KNOWN, Programs

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ["time", "memory", "compile"]
QUICK = ["axpy_chain_1e3", "axpy_chain_1e6", "softmax_rows", "layernorm_rows", "logreg_step", "call_arg", "graph_1000"]
QUICK_PEERS = ["numpy", "jax", "onnxruntime"]  # the others compile for minutes


def machine():
    """Model and number of cores: enough to judge the numbers, and nothing that names the machine."""
    model = "unknown CPU"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), model)
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def stolen_seconds():
    """How long the hypervisor took cores away, since boot; 0 if unknown."""
    with contextlib.suppress(OSError, IndexError), open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    return 0


def some_of(names):
    """The type of an option: a list of these names with commas between them."""
    def parsed(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(names)}")
        return chosen
    return parsed


def parse():
    build = os.path.join(os.path.dirname(HERE), "build", "release", "bin", "croton_bench")
    cores = len(os.sched_getaffinity(0))
    workloads = list(dict.fromkeys([*TIMED, *COMPILED, *REMEMBERED]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few workloads and peers; saves nothing unless --out")
    parser.add_argument("--croton-bench", default=build, help="the program, if it is not in build/release/bin")
    parser.add_argument("--python", help="interpreter with bench/peers/requirements.txt; default: made by pip")
    parser.add_argument("--peers", type=some_of(list(KNOWN)), help=f"default: all: {','.join(KNOWN)}")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, min(2, cores)][:cores])
    parser.add_argument("--modes", type=some_of(MODES), default=MODES, help=f"default: {','.join(MODES)}")
    parser.add_argument("--workloads", type=some_of(workloads))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--budget", type=float, help="seconds of timing per workload and round")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a process is ended")
    parser.add_argument("--first-limit", type=float, default=60, help="the same for a peer's first result")
    parser.add_argument("--out", help="folder of the results; default: bench/results")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.budget = options.budget or (0.2 if options.quick else 0.3)
    options.workloads = options.workloads or (QUICK if options.quick else workloads)
    options.peers = options.peers or (QUICK_PEERS if options.quick else list(KNOWN))
    options.out = options.out or (None if options.quick else os.path.join(HERE, "results"))
    if not os.access(options.croton_bench, os.X_OK):
        parser.error(f"{options.croton_bench} is not there: cmake --build build/release --target croton_bench")
    return options


def main():
    options = parse()
    start, stolen = time.monotonic(), stolen_seconds()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # so that started processes are ended, too
    with tempfile.TemporaryDirectory(prefix="croton-bench-") as folder:
        programs = Programs(options, folder)
        found = measure(options, programs)
    kinds = sorted({(f.job.mode, f.job.threads) for f in found})
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "rounds": options.rounds,
              "budget_s": options.budget, "versions": programs.versions, "missing": programs.missing,
              "stolen_s": stolen_seconds() - stolen, "wall_s": time.monotonic() - start, "calls": analysis.calls(found),
              "first_results": analysis.first_results(found), "memory": analysis.memory(found),
              "failures": {f"{mode}, {threads}": analysis.failures(found, mode, threads) for mode, threads in kinds},
              "faults": analysis.faults(found)}
    text = report.text_of(result)
    print(text)
    if options.out:
        report.save(result, text, options.out)
    sys.exit(1 if result["faults"] else 0)


if __name__ == "__main__":
    main()
