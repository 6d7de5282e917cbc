"""The report as Markdown, from the same data as the JSON."""


def show(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def spread(row, prefix=""):
    """The median, and the distance of the tenths from it where over 3 %."""
    middle, low, high = (row[prefix + key] for key in ("median_s", "p10_s", "p90_s"))
    wide = max(middle - low, high - middle) > 0.03 * middle
    return show(middle) + (f" ({show(low)} to {show(high)})" if wide else "")


def cut(text, length=160):
    """One line for a cell or an item."""
    text = " ".join(str(text).split()).replace("|", "\\|")
    return text if len(text) <= length else text[:length - 1] + "…"


def quoted(text):
    return ["", "```", *str(text).replace("```", "'''").splitlines(), "```", ""]


def machine_lines(part):
    for gpu in part.get("gpus", []):
        yield "- " + ", ".join(f"{key}: {value}" for key, value in gpu.items())
    yield "- " + ", ".join(f"{key}: {part[key]}" for key in ("system", "kernel", "libc", "processor", "cores", "python")
                           if part.get(key))
    yield "- " + ", ".join(f"{key} {value}" for key, value in part.get("versions", {}).items())


def tests_lines(part):
    counts = part.get("counts")
    if not counts:
        return
    yield f"On {part['device']}: " + ", ".join(f"{count} {status}" for status, count in counts.items()) + "."
    bad = [r for r in part["results"] if r["status"] != "passed"]
    if bad:
        yield from ("", "| test | status | case | first lines |", "|---|---|---|---|")
    for result in bad:
        for failure in result.get("failures") or [{"case": "", "first": ""}]:
            yield (f"| {result['name']} | {result['status']}: {cut(result.get('why', ''))} | {cut(failure['case'])} | "
                   f"{cut(failure['first'])} |")
    if part["left_out"]:
        yield from ("", "Left out, as they need more than the programs: " + ", ".join(part["left_out"]) + ".")


def sanitizer_lines(part):
    if "results" not in part:
        return
    yield from ("| tool | status | summary | seconds |", "|---|---|---|---|")
    for r in part["results"]:
        yield (f"| {r['tool']} | {r['status']}{': ' + cut(r['why']) if 'why' in r else ''} | {cut(r['summary'])} | "
               f"{r['seconds']} |")
    for r in part["results"]:
        if r.get("first"):
            yield from ("", f"{r['tool']}:", *quoted(r["first"]))


def timed(found, run):
    return {(r["workload"], r.get("variant", "")): r for r in found if r["run"] == run and "median_s" in r}


def peers_of(found, workload):
    """{"torch eager": row, ...}"""
    return {f"{r['program']} {r['variant']}": r for r in found
            if r.get("workload") == workload and r["program"] != "croton" and "median_s" in r}


def share_of_ceiling(row, copy):
    return row["bytes"] / row["median_s"] / copy if copy and row.get("bytes") else None


def benchmark_lines(part):
    found = part.get("found", [])
    ceilings = [r for r in found if "ceiling" in r and "median" in r]
    for moment, gpus in part.get("clocks", {}).items():
        yield f"- clocks {moment}: " + "; ".join(f"SM {g.get('clocks.sm')}, memory {g.get('clocks.mem')}" for g in gpus)
    for r in found:
        if "missing" in r:
            yield f"- {r['program']}: {r['missing']}"
        elif "workload" not in r and "ceiling" not in r and "error" not in r and r["run"] != "croton again":
            yield "- " + ", ".join(f"{k}: {v}" for k, v in r.items() if k != "run")
    for r in ceilings:
        yield (f"- ceiling, {r['ceiling']} ({r['program']}): {r['median'] / 1e12:.3f} T{r['unit']} "
               f"({r['p10'] / 1e12:.3f} to {r['p90'] / 1e12:.3f})")
    ours = timed(found, "croton")
    if not ours:
        return
    copy = next((r["median"] for r in ceilings if r["ceiling"] == "copy"), None)
    again = timed(found, "croton again")
    yield from ("", "Calls one after the other with one wait at the end of a sample of at least 20; single calls with "
                "a wait each in the second column. Medians; in brackets the tenths where over 3 % away. Products are "
                "float32 without TF32 everywhere. *peer / Croton* over 1: Croton is faster. Differences below *again* "
                "(the second run of Croton over the first) are noise.", "",
                "| workload | Croton | each waited for | of copy ceiling | again | peers, and peer / Croton | "
                "best peer / Croton |", "|---|---|---|---|---|---|---|")
    for (workload, _), row in ours.items():
        share = share_of_ceiling(row, copy)
        second = again.get((workload, ""))
        peers = peers_of(found, workload)
        ratios = {name: r["median_s"] / row["median_s"] for name, r in peers.items()}
        yield " | ".join([
            f"| {workload}", spread(row), spread(row, "synced_"), f"{share:.0%}" if share else "-",
            f"{second['median_s'] / row['median_s']:.2f}" if second else "-",
            "; ".join(f"{name} {spread(r)}, {ratios[name]:.2f}" for name, r in peers.items()) or "-",
            f"{min(ratios.values()):.2f}" if ratios else "-"]) + " |"
    yield from ("", "First calls with cold caches, building included: " + "; ".join(
        [f"{w} {show(r['build_s'] + r['first_call_s'])}" for (w, _), r in ours.items()] +
        [f"{w} {r['program']} {r['variant']} {show(r['first_call_s'])}" for w, _ in ours
         for r in peers_of(found, w).values()]) + ".")


LINES = {"machine": machine_lines, "tests": tests_lines, "sanitizers": sanitizer_lines, "benchmark": benchmark_lines}


def markdown(data):
    lines = [f"# GPU check, {data['date']}: {data['status']}", "",
             f"Device {data['device']}; {data.get('seconds', '?')} of {data['total_s']} seconds. What is checked and "
             "how to read it: docs/gpu_check.md.", "", "| part | status | seconds |", "|---|---|---|"]
    for name, part in data["parts"].items():
        why = f": {cut(part['why'])}" if "why" in part else ""
        lines.append(f"| {name} | {part.get('status')}{why} | {part.get('seconds', '-')} |")
    for name, part in data["parts"].items():
        body = list(LINES[name](part)) if name in LINES else []
        body += [f"Note: {part['note']}"] if "note" in part else []
        body += [f"Programs: {part['how']}"] if "how" in part else []
        body += [f"- fault: {cut(fault, 400)}" for fault in part.get("faults", [])]
        body += quoted(part["tail"]) if part.get("tail") else []
        if body:
            lines += ["", f"## {name}", "", *body]
    return "\n".join(lines) + "\n"
