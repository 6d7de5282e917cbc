"""The first benchmark: ceilings, Croton, the peers, Croton again (bench/README.md, "On a GPU")."""
import json
import os
import sys
import time

import machine
from commands import run
from parts import Failed

PEERS = ["torch", "jax", "cupy"]
LEAST_S = 3  # with less a program is not started


def lines_of(output):
    """The objects among the lines, whatever else libraries print."""
    found = []
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:  # a line that was cut when the program was stopped
                pass
    return found


def caches(env, folder):
    """New folders for the caches of all compilers, so that first calls are cold."""
    names = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "JAX_COMPILATION_CACHE_DIR": "jax",
             "CUPY_CACHE_DIR": "cupy", "CUDA_CACHE_PATH": "cuda"}
    return env | {name: os.path.join(folder, value) for name, value in names.items()}


def runs_of(programs, options, device, flags, folder):
    """(name, command, environment, share of the time) of each program, in the order in which they run."""
    cache = os.path.join(folder, "croton")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    env = caches(programs.env, folder)
    settings = ["--budget", str(options.bench_budget), "--scale", str(options.bench_scale)]
    if options.workloads:
        settings += ["--workloads", options.workloads]
    ours = [programs.path("croton_gpu_bench"), "--device", device, *settings]
    own_env = env | {"CROTON_FLAGS": ",".join(filter(None, ["cache_dir=" + cache, flags]))}
    yield "croton", ours + ["--copy-mib", str(max(1, 2048 // options.bench_scale))], own_env, 0.3
    for peer in options.peers:
        script = os.path.join(programs.root, "bench", "peers", f"gpu_{peer}.py")
        yield peer, [sys.executable, script, *settings], dict(env, PYTHONDONTWRITEBYTECODE="1"), 0.6
    yield "croton again", ours + ["--ceilings", "0"], own_env, 1


def run_all(programs, options, device, flags, folder, limit):
    end, found, log, faults, kept = time.monotonic() + limit, [], [], [], 0.12 * limit  # for the second round of ours
    fields = {"found": found, "faults": faults, "clocks": {}}
    try:
        fields["clocks"]["before"] = machine.gpus()
    except Failed as failure:
        faults.append(str(failure))
    for name, command, env, share in runs_of(programs, options, device, flags, folder):
        left = end - time.monotonic() - (0 if name == "croton again" else kept)
        if left < LEAST_S:
            faults.append(f"{name}: not run, no time was left")
            continue
        done = run(command, share * left, env)
        lines = lines_of(done.output)
        log.append(f"---- {name}: {' '.join(command)}\n{done.output}")
        found += [line | {"run": name} for line in lines]
        faults += [f"{name}, {line.get('workload') or line.get('ceiling') or 'start'}"
                   f"{' (' + line['variant'] + ')' if 'variant' in line else ''}: {line['error']}"
                   for line in lines if "error" in line]
        if not done.good and not any("error" in line for line in lines):
            faults.append(f"{name}: {done.why()}: {done.tail(3)}")
    try:
        fields["clocks"]["after"] = machine.gpus()
    except Failed:
        pass
    fields["log"] = "\n".join(log)
    if faults:
        raise Failed(f"{len(faults)} faults", **fields)
    return fields
