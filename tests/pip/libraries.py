"""Checks every shared library of the installed package: its dependencies are next to it, or on every system that
accepts manylinux_2_28 wheels. libcroton_llvm.so, which contains LLVM, exports one symbol."""

import pathlib
import re
import subprocess
import sys

import importlib.metadata

# PEP 600's list for this kind, without libraries of X11.
EVERYWHERE = {"libgcc_s.so.1", "libstdc++.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libc.so.6", "libnsl.so.1",
              "libutil.so.1", "libpthread.so.0", "libresolv.so.2", "libz.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


site = pathlib.Path(importlib.metadata.distribution("croton").locate_file(""))
libraries = [file for folder in ("croton", "croton.libs") for file in (site / folder).rglob("*.so*")]
assert len(libraries) >= 3, libraries
faults = []
for library in libraries:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))
    found = dict(re.findall(r"^\s*(\S+) => (.*?)(?: \(0x.*)?$", output("ldd", library), re.MULTILINE))
    for name in needed:
        inside = pathlib.Path(found.get(name, "")).is_relative_to(site)
        if name not in EVERYWHERE and not inside:
            faults.append(f"{library.name} needs {name}: {found.get(name, 'nowhere')}")
    for path in re.findall(r"(?:RPATH|RUNPATH)\).*\[(.*)\]", output("readelf", "-d", library)):
        faults += [f"{library.name} looks for libraries in {part}" for part in path.split(":") if not part.startswith("$ORIGIN")]
compiler = site / "croton" / "libcroton_llvm.so"
if compiler.exists():
    shown = re.findall(r" [TDBRVWi] (\S+)", output("nm", "-D", "--defined-only", compiler))
    if [name.split("@")[0] for name in shown] != ["croton_llvm_api"]:
        faults.append(f"{compiler.name} shows {len(shown)} symbols: {shown[:5]}")
if faults:
    sys.exit("\n".join(faults))
print(f"{len(libraries)} libraries, {sum(file.stat().st_size for file in libraries) / 1e6:.0f} MB, need nothing from outside")
