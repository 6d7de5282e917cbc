"""What the machine is: enough to judge the figures, and nothing that names the machine."""
import contextlib
import importlib.metadata
import os
import platform
import shutil

from commands import run
from parts import Failed

GPU_FIELDS = ["name", "driver_version", "memory.total", "compute_mode", "mig.mode.current", "ecc.mode.current",
              "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu"]
PACKAGES = ["numpy", "torch", "triton", "jax", "jaxlib", "cupy-cuda13x", "cupy-cuda12x"]


def gpus():
    """What nvidia-smi says now, a dictionary for each GPU; raises Failed where it says nothing."""
    done = run(["nvidia-smi", "--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader"], 10)
    if not done.good:
        raise Failed("nvidia-smi " + done.why(), tail=done.tail())
    rows = [line.split(", ") for line in done.output.strip().splitlines()]
    return [dict(zip(GPU_FIELDS, row)) for row in rows]


def tool(name):
    """The path of a program of the CUDA toolkit, or None."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [os.path.join(home, part) for home in homes if home for part in ("bin", "compute-sanitizer")]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def first_match(path, start):
    with contextlib.suppress(OSError), open(path) as file:
        return next((line.split("=" if "=" in line else ":", 1)[1].strip().strip('"') for line in file
                     if line.startswith(start)), None)


def versions():
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    nvcc = tool("nvcc")
    if nvcc:
        found["nvcc"] = run([nvcc, "--version"], 10).tail(2).replace("\n", " ")
    return found


def describe(limit):
    facts = {"system": first_match("/etc/os-release", "PRETTY_NAME"), "kernel": platform.release(),
             "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
             "processor": first_match("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
             "versions": versions()}
    try:
        return facts | {"gpus": gpus()}
    except Failed as failure:
        raise Failed(str(failure), **facts, **failure.fields) from None
