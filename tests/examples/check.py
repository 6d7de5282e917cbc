# !/usr/bin/env python3
"""Runs an example and compares its output with the file of the same name in this folder.

    tests/examples/check.py PROGRAM [ARGUMENT ...]

In the file `{}` matches any text, or none, within a line (a time, a number that differs between processors), and a line
`...` matches any number of lines. The exit status must be 0.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def pattern_of(line):
    return r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("{}"))) + r"\n"


def first_difference(lines, printed):
    """The number of the first line of the file that does not match, or none; the longest matching beginning counts."""
    for count in range(1, len(lines) + 1):
        if not re.match("".join(lines[:count]), printed):
            return count
    return None if re.fullmatch("".join(lines), printed) else len(lines) + 1


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    expected = pathlib.Path(__file__).parent / f"{program.name}.txt"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([program, *sys.argv[2:]], capture_output=True, text=True, cwd=folder, timeout=600)
    fault = first_difference([pattern_of(line) for line in expected.read_text().splitlines()], run.stdout)
    if fault is not None or run.returncode != 0:
        print(run.stdout, run.stderr, sep="\n")
        line = "" if fault is None else f"; line {fault} of {expected} does not fit what is printed"
        sys.exit(f"{program.name}: exit status {run.returncode}{line}")


if __name__ == "__main__":
    main()
