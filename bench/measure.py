"""The order in which the processes run. All programs take turns, so that a slow minute affects all of them."""
import os
import shutil
import sys
import time

from programs import GEMM, Found, Job

TIMED = ["axpy_chain_1e3", "axpy_chain_1e6", "axpy_chain_1e7", "black_scholes", "softmax_rows", "layernorm_rows",
         "reduce_sum_0", "reduce_sum_1", "reduce_sum_all", "transpose_add", "matpow", "mlp_step", "logreg_step",
         "cnn_step", "lstm_forward", "lstm_step", "fit_mlp", "fit_cnn", "fit_tiny", "call_arg", "call_shared"]
COMPILED = {"mlp_step": 3, "graph_1000": 3, "graph_10000": 1, "graph_100000": 1}  # in at most this many rounds
SMALLER = {"graph_100000": "graph_10000"}  # the larger workload is started only if this one was quick
REMEMBERED = ["axpy_chain_1e7", "black_scholes", "softmax_rows", "mlp_step"]


def plan(options, peers):
    """All jobs in their order."""
    chosen = lambda names: [name for name in names if name in options.workloads]
    jobs, programs, rounds = [], ["croton", *peers], range(options.rounds)
    if "time" in options.modes and chosen(TIMED):
        for turn in rounds:
            for threads in options.threads:
                for program in [*programs, "hand"]:
                    extra = [] if program in ("croton", "hand") else [GEMM]
                    jobs.append(Job(program, "time", threads, (*chosen(TIMED), *extra), turn))
    if "memory" in options.modes:
        jobs += [Job(program, "memory", 1, (workload,), turn) for workload in chosen(REMEMBERED) for turn in rounds
                 for program in programs]
    if "compile" in options.modes:
        for workload in chosen(COMPILED):
            jobs += [Job(program, "compile", 1, (workload,), turn, state) for turn in rounds[:COMPILED[workload]]
                     for program in programs for state in ("cold", "warm")]
    return jobs


def reason_to_skip(job, found, limit):
    """Why a first result is not measured: a text for the table, or "" if the table says enough; None if it is
    measured."""
    if job.mode != "compile":
        return None
    slow = lambda one: one.record.get("build_s", limit) + one.record.get("first_call_s", limit) > limit / 10
    cold = [f for f in found if f.job.program == job.program and f.job.state == "cold"]
    same = [f for f in cold if f.workload == job.workloads[0]]
    if job.state == "warm":
        return None if any(f.job.round == job.round and "first_call_s" in f.record for f in same) else ""
    if any(slow(f) for f in same):
        return ""  # once is enough
    smaller = SMALLER.get(job.workloads[0])
    return "not started" if any(slow(f) for f in cold if f.workload == smaller) else None


class Progress:
    """Prints before each process how many are done, and about how long the rest takes."""

    def __init__(self, jobs):
        self.jobs, self.took = jobs, {}

    def minutes_left(self, done):
        kind = lambda job: (job.program, job.mode)
        usual = sum(self.took.values()) / max(1, len(self.took))
        by_kind = {kind(job): seconds for job, seconds in self.took.items()}
        return sum(by_kind.get(kind(job), usual) for job in self.jobs[done:]) / 60

    def begin(self, done, job):
        what = job.workloads[0] if len(job.workloads) == 1 else f"{len(job.workloads)} workloads"
        left = f", about {self.minutes_left(done):.0f} min left" if self.took else ""
        print(f"[{done + 1}/{len(self.jobs)}{left}] {job.program}, {job.mode}, {job.threads} thread(s), {what}",
              job.state, file=sys.stderr, flush=True)

    def end(self, job, seconds, found):
        self.took[job] = seconds
        for one in found:
            trouble = one.record.get("error") or one.record.get("instead", "-")
            if trouble != "-":
                print(f"  {one.workload}: {trouble}", file=sys.stderr, flush=True)


def measure(options, programs):
    """All records of the programs: a list of Found."""
    jobs, found = plan(options, programs.peers), []
    progress = Progress(jobs)
    for done, job in enumerate(jobs):
        reason = reason_to_skip(job, found, options.first_limit)
        if reason is None:
            progress.begin(done, job)
            start = time.monotonic()
            new = programs.run(job, cache_of(job, programs.folder))
            progress.end(job, time.monotonic() - start, new)
            found += new
        elif reason:
            found.append(Found(job, job.workloads[0], {"instead": reason}))
        if job.state == "warm":
            shutil.rmtree(cache_of(job, programs.folder), ignore_errors=True)
    return found


def cache_of(job, folder):
    """One folder for all timed work; each first result has its own, empty for the cold run and kept for the warm
    one."""
    name = "-".join(["first", job.program, *job.workloads, str(job.round)]) if job.mode == "compile" else "cache"
    return os.path.join(folder, name)
