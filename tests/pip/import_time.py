"""`import croton` takes less than 60 ms, NumPy not being part of it: the best of some new processes, since a busy machine makes
single ones slow."""

import subprocess
import sys

MOST_MS = 60


def milliseconds(module):
    """What `python -X importtime` says of a module."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", f"import {module}"], check=True, capture_output=True, text=True)
    return next(int(line.split("|")[1]) / 1000 for line in done.stderr.splitlines() if line.split("|")[-1].strip() == module)


times = {module: min(milliseconds(module) for _ in range(7)) for module in ("croton", "croton.theano", "numpy")}
print(", ".join(f"import {module}: {time:.0f} ms" for module, time in times.items()))
if times["croton"] >= MOST_MS:
    sys.exit(f"import croton takes {times['croton']:.0f} ms; {MOST_MS} are allowed")
