"""The two lists of the runner: the cases that Theano itself passes, and those that use internals."""
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
    """theano_passes.txt holds in each line the name of a case that Theano passes, or "- " and one that it does not
    pass. internals.txt holds a name, a tab and the reason; a name there may be a pattern with * and ?, or a class,
    which means all of its cases."""

    def __init__(self, passes, internals):
        lines = list(_lines(passes))
        self.passes = {line for line in lines if not line.startswith("- ")}
        self.not_passed = {line[2:] for line in lines if line.startswith("- ")}
        self.internals = [tuple(line.split("\t", 1)) for line in _lines(internals)]

    def passed_by_theano(self, unit):
        start = unit.case_name("")
        return [case[len(start):] for case in sorted(self.passes) if case.startswith(start)]

    def internal(self, case):
        """The reason why a case counts as one of internals, or None."""
        for pattern, reason in self.internals:
            # A bracket in a case's name begins its parameters, not a set of characters.
            pattern = pattern.replace("[", "[[]")
            if fnmatch.fnmatchcase(case, pattern) or fnmatch.fnmatchcase(case, pattern + "::*"):
                return reason
        return None


def write_passes(path, outcomes):
    """Merges the cases that Theano passed, and those it failed, into the file; earlier entries for them are removed."""
    known = Lists(path, None)
    passed = {outcome["case"] for outcome in outcomes if outcome["status"] == "passed"}
    seen = {outcome["case"] for outcome in outcomes}
    passes = (known.passes - seen) | passed
    not_passed = (known.not_passed | seen) - passes
    with open(path, "w", encoding="utf-8") as file:
        file.write("# The cases that Theano 1.0.5 itself passes, one a line, and after \"- \" those that it fails or skips here"
                   " (see README.md).\n")
        file.writelines(case + "\n" for case in sorted(passes))
        file.writelines(f"- {case}\n" for case in sorted(not_passed))
