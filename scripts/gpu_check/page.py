"""The report as Markdown, made from all available records."""
from words import sentence

TIERS = ("smoke", "suite", "bench")

HOW = """Calls one after the other with one wait at the end of a sample of at least 20; single calls with a wait each
in the second column. Medians; in brackets the tenths where over 3 % away. Products are float32 without TF32 everywhere.
*peer / Croton* over 1: Croton is faster. The distance of *again* (the second round of Croton over the first) from 1 is noise."""


def show(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def spread(row, prefix=""):
    """The median, and the distance of the deciles from it if it is over 3 %."""
    if prefix + "median_s" not in row:
        return "-"
    middle, low, high = (row[prefix + key] for key in ("median_s", "p10_s", "p90_s"))
    wide = max(middle - low, high - middle) > 0.03 * middle
    return show(middle) + (f" ({show(low)} to {show(high)})" if wide else "")


def cut(text, length=160):
    """One line for a cell or an item."""
    text = " ".join(str(text).split()).replace("|", "\\|")
    return text if len(text) <= length else text[:length - 1] + "…"


def table(header, rows):
    rows = [" | ".join(["", *map(str, row), ""]).strip() for row in rows]
    if not rows:
        return
    yield from ("", "| " + " | ".join(header) + " |", "|" + "---|" * len(header), *rows, "")


def of(records, kind, **fields):
    return [r for r in records if r.get("record") == kind and all(r.get(k) == v for k, v in fields.items())]


def newest(records):
    """The results by name: a later result replaces an earlier one."""
    return [r for r in {key(r): r for r in records}.values() if r.get("status") != "replaced"]


def key(record):
    """The key of a record."""
    parts = ("record", "tier", "name", "run", "program", "workload", "variant", "ceiling", "kernel")
    return tuple(record.get(part) for part in parts)


def outcome(results):
    states = {r["status"] for r in results}
    return "failed" if "failed" in states else "incomplete" if "not reached" in states else "passed"


def missed(results, tier):
    """{test file, round of the benchmark, or family of checks: its items that were not reached}"""
    found = {}
    for r in results:
        if r["status"] == "not reached":
            whole, _, part = r["name"].rpartition(" ") if tier == "bench" else r["name"].partition(": ")
            found.setdefault(whole or part, []).append(part if whole else "")
    return {name: f"{len(parts)} test cases" if tier == "suite" and parts != [""] else ", ".join(filter(None, parts))
            for name, parts in found.items()}


def counts(results):
    found = {}
    for result in results:
        found[result["status"]] = found.get(result["status"], 0) + 1
    order = ["passed", "failed", "not available", "not reached"]
    return ", ".join(f"{found[status]} {status}" for status in order if status in found) or "nothing"


def head(records):
    runs = of(records, "run")
    if not runs:
        return ["# GPU check: no run"]
    run = runs[-1]
    identity = run["identity"]
    gpu = identity.get("gpu") or {}
    what = ", ".join(filter(None, [gpu.get("name"), gpu.get("driver_version") and f"driver {gpu['driver_version']}",
                                   gpu.get("memory.total")])) or "no GPU"
    lines = [f"# GPU check, {run['date']}", "", f"{what}; device {identity['device']}"
             + (f", flags {identity['flags']}" if identity["flags"] else "")
             + (", small sizes" if identity["small"] else "")
             + f"; commit {identity['commit']}, pack {identity['pack']}. "
             "docs/internals/gpu_check.md says how to read it.", ""]
    if run.get("note"):
        lines += [f"NOTE: {run['note']}.", ""]
    for tier in newest(of(records, "tier")):
        if tier.get("narrowed"):
            lines += [f"NOTE: this is not all of the tier {tier['name']}: it was run with {cut(tier['narrowed'], 300)}.", ""]
    for verdict in of(records, "verdict")[-1:]:
        lines += [f"**{'GO' if verdict['go'] else 'NO-GO: ' + cut(sentence(verdict['fault']), 300)}**"
                  + (" (of an earlier run)" if verdict.get("resumed") else ""), ""]
    for stopped in of(records, "stopped"):
        lines += [f"This run was stopped {stopped['why']}.", ""]
    if not of(records, "end") and not of(records, "stopped"):
        lines += ["This run has not come to its end: it runs still, or was killed.", ""]
    return lines


def tiers(records):
    states = {r["name"]: r for r in of(records, "tier")}
    for name in TIERS:
        results, state = newest(of(records, "result", tier=name)), states.get(name, {"resumed": True})
        if not results and "status" not in state:
            continue
        earlier, status = sum(1 for r in results if r.get("resumed")), state.get("status")
        if state.get("resumed"):
            status = f"{outcome(results)}, of an earlier run"
        elif status == "running" and of(records, "stopped"):
            status = "stopped"
        yield (name, status, state.get("seconds", "-"), state.get("limit", "-"), counts(results) +
               (f" ({earlier} of an earlier run)" if earlier else "") +
               (f"; with {cut(state['narrowed'], 80)}" if state.get("narrowed") else ""))


def not_passed(records, tier):
    results = newest(of(records, "result", tier=tier))
    for r in results:
        if r["status"] not in ("passed", "not reached"):
            yield r["status"], cut(r["name"], 100), cut(r.get("why", ""), 300)
    for name, parts in missed(results, tier).items():
        yield "not reached", cut(name, 100), cut(parts, 300)


def machine(records):
    for r in of(records, "machine")[-1:]:
        for gpu in r["gpus"]:
            yield "- " + ", ".join(f"{key}: {value}" for key, value in gpu.items())
        keys = ("system", "kernel", "libc", "processor", "cores", "python")
        yield "- " + ", ".join(f"{key}: {r[key]}" for key in keys if r.get(key))
        if r["versions"]:
            yield "- " + ", ".join(f"{key} {value}" for key, value in r["versions"].items())
    yield from table(["library or tool", "version", "where"],
                     [(r["name"], r.get("version") or "-", r.get("place") or r["state"])
                      for r in newest(of(records, "library"))])
    for r in of(records, "clocks"):
        yield f"- clocks {r['moment']}: SM {r.get('sm')}, memory {r.get('memory')}, {r.get('temperature')} C, {r.get('power')}"


def smoke(records):
    yield from table(["check", "status", "seconds", "remark"],
                     [(cut(r["name"]), r["status"], r.get("seconds", "-"), cut(r.get("why", "")))
                      for r in newest(of(records, "result", tier="smoke"))])


def suite(records):
    files = {}
    for r in newest(of(records, "result", tier="suite")):
        files.setdefault(r["name"].split(": ")[0], []).append(r)
    remark = lambda cases: cut(cases[0].get("why", "")) if len(cases) == 1 else ""
    yield from table(["tests", "cases", "seconds", "remark"],
                     [(name, counts(cases), round(sum(r.get("seconds", 0) for r in cases), 1), remark(cases))
                      for name, cases in files.items()])
    for r in newest(of(records, "result", tier="suite")):
        if r["status"] == "failed" and (r.get("failures") or r.get("first")):
            yield from ("", f"{cut(r['name'], 200)}:", "", "```",
                        *[line.replace("```", "'''") for line in (r.get("failures") or r["first"].splitlines())], "```")


def peer_rows(measured, workload):
    """{"torch compile": row}"""
    return {f"{r['run']} {r.get('variant', '')}".strip(): r for r in measured
            if r.get("workload") == workload and not r["run"].startswith(("croton", "profiler")) and "median_s" in r}


def ceilings(measured):
    """{name: row}; the newest if there are several."""
    return {f"{r['ceiling']} ({r.get('program', r['run'])})": r for r in measured if "ceiling" in r and "median" in r}


def share(row, found, cache):
    """The fraction of the ceiling that bounds the workload: bytes compared with the copy, else float32 products.
    Workloads in the cache of the device are bounded by neither."""
    rate = lambda name: found.get(f"{name} (croton)", {}).get("median")
    if row.get("bytes") and row["bytes"] <= cache:
        return "in the cache"
    if row.get("bytes") and rate("copy"):
        return f"{row['bytes'] / row['median_s'] / rate('copy'):.0%} of copy"
    if row.get("flop") and rate("product_float32"):
        return f"{row['flop'] / row['median_s'] / rate('product_float32'):.0%} of products"
    return "-"


def bench_row(row, measured, found, cache):
    workload = row["workload"]
    again = next((r for r in measured if r["run"] == "croton again" and r.get("workload") == workload), None)
    peers = peer_rows(measured, workload)
    ratios = {name: r["median_s"] / row["median_s"] for name, r in peers.items()}
    return (workload, spread(row), spread(row, "synced_"), share(row, found, cache),
            f"{again['median_s'] / row['median_s']:.2f}" if again else "-",
            "; ".join(f"{name} {spread(r)}, {ratios[name]:.2f}" for name, r in peers.items()) or "-",
            f"{min(ratios.values()):.2f}" if ratios else "-")


def first_calls(ours, measured):
    for row in ours:
        yield f"{row['workload']} {show(row.get('build_s', 0) + row['first_call_s'])}"
        for name, r in peer_rows(measured, row["workload"]).items():
            yield f"{row['workload']} {name} {show(r['first_call_s'])}"


def kernel_row(r):
    show_or = lambda name, form: "-" if r.get(name) is None else form.format(r[name])
    return (r["kernel"], r.get("workload") or "-", show(r["seconds"]), show_or("dram_percent", "{:.0f} %"),
            show_or("sm_percent", "{:.0f} %"), show_or("warps_percent", "{:.0f} %"),
            f"{(r.get('bytes_read') or 0) + (r.get('bytes_written') or 0):.3g}", show_or("instructions", "{:.3g}"),
            show_or("registers", "{:.0f}"), f"{show_or('blocks', '{:.0f}')} x {show_or('threads', '{:.0f}')}")


def bench(records):
    measured = newest(of(records, "measured"))
    found = ceilings(measured)
    for name, r in found.items():
        middle, low, high = (f"{r[key] / 1e12:.3f}" for key in ("median", "p10", "p90"))
        yield f"- ceiling, {name}: {middle} T{r['unit']} ({low} to {high})"
    for r in newest(of(records, "versions")):
        yield "- " + ", ".join(f"{k}: {v}" for k, v in r.items() if k not in ("record", "run", "resumed", "again"))
    cache = max([r.get("l2_bytes", 0) for r in of(records, "versions")], default=0)
    ours = {r["workload"]: r for r in measured if r["run"] == "croton" and "median_s" in r}.values()
    if ours:
        yield from ("", HOW)
        yield from table(["workload", "Croton", "each waited for", "of the ceiling", "again",
                          "peers, and peer / Croton", "best peer / Croton"],
                         [bench_row(r, measured, found, cache) for r in ours])
        yield ("First calls with cold caches, building included, of peers while up to 8 of their processes compile: " +
               "; ".join(first_calls(ours, measured)) + ".")
    yield from table(["kernel under the profiler", "of", "time", "memory", "multiprocessors", "warps", "bytes moved",
                      "instructions", "registers", "blocks x threads"],
                     [kernel_row(r) for r in measured if r["run"] == "profiler"])


def markdown(records):
    lines = head(records)
    lines += table(["tier", "status", "seconds", "at most", "results"], tiers(records))
    for tier in TIERS:
        rows = list(not_passed(records, tier))
        if rows:
            lines += [f"## {tier}: not passed", *table(["status", "what", "why"], rows)]
    for title, part in (("machine", machine), ("smoke", smoke), ("suite", suite), ("bench", bench)):
        body = list(part(records))
        if body:
            lines += [f"## {title}", "", *body, ""]
    return "\n".join(lines) + "\n"
