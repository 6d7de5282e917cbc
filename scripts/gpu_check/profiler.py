"""Six kernels under Nsight Compute: their times, and their use of memory and of the multiprocessors.

Clocks are not changed (--clock-control none). If the machine does not allow counters, the result says so.
"""
import csv
import io

import places
from lines import objects
from sanitizers import KERNELS

WORKLOADS = ["axpy_chain_1e8", "transpose", "softmax_4096x32768", "layer_norm_grad", "reduce_sum_0", "adam_100"]
METRICS = {"gpu__time_duration.sum": "seconds", "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
           "sm__warps_active.avg.pct_of_peak_sustained_active": "warps_percent",
           "dram__bytes_read.sum": "bytes_read", "dram__bytes_write.sum": "bytes_written",
           "smsp__inst_executed.sum": "instructions", "launch__registers_per_thread": "registers",
           "launch__grid_size": "blocks", "launch__block_size": "threads"}
SCALES = {"nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1, "s": 1,
          "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def table(output):
    """The rows of the CSV that ncu prints between other lines: {column: (value, unit)}."""
    lines = [line for line in output.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(rows) < 3 or "Kernel Name" not in rows[0]:
        return []
    header, units = rows[0], rows[1]
    return [dict(zip(header, zip(row, units))) for row in rows[2:] if len(row) == len(header)]


def facts(row):
    found = {"kernel": row["Kernel Name"][0]}
    for column, name in METRICS.items():
        text, unit = row.get(column, ("", ""))
        try:
            found[name] = float(f"{float(text.replace(',', '')) * SCALES.get(unit, 1):.6g}")
        except ValueError:
            found[name] = None
    return found


def examine(context, workloads, deadline):
    name = "profiler"
    if context.records.is_done("bench", name):
        return
    program = places.tool("ncu", context.options.named.get("ncu"))
    if not program:
        context.result("bench", name, "not available", why="ncu was not found")
        return
    if deadline.left() < 5:
        context.result("bench", name, "not reached", why="no time was left")
        return
    begin, seen, last = deadline.left(), 0, None
    for workload in [w for w in WORKLOADS if w in workloads] or workloads[:6]:
        if deadline.left() < 3:
            break
        last = profile(context, program, workload, deadline)
        kernels = {found["kernel"]: found for found in map(facts, table(last.output)) if found["seconds"] is not None}
        for kernel, found in kernels.items():
            context.records.add("measured", run="profiler", workload=workload, **found)
        seen += len(kernels)
        if not kernels and not last.timed_out:
            break  # it is rejected, and would be again
    seconds = begin - deadline.left()
    if seen:
        context.result("bench", name, "passed", seconds, why=f"{seen} kernels")
    elif last is None or last.timed_out:
        context.result("bench", name, "not reached", seconds, why="no time was left")
    else:
        refused = next((line for line in last.output.splitlines() if "ERR_" in line or "==ERROR==" in line), None)
        context.result("bench", name, "not available", seconds, why=(refused or f"{last.why()}: {last.tail(2)}")[:300])


def profile(context, program, workload, deadline):
    """Each kernel of one call: the first launches, because counters need no warm-up."""
    command = [program, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics",
               ",".join(METRICS), "--kernel-name", f"regex:{KERNELS}", "--launch-count", "8",
               context.programs.path("croton_gpu_bench"), "--device", context.device, "--scale",
               str(context.options.scale), "--ceilings", "0", "--profile", workload]
    return context.run("ncu", command, deadline.left(), context.env())
