"""The report: Markdown, and the best variants as lines of JSON."""
import json
import math


def named(choices):
    """Facets as text."""
    return ", ".join(f"{name} {value}" for name, value in choices.items())


def time_text(seconds):
    """A time with three digits."""
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3f} ms"
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-4 else f"{seconds * 1e6:.0f} us"


class Report:
    """Markdown of the lines of variants.jsonl."""

    BEST = 4

    def __init__(self, lines):
        self.machine = next((line for line in lines if line["kind"] == "machine"), {})
        self.ceiling = self.machine.get("copy", math.nan)
        self.about = {line["experiment"]: line for line in lines if line["kind"] == "experiment"}
        self.results = {}
        for line in lines:
            if line["kind"] == "result":
                self.results.setdefault(line["experiment"], {})[line["variant"]] = line
        self.again = {line["experiment"]: line for line in lines if line["kind"] == "again" and "seconds" in line}
        self.lines = lines

    def right(self, experiment):
        """The variants with right results, the fastest first."""
        return sorted((r for r in self.results[experiment].values() if r["status"] == "right"),
                      key=lambda r: r["seconds"])

    def share(self, result):
        """The rate relative to that of a copy of 512 MiB."""
        return f"{100 * result['rate'] / self.ceiling:.0f} %" if "rate" in result else "-"

    def of_equal(self, result):
        """The rate relative to that of a copy of as many bytes."""
        copy = self.about.get(result["experiment"], {}).get("copy")
        return f"{100 * result['rate'] / copy:.0f} %" if copy and "rate" in result else "-"

    @staticmethod
    def finished(results):
        """Without those that omit the last stage."""
        return [r for r in results if r["facets"].get("finish") != "not finished"]

    def table(self, experiment):
        """The fastest variants."""
        yield "| variant | time | GB/s | of copy | of a copy of these bytes | registers, resident blocks |"
        yield "|---|---|---|---|---|---|"
        for r in self.right(experiment)[:self.BEST]:
            rate = f"{r['rate'] / 1e9:.0f}" if "rate" in r else "-"
            local = f", {r['local']} B local" if r.get("local") else ""
            yield (
                f"| {named(r['facets'])} | {time_text(r['seconds'])} | {rate} | {self.share(r)} | {self.of_equal(r)} | "
                f"{r.get('registers')}{local}, {r.get('resident')} |")

    def facets(self, experiment):
        """The best time for each value of each facet that has several."""
        results = self.right(experiment)
        for facet in dict.fromkeys(name for r in results for name in r["facets"]):
            best = {}
            for r in results:
                best.setdefault(r["facets"].get(facet, "-"), r["seconds"])
            if len(best) > 1:
                yield f"- {facet}: " + "; ".join(f"{value} {time_text(seconds)}" for value, seconds in best.items())

    @staticmethod
    def shortest(results, facets):
        """The best time for each combination of the facets."""
        best = {}
        for r in results:
            best.setdefault(tuple(str(r["facets"].get(facet)) for facet in facets), r["seconds"])
        return [f"{', '.join(values)} {time_text(seconds)}" for values, seconds in best.items()]

    def noise(self, experiment):
        """The time of the first variant at the end, relative to its first time; NaN without both."""
        again, first = self.again.get(experiment), self.results[experiment].get(0, {})
        return again["seconds"] / first["seconds"] if again and first.get("seconds") else math.nan

    def conclusions(self):
        """A line for each experiment: the best variant, and the best with other choices."""
        for experiment in self.results:
            results = self.finished(self.right(experiment))
            if not results:
                continue
            if "rate" not in results[0]:
                yield f"{self.about[experiment]['about']}: " + "; ".join(self.shortest(results, ("kernel", "launched")))
                continue
            best, about = results[0], self.about[experiment]["about"]
            text = f"{about}: {time_text(best['seconds'])}, {self.share(best)} of copy, with {named(best['facets'])}"
            others = []
            for facet in ("row in", "team", "finish", "grid", "way", "tree", "kernels", "launches", "exp", "divide"):
                rest = [r for r in results if r["facets"].get(facet) != best["facets"].get(facet)]
                if rest:
                    others.append(
                        f"{facet} {rest[0]['facets'].get(facet, '-')} {rest[0]['seconds'] / best['seconds']:.2f} x")
            yield text + (f" (best with another {', '.join(others)})" if others else "")

    def summary(self):
        """The machine, the best variants and the failures."""
        out = [
            "# Variants of schedules", "",
            f"{self.machine.get('name')}, driver and clocks {self.machine.get('driver')}, {self.machine.get('sms')} "
            f"multiprocessors. Copy by the driver: {self.ceiling / 1e9:.0f} GB/s read and written.", "",
            "## Conclusions", ""]
        out += [f"{i}. {text}" for i, text in enumerate(self.conclusions(), 1)]
        results = [r for of in self.results.values() for r in of.values()]
        failed = [r for r in results if r["status"] != "right"]
        out += ["", f"{len(results)} variants, {len(failed)} of them failed or wrong."]
        out += [
            f"- {r['experiment']}, {r['status']}: {named(r['facets'])}: {r.get('why', '')[:200]}" for r in failed[:10]]
        out += [f"- {line['experiment']}: {line['why'][:200]}" for line in self.lines if line["kind"] == "failed"]
        stopped = [line["experiment"] for line in self.lines if line["kind"] == "stopped"]
        absent = [name for name in self.machine.get("experiments", []) if name not in self.results]
        if stopped or absent:
            out.append(f"Out of time in: {', '.join(stopped) or 'none'}. Not reached: {', '.join(absent) or 'none'}.")
        return "\n".join(out) + "\n"

    def text(self):
        """The whole report."""
        out = [self.summary()]
        for experiment in self.results:
            noise = self.noise(experiment)
            again = "-" if math.isnan(noise) else f"{noise:.2f}"
            out += [
                f"## {experiment}: {self.about[experiment]['about']}", "",
                f"{len(self.right(experiment))} variants; the first one timed again at the end: {again} x.", "",
                *self.table(experiment), "", "The best time under each choice:", "", *self.facets(experiment), ""]
        return "\n".join(out)

    def best(self):
        """The best variants as lines of JSON, with the machine and the experiments."""
        yield self.machine
        for experiment, about in self.about.items():
            results = self.results[experiment].values()
            wrong = [r for r in results if r["status"] != "right"]
            again = {"again": self.noise(experiment)} if experiment in self.again else {}
            yield {**about, "variants": len(results), "not right": len(wrong), **again}
            yield from (self.right(experiment) or wrong)[:self.BEST]


def shortened(value):
    """Numbers with four digits, in all of a line."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return {k: shortened(v) for k, v in value.items()} if isinstance(value, dict) else value


def write_report(lines, folder):
    """Writes variants.md and best.jsonl; returns the summary."""
    report = Report(lines)
    (folder / "variants.md").write_text(report.text())
    (folder / "best.jsonl").write_text("".join(f"{json.dumps(shortened(line))}\n" for line in report.best()))
    return report.summary()
