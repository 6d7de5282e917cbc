#!/usr/bin/env python3
"""Runs the suites of Theano and Keras and the public programs on croton.theano, and prints the table of results.

    python tools/theano_table.py --cache /tmp/suites --programs DIR --data DIR --markdown table.md

The suites' sources come from the package index (tools/suites/README.md), those of the programs from a folder
(docs/use/public_programs.md); without one the programs are omitted, and the table says so.
"""
import argparse
import datetime
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def machine():
    """The processor, for the head of the table."""
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()}, {os.cpu_count()} cores"
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", required=True, help="folder for the suites' sources")
    parser.add_argument("--units", nargs="+", default=["named"], help="as tools/suites/run.py has them")
    parser.add_argument("--programs", help="folder with the programs' repositories")
    parser.add_argument("--data", help="folder with mnist_5k.csv.gz")
    parser.add_argument("--scratch", default="programs_scratch", help="where the programs run")
    parser.add_argument("--cold", action="store_true", help="programs with no code compiled by runs before")
    parser.add_argument("--markdown", help="write the table to this file too")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="units of the suites at a time")
    arguments = parser.parse_args()

    text = [f"# Theano's programs and suites on Croton\n\n{datetime.date.today()}, {machine()}, Python "
            f"{platform.python_version()}, by `tools/theano_table.py`.\n"]
    suites = subprocess.run([sys.executable, str(HERE / "suites" / "run.py"), "--fetch", "--cache", arguments.cache, "-j",
                             str(arguments.jobs), "--units", *arguments.units], stdout=subprocess.PIPE, text=True)
    text.append("## Suites\n\n" + suites.stdout.replace("\n## ", "\n### "))
    status = suites.returncode
    if arguments.programs:
        command = [sys.executable, str(HERE / "programs" / "run.py"), "--sources", arguments.programs, "--scratch",
                   arguments.scratch]
        command += ["--data", arguments.data] if arguments.data else []
        programs = subprocess.run(command + (["--cold"] if arguments.cold else []), stdout=subprocess.PIPE, text=True)
        text.append("## Programs\n\n" + programs.stdout)
        status = status or programs.returncode
    else:
        text.append("## Programs\n\nNot run: no folder of sources was given.\n")
    table = "\n".join(text)
    print(table)
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(table)
    return status


if __name__ == "__main__":
    sys.exit(main())
