"""The first process: starts one that works, starts another after a failure, and writes the report."""
import json
import subprocess
import sys
import tempfile
import time

from report import write_report

LINES = "variants.jsonl"
MARGIN_SECONDS = 4  # of the time limit, for the report
HANG_SECONDS = 20  # without any progress


def read_lines(path):
    """The lines of JSON; the last one may be incomplete."""
    lines = []
    if path.exists():
        for text in path.read_text().splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
    return lines


class Log:
    """Appends lines of JSON to a file, each at once."""

    def __init__(self, path):
        self.file = open(path, "a")

    def __call__(self, line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def run_worker(options, cache):
    """Starts a process that works, and waits for its end. Returns its exit status, not 0 if it was killed."""
    path = options.out / LINES
    command = [sys.executable, sys.argv[0], "--worker", "--end", str(options.end), "--out", str(options.out),
               "--cache", cache, "--threads", str(options.threads)]
    command += ["--only", options.only] if options.only else []
    command += ["--small"] if options.small else []
    process, size, moved = subprocess.Popen(command), -1, time.time()
    while process.poll() is None:
        time.sleep(0.1)
        now, length = time.time(), path.stat().st_size if path.exists() else 0
        if length != size:
            size, moved = length, now
        if now > options.end + MARGIN_SECONDS / 2 or now > moved + HANG_SECONDS:
            process.kill()
            process.wait()
    return process.returncode


def supervise(options):
    """Starts processes that work until one comes to the end, or the time is over; then writes the report."""
    path = options.out / LINES
    path.unlink(missing_ok=True)
    begun = 0
    with tempfile.TemporaryDirectory() as cache:
        while time.time() < options.end:
            status = run_worker(options, cache)
            lines = read_lines(path)
            if status == 0:
                break
            begins = [line for line in lines if line["kind"] == "begins"]
            if len(begins) == begun:
                print(f"the worker ended with {status} before it began another variant", file=sys.stderr)
                break
            begun = len(begins)
            if lines[-1] == begins[-1]:  # it has no result
                why = f"the process ended with {status}"
                Log(path)({**begins[-1], "kind": "result", "status": "failed", "why": why})
    print(write_report(read_lines(path), options.out))
