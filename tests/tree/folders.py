"""The folder graph of src, from the includes: the stages in the order of the data, and within a stage its subfolders.
No folder includes a later one, so there are no cycles. The same for the bindings of Python, whose subfolders need only
`core`.

    python3 tests/tree/folders.py          # the test
    python3 tests/tree/folders.py --graph  # the arrows, with the number of includes of each
"""
import collections
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SRC = os.path.join(ROOT, "src")
BINDINGS = os.path.join(ROOT, "python_bindings")

# Each folder may include those before it. "ops" means the files in the folder itself, which its subfolders share.
ORDER = [
    "base", "expr", "builder",
    "ops", "ops/user", "ops/elementwise", "ops/arrays", "ops/linear", "ops/nnet", "ops/random", "ops/control",
    "rewrite", "rewrite/rules", "kernel", "fuse", "plan", "codegen", "llvm",
    "runtime/support", "runtime/device", "runtime/cpu", "runtime/simulator", "runtime/cuda", "runtime",
    "runtime/lanes", "runtime/bound", "runtime/loops",
    "io", "nn", "", "call",
]
# The driver (the files of src itself) and the calls include each other: a call plans, and inspection uses calls.
TOGETHER = [{"", "call"}]


def folder_of(path):
    """The folder, with at most two levels: deeper folders belong to the second level."""
    parts = os.path.dirname(path).split("/")[:2]
    return "/".join(part for part in parts if part)


def arrows(root=SRC):
    """{(from, to): {"a.cpp includes b.hpp", ...}} between different folders."""
    found = collections.defaultdict(set)
    for folder, _, names in os.walk(root):
        for name in names:
            if not name.endswith((".cpp", ".hpp", ".def")):
                continue
            path = os.path.relpath(os.path.join(folder, name), root)
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                included = re.findall(r'#include "([^"]+)"', file.read())
            for other in included:
                if not os.path.isfile(os.path.join(root, other)):
                    continue
                pair = folder_of(path), folder_of(other)
                if pair[0] != pair[1]:
                    found[pair].add(f"{path} includes {other}")
    return found


class Folders(unittest.TestCase):
    def setUp(self):
        self.arrows = arrows()

    def test_the_graph_is_drawn(self):
        self.assertGreater(sum(len(of) for of in self.arrows.values()), 500)
        self.assertIn(("runtime/bound", "runtime/device"), self.arrows)

    def test_every_folder_has_its_place(self):
        folders = {folder for pair in self.arrows for folder in pair}
        self.assertEqual(folders - set(ORDER), set())

    def test_no_arrow_runs_back(self):
        place = {folder: number for number, folder in enumerate(ORDER)}
        back = [line for (one, other), lines in sorted(self.arrows.items())
                if place[one] < place[other] and not any({one, other} <= group for group in TOGETHER)
                for line in sorted(lines)]
        self.assertEqual(back, [])

    def test_the_page_on_networks_names_the_internal_headers_of_nn(self):
        included = {line.split(" includes ")[1]
                    for (one, _), lines in self.arrows.items() if one == "nn" for line in lines}
        with open(os.path.join(ROOT, "docs/use/networks.md"), encoding="utf-8") as file:
            rows = re.findall(r"^\| (?:`src/(\w+/)`)? ?\| (`.*?\.hpp`) \|", file.read(), re.M)
        named, folder = set(), ""
        for new_folder, headers in rows:
            folder = new_folder or folder
            named |= {folder + name for name in re.findall(r"`(\w+\.hpp)`", headers)}
        self.assertEqual(named, included)

    def test_rooms_of_the_bindings_need_core_alone(self):
        self.assertEqual(set(arrows(BINDINGS)), {("ops", "core"), ("nn", "core")})


if __name__ == "__main__":
    if sys.argv[1:] == ["--graph"]:
        for (one, other), lines in sorted(arrows().items(), key=lambda item: (ORDER.index(item[0][0]), item[0][1])):
            print(f"{one or 'src'} -> {other or 'src'} ({len(lines)})")
    else:
        unittest.main()
