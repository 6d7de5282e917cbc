#!/usr/bin/env python3
"""Runs third-party test files against croton.theano and reports how many of their cases pass, and why the others fail.

    python tools/suites/run.py --fetch --cache /tmp/suites             # Theano 1.0.5 and Keras 2.2.4 from the package index
    python tools/suites/run.py --theano DIR --keras DIR --units named --markdown table.md --json cases.jsonl

See README.md in this folder.
"""
import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tarfile
import threading

import lists
import report
import session
import units

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = {"theano": ("Theano", "1.0.5"), "keras": ("Keras", "2.2.4")}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theano", metavar="DIR", help="folder with Theano's sources (that with setup.py)")
    parser.add_argument("--keras", metavar="DIR", help="folder with Keras's sources")
    parser.add_argument("--plain", metavar="DIR", help="folder of test files of neither, for units of the suite 'plain'")
    parser.add_argument("--fetch", action="store_true", help="bring the sources that are not in the cache yet")
    parser.add_argument("--cache", metavar="DIR", help="folder for the sources that --fetch brings")
    parser.add_argument("--units", nargs="+", default=["named"], metavar="UNIT",
                        help="named, other, all, or SUITE:FILE[::SELECTION,...] each (default: named)")
    parser.add_argument("--package", choices=["croton", "theano", "none"], default="croton",
                        help="the package that is imported as theano: croton.theano, or Theano itself for the reference list")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the child processes")
    parser.add_argument("--json", metavar="FILE", help="one JSON line for each case")
    parser.add_argument("--markdown", metavar="FILE", help="the tables (default: standard output)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one case (default 60)")
    parser.add_argument("--import-timeout", type=float, default=300, help="seconds to import and collect a file")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="units at a time")
    parser.add_argument("--case", action="append", help="only cases whose name contains this; may be repeated")
    parser.add_argument("--strict", action="store_true",
                        help="no stand-ins for names that a file misses at import: one missing name costs the file")
    parser.add_argument("--passes", metavar="FILE", default=os.path.join(HERE, "theano_passes.txt"),
                        help="the cases that Theano itself passes")
    parser.add_argument("--internals", metavar="FILE", default=os.path.join(HERE, "internals.txt"),
                        help="the cases that touch internals, with reasons")
    parser.add_argument("--with-internals", action="store_true", help="run the cases of internals too, like the others")
    parser.add_argument("--write-passes", metavar="FILE", help="write the names of the cases that passed")
    parser.add_argument("--show", action="store_true", help="print the traceback of each failure")
    return parser.parse_args(arguments)


def fetch(cache):
    """Downloads and unpacks the source archives; returns the folder of each suite."""
    os.makedirs(cache, exist_ok=True)
    folders = {}
    for suite, (name, version) in SOURCES.items():
        folders[suite] = os.path.join(cache, f"{name}-{version}")
        if os.path.isdir(folders[suite]):
            continue
        archive = folders[suite] + ".tar.gz"
        if not os.path.exists(archive):
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", "-d",
                            cache, f"{name}=={version}"], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(cache, filter="data")
    return folders


def main(arguments=None):
    options = parse(arguments)
    folders = {"theano": options.theano, "keras": options.keras, "plain": options.plain}
    if options.cache:
        for suite, folder in (fetch(options.cache) if options.fetch else {
                suite: os.path.join(options.cache, "-".join(pair)) for suite, pair in SOURCES.items()}).items():
            folders[suite] = folders[suite] or folder
    elif options.fetch:
        sys.exit("--fetch needs --cache DIR, where the sources go")
    chosen = units.expand(options.units)
    for unit in chosen:
        folder = folders[unit.suite]
        if not folder or not os.path.exists(os.path.join(folder, unit.file)):
            sys.exit(f"no file {unit.file} in {folder}: name the folder of its sources with --{unit.suite}, or --cache")
    known = lists.Lists(None, None) if options.package == "theano" else lists.Lists(
        options.passes, None if options.with_internals else options.internals)

    lock = threading.Lock()
    if options.json:
        open(options.json, "w").close()

    def run(unit):
        outcomes = []
        for outcome in session.run_unit(unit, folders, options, known):
            outcomes.append(outcome)
            if options.json:  # A run that is interrupted keeps its completed cases.
                with lock:
                    report.add_json(options.json, unit, outcome)
        with lock:
            print(report.line(unit, outcomes), file=sys.stderr, flush=True)
            if options.write_passes:
                lists.write_passes(options.write_passes, outcomes)
        return unit, outcomes

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, chosen))
    text = report.markdown(results)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)
    if options.show:
        for unit, outcomes in results:
            for outcome in outcomes:
                if outcome["status"] in ("failed", "missing op"):
                    print(f"---- {outcome['case']}\n{outcome.get('text', '')}")
    counts = collections.Counter(outcome["status"] for _, outcomes in results for outcome in outcomes)
    return 1 if counts["failed"] or counts["missing op"] else 0


if __name__ == "__main__":
    sys.exit(main())
