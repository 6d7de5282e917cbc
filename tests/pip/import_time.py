"""`import croton` takes less than 60 ms, without NumPy: the best of several new processes, because single ones are slow
on a busy machine."""

import subprocess
import sys

MOST_MS = 60


def milliseconds(module):
    """The output of `python -X importtime` for a module."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", f"import {module}"], check=True, capture_output=True, text=True)
    return next(int(line.split("|")[1]) / 1000 for line in done.stderr.splitlines() if line.split("|")[-1].strip() == module)


times = {module: min(milliseconds(module) for _ in range(7)) for module in ("croton", "croton.theano", "numpy")}
print(", ".join(f"import {module}: {time:.0f} ms" for module, time in times.items()))
if times["croton"] >= MOST_MS:
    sys.exit(f"import croton takes {times['croton']:.0f} ms; {MOST_MS} are allowed")
