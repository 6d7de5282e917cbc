"""Checks Croton on a machine with an NVIDIA GPU: tests, sanitizers, benchmark (docs/gpu_check.md).

Writes gpu_check.json, gpu_check.md and gpu_check.log.xz to $OUT, else to bench/results/. The exit status is 0 if
everything passed.
"""
import argparse
import os
import shutil
import signal
import sys
import tempfile
import time

import benchmark
import commands
import machine
import programs
import sanitizers
import suite
from parts import Parts
from report import Report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = {"machine": 20, "programs": 200, "tests": 180, "benchmark": 260, "sanitizers": 120}  # seconds at most


def limit(text):
    name, seconds = text.split("=")
    if name not in LIMITS:
        raise argparse.ArgumentTypeError(f"{name} is no part: {', '.join(LIMITS)}")
    return name, float(seconds)


def parse():
    listed = lambda text: [part for part in text.split(",") if part]
    parser = argparse.ArgumentParser(prog="scripts/gpu_check.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=os.environ.get("OUT") or os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--total", type=float, default=520, help="seconds for everything (520)")
    parser.add_argument("--limit", type=limit, action="append", default=[], metavar="PART=S",
                        help=f"seconds for a part, 0 to leave it out; of {LIMITS}")
    parser.add_argument("--device", default="cuda0")
    parser.add_argument("--flags", default="", help="further flags of Croton for all programs: cuda_simulator=2")
    parser.add_argument("--pack", default=os.path.join(ROOT, "gpu_check_pack"))
    parser.add_argument("--build", help="a build folder whose programs are taken instead of the pack's")
    parser.add_argument("--tests", type=listed, help="names of tests; default: all that are fast")
    parser.add_argument("--jobs", type=int, default=max(1, len(os.sched_getaffinity(0)) // 2), help="tests at a time")
    parser.add_argument("--workloads", help="of the benchmark; default: all")
    parser.add_argument("--peers", type=listed, default=benchmark.PEERS)
    parser.add_argument("--bench-budget", type=float, default=0.5, help="seconds of timing per workload and variant")
    parser.add_argument("--bench-scale", type=int, default=1, help="divides the sizes, for trials on small machines")
    return parser.parse_args()


def check(options, parts, work):
    have = {}

    def obtain(seconds):
        have["programs"], facts = programs.obtain(ROOT, options.pack, work, options.build, seconds)
        doctor = commands.run([have["programs"].path("croton"), "doctor"], 30, have["programs"].env)
        return facts | {"tail": doctor.tail(60)}

    parts.run("machine", machine.describe)
    parts.run("programs", obtain)
    if "programs" not in have:
        return
    parts.run("tests", lambda seconds: suite.run_all(have["programs"], options.device, options.flags, options.tests,
                                                     options.jobs, seconds))
    parts.run("benchmark", lambda seconds: benchmark.run_all(have["programs"], options, options.device, options.flags,
                                                             work, seconds))
    parts.run("sanitizers", lambda seconds: sanitizers.run_all(have["programs"], options.device, options.flags,
                                                               seconds))


def main():
    options = parse()
    begin = time.monotonic()
    report = Report(options.out, options.device, options.total)
    limits = {name: seconds for name, seconds in (LIMITS | dict(options.limit)).items() if seconds > 0}
    parts = Parts(options.total, limits, report)

    work = tempfile.mkdtemp(prefix="croton-gpu-check-")

    def stop(number, frame):
        commands.end_all()
        shutil.rmtree(work, ignore_errors=True)
        report.finish(f"stopped by {signal.Signals(number).name}", time.monotonic() - begin)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        check(options, parts, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = report.data["parts"]
    good = all(found.get(name, {}).get("status") == "passed" for name in limits)
    report.finish("passed" if good else "failed", time.monotonic() - begin)
    with open(os.path.join(options.out, "gpu_check.md")) as file:
        print(file.read())
    return 0 if good else 1


sys.exit(main())
