"""Tables of the outcomes: one line for each unit, and the reasons of the failures in groups."""
import collections
import json
import re


def counts(outcomes):
    return collections.Counter(outcome["status"] for outcome in outcomes)


def _ratio(passed, total):
    return f"{100 * passed / total:.1f} %" if total else "-"


def ratios(number):
    """Passed of those that count, and passed of these and the cases of internals combined (internals as failures)."""
    counted = number["passed"] + number["failed"] + number["missing op"]
    return _ratio(number["passed"], counted), _ratio(number["passed"], counted + number["internals"])


def line(unit, outcomes):
    number = counts(outcomes)
    return f"{unit.name}: " + ", ".join(f"{number[key]} {key}" for key in (
        "passed", "failed", "missing op", "internals", "not counted"))


def add_json(path, unit, outcome):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"unit": unit.name, **outcome}) + "\n")


def _group(reason):
    """The reason without details that differ between cases: numbers, addresses and quoted values."""
    reason = re.sub(r"0x[0-9a-f]+", "0x", reason)
    reason = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", reason)
    return reason[:160].replace("|", "\\|").replace("\n", " ")


def markdown(results):
    rows = ["| unit | passed | failed | missing op | internals | not counted | passed of counted | passed with internals |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    total = collections.Counter()
    sums = collections.defaultdict(collections.Counter)

    def row(name, number):
        return (f"| {name} | {number['passed']} | {number['failed']} | {number['missing op']} | {number['internals']} | "
                f"{number['not counted']} | {' | '.join(ratios(number))} |")

    for unit, outcomes in results:
        number = counts(outcomes)
        total += number
        sums[unit.suite] += number
        rows.append(row(unit.name, number))
    if len(sums) > 1:
        rows += [row(f"all of {suite}", number) for suite, number in sums.items()]
    rows.append(row("all", total))
    rows.append("")
    for unit, outcomes in results:
        rows += _reasons(unit, outcomes)
    return "\n".join(rows) + "\n"


def _reasons(unit, outcomes):
    failures = [outcome for outcome in outcomes if outcome["status"] in ("failed", "missing op")]
    if not failures:
        return []
    rows = [f"## {unit.name}", ""]
    missing = failures[0].get("missing_at_import")
    if missing:
        rows += ["Names missing at import: " + ", ".join(missing) + ".", ""]
    groups = collections.defaultdict(list)
    for outcome in failures:
        groups[outcome["status"], _group(outcome.get("reason", ""))].append(outcome["case"].split("::", 1)[1])
    rows += ["| cases | status | reason | such as |", "| --- | --- | --- | --- |"]
    for (status, reason), cases in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        shown = ", ".join(cases[:3]) + (", ..." if len(cases) > 3 else "")
        rows.append(f"| {len(cases)} | {status} | {reason} | {shown.replace('|', chr(92) + '|')} |")
    return [*rows, ""]
