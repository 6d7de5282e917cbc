"""The results, as lines of JSON that are written as soon as they are known, and those of earlier runs that still
count."""
import datetime
import json
import os
import threading
import time

import earlier
import page

FINAL = {"passed", "failed", "not available"}  # not repeated in the same run


class Records:
    """Every record is in gpu_check.jsonl when add() returns; gpu_check.md is rewritten at most every second."""

    def __init__(self, folder, run, resumed=()):
        """`run`: the description of this run, with its "identity"; `resumed`: files of earlier runs."""
        os.makedirs(folder, exist_ok=True)
        self.lock, self.written, self.all, self.newest = threading.RLock(), 0, [], {}
        self.path, self.page = (os.path.join(folder, "gpu_check" + ending) for ending in (".jsonl", ".md"))
        found = {}
        for path in resumed:
            try:
                records, said = earlier.taken(path, run)
            except OSError as error:
                records, said = {}, f"nothing counts: {error.strerror}"
            for record in records.values():
                earlier.merge(found, record)
            if path == self.path and not records:  # records of another run are not lost
                with open(path, "rb") as old, open(os.path.join(folder, "gpu_check.before.jsonl"), "ab") as kept:
                    kept.write(old.read())
                said += "; its lines are in gpu_check.before.jsonl now"
            print(f"resumed of {path}: {said}", flush=True)
        # Whole lines by one system call each: a signal's handler may write between two others.
        self.file = os.open(self.path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.add("run", date=datetime.date.today().isoformat(), **run)
        for record in found.values():
            if record.get("status") != earlier.REPLACED:
                self.append(record)
        os.replace(self.path + ".new", self.path)

    def add(self, kind, **fields):
        self.append({"record": kind} | fields)

    def append(self, record):
        with self.lock:
            self.all.append(record)
            if record["record"] == "result":
                self.newest[record["tier"], record["name"]] = record
            os.write(self.file, json.dumps(record).encode() + b"\n")
            if time.monotonic() - self.written > 1:
                self.write_page()

    def result(self, tier, name, status, seconds=None, **fields):
        """`status`: one of FINAL, "not reached" if time was short, or REPLACED."""
        if seconds is not None:
            fields["seconds"] = round(seconds, 2)
        self.add("result", tier=tier, name=name, status=status, **fields)
        return status

    def of(self, tier):
        """{name: newest result of the tier}"""
        with self.lock:
            return {name: r for (of, name), r in self.newest.items() if of == tier and r["status"] != earlier.REPLACED}

    def is_done(self, tier, name):
        found = self.newest.get((tier, name), {})
        return found.get("status") in FINAL and not found.get("again")

    def is_new(self, tier, name):
        """Whether this run has done it."""
        found = self.newest.get((tier, name), {})
        return found.get("status") in FINAL and not found.get("resumed")

    def expect(self, tier, names):
        """Names the items before they start, so that they are known to be missing however the run ends."""
        there = self.of(tier)
        for name in names:
            if name not in there:
                self.result(tier, name, "not reached", why="it was not begun, or not ended, in time")

    def replace(self, tier, *names):
        """Removes results that others, with other names, replace or will replace."""
        there = self.of(tier)
        for name in names:
            if name in there:
                self.result(tier, name, earlier.REPLACED)

    def write_page(self):
        """Never writes half a page, even if the script is stopped. Its errors are not errors of the run."""
        with self.lock:
            self.written = time.monotonic()
            try:
                with open(self.page + ".new", "w", errors="replace") as file:
                    file.write(page.markdown(self.all))
                os.replace(self.page + ".new", self.page)
            except Exception as error:
                print(f"NOTE: the page was not written: {type(error).__name__}: {error}", flush=True)
