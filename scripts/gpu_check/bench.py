"""The third tier: Croton, six kernels under the profiler, the peers, Croton again (bench/README.md, "On a GPU")."""
import os

import machine
import peers
import profiler
from bench_lines import record
from lines import objects
from suite import LOST

LIMIT = 200
LEAST_S = 2  # with less a program is not started
AGAIN = 0.15  # of the time, for the second round of Croton
ROUNDS = ["croton", "croton again"]
PEERS = ["torch", "jax"]
PEER_S = 60  # for each peer, or more if there is time for all


def caches(folder):
    """New folders for the caches of all compilers, so that first calls are cold."""
    names = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "JAX_COMPILATION_CACHE_DIR": "jax",
             "CUPY_CACHE_DIR": "cupy", "CUDA_CACHE_PATH": "cuda"}
    return {name: os.path.join(folder, value) for name, value in names.items()}


def ours(context, run, workloads, deadline):
    """One round of Croton, in as many processes as necessary: a process that loses its device, or dies, only affects
    the workload in which this happens."""
    left = lambda: [w for w in workloads if not context.records.is_done("bench", f"{run} {w}")]
    while (wanted := left()) and deadline.left() >= LEAST_S:
        done = one_process(context, run, wanted, deadline)
        if done.timed_out or deadline.left() <= 0:
            break
        if left() == wanted or done.status is None or done.status < 0:
            context.result("bench", f"{run} {left()[0] if left() else 'at its end'}", "failed",
                           why=f"the program {done.why()}: {done.tail(3)}"[:600])


def one_process(context, run, wanted, deadline):
    options = context.options
    command = [context.programs.path("croton_gpu_bench"), "--device", context.device, "--budget", str(options.budget),
               "--scale", str(options.scale), "--ceilings", "0", "--workloads", ",".join(wanted)]
    # Kernels are compiled here, like those of the peers, independently of caches of other tiers.
    cache = os.path.join(context.folder, f"kernels of {run}".replace(" ", "_"))
    os.makedirs(cache, mode=0o700, exist_ok=True)
    process = context.start(run, command, context.env("cache_dir=" + cache, **caches(context.folder)))
    while (line := process.next_line(deadline.left())) is not None and deadline.left() > 0:
        found = objects(line)
        record(context, run, found)
        if any(mark in found.get("error", "") for mark in LOST):
            process.end()
            break
    return process.wait(max(0.1, min(5, deadline.left())))


def clocks(context, moment, deadline):
    for gpu in machine.gpus(context.options.named.get("nvidia-smi"), min(5, deadline.left())):
        context.records.add("clocks", moment=moment, sm=gpu.get("clocks.sm"), memory=gpu.get("clocks.mem"),
                            temperature=gpu.get("temperature.gpu"), power=gpu.get("power.draw"))


def run_tier(context, deadline):
    chosen = context.options.workloads
    there = context.programs.workloads(min(20, max(2, deadline.left())))
    workloads = [name for name in there if not chosen or name in chosen]
    if not workloads:
        context.result("bench", "workloads", "failed" if deadline.left() >= 1 else "not reached",
                       why="croton_gpu_bench names none")
    context.records.expect("bench", [f"{run} {workload}" for run in ROUNDS for workload in workloads])
    context.records.expect("bench", ["profiler", *context.options.peers])
    kept = AGAIN * deadline.left()
    clocks(context, "before", deadline)
    ours(context, ROUNDS[0], workloads, deadline.within(deadline.left(), kept))
    clocks(context, "after Croton", deadline)
    profiler.examine(context, workloads, deadline.within(30, kept))
    for number, peer in enumerate(context.options.peers):
        share = max(PEER_S, (deadline.left() - kept) / (len(context.options.peers) - number))
        peers.measure(context, peer, workloads, deadline.within(share, kept), caches(context.folder))
    ours(context, ROUNDS[1], workloads, deadline)
    clocks(context, "at the end", deadline)
    results = context.records.of("bench")
    measured = all(results.get(f"{ROUNDS[0]} {w}", {}).get("status") == "passed" for w in workloads)
    return measured and not any(r["status"] == "failed" for r in results.values())
