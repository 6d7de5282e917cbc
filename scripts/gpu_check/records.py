"""The results, as lines of JSON that are written when they are known, and those of earlier runs that still count."""
import datetime
import json
import os
import threading
import time

import page

# What is not done again when a run is resumed.
FINAL = {"passed", "failed", "not available"}
KEPT = {"result", "measured", "library", "verdict", "versions"}
CEILINGS = "ceilings of copy and of products"  # a check of smoke that measures


def read(path):
    """The records of a file. A line that was cut, when a run was killed, is left out."""
    with open(path, errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def is_measured(record):
    return record["record"] in ("measured", "versions") or record.get("tier") == "bench" or \
        record.get("name") == CEILINGS


def counts(record):
    """Whether it is a result that is final. The doctor is asked in every run."""
    return record.get("record") in KEPT and record.get("status", "passed") in FINAL and record.get("name") != "doctor"


def still_valid(path, run):
    """Results of an earlier run, of the same commit, pack and kind of GPU; what was measured, of the same GPU since the
    same start of its machine: figures of two cards are not compared."""
    same = there = False
    for record in read(path):
        if record.get("record") == "run":
            same, there = record.get("identity") == run["identity"], record.get("session") == run["session"]
        elif same and counts(record) and (there or not is_measured(record)):
            yield record | {"resumed": True}


class Records:
    """Every record is in gpu_check.jsonl when add() returns; gpu_check.md is made anew at most every second."""

    def __init__(self, folder, run, resumed=()):
        """`run`: what describes this run, with its "identity"; `resumed`: files of earlier runs."""
        os.makedirs(folder, exist_ok=True)
        self.lock, self.written, self.all = threading.RLock(), 0, []
        earlier = {}
        for path in resumed:
            try:
                for record in still_valid(path, run):
                    earlier[self.key(record)] = record
            except OSError as error:
                print(f"NOTE: nothing is resumed of {path}: {error.strerror}", flush=True)
        self.folder, self.path = folder, os.path.join(folder, "gpu_check.jsonl")
        # Whole lines by one system call each: a signal's handler may write between two others.
        self.file = os.open(self.path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.add("run", date=datetime.date.today().isoformat(), **run)
        for record in earlier.values():
            self.append(record)
        os.replace(self.path + ".new", self.path)

    @staticmethod
    def key(record):
        parts = ("record", "tier", "name", "run", "program", "workload", "variant", "ceiling", "kernel")
        return tuple(record.get(part) for part in parts)

    def add(self, kind, **fields):
        self.append({"record": kind} | fields)

    def append(self, record):
        with self.lock:
            self.all.append(record)
            os.write(self.file, json.dumps(record).encode() + b"\n")
            if time.monotonic() - self.written > 1:
                self.write_page()

    def result(self, tier, name, status, seconds=None, **fields):
        """`status`: of FINAL, or "not reached" where time was short."""
        if seconds is not None:
            fields["seconds"] = round(seconds, 2)
        self.add("result", tier=tier, name=name, status=status, **fields)
        return status

    def of(self, tier):
        """{name: newest result of the tier}"""
        with self.lock:
            return {r["name"]: r for r in self.all if r["record"] == "result" and r["tier"] == tier}

    def is_done(self, tier, name):
        return self.of(tier).get(name, {}).get("status") in FINAL

    def measured(self):
        with self.lock:
            return [r for r in self.all if r["record"] == "measured"]

    def write_page(self):
        """Never leaves half a page behind, whenever the script is stopped. Its faults are no faults of the run."""
        with self.lock:
            self.written = time.monotonic()
            path = os.path.join(self.folder, "gpu_check.md")
            try:
                with open(path + ".new", "w", errors="replace") as file:
                    file.write(page.markdown(self.all))
                os.replace(path + ".new", path)
            except Exception as error:
                print(f"NOTE: the page was not written: {type(error).__name__}: {error}", flush=True)
