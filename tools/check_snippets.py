#!/usr/bin/env python3
"""Compiles and runs the C++ examples of Markdown files and compares their output with that in the files.

A line `<!-- run -->` marks the ```cpp block below it as a program; the ```text block right after that one, if there is
one, is its output. `<!-- run where NVRTC 13.0, ok ] nvdisasm -->` runs it only if `croton doctor` prints each of these
words, because output of compilers differs between versions; otherwise it is reported as not run. `<!-- compile -->`
requests compilation only, `<!-- from examples/hello.cpp -->` that the block is part of that file, word for word. The
output of a program may be shown in parts, in any order: a line `<!-- prints f: plan -->` marks a ```text block that has
the lines from `---- f: plan` on, up to the next line that begins a part. A block without `main` is put into one, with
the usual headers and `namespace ct = croton` before it; its first line counts as line 1 of program.cpp in messages. The
programs of a page are compiled together, each in a namespace, since headers and templates take most of the time.

    tools/check_snippets.py --build build/release docs/use/first_hour.md     against a build folder
    tools/check_snippets.py --prefix ~/croton docs/use/first_hour.md         against an installed Croton
    ... --update                                                         writes the output into the files
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"^<!-- (run|run where .+|compile|from \S+) -->$")
PART = re.compile(r"^<!-- prints (.+) -->$")
INCLUDE = re.compile(r"^#include .*$", re.M)
MAIN = re.compile(r"\bint main\([^)]*\) \{\n(.*)^\}$", re.M | re.S)
FENCE = re.compile(r"^```(\w*)$")

RUN = "int run([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {{\n{}return 0; }}"
WRAPPED = """#include <croton/croton.hpp>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

namespace ct = croton;

int main() {{
#line 1 "program.cpp"
{}
}}
"""


class Snippet:
    def __init__(self, file, line, action, code, output):
        self.file, self.line, self.action, self.code = file, line, action, code
        self.output = output  # (first line, end line) of the text block's inside, or None
        self.parts = []  # (name, first line, end line) of text blocks that show a part of the output each
        self.command = None  # that runs it, if it was compiled with the others of its page

    def name(self):
        return f"{self.file}:{self.line}"

    def program(self):
        text = "\n".join(self.code)
        return text + "\n" if re.search(r"\bint main\(", text) else WRAPPED.format(text)

    def expected(self, printed):
        """(first line, end line, expected lines) of each text block, from the end of the page backwards, for the
        program's output; and an error in the output itself."""
        if self.output is not None:
            return ([(*self.output, printed)], "") if printed else ([], "prints nothing")
        begins = {name: printed.index(f"---- {name}") for name, _, _ in self.parts if f"---- {name}" in printed}
        missing = [name for name, _, _ in self.parts if name not in begins]
        if missing:
            return [], f"prints no line '---- {missing[0]}'"
        if self.parts and min(begins.values()) > 0:
            return [], "prints something that is in no part:\n" + "\n".join(printed[: min(begins.values())])
        blocks = []
        for name, first, end in reversed(self.parts):
            stop = min((at for at in begins.values() if at > begins[name]), default=len(printed))
            part = printed[begins[name] : stop]
            while not part[-1]:
                part.pop()
            blocks.append((first, end, part))
        return blocks, ""


def block_at(lines, at):
    """(language, first line inside, line of the closing fence) of the fenced block that opens at `at`, or None."""
    opening = FENCE.match(lines[at]) if at < len(lines) else None
    if not opening:
        return None
    end = at + 1
    while end < len(lines) and lines[end] != "```":
        end += 1
    if end == len(lines):
        sys.exit(f"line {at + 1}: a block has no end")
    return opening.group(1), at + 1, end


def snippets_of(file, lines):
    found = []
    for at, line in enumerate(lines):
        if part := PART.match(line):
            text = block_at(lines, at + 1)
            if text is None or text[0] != "text" or not found or not found[-1].action.startswith("run"):
                sys.exit(f"{file}:{at + 1}: a ```text block must follow the mark, and a program come before it")
            if found[-1].output is not None:
                sys.exit(f"{file}:{at + 1}: the program before the mark has its output right below it")
            found[-1].parts.append((part.group(1), *text[1:]))
            continue
        mark = MARK.match(line)
        if not mark:
            continue
        code = block_at(lines, at + 1)
        if code is None or code[0] != "cpp":
            sys.exit(f"{file}:{at + 1}: a ```cpp block must follow the mark")
        text = block_at(lines, code[2] + 1)
        output = text[1:] if text and text[0] == "text" else None
        found.append(Snippet(file, at + 2, mark.group(1), lines[code[1] : code[2]], output))
    return found


def together(snippets):
    """One program of all snippets; its argument is the number of the one that it runs."""
    texts = [snippet.program() for snippet in snippets]
    lines = list(dict.fromkeys(include for text in texts for include in INCLUDE.findall(text)))
    lines += ["#include <cstdlib>"]
    for number, text in enumerate(texts):
        # Only main may end without a result. Lines keep their numbers.
        text = MAIN.sub(lambda main: RUN.format(main[1]), INCLUDE.sub("", text))
        text = text if "#line" in text else '#line 1 "program.cpp"\n' + text
        lines += [f"namespace snippet_{number} {{", text, "}"]
    lines += ["int main(int argc, char** argv) {", "  switch (std::atoi(argv[1])) {"]
    lines += [f"    case {number}: return snippet_{number}::run(argc, argv);" for number in range(len(texts))]
    return "\n".join([*lines, "  }", "}", ""])


class Checker:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        prefix = (options.prefix or options.build).resolve()
        self.include = prefix / "include" if options.prefix else ROOT / "include"
        libraries = sorted(prefix.glob("lib*/**/libcroton.so"))
        if not libraries:
            sys.exit(f"there is no libcroton.so below {prefix}")
        self.library = libraries[0].parent
        self.environment = dict(os.environ)
        # The user's settings are not used, nor, without a test's environment, the cache.
        self.environment.setdefault("CROTON_FLAGS", f"cache_dir={self.folder}/cache")
        self.environment["XDG_CONFIG_HOME"] = str(self.folder)
        (self.folder / "cache").mkdir(mode=0o700)
        self.doctor = None
        self.tool = prefix / "bin" / "croton"
        self.flags = ["-std=c++20", f"-I{self.folder}/parsed", f"-I{self.include}"]
        self.parse_headers()

    def parse_headers(self):
        """Croton's precompiled header, which GCC uses if a program includes it first; other compilers parse the header
        again."""
        (self.folder / "parsed" / "croton").mkdir(parents=True)
        header, parsed = self.include / "croton" / "croton.hpp", self.folder / "parsed" / "croton" / "croton.hpp.gch"
        self.run([self.options.cxx, *self.flags, "-x", "c++-header", str(header), "-o", str(parsed)])

    def missing(self, snippet):
        """The first thing that the snippet needs and that this machine lacks, or nothing."""
        if not snippet.action.startswith("run where "):
            return ""
        if self.doctor is None:
            self.doctor = " ".join(self.run([str(self.tool), "doctor"]).stdout.split())
        needs = snippet.action.removeprefix("run where ").split(", ")
        return next((need for need in needs if need not in self.doctor), "")

    def run(self, command):
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=600)

    def build(self, text, name):
        """(what the compiler says of an error, program)."""
        source, program = self.folder / "program.cpp", self.folder / name
        source.write_text(text)
        compiler = [self.options.cxx, *self.flags, str(source), "-o", str(program)]
        compiler += [f"-L{self.library}", "-lcroton", f"-Wl,-rpath,{self.library}"]
        compiled = self.run(compiler)
        return compiled.stderr if compiled.returncode != 0 else "", str(program)

    def compile_together(self, snippets):
        """Compiles the snippets of a page as one program. With an error in one, each is compiled alone later."""
        if not snippets:
            return
        error, program = self.build(together(snippets), "page")
        for number, snippet in enumerate(snippets):
            snippet.command = None if error else [program, str(number)]

    def check(self, snippet):
        """(error or "", output)."""
        if snippet.action.startswith("from "):
            file = ROOT / snippet.action.removeprefix("from ")
            return ("" if "\n".join(snippet.code) in file.read_text() else f"is not part of {file.name}"), ""
        command = snippet.command
        if command is None:
            error, program = self.build(snippet.program(), "program")
            if error:
                return "does not compile\n" + error, ""
            command = [program]
        if snippet.action == "compile":
            return "", ""
        result = self.run(command)
        if result.returncode != 0:
            return f"ended with status {result.returncode}\n{result.stdout}{result.stderr}", result.stdout
        return "", result.stdout


def check_file(checker, file, update):
    """The number of snippets that are wrong, and of all."""
    lines = file.read_text().split("\n")
    snippets = snippets_of(file, lines)
    wrong = 0
    checker.compile_together([s for s in snippets if not s.action.startswith("from ") and not checker.missing(s)])
    for snippet in reversed(snippets):  # from the end, so that updates do not move earlier snippets
        if missing := checker.missing(snippet):
            print(f"{snippet.name()}: NOT RUN: croton doctor does not say '{missing}'")
            continue
        fault, printed = checker.check(snippet)
        found = [line.rstrip() for line in printed.rstrip().splitlines()]
        if not fault and snippet.action.startswith("run") and (snippet.output is not None or snippet.parts):
            blocks, fault = snippet.expected(found)
            for first, end, block in blocks:
                if update:
                    lines[first:end] = block
                elif block != lines[first:end]:
                    diff = difflib.unified_diff(lines[first:end], block, "expected", "printed", lineterm="")
                    fault += "prints something else\n" + "\n".join(diff)
        if fault:
            wrong += 1
            print(f"{snippet.name()}: {fault}")
    if update:
        file.write_text("\n".join(lines))
    return wrong, len(snippets)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--build", type=pathlib.Path, help="a build folder of this checkout")
    where.add_argument("--prefix", type=pathlib.Path, help="where Croton is installed")
    parser.add_argument("--cxx", default=os.environ.get("CXX", "c++"), help="the C++ compiler")
    parser.add_argument("--update", action="store_true", help="write what was printed into the files")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options, folder)
        for file in options.files:
            counts = check_file(checker, file, options.update)
            wrong, total = wrong + counts[0], total + counts[1]
    print(f"{total} snippets, {wrong} wrong")
    return 1 if wrong or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
