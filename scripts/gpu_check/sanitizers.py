"""compute-sanitizer over a program that launches every kind of kernel (tests/ops/test_every_kernel.cpp)."""
import concurrent.futures
import os
import re

from commands import run
from machine import tool
from parts import Failed

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
ERROR_STATUS = 99  # given to a program in which it found something
SUMMARY = re.compile(r"(ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards?.*)")
NO_KERNEL = "terminated before first instrumented API call"


def result_of(name, done):
    """A tool passes only if it says that it looked and found nothing, and the program passed."""
    summaries = SUMMARY.findall(done.output)
    found = sum(int(errors or hazards) for _, errors, hazards in summaries)
    result = {"tool": name, "exit_status": done.status, "seconds": round(done.seconds, 1),
              "summary": "; ".join(s[0] for s in summaries), "found": found}
    if done.timed_out:
        why = done.why()
    elif NO_KERNEL in done.output:
        why = "the program used no GPU"
    elif not summaries:
        why = f"no summary; {done.why()}"
    elif found:
        why = f"{found} found"
    elif done.status != 0:
        why = f"nothing found, but the program {done.why()}"
    else:
        return result | {"status": "passed"}
    marked = [line for line in done.output.splitlines() if line.startswith("=========")]
    return result | {"status": "failed", "why": why, "first": "\n".join(marked[:15]) or done.tail()}


def run_all(programs, device, flags, limit):
    """All tools at the same time."""
    sanitizer = tool("compute-sanitizer")
    if not sanitizer:
        raise Failed("compute-sanitizer is not installed")
    cache = os.path.join(programs.folder, "test_cache")  # where the tests left these kernels compiled
    os.makedirs(cache, mode=0o700, exist_ok=True)
    env = dict(programs.env, CROTON_TEST_DEVICES=device,
               CROTON_FLAGS=",".join(filter(None, ["cache_dir=" + cache, flags])))
    program = [programs.path("croton_op_tests"), "[every_kernel]"]

    def one(name):
        done = run([sanitizer, "--tool", name, "--error-exitcode", str(ERROR_STATUS), "--print-limit", "20", *program],
                   limit - 2, env)
        return result_of(name, done), f"---- {name}\n{done.output}"

    with concurrent.futures.ThreadPoolExecutor(len(TOOLS)) as pool:
        results, logs = zip(*pool.map(one, TOOLS))
    fields = {"results": list(results), "log": "\n".join(logs)}
    bad = [r["tool"] for r in results if r["status"] != "passed"]
    if bad:
        raise Failed(", ".join(bad), **fields)
    return fields
