"""The lines of JSON that programs of the benchmark print."""


def name_of(run, line):
    return " ".join(filter(None, [run, line.get("variant"), line.get("workload") or line.get("ceiling")]))


def record(context, run, line):
    """A line that a program printed: figures, and a result of the tier."""
    if "missing" in line:
        context.result("bench", run, "not available", why=line["missing"])
    elif "workload" in line and "error" in line:
        context.result("bench", name_of(run, line), "failed", why=line["error"])
    elif "error" in line and "ceiling" not in line:
        context.result("bench", run, "failed", why=line["error"])
    elif "median_s" in line:
        context.records.add("measured", run=run, **line)
        context.result("bench", name_of(run, line), "passed")
    elif line and "workload" not in line:  # versions, and ceilings that a peer measures
        context.records.add("measured" if "ceiling" in line and "median" in line else "versions", run=run, **line)
