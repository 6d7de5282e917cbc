"""A description of the machine: enough to judge the figures, without naming the machine."""
import contextlib
import hashlib
import importlib.metadata
import os
import platform

from places import tool
from processes import run

GPU_FIELDS = ["name", "driver_version", "memory.total", "compute_mode", "mig.mode.current", "ecc.mode.current",
              "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu", "uuid"]
PACKAGES = ["numpy", "torch", "triton", "jax", "jaxlib", "cupy-cuda13x", "cupy-cuda12x"]


hung = []  # programs that did not answer: they are not called again


def gpus(named, limit):
    """The current output of nvidia-smi, a dictionary for each GPU; none if there is no such program, or no output."""
    program = tool("nvidia-smi", named)
    if not program or program in hung or limit <= 0:
        return []
    done = run("nvidia-smi", [program, "--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader"], limit)
    if done.timed_out:
        hung.append(program)
        print(f"NOTE: nvidia-smi gave no answer in {limit:.0f} s, and is not asked again", flush=True)
    if not done.good:
        return []
    return [dict(zip(GPU_FIELDS, line.split(", "))) for line in done.output.strip().splitlines()]


def session(found):
    """An identity of this GPU in this session of its machine, which names neither."""
    boot = first_match("/proc/sys/kernel/random/boot_id", "") or ""
    return hashlib.sha256((boot + "".join(gpu.get("uuid", "") for gpu in found)).encode()).hexdigest()[:8]


def first_match(path, start):
    with contextlib.suppress(OSError), open(path) as file:
        line = next((line for line in file if line.startswith(start)), None)
        return line and line.split("=" if "=" in line else ":", 1)[-1].strip().strip('"')


def versions():
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def describe():
    return {"system": first_match("/etc/os-release", "PRETTY_NAME"), "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
            "processor": first_match("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
            "versions": versions()}
