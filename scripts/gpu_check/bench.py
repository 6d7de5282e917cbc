"""The third tier: Croton, six kernels under the profiler, the peers, Croton again (bench/README.md, "On a GPU")."""
import os

import machine
import peers
import profiler
from bench_lines import objects, record

LIMIT = 200
LEAST_S = 2  # with less a program is not started
AGAIN = 0.15  # of the time, for the second round of Croton
PEERS = ["torch", "jax"]
PEER_S = 60


def caches(folder):
    """New folders for the caches of all compilers, so that first calls are cold."""
    names = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "JAX_COMPILATION_CACHE_DIR": "jax",
             "CUPY_CACHE_DIR": "cupy", "CUDA_CACHE_PATH": "cuda"}
    return {name: os.path.join(folder, value) for name, value in names.items()}


def ours(context, run, workloads, deadline):
    """One round of Croton."""
    wanted = [w for w in workloads if not context.records.is_done("bench", f"{run} {w}")]
    if not wanted:
        return
    options = context.options
    command = [context.programs.path("croton_gpu_bench"), "--device", context.device, "--budget", str(options.budget),
               "--scale", str(options.scale), "--ceilings", "0", "--workloads", ",".join(wanted)]
    if deadline.left() >= LEAST_S:
        process = context.start(run, command, context.env(**caches(context.folder)))
        while (line := process.next_line(deadline.left())) is not None and deadline.left() > 0:
            record(context, run, objects(line))
        done = process.wait(max(0.1, deadline.left()))
        if not done.good and not done.timed_out and not any('"error"' in line for line in process.output):
            context.result("bench", run, "failed", why=f"{done.why()}: {done.tail(3)}")
    for workload in wanted:
        if not context.records.is_done("bench", f"{run} {workload}"):
            context.result("bench", f"{run} {workload}", "not reached", why="no time was left")


def names(context, deadline):
    """The workloads, in the order of the report."""
    done = context.run("workloads", [context.programs.path("croton_gpu_bench"), "--list", "1"],
                       min(20, deadline.left()), context.env())
    chosen = context.options.workloads
    return [name for name in done.output.split() if not chosen or name in chosen] if done.good else []


def clocks(context, moment):
    for gpu in machine.gpus(context.options.named.get("nvidia-smi")):
        context.records.add("clocks", moment=moment, sm=gpu.get("clocks.sm"), memory=gpu.get("clocks.mem"),
                            temperature=gpu.get("temperature.gpu"), power=gpu.get("power.draw"))


def run_tier(context, deadline):
    workloads = names(context, deadline)
    if not workloads:
        context.result("bench", "workloads", "failed", why="croton_gpu_bench names none")
    kept = AGAIN * deadline.left()
    clocks(context, "before")
    ours(context, "croton", workloads, deadline.within(deadline.left(), kept))
    clocks(context, "after Croton")
    profiler.examine(context, workloads, deadline.within(30, kept))
    for peer in context.options.peers:
        peers.measure(context, peer, workloads, deadline.within(PEER_S, kept), caches(context.folder))
    ours(context, "croton again", workloads, deadline)
    clocks(context, "at the end")
    bad = [r for r in context.records.of("bench").values() if r["status"] == "failed"]
    return not bad
