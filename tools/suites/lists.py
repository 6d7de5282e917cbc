"""The two lists beside the runner: the cases that Theano itself passes, and those that touch internals."""
import fnmatch
import os


def _lines(path):
    if path is None or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.strip() and not line.startswith("#"):
                yield line


class Lists:
    """theano_passes.txt holds a case's name in each line; internals.txt a name, a tab and the reason. A name there may be
    a pattern with * and ?, or a class, which stands for all of its cases."""

    def __init__(self, passes, internals):
        self.passes = set(_lines(passes))
        self.internals = [tuple(line.split("\t", 1)) for line in _lines(internals)]
        self.files = {case.split("::")[0] for case in self.passes}

    def reference_covers(self, unit):
        """Whether Theano itself was run on this unit's file; if not, all that is collected counts."""
        return f"{unit.suite}:{unit.stem}" in self.files

    def passed_by_theano(self, unit):
        start = unit.case_name("")
        return [case[len(start):] for case in sorted(self.passes) if case.startswith(start)]

    def internal(self, case):
        """The reason why a case counts as one of internals, or None."""
        for pattern, reason in self.internals:
            # A bracket in a case's name is its parameters, not a set of characters.
            pattern = pattern.replace("[", "[[]")
            if fnmatch.fnmatchcase(case, pattern) or fnmatch.fnmatchcase(case, pattern + "::*"):
                return reason
        return None


def write_passes(path, outcomes):
    """Merges the cases that passed into the file; what it said of the other cases run is taken out."""
    seen = {outcome["case"] for outcome in outcomes}
    passed = {outcome["case"] for outcome in outcomes if outcome["status"] == "passed"}
    kept = set(_lines(path)) - seen
    with open(path, "w", encoding="utf-8") as file:
        file.write("# The cases that Theano 1.0.5 itself passes (see README.md), one a line.\n")
        file.writelines(case + "\n" for case in sorted(kept | passed))
