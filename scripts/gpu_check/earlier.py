"""Lines of earlier runs: which ones are complete, which count for a run, and which items are tried again."""
import json

import page

KEPT = {"result", "measured", "library", "verdict", "versions", "tier"}
CEILINGS = "ceilings of copy and of products"  # a check of smoke that measures
# Results about the check itself. They do not describe the device, and end with their run.
OWN = ["the check itself", "list of checks", "tests", "workloads"]
REPLACED = "replaced"  # the status of a result that other results, with other names, replace

NUMBER = (int, float)
NEEDED = {"run": {"date": str, "identity": dict}, "result": {"tier": str, "name": str, "status": str},
          "measured": {"run": str}, "versions": {"run": str}, "library": {"name": str, "state": str},
          "verdict": {"go": bool, "fault": str}, "tier": {"name": str, "status": str}, "stopped": {"why": str},
          "machine": {"gpus": list, "versions": dict}, "clocks": {"moment": str}, "end": {}}
IDENTITY = {"commit": "commit", "pack": "pack", "gpu": "GPU or driver", "device": "device", "flags": "flags",
            "small": "sizes"}
COUNTERS = ["bytes_read", "bytes_written", "dram_percent", "sm_percent", "warps_percent", "instructions", "registers",
            "blocks", "threads"]
# The fields that a record has if it has the first one.
TOGETHER = [("median_s", {"median_s": NUMBER, "p10_s": NUMBER, "p90_s": NUMBER, "first_call_s": NUMBER, "workload": str}),
            ("synced_median_s", {"synced_median_s": NUMBER, "synced_p10_s": NUMBER, "synced_p90_s": NUMBER}),
            ("median", {"median": NUMBER, "p10": NUMBER, "p90": NUMBER, "unit": str, "ceiling": str}),
            ("registers", {"kernel": str, "seconds": NUMBER, **dict.fromkeys(COUNTERS, (*NUMBER, type(None)))}),
            ("seconds", {"seconds": NUMBER}), ("bytes", {"bytes": NUMBER}), ("flop", {"flop": NUMBER}),
            ("build_s", {"build_s": NUMBER}), ("l2_bytes", {"l2_bytes": NUMBER}), ("failures", {"failures": list}),
            ("first", {"first": str}), ("session", {"session": str})]


def has(record, needed):
    return all(isinstance(record.get(key), kind) for key, kind in needed.items())


def whole(record):
    """Whether it has all fields that are read later: a file may be truncated, or not be from this check."""
    return isinstance(record, dict) and isinstance(record.get("record"), str) and record["record"] in NEEDED \
        and has(record, NEEDED[record["record"]]) and all(has(record, also) for key, also in TOGETHER if key in record) \
        and (record["record"] != "run" or set(IDENTITY) <= set(record["identity"])) \
        and (record["record"] != "measured" or record.get("median_s", 1) > 0)


def read(path):
    """The records of a file. Incomplete lines, for example of a run that was killed, are skipped."""
    found = []
    with open(path, errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if whole(record):
                found.append(record)
    return found


def is_measured(record):
    return record["record"] in ("measured", "versions") or record.get("tier") == "bench" or \
        record.get("name") == CEILINGS


def counted(record, there):
    """The record as it counts for a later run, or None. `there`: whether it is from the same card since the same start
    of its machine, because figures of two cards are not compared: other measurements are repeated."""
    if record["record"] not in KEPT or (record.get("name") in OWN and record.get("status") == "failed"):
        return None
    if is_measured(record) and not there:
        if record["record"] != "result" or record["status"] == REPLACED:
            return None
        return record | {"status": "not reached", "why": "measured on another card, or before a new start of its machine"}
    return record


def again(record, run, was):
    """Whether a run tries it again. Unavailable parts may have been installed since, and smoke is short."""
    if record["record"] != "result" or record["status"] == "passed":
        return record.get("name") == "doctor"
    return record["status"] != "failed" or record["tier"] == "smoke" or record.get("again", False) \
        or run.get("again", False) or was.get("named") != run.get("named")


def differences(one, other):
    return [words for key, words in IDENTITY.items() if one.get(key) != other.get(key)]


def taken(path, run):
    """({key: record} of the records of a file that count for this run, and a text with their number, or the reason why
    there are none)"""
    lines, found, was = read(path), {}, None
    runs = [record for record in lines if record["record"] == "run"]
    same = [r for r in runs if not differences(r["identity"], run["identity"])]
    for record in lines:
        if record["record"] == "run":
            was = record
        elif was in same:
            record = counted(record, was.get("session") == run.get("session"))
            if record:
                merge(found, record | {"resumed": True, "again": again(record, run, was)})
    states = [record["status"] for record in found.values() if record["record"] == "result"]
    if same:
        missing = states.count("not reached")
        return found, f"{len(states) - missing - states.count(REPLACED)} results count" + (
            f", {missing} were not reached" if missing else "") + (
            "" if any(r.get("session") == run.get("session") for r in same) else
            "; the measurements are of another card or start of its machine")
    if runs:
        return found, "nothing counts: it is of another " + ", ".join(differences(runs[-1]["identity"], run["identity"]))
    return found, "nothing counts: " + ("it names no run" if lines else "there is no whole line of a check in it")


def merge(found, record):
    """A newer record replaces an earlier one; but an item that was not reached may have been reached before, or
    elsewhere."""
    key = page.key(record)
    if record.get("status") != "not reached" or key not in found:
        found[key] = record


def together(paths):
    """The records of several files, for a page: those of the last file, and those of the others that count for its
    run."""
    files = [(path, read(path)) for path in paths]
    runs = [(path, record) for path, lines in files for record in lines if record["record"] == "run"]
    for path, lines in files:
        if not any(record["record"] == "run" for record in lines):
            return None, f"{path}: no run of a check is in it"
    last, now = runs[-1]
    for path, run in runs:
        different = differences(run["identity"], now["identity"])
        if different:
            return None, f"{path} and {last} are of different runs, not to be mixed (another {', '.join(different)})"
    found = {}
    for path in paths[:-1]:
        for record in taken(path, now)[0].values():
            merge(found, record)
    own = [record for record in files[-1][1] if record.get("status") != "not reached" or page.key(record) not in found]
    keys = {page.key(record) for record in own}
    return [record for key, record in found.items() if key not in keys] + own, ""
