#!/usr/bin/env python3
"""Finds the test that shows each row of the programs for which Croton is built; writes docs/use/programs.md.

The title of a test in C++ begins with the rows it shows: TEST_CASE("C4.3 C4.4 the loss ..."). Nothing is run or
compiled: titles are read from the files.

    tools/program_rows.py            prints row, title, file and ctest of each test, and writes docs/use/programs.md
    tools/program_rows.py --check    fails when the page is old, a row has no test, a title names a row that is not
                                     there, or a file with such a title is not built
"""

import argparse
import difflib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Programs, and their rows: the feature that each shows.
PROGRAMS = {
    "C0": ("The behaviour of such code in the original systems and in Croton", {
        "C0.1": "`use('gpu,0')` and all other spellings of a GPU's name; others: an error that lists the devices present",
        "C0.2": "`shared_constructor(value, target='gpu')`: `gpu` is the first GPU",
        "C0.3": "`change_flags(device='cuda1')` after the start has a meaning",
        "C0.4": "the tutorial's program runs as the documentation shows",
        "C0.5": "the MLP under floatX=float64: an error names the variable, both dtypes and the remedies",
        "C0.6": "int64 labels into `ivector`: an error that proposes `allow_input_downcast` and `astype`",
        "C0.7": "an array, or an overwritten variable, as output: an error that asks whether it was overwritten",
        "C0.8": "`matpow(M, n)` is M^(n+1), as written; `matrix_power` is M^n",
    }),
    "C1": ("Theano and TensorFlow on several GPUs", {
        "C1.0": "`devices()` and `croton devices`: the list of devices",
        "C1.1": "`use('gpu,0')`: the default for later variables and functions, and one line that reports it",
        "C1.2": "a shared vector on the GPU, and copies of it on the host",
        "C1.3": "`function([], x * 2)`: values, dtype, one kernel, the printed text",
        "C1.4": "`with change_flags(device='cuda1')`: work moves, storage does not; transfers and compilations",
        "C1.5": "device scopes: they nest, the innermost applies, work outside has no fixed device",
        "C1.6": "training and loss on the host: transfers at the borders, gradients with their ops",
        "C1.7": "results of two GPUs merged on the host: two copies, one addition, at the same time",
    }),
    "C2": ("MirroredStrategy, Adam, reduce", {
        "C2.1": "a classifier of two dense layers: shapes, initial values, probabilities",
        "C2.2": "`MirroredStrategy()` and its scope: a copy of each variable for each replica",
        "C2.3": "`SparseCategoricalCrossentropy`: class numbers, per example, stable after a softmax",
        "C2.4": "`compute_average_loss`: the mean over the global batch",
        "C2.5": "gradients as a list in the variables' order",
        "C2.6": "Adam: its formula, its state, summed gradients",
        "C2.7": "`strategy.run`: a step for each replica in one function",
        "C2.7b": "data are divided among the replicas",
        "C2.8": "`strategy.reduce`: sum and mean, by elements or over rows",
        "C2.9": "the seven steps of the program: replicas with equal bits, as on one device with as many shards",
    }),
    "C3": ("Devices, the placement log, powers of matrices on two GPUs", {
        "C3.1": "`/cpu:0`, `/gpu:1`; a missing device: an error, or soft placement with the reason",
        "C3.2": "the placement log: devices, ops in the order of the plan, transfers with bytes",
        "C3.3": "the default device: the first of several GPUs, else the host",
        "C3.4": "a scope of a third device around earlier code",
        "C3.5": "two GPUs multiply, the host adds: the bits of one device",
        "C3.6": "A^11 + B^11 on one and on two devices, finite, overlapping",
        "C3.7": "a constant made inside a scope is sent once",
        "C3.8": "a program on several machines",
    }),
    "C4": ("Theano's MLP", {
        "C4.1": "types and names of inputs and weights",
        "C4.2": "relu is 0.5 (x + |x|), its gradient at 0 is 0.5; softmax",
        "C4.3": "the mean cross-entropy of class numbers: a scalar of floatX",
        "C4.4": "`grad`: a list in order, each of its parameter's type",
        "C4.5": "updates: float32, all from old values, as the outputs",
        "C4.6": "the compiled graph: fused stable loss, updates inside products, no kernel that only copies",
        "C4.7": "calls and options by name; 0-d outputs; lists for lists",
        "C4.8": "100 epochs with unscaled weights stay finite, and have the known losses",
        "C4.9": "`allow_input_downcast`",
        "C4.10": "`argmax` and `mean` of predictions on the host",
        "C4.11": "the same program on another device by a flag",
    }),
    "C5": ("Data and model parallelism with Keras", {
        "C5.1": "one batch over several GPUs: the same bits on all after each step",
        "C5.2": "`multi_gpu_model`: shared weights, results in order, errors",
        "C5.3": "losses and optimizers by name",
        "C5.4": "`fit` on eight devices, with a partial last batch",
        "C5.5": "a parallel model and its template are saved as the same file",
        "C5.6": "a classifier of one convolution: shapes, parameters, cross-correlation",
        "C5.7": "losses from logits, metrics merged over replicas",
        "C5.8": "datasets and callbacks of `fit`",
        "C5.9": "one LSTM for two inputs: parameters, initial values, gates, last states",
        "C5.10": "its calls on two devices: weights copied or mirrored, once for each update",
        "C5.11": "the host joins both: two copies, one op; gradients are added",
        "C5.12": "`device_scope` is a name for a device scope",
    }),
}
# Rows without a test, and why.
WITHOUT_TEST = {"C3.8": "none: Croton does not support several machines"}

NUMBER = re.compile(r"C\d+\.\d+[a-z]?\b")
# A title may consist of several literals.
CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)(?:,\s*"([^"]*)")?')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
INTRODUCTION = """# Programs

The programs for which Croton is built, from tutorials of Theano, TensorFlow and Keras, row by row, with the tests in C++ of
each row; `tools/program_rows.py` writes this page from the titles of the tests (the test `program_rows` compares them).
`ctest -R '^NAME$'` runs the tests of a file. Tests of rows about devices run on parts of the host and on simulated GPUs, and
most of them also on GPUs of a fake driver, which replace real ones.

"""


@dataclass
class Test:
    rows: list
    title: str
    file: str
    ctest: str


def rows_of(title):
    """The rows at the beginning of a title, and the rest of it."""
    found = []
    while match := NUMBER.match(title):
        found.append(match.group())
        title = title[match.end():].lstrip(" ,")
    return found, title.lstrip(": ")


def ctest_of(file, tags):
    """The ctest name that runs it: each file is one test, except for the slow cases of some folders."""
    name = file.stem.removeprefix("test_")
    if "[slow]" not in (tags or ""):
        return name
    return {"nn": "nn_slow", "programs": "program_slow"}.get(file.parent.name, name + "_slow")


def tests_of(folder):
    found = []
    for file in sorted(folder.rglob("*.cpp")):
        for match in CASE.finditer(file.read_text()):
            title = "".join(LITERAL.findall(match.group(1))).replace('\\"', '"')
            rows, rest = rows_of(title)
            if rows:
                found.append(Test(rows, rest, str(file.relative_to(folder.parent)), ctest_of(file, match.group(2))))
    return found


def cell(text):
    return text.replace("|", "\\|")


def page(tests):
    text = INTRODUCTION
    for program, (name, rows) in PROGRAMS.items():
        text += f"## {program}. {name}\n\n| row | shows | test | file, ctest |\n|---|---|---|---|\n"
        for row, shows in rows.items():
            first = f"| {row} | {cell(shows)} "
            of_row = [test for test in tests if row in test.rows]
            if not of_row:
                text += f"{first}| {WITHOUT_TEST.get(row, 'NONE')} | |\n"
            for test in of_row:
                text += f"{first}| {cell(test.title)} | [{Path(test.file).name}](../../{test.file}), `{test.ctest}` |\n"
                first = "| | "
        text += "\n"
    return text.rstrip("\n") + "\n"


def faults_of(tests):
    known = {row for _, rows in PROGRAMS.values() for row in rows}
    shown = {row for test in tests for row in test.rows}
    faults = [f"no test shows {row}" for row in sorted(known - shown - set(WITHOUT_TEST))]
    faults += [f"{row} has a test now: take it out of WITHOUT_TEST" for row in sorted(shown & set(WITHOUT_TEST))]
    for test in tests:
        faults += [f"{test.file}: there is no row {row}: {test.title}" for row in test.rows if row not in known]
    for file in sorted({test.file for test in tests}):
        rules = (ROOT / file).parent / "CMakeLists.txt"
        if Path(file).name not in rules.read_text():
            faults.append(f"{rules.relative_to(ROOT)} does not build {file}")
    return faults


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default=str(ROOT / "docs/use/programs.md"))
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    tests = tests_of(ROOT / "tests")
    faults, text, out = faults_of(tests), page(tests), Path(options.out)
    for fault in faults:
        print(f"FAULT: {fault}")
    if options.check:
        committed = out.read_text() if out.exists() else ""
        if committed != text:
            print("\n".join(difflib.unified_diff(committed.splitlines(), text.splitlines(), str(out), "the tests",
                                                 lineterm="", n=0)))
            print(f"\n{out} is not what the tests are; write it by tools/program_rows.py")
            return 1
    else:
        for test in tests:
            print(f"{' '.join(test.rows)}: {test.title}: {test.file}: {test.ctest}")
        out.write_text(text)
        print(f"{out}: written")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
