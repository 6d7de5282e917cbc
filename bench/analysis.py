"""The results of the processes, as tables of numbers."""
import statistics

from programs import GEMM, title

# The number of matrix products of a workload as written; for a training, per step.
GFLOP = {"matpow": 36, "mlp_step": 8.05, "logreg_step": 0.0188, "lstm_forward": 0.734, "lstm_step": 1.615,
         "fit_mlp": 0.01309, "fit_cnn": 0.03718}
SAME = 1e-5  # the permitted difference between checksums of programs
SAME_FIT = 1e-4  # PyTorch adds Adam's epsilon after the correction of the means, the others before


def records(found, mode, program, workload, threads=1, state=""):
    """The records of a program about a workload, one for each round."""
    return [f.record for f in found if (f.job.mode, f.job.program, f.workload, f.job.threads, f.job.state) ==
            (mode, program, workload, threads, state)]


def names(found, mode):
    """(workloads, programs) of a mode in the order in which they ran, without those that only serve the limits."""
    of_mode = [f for f in found if f.job.mode == mode]
    workloads = dict.fromkeys(w for f in of_mode for w in f.job.workloads if w != GEMM)
    return list(workloads), list(dict.fromkeys(f.job.program for f in of_mode if f.job.program != "hand"))


def summary(said, key):
    """Median, lowest and highest over the rounds; without any, the table's text instead; None without records."""
    values = [record[key] for record in said if key in record and "error" not in record]
    if values:
        return {"median": statistics.median(values), "low": min(values), "high": max(values)}
    if any("error" in record for record in said):
        return {"instead": "fails"}
    return next(({"instead": record["instead"]} for record in said if "instead" in record), None)


def limit_of(found, workload, threads):
    """(seconds, why): the minimum time on this machine, by the fastest samples; (None, "") if neither bytes nor
    products are known."""
    bounds = []
    moved = summary(records(found, "time", "hand", workload, threads), "transfer_s")
    if moved and "low" in moved:
        bounds.append((moved["low"], "bytes"))
    products = [summary(records(found, "time", p, GEMM, threads), "min_s") for p in names(found, "time")[1]]
    fastest = min((one["low"] for one in products if one and "low" in one), default=None)
    if workload in GFLOP and fastest:
        bounds.append((fastest * GFLOP[workload] / 2, "products"))  # one product: 2 GFLOP
    return max(bounds, default=(None, ""))


def did_alone(found, workload, threads):
    """Whether Croton's other threads did less than half of the parts of kernels that they were offered: the machine
    did something else, and the row says nothing about these threads."""
    return any(record["worker_parts"] < record["offered_parts"] / 2
               for record in records(found, "time", "croton", workload, threads) if "offered_parts" in record)


def calls(found):
    """{threads: {workload: the times of each program, and their ratios}}"""
    table = {}
    workloads, programs = names(found, "time")
    for threads in dict.fromkeys(f.job.threads for f in found if f.job.mode == "time"):
        for workload in workloads:
            times = {p: summary(records(found, "time", p, workload, threads), "median_s") for p in [*programs, "hand"]}
            reused = summary(records(found, "time", "hand", workload, threads), "reused_s")
            row = {"times": times, "hand_reused": reused}
            row["did_alone"] = did_alone(found, workload, threads)
            row["limit_s"], row["limit_by"] = limit_of(found, workload, threads)
            measured = {p: times[p]["median"] for p in programs if times[p] and "median" in times[p]}
            row["fastest"] = min(measured, key=measured.get, default=None)
            own = measured.pop("croton", None)
            if own and measured:
                row["best_peer"] = min(measured, key=measured.get)
                row["peer_over_croton"] = measured[row["best_peer"]] / own
            at_best = summary(records(found, "time", "croton", workload, threads), "min_s")
            if at_best and "low" in at_best and row["limit_s"]:  # neither is slowed by disturbances of the machine
                row["croton_over_limit"] = at_best["low"] / row["limit_s"]
            table.setdefault(threads, {})[workload] = row
    return table


def first_results(found):
    """{workload: {program: {state: seconds to import, until it is built, to the first result, of a later call}}}"""
    table = {}
    workloads, programs = names(found, "compile")
    for workload, program, state in ((w, p, s) for w in workloads for p in programs for s in ("cold", "warm")):
        said = [record | {"first_result_s": record["build_s"] + record["first_call_s"]} if "first_call_s" in record
                else record for record in records(found, "compile", program, workload, state=state)]
        if said:
            keys = ("import_s", "build_s", "first_result_s", "later_call_s")
            table.setdefault(workload, {}).setdefault(program, {})[state] = {key: summary(said, key) for key in keys}
    return table


def memory(found):
    """{workload: {program: MiB before the inputs, with them, at most, and the difference of the last two}}"""
    table = {}
    workloads, programs = names(found, "memory")
    for workload, program in ((w, p) for w in workloads for p in programs):
        said = [record | {"work_mib": record["peak_mib"] - record["inputs_mib"]} if "peak_mib" in record else record
                for record in records(found, "memory", program, workload)]
        keys = ("before_mib", "inputs_mib", "peak_mib", "work_mib")
        table.setdefault(workload, {})[program] = {key: summary(said, key) for key in keys}
    return table


def failures(found, mode, threads=1):
    """Why cells of the table say "fails": one line each."""
    return sorted({f"{title(f.job.program)}, {f.workload}: {f.record['error']}" for f in found
                   if (f.job.mode, f.job.threads) == (mode, threads) and "error" in f.record})


def faults(found):
    """One line for each failure of Croton, and for each workload on which the programs disagree."""
    lines, sums = set(), {}
    for f in found:
        if "error" in f.record and f.job.program in ("croton", "hand"):
            lines.add(f"{f.job.program}, {f.job.mode}, {f.job.threads} thread(s), {f.workload}: {f.record['error']}")
        if "checksum" in f.record and "error" not in f.record:
            sums.setdefault(f.workload, {})[f.job.program] = f.record["checksum"]
    for workload, by_program in sums.items():
        low, high = min(by_program.values()), max(by_program.values())
        if high - low > (SAME_FIT if workload.startswith("fit_") else SAME) * high:
            lines.add(f"{workload}: the programs disagree: {by_program}")
    made = [f.record["compiled"] + f.record["cached"] for f in found if "compiled" in f.record]
    if made and not any(made):
        lines.add("croton compiled nothing: its compiler is missing, and the slow reference evaluator was measured")
    return sorted(lines)
