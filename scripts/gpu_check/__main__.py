"""Checks Croton on a machine with an NVIDIA GPU, in three tiers: smoke, suite, bench (docs/internals/gpu_check.md).

Writes gpu_check.jsonl (every result, as soon as it is known), gpu_check.md (a page of them) and gpu_check.log (the
output of programs) to $OUT, else to bench/results/. The exit status is 0 if everything that was reached has passed.
"""
import stopping  # before all others

import os
import shutil
import sys
import tempfile
import time
import traceback

import arguments
import earlier
import libraries
import machine
import page
import processes
import programs
import records
from arguments import ROOT, TIERS
from context import Context
from deadline import Deadline
from lock import lock
from processes import Log, end_all
from refused import Refused


def without_paths(flags):
    """Flags as reports show them: only the last part of a path, and not the folder of cached kernels."""
    shown = lambda flag: flag.partition("=")[0] + "=" + os.path.basename(flag) if "=/" in flag else flag
    return ",".join(shown(flag) for flag in flags.split(",") if not flag.startswith("cache_dir="))


def run_tiers(context, total):
    good = True
    wanted = arguments.limits(context.options)
    for number, (name, seconds) in enumerate(wanted.items()):
        # With a short total, the remaining tiers divide the remaining time by their limits.
        share = seconds / sum(list(wanted.values())[number:])
        limit = max(0, min(seconds, total.left() if name == "smoke" else share * total.left()))
        narrowed = arguments.narrowed(context.options, name)
        print(f"==> {name} (at most {limit:.0f} s)" + (f", only {narrowed}" if narrowed else ""), flush=True)
        begin, about = time.monotonic(), {"name": name, "limit": round(limit, 1), "narrowed": narrowed}
        context.records.replace(name, *earlier.OWN)
        context.records.add("tier", status="running", **about)
        try:
            passed = TIERS[name].run_tier(context, Deadline(limit))
        except Exception:  # an error of this script ends the tier, not later ones
            passed = False
            context.result(name, "the check itself", "failed", why=traceback.format_exc()[-1500:])
        results = list(context.records.of(name).values())
        seconds, status = round(time.monotonic() - begin, 1), page.outcome(results)
        context.records.add("tier", status=status, seconds=seconds, **about)
        summary(context, name, results)
        print(f"    {status} ({seconds} s): {page.counts(results)}", flush=True)
        good = good and passed
        if name == "smoke" and not passed and context.options.tier == "all" and not context.options.anyway:
            print("    suite and bench are not begun: a smoke test failed (--anyway runs them)", flush=True)
            break
    return good


def summary(context, tier, results):
    """Reports counted items that were not reported yet."""
    for r in results:
        if r["status"] == "failed" and r.get("resumed"):
            context.say(f"failed, of an earlier run: {r['name']}: {r.get('why', '')}"[:400])
    for name, parts in page.missed(results, tier).items():
        context.say(f"not reached: {name}{': ' + parts if parts else ''}"[:400])


def check(options, work):
    total = Deadline(options.total)
    lock(options.out)
    chosen = programs.obtain(ROOT, options.pack, work, options.build)
    arguments.only_known_names(options, chosen)
    if options.tier != "all":
        total = Deadline(options.limit or TIERS[options.tier].LIMIT)
    cache = os.path.join(work, "kernels")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    named = [f"{libraries.FLAGS[name]}={path}" for name, path in options.named.items() if name in libraries.FLAGS]
    gpus = machine.gpus(options.named.get("nvidia-smi"), min(20, max(3, total.left() / 3)))
    gpu = {key: gpus[0].get(key) for key in ("name", "driver_version", "memory.total")} if gpus else None
    identity = {"commit": chosen.commit, "pack": chosen.pack, "gpu": gpu, "device": options.device,
                "flags": without_paths(",".join(filter(None, [os.environ.get("CROTON_FLAGS"), options.flags]))),
                "small": options.small}
    # A command that follows another into the same folder continues its results.
    there = os.path.join(options.out, "gpu_check.jsonl")
    resumed = [path for path in options.resume if os.path.abspath(path) != os.path.abspath(there)]
    resumed += [there] if os.path.exists(there) else []
    run = {"identity": identity, "session": machine.session(gpus), "tiers": list(arguments.limits(options)),
           "named": {name: os.path.basename(path) for name, path in options.named.items()}, "again": options.again,
           "note": chosen.note}
    kept = records.Records(options.out, run, resumed)
    kept.add("machine", gpus=[{k: v for k, v in gpu.items() if k != "uuid"} for gpu in gpus], **machine.describe())
    flags = [] if "cache_dir=" in options.flags else ["cache_dir=" + cache]
    context = Context(chosen, kept, Log(os.path.join(options.out, "gpu_check.log")), options, gpus,
                      ",".join(filter(None, [*flags, *named, options.flags])), work)

    def finish(signal):
        kept.lock.acquire()  # forever: processes that end now have not failed
        end_all()
        kept.add("stopped", why=f"by {signal}")
        kept.write_page()
        return f"{kept.page} has the page of what there is"

    stopping.actions.append(finish)
    try:
        good = run_tiers(context, total)
        kept.add("end", good=good)
    finally:
        end_all()
        kept.write_page()
    return good


def show_page(options):
    """Prints the page of the given files, or else of those in the folder of results."""
    paths = options.resume or [os.path.join(options.out, "gpu_check.jsonl")]
    for path in paths:
        if not os.path.isfile(path):
            raise Refused(f"{path} is no file with lines of a check")
    found, why = earlier.together(paths)
    if why:
        raise Refused(why)
    try:
        print(page.markdown(found), flush=True)
    except BrokenPipeError:  # the reader of the output has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def run():
    begin = time.monotonic()
    options = arguments.parse()
    if options.tier == "page":
        return show_page(options)
    work = tempfile.mkdtemp(prefix="croton-gpu-check-")
    stopping.actions.append(lambda signal: end_all() or shutil.rmtree(work, ignore_errors=True))
    processes.keeper = processes.Keeper(work)
    try:
        good = check(options, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{os.path.join(options.out, 'gpu_check.md')} has the page ({time.monotonic() - begin:.0f} s)")
    return 0 if good else 1


def main():
    try:
        return run()
    except (Refused, OSError) as error:  # an invalid command line, nothing to run, or no place to write
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


sys.exit(main())
