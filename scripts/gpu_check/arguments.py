"""The command line. Detectable errors are rejected here, before anything runs."""
import argparse
import glob
import math
import os
import re

import bench
import libraries
import smoke
import suite
from refused import Refused, only_known

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIERS = {"smoke": smoke, "suite": suite, "bench": bench}
NAMED = [*libraries.FLAGS, "nvidia-smi", "ncu"]
SANITIZERS = "sanitizers"  # represents them among the names of tests


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(f"{message} (--help lists the options)")


def positive(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds over 0")
    return value


def whole_number(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no whole number over 0")
    return int(text)


def file_of(text):
    """(name, path) of NAME=FILE"""
    name, _, path = text.partition("=")
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path} is no file" if path else f"{text} is not NAME=FILE")
    return name, os.path.abspath(path)


def tool(text):
    only_known("--named", [text.partition("=")[0]], NAMED)
    return file_of(text)


def listed(text):
    return [part for part in text.split(",") if part]


def parse():
    parser = Parser(prog="scripts/gpu_check.sh", description="Checks Croton on a machine with an NVIDIA GPU "
                    "(docs/internals/gpu_check.md). "
                    "The exit status is 0 if everything that was reached has passed, 1 if something "
                    "failed, 2 if nothing was begun.")
    parser.add_argument("tier", choices=[*TIERS, "all", "page"],
                        help="all: one after the other; page: prints the page of --resume FILE, or of the folder --out; "
                        "nothing is run")
    parser.add_argument("--out", metavar="FOLDER", help="where results go; default: $OUT, else bench/results",
                        default=os.environ.get("OUT") or os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--total", type=positive, metavar="S", help="seconds for all tiers (540)")
    parser.add_argument("--limit", type=positive, metavar="S", help="seconds for one tier: smoke 90, suite 200, bench 200")
    parser.add_argument("--resume", action="append", default=[], metavar="FILE",
                        help="gpu_check.jsonl of an earlier run: its results for this commit, pack and GPU count")
    parser.add_argument("--again", action="store_true", help="try again what failed in the runs that are resumed")
    parser.add_argument("--anyway", action="store_true", help="all: go on after a no-go of smoke")
    parser.add_argument("--device", default="cuda0", help="the device of Croton to check (cuda0)")
    parser.add_argument("--flags", default="", help="further flags of Croton for all programs: cuda_simulator=2")
    parser.add_argument("--named", type=tool, action="append", default=[], metavar="TOOL=FILE",
                        help=f"the file of a library or tool: {', '.join(NAMED)}")
    parser.add_argument("--pack", metavar="FOLDER", default=os.path.join(ROOT, "gpu_check_pack"),
                        help="the folder that scripts/pack_gpu_check.sh made (gpu_check_pack)")
    parser.add_argument("--build", metavar="FOLDER", help="a build folder whose programs are taken instead of the pack's")
    parser.add_argument("--jobs", type=whole_number, metavar="N",
                        help="tests at a time; default: as many as cores and memory allow")
    parser.add_argument("--tests", type=listed, help=f"of the suite, '{SANITIZERS}' among them; default: all")
    parser.add_argument("--workloads", type=listed, help="of the benchmark; default: all")
    parser.add_argument("--peers", type=listed, default=bench.PEERS,
                        help=f"the programs that Croton is compared with ({','.join(bench.PEERS)}); '' for nothing")
    parser.add_argument("--scripts", type=file_of, action="append", default=[], metavar="PEER=FILE",
                        help="the program of a peer instead of bench/peers/gpu_PEER.py")
    parser.add_argument("--budget", type=positive, default=0.2, metavar="S", help="seconds of timing for a workload (0.2)")
    parser.add_argument("--silence", type=positive, metavar="S", help="seconds after which a check or a test case has hung")
    parser.add_argument("--small", action="store_true", help="small sizes, for trials without a GPU")
    options = parser.parse_args()
    if options.tier == "all" and options.limit:
        parser.error("--limit is for one tier; all has --total")
    if options.tier != "all" and options.total:
        parser.error("--total is for all; one tier has --limit")
    options.total = options.total or 540
    options.scripts, options.named = dict(options.scripts), dict(options.named)
    there = glob.glob(os.path.join(ROOT, "bench", "peers", "gpu_*.py"))
    only_known("--peers", options.peers, [*options.scripts, *peers_of(there)])
    options.scale = 4096 if options.small else 1
    options.real = options.device.startswith("cuda") and "cuda_simulator" not in options.flags
    return options


def peers_of(paths):
    """The peers among the scripts of a folder: the others are their shared code."""
    names = [re.sub(r"^gpu_|\.py$", "", os.path.basename(path)) for path in paths]
    return [name for name in names if name not in ("common", "samples", "workloads")]


def only_known_names(options, programs):
    """Rejects tests and workloads that the programs do not have."""
    if options.tests or "suite" in limits(options):
        only_known("--tests", options.tests, [SANITIZERS, *(t["name"] for t in suite.select(programs.tests(), None))])
    # If they cannot be listed, the benchmark reports the reason.
    if options.workloads and programs.workloads():
        only_known("--workloads", options.workloads, programs.workloads())


def narrowed(options, tier):
    """The options of the command line that omit parts of a tier."""
    of = {"suite": [("--tests", options.tests)], "bench": [("--workloads", options.workloads)]}.get(tier, [])
    if tier == "bench" and set(bench.PEERS) - set(options.peers):
        of = [*of, ("--peers", options.peers or ["''"])]
    return " ".join(f"{name} {','.join(values)}" for name, values in of if values)


def limits(options):
    """The time limit of each tier in seconds."""
    if options.tier != "all":
        return {options.tier: options.limit or TIERS[options.tier].LIMIT}
    return {name: tier.LIMIT for name, tier in TIERS.items()}
