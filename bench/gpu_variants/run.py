#!/usr/bin/env python3
"""Measures handwritten candidates of schedules for generated CUDA kernels that are limited by memory.

Each file in kernels/ has one family of kernels; their template arguments are the choices of a schedule. An
*experiment* is a workload with inputs, expected results and a list of *variants*: launches with such choices. First
the results of a variant are compared with those of a plain kernel in double precision (kernels/reference.cu, which
NumPy checks on samples); all outputs are overwritten before. Then the variant is timed:

- A kernel that only waits occupies the stream until the host has enqueued a whole sample. So the speed of the host
  does not count.
- A sample is several runs between two events. The result is the median of 21 samples, with the first and last decile.
- Runs rotate among sets of inputs and outputs if one set would fit into the cache.

Where variants promise one order of additions (facet `tree`: fixed), their results must have the same bits; for sums,
also the bits of that order in NumPy.

Each variant gives a line of JSON in FOLDER/variants.jsonl at once. At the end FOLDER/variants.md has, for each
experiment, the best variants and the best time for each value of each choice; FOLDER/best.jsonl has the best variants.
A second process does the work. If it crashes or hangs, its variant is marked, and another process continues.

    python3 bench/gpu_variants/run.py --limit 150 --out FOLDER
    python3 bench/gpu_variants/run.py --only softmax,transpose --out FOLDER
    python3 bench/gpu_variants/run.py --compile-only        # needs CuPy and NVRTC, but no GPU
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

from processes import LINES, MARGIN_SECONDS, read_lines, supervise
from report import write_report


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=150, help="seconds until the report is written (default: 150)")
    parser.add_argument("--out", type=pathlib.Path, default=".", metavar="FOLDER",
                        help="folder of the results (default: the current one)")
    parser.add_argument("--only", help="parts of names of experiments, separated by commas")
    parser.add_argument("--small", action="store_true", help="small sizes: a trial of everything in little time")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) - 2),
                        help="number of threads that compile (default: all processors but two)")
    parser.add_argument("--compile-only", action="store_true", help="compile everything for --arch and stop")
    parser.add_argument("--arch", default="sm_90", help="for --compile-only (default: sm_90)")
    parser.add_argument("--report", action="store_true", help="only write the report of an earlier run's lines")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--end", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    options.end = options.end or time.time() + options.limit - MARGIN_SECONDS
    if options.worker:
        from worker import main as work  # imports CuPy, as compile_only does; the rest needs the standard library only
        work(options)
    elif options.compile_only:
        from compile_only import compile_only
        with tempfile.TemporaryDirectory() as options.cache:
            sys.exit(compile_only(options))
    elif options.report:
        write_report(read_lines(options.out / LINES), options.out)
    else:
        supervise(options)


if __name__ == "__main__":
    main()
