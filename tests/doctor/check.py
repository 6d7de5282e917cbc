"""`croton doctor` on prepared folders: --json writes one JSON object per line, and both forms list the findings and
their places."""

import json
import os
import subprocess
import sys
import tempfile

tool, fake = sys.argv[1:]
PROGRAMS = {"nvdisasm": "Cuda compilation tools, release 13.0, V13.0.39",
            "compute-sanitizer": "Version 2025.3.0.0 (build 1)"}
LIBRARIES = {"NVRTC": "libnvrtc.so.13", "cuBLASLt": "libcublasLt.so.13", "cuDNN": "libcudnn.so.9"}


def run(flags, *options, **environment):
    """Exit status and standard output."""
    variables = {**os.environ, "CROTON_FLAGS": flags, **environment}
    done = subprocess.run([tool, "doctor", *options], env=variables, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def parts(flags, **environment):
    status, printed = run(flags, "--json", **environment)
    found = {part["part"]: part for part in map(json.loads, printed.splitlines())}
    states = ("ok", "missing", "WRONG")
    assert all(part["state"] in states and isinstance(part["text"], str) for part in found.values()), found
    assert status == (1 if any(part["state"] == "WRONG" for part in found.values()) else 0), printed
    return found


def plant_programs(folder):
    os.makedirs(folder)
    for name, printed in PROGRAMS.items():
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\necho '{printed}'\n")
        os.chmod(path, 0o700)


def check_found(folder):
    site = os.path.join(folder, 'a "quoted" folder')
    plant_programs(os.path.join(site, "nvidia", "cu13", "bin"))
    os.symlink(fake, os.path.join(site, "nvidia", "cu13", "lib"))
    flags = f"cuda_root='{site}',cuda_driver={fake}/libcroton_fake_cuda.so"
    found = parts(flags, FAKE_CUDA="devices=2")
    for name, version in {"NVRTC": "13.0", "cuBLASLt": "13.", "cuDNN": "9.", "nvdisasm": "13.0.39",
                          "compute-sanitizer": "2025.3.0.0"}.items():
        part = found[name]
        assert part["state"] == "ok" and part["place"] == "Python package", part
        assert part["version"].startswith(version) and os.path.isabs(part["path"]), part
        assert f"{part['version']} at {part['path']} (Python package)" in part["text"], part
    assert found["nvdisasm"]["path"] == os.path.join(site, "nvidia", "cu13", "bin", "nvdisasm"), found["nvdisasm"]
    driver = found["CUDA driver"]
    assert driver["version"] == "13.0" and driver["place"] == "named by a flag", driver
    assert len(driver["devices"]) == 2, driver
    assert driver["devices"][0].keys() == {"name", "capability", "memory_bytes", "multiprocessors"}, driver
    assert driver["devices"][0]["name"] == "Fake GPU" and driver["devices"][0]["capability"] == "9.0", driver
    printed = run(flags, FAKE_CUDA="devices=2")[1]
    for name, part in found.items():
        # Other tests write to the kernel cache meanwhile.
        same = all(line in printed for line in part["text"].splitlines())
        assert same or name in ("Croton", "kernel cache"), (name, printed)
    assert "does not run kernels" not in printed


def check_flags(folder):
    named = {"NVRTC": f"cuda_nvrtc={fake}/libnvrtc.so.13", "cuBLASLt": f"cuda_blaslt={fake}/libcublasLt.so.13",
             "cuDNN": f"cuda_dnn={fake}/libcudnn.so.9"}
    found = parts(",".join(named.values()))
    assert all(found[name]["place"] == "named by a flag" for name in named), found
    missing = os.path.join(folder, "missing")
    for flag, name in [("cuda_nvrtc", "NVRTC"), ("cuda_blaslt", "cuBLASLt"), ("cuda_dnn", "cuDNN"),
                       ("cuda_nvdisasm", "nvdisasm"), ("cuda_sanitizer", "compute-sanitizer")]:
        part = parts(f"{flag}={missing}")[name]
        assert part["state"] == "WRONG" and "path" not in part, part
        assert part["text"].startswith(f"{flag}={missing}: ") and f"{missing}: no such file" in part["text"], part
    hidden = parts("cuda_root=none")
    for name in [*LIBRARIES, *PROGRAMS, "CUDA driver"]:
        assert hidden[name]["state"] == "missing" and "cuda_root is none" in hidden[name]["text"], hidden[name]


def check_options():
    for options in (["--jsn"], ["--json", "more"], ["more"]):
        done = subprocess.run([tool, "doctor", *options], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"doctor does not take '{options[-1]}'" in done.stderr, done


with tempfile.TemporaryDirectory() as folder:
    check_found(os.path.realpath(folder))
    check_flags(os.path.realpath(folder))
check_options()
print("the doctor says what it found")
