"""A peer: several processes prepare (build, compile, check) at the same time; then they are timed in turn."""
import os
import sys
import time

from bench_lines import name_of, record
from lines import objects

PROCESSES = 8
PREPARE = 0.6  # of a peer's time
MISSED = "not reached"


class Worker:
    """A process with some of the workloads. It prepares until it gets the signal to start, or has prepared all."""

    def __init__(self, context, peer, script, workloads, env):
        options = context.options
        command = [sys.executable, script, "--wait", "--budget", str(options.budget), "--scale", str(options.scale),
                   "--workloads", ",".join(workloads)]
        self.context, self.peer, self.workloads = context, peer, workloads
        self.ready, self.ended, self.pairs = False, False, []
        self.process = context.start(peer, command, env)

    def read(self, seconds):
        """Reads one line, if one comes in time."""
        line = self.process.next_line(seconds)
        if line is None:
            self.ended = True
            return
        found = objects(line)
        if found.get("ready"):
            self.ready = True
        elif found.get("prepared"):
            if "error" in found:
                record(self.context, self.peer, found)
            else:
                self.pairs.append(found)
        else:
            record(self.context, self.peer, found)

    def time(self, deadline):
        """Starts the measurement of its prepared workloads."""
        self.process.pause(False)
        self.process.send("go")
        while not self.ended and deadline.left() > 0:
            self.read(deadline.left())
        return self.process.wait(max(0.1, min(5, deadline.left())))


def measure(context, peer, workloads, deadline, folders):
    records = context.records
    # Results of an earlier run are not measured again.
    wanted = []
    for workload in workloads:
        there = variants_of(records, peer, workload)
        if not there or not all(records.is_done("bench", name) for name in there):
            wanted.append(workload)
    if not records.is_done("bench", peer):
        if wanted:
            prepare_and_time(context, peer, wanted, deadline, folders)
        if not records.is_new("bench", peer):  # it is there, and each workload has a result
            records.replace("bench", peer)


def prepare_and_time(context, peer, wanted, deadline, folders):
    if deadline.left() < 5:
        return missed(context, peer, wanted, [])
    script = context.options.scripts.get(peer) or os.path.join(context.programs.root, "bench", "peers",
                                                               f"gpu_{peer}.py")
    # Results of an earlier run about several workloads at once are determined again.
    context.records.replace("bench", *[name for name in context.records.of("bench") if name.startswith(peer + ":")])
    count = min(PROCESSES, len(os.sched_getaffinity(0)), len(wanted))
    # Without the settings for Croton's own programs: a peer has its own libraries.
    env = os.environ | folders | {"PYTHONDONTWRITEBYTECODE": "1"}
    workers = [Worker(context, peer, script, wanted[i::count], env) for i in range(count)]
    prepared = time.monotonic() + PREPARE * deadline.left()
    while time.monotonic() < prepared and not all(w.ready or w.ended for w in workers):
        for worker in workers:
            if not worker.ready and not worker.ended:
                worker.read(0.05)
    # Those that are ready come first; none disturbs the one that is timed, and none uses all the remaining time.
    workers.sort(key=lambda worker: not worker.ready)
    for worker in workers:
        worker.process.pause(True)
    for number, worker in enumerate(workers):
        share = deadline.within(deadline.left() if worker.ready else deadline.left() / (len(workers) - number))
        done = worker.time(share) if share.left() > 1 else None
        worker.process.end()
        if done and not done.timed_out and (done.status is None or done.status < 0 or not (done.good or worker.pairs)) \
                and not context.records.is_done("bench", peer):
            context.result("bench", f"{peer}: {','.join(worker.workloads)}", "failed",
                           why=f"{done.why()}: {done.tail(3)}"[:600])
    missed(context, peer, wanted, [pair for worker in workers for pair in worker.pairs])


def variants_of(records, peer, workload):
    """The names of the results of a peer for a workload."""
    return [name for name in records.of("bench") if name.startswith(peer + " ") and name.endswith(" " + workload)]


def missed(context, peer, workloads, pairs):
    """Names the items that were not reached: prepared and not timed, or not prepared."""
    results = context.records.of("bench")
    if context.records.is_done("bench", peer):  # it is not available
        return
    for pair in pairs:
        if name_of(peer, pair) not in results:
            context.result("bench", name_of(peer, pair), MISSED, why="it was prepared and not timed")
    for workload in workloads:
        whole = f"{peer} {workload}"  # a result of no variant
        if set(variants_of(context.records, peer, workload)) - {whole}:
            context.records.replace("bench", whole)
        elif whole not in results:
            context.result("bench", whole, MISSED, why="it was not prepared in time")
