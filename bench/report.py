"""Writes the tables of numbers as Markdown, and both as files."""
import json
import os
import re
import sys

from programs import title


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def cell(value):
    """A time, with half the distance between the lowest and the highest round if it is over 3 %."""
    if not value or "instead" in value:
        return instead(value)
    spread = (value["high"] - value["low"]) / 2 / value["median"]
    return seconds(value["median"]) + (f" ±{spread:.0%}" if spread > 0.03 else "")


def instead(value):
    return value["instead"] if value else "-"


def bold(text, wanted):
    return f"**{text}**" if wanted else text


def table_of(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


def notes(failures):
    return ["", *(f"- {line}" for line in failures)] if failures else []


def call_row(workload, programs, row):
    times = [bold(cell(row["times"][p]), p == row["fastest"]) for p in programs]
    ratio = f"{row['peer_over_croton']:.2f}" if "peer_over_croton" in row else "-"
    hand = f"{cell(row['times']['hand'])} ({cell(row['hand_reused'])})" if row["times"]["hand"] else "-"
    limit = f"{seconds(row['limit_s'])} {row['limit_by']}" if row["limit_s"] else "-"
    distance = f"{row['croton_over_limit']:.2f}" if "croton_over_limit" in row else "-"
    mark = " (!)" if row["did_alone"] else ""
    return [workload + mark, *times, ratio, hand, limit, distance]


def call_lines(table, failures):
    for threads, rows in table.items():
        programs = [p for p in next(iter(rows.values()))["times"] if p != "hand"]
        head = ["workload", *map(title, programs), "best peer / Croton", "by hand, fresh (reused)", "limit",
                "Croton / limit"]
        yield from ("", f"## Time per call, {threads} thread{'s' if threads > 1 else ''}", "")
        yield from table_of(head, [call_row(workload, programs, row) for workload, row in rows.items()])
        if any(row["did_alone"] for row in rows.values()):
            yield from ("", "(!): other threads did less than half of the parts of kernels that Croton offered them, in "
                        "some round: the machine's cores were busy.")
        yield from notes(failures[f"time, {threads}"])


def first_row(workload, program, states):
    """One program's times, cold and warm."""
    cold = states["cold"]
    show = lambda value: seconds(value["median"]) if value and "median" in value else instead(value)
    pair = lambda key: ", ".join(show(state[key]) for state in states.values())
    if "median" not in cold["first_result_s"]:
        return [workload, title(program), "-", "-", instead(cold["first_result_s"]), "-"]
    return [workload, title(program), show(cold["import_s"]), pair("build_s"), pair("first_result_s"),
            show(cold["later_call_s"])]


def first_lines(table, failures):
    yield from ("", "## Time to the first result, new process, 1 thread", "",
                "Cold: empty caches; warm: a second process. Importing the package is apart and not included.", "")
    rows = [first_row(w, p, states) for w, programs in table.items() for p, states in programs.items()]
    head = ["workload", "program", "import", "built: cold, warm", "first result: cold, warm", "later call"]
    yield from table_of(head, [row for row in rows if row[4] != "-"])  # "-": the program does not support it
    yield from notes(failures)


def memory_lines(table, failures):
    programs = list(next(iter(table.values())))
    kinds = {"work_mib": ("the work", "less what was resident with the inputs alone"),
             "peak_mib": ("the process", "the program and its packages included")}
    for key, (whose, which) in kinds.items():
        rows = []
        for workload, cells in table.items():
            values = {p: cells[p][key]["median"] for p in programs if "median" in (cells[p][key] or {})}
            least = min(values.values(), default=None)
            rows.append([workload, *(bold(f"{values[p]:.0f}", values[p] == least) if p in values else
                                     instead(cells[p][key]) for p in programs)])
        yield from ("", f"## Memory of {whose}, MiB, 1 thread", "",
                    f"The most that was resident while building and calling six times, {which}.", "")
        yield from table_of(["workload", *map(title, programs)], rows)
    yield from notes(failures)


def text_of(result):
    lines = [f"# Croton and its peers, {result['date']}", "",
             f"{result['machine']}. Median over {result['rounds']} round(s); ± is half the distance between the "
             "lowest and the highest round, where over 3 %; the best is bold; - is not offered. bench/README.md "
             "explains the measurements.", "",
             "Versions: " + ", ".join(f"{k} {v}" for k, v in result["versions"].items()) + ". "
             f"The hypervisor took {result['stolen_s']:.1f} s away during the {result['wall_s'] / 60:.0f} minutes."]
    if result["missing"]:
        lines += ["", "Not measured: " + "; ".join(f"{k} ({v})" for k, v in result["missing"].items()) + "."]
    lines += call_lines(result["calls"], result["failures"])
    if result["first_results"]:
        lines += first_lines(result["first_results"], result["failures"]["compile, 1"])
    if result["memory"]:
        lines += memory_lines(result["memory"], result["failures"]["memory, 1"])
    if result["faults"]:
        lines += ["", "## Faults", ""] + [f"- {line}" for line in result["faults"]]
    return "\n".join(lines) + "\n"


def save(result, text, folder):
    slug = re.sub(r"[^a-z0-9]+", "-", result["machine"].lower()).strip("-")
    stem = os.path.join(folder, f"{result['date']}-{slug}")
    os.makedirs(folder, exist_ok=True)
    with open(stem + ".json", "w") as out:
        out.write(json.dumps(result, indent=1) + "\n")
    with open(stem + ".md", "w") as out:
        out.write(text)
    print(f"wrote {os.path.relpath(stem)}.json and .md", file=sys.stderr)
