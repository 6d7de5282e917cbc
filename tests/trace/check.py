"""A program run with the flag `trace` writes a file in Chrome's JSON format; if it cannot be written, there is a
warning."""

import json
import os
import subprocess
import sys
import tempfile

tool = sys.argv[1]


def run(path):
    """The program's text on the standard error stream."""
    environment = dict(os.environ, CROTON_FLAGS=f"trace={path},cuda_simulator=2,device_threads=on")
    return subprocess.run([tool, "demo", "mlp", "--quiet"], env=environment, check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True).stderr


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    assert "trace" not in run(path)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    work = [e for e in events if e["ph"] == "X"]
    assert len(work) > 10, work
    assert all((e["pid"], e["tid"]) in rows for e in work)
    assert set(rows.values()) == {"cpu"}, rows
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["args"]["function"] for e in work)
    complaint = run(os.path.join(folder, "missing", "trace.json"))
    assert "no trace was written" in complaint and "missing" in complaint, complaint
print("traces of", len(work), "events")
