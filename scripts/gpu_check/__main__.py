"""Checks Croton on a machine with an NVIDIA GPU, in three tiers: smoke, suite, bench (docs/gpu_check.md).

Writes gpu_check.jsonl (every result, when it is known), gpu_check.md (a page of them) and gpu_check.log (what programs
printed) to $OUT, else to bench/results/. The exit status is 0 if everything that was reached has passed.
"""
import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

import bench
import libraries
import machine
import page
import processes
import programs
import records
import smoke
import suite
from context import Context
from deadline import Deadline
from processes import Log, end_all

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIERS = {"smoke": smoke, "suite": suite, "bench": bench}
NAMED = [*libraries.FLAGS, "nvidia-smi", "ncu"]


def pair(text):
    name, _, value = text.partition("=")
    if not value:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, value


def tool(text):
    name, path = pair(text)
    if name not in NAMED:
        raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(NAMED)}")
    return name, os.path.abspath(path)


def parse():
    listed = lambda text: [part for part in text.split(",") if part]
    parser = argparse.ArgumentParser(prog="scripts/gpu_check.sh", description=__doc__.split("\n")[0])
    parser.add_argument("tier", choices=[*TIERS, "all", "page"],
                        help="all: one after the other; page: the page of --resume FILE, nothing is run")
    parser.add_argument("--out", default=os.environ.get("OUT") or os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--total", type=float, default=540, help="seconds for all tiers (540)")
    parser.add_argument("--limit", type=float, help="seconds for a tier: smoke 90, suite 200, bench 200")
    parser.add_argument("--resume", action="append", default=[], metavar="FILE",
                        help="gpu_check.jsonl of an earlier run: what it has of this commit, pack and GPU counts")
    parser.add_argument("--anyway", action="store_true", help="all: go on after a no-go of smoke")
    parser.add_argument("--device", default="cuda0")
    parser.add_argument("--flags", default="", help="further flags of Croton for all programs: cuda_simulator=2")
    parser.add_argument("--named", type=tool, action="append", default=[], metavar="TOOL=PATH",
                        help=f"the file of a library or tool: {', '.join(NAMED)}")
    parser.add_argument("--pack", default=os.path.join(ROOT, "gpu_check_pack"))
    parser.add_argument("--build", help="a build folder whose programs are taken instead of the pack's")
    parser.add_argument("--jobs", type=int, help="tests at a time; default: as many as cores and memory allow")
    parser.add_argument("--tests", type=listed, help="of the suite, 'sanitizers' among them; default: all")
    parser.add_argument("--workloads", type=listed, help="of the benchmark; default: all")
    parser.add_argument("--peers", type=listed, default=bench.PEERS)
    parser.add_argument("--scripts", type=pair, action="append", default=[], metavar="PEER=FILE")
    parser.add_argument("--budget", type=float, default=0.2, help="seconds of timing for a workload")
    parser.add_argument("--silence", type=float, help="seconds after which a check or a test case has hung")
    parser.add_argument("--small", action="store_true", help="small sizes, for trials without a GPU")
    options = parser.parse_args()
    options.scripts, options.named = dict(options.scripts), dict(options.named)
    options.scale = 4096 if options.small else 1
    options.real = options.device.startswith("cuda") and "cuda_simulator" not in options.flags
    return options


def without_paths(flags):
    """Flags as reports show them: of a path the last part, and nothing of where kernels are cached."""
    shown = lambda flag: flag.partition("=")[0] + "=" + os.path.basename(flag) if "=/" in flag else flag
    return ",".join(shown(flag) for flag in flags.split(",") if not flag.startswith("cache_dir="))


def limits(options):
    """Seconds at most of each tier to run."""
    if options.tier != "all":
        return {options.tier: TIERS[options.tier].LIMIT if options.limit is None else options.limit}
    return {name: tier.LIMIT for name, tier in TIERS.items()}


def run_tiers(context, total):
    good = True
    wanted = limits(context.options)
    for number, (name, seconds) in enumerate(wanted.items()):
        # Where all is short, the tiers that are left share what is left by their limits.
        share = seconds / sum(list(wanted.values())[number:])
        limit = min(seconds, total.left() if name == "smoke" else share * total.left())
        print(f"==> {name} (at most {limit:.0f} s)", flush=True)
        begin = time.monotonic()
        context.records.add("tier", name=name, status="running", limit=round(limit, 1))
        try:
            passed = TIERS[name].run_tier(context, Deadline(limit))
        except Exception:  # a fault of this script ends the tier, not what comes after it
            passed = False
            context.result(name, "the check itself", "failed", why=traceback.format_exc()[-1500:])
        seconds = round(time.monotonic() - begin, 1)
        status = "passed" if passed else "failed"
        context.records.add("tier", name=name, status=status, limit=round(limit, 1), seconds=seconds)
        counts = page.counts(context.records.of(name).values())
        print(f"    {status} ({seconds} s): {counts}", flush=True)
        good = good and passed
        if name == "smoke" and not passed and context.options.tier == "all" and not context.options.anyway:
            print("    suite and bench are not begun: a smoke test failed (--anyway runs them)", flush=True)
            break
    return good


def check(options, work, total):
    chosen = programs.obtain(ROOT, options.pack, work, options.build)
    cache = os.path.join(work, "kernels")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    named = [f"{libraries.FLAGS[name]}={path}" for name, path in options.named.items() if name in libraries.FLAGS]
    gpus = machine.gpus(options.named.get("nvidia-smi"))
    gpu = {key: gpus[0].get(key) for key in ("name", "driver_version", "memory.total")} if gpus else None
    identity = {"commit": chosen.commit, "pack": chosen.pack, "gpu": gpu, "device": options.device,
                "flags": without_paths(",".join(filter(None, [os.environ.get("CROTON_FLAGS"), options.flags]))),
                "small": options.small}
    # A command that follows another into the same folder goes on from there.
    there = os.path.join(options.out, "gpu_check.jsonl")
    resumed = options.resume + ([there] if os.path.exists(there) and there not in options.resume else [])
    run = {"identity": identity, "session": machine.session(gpus), "tiers": list(limits(options)), "note": chosen.note}
    kept = records.Records(options.out, run, resumed)
    kept.add("machine", gpus=[{k: v for k, v in gpu.items() if k != "uuid"} for gpu in gpus], **machine.describe())
    flags = [] if "cache_dir=" in options.flags else ["cache_dir=" + cache]
    context = Context(chosen, kept, Log(os.path.join(options.out, "gpu_check.log")), options, gpus,
                      ",".join(filter(None, [*flags, *named, options.flags])), work)

    def stop(number, frame):
        kept.lock.acquire()  # for ever: what ends now has not failed
        end_all()
        kept.add("stopped", why=f"by {signal.Signals(number).name}")
        kept.write_page()
        shutil.rmtree(work, ignore_errors=True)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        good = run_tiers(context, total)
        kept.add("end", good=good)
    finally:
        end_all()
        kept.write_page()
    return good


def main():
    total_begin = time.monotonic()
    options = parse()
    if options.tier == "page":
        print(page.markdown([record for path in options.resume for record in records.read(path)]))
        return 0
    total = Deadline(options.total if options.tier == "all" else 3600)
    work = tempfile.mkdtemp(prefix="croton-gpu-check-")
    processes.keeper = processes.Keeper(work)
    try:
        good = check(options, work, total)
    except (programs.NoPrograms, OSError) as error:  # nothing to run, or nowhere to write
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{os.path.join(options.out, 'gpu_check.md')} has the page ({time.monotonic() - total_begin:.0f} s)")
    return 0 if good else 1


sys.exit(main())
