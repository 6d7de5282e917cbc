"""The folder graph of src, from the includes, with folders of every depth: the stages in the order of the data, and
within a stage its subfolders. No folder includes a later one, so there are no circles; a search of the graph looks for
them by itself, and reports the includes that form one. The same for the bindings of Python, whose subfolders need only
`core`. Public headers (include/croton) are in no folder: the functions that they declare are defined in many.

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

# Each folder may include those before it. "ops" means the files in the folder itself, which its subfolders share; ""
# the files of src itself.
ORDER = [
    "base", "expr", "builder",
    "ops", "ops/user", "ops/elementwise", "ops/arrays", "ops/linear", "ops/nnet", "ops/random", "ops/control",
    "rewrite", "rewrite/rules", "kernel", "fuse", "plan", "codegen", "llvm",
    "runtime/support", "runtime/device",
    "runtime/cpu/threads", "runtime/cpu/dnn", "runtime/cpu/blas", "runtime/cpu", "runtime/simulator",
    "runtime/cuda/toolkit", "runtime/cuda/driver", "runtime/cuda/libraries", "runtime/cuda/inspect", "runtime/cuda",
    "runtime", "runtime/lanes", "runtime/bound", "runtime/loops",
    "io", "", "call", "nn",
]


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
                pair = os.path.dirname(path), os.path.dirname(other)
                if pair[0] != pair[1]:
                    found[pair].add(f"{path} includes {other}")
    return found


def circle(found):
    """A circle of folders, as one include for each of its arrows; empty if there is none."""
    targets = collections.defaultdict(list)
    for one, other in sorted(found):
        targets[one].append(other)
    done = set()

    def search(path):
        """Follows the arrows from the last folder of the path, depth first."""
        for other in targets[path[-1]]:
            if other in path:
                folders = path[path.index(other):] + [other]
                return [min(found[pair]) for pair in zip(folders, folders[1:])]
            if other not in done:
                lines = search(path + [other])
                if lines:
                    return lines
        done.add(path[-1])
        return []

    for folder in sorted(targets.keys()):
        lines = [] if folder in done else search([folder])
        if lines:
            return lines
    return []


class Folders(unittest.TestCase):
    def setUp(self):
        self.arrows = arrows()

    def test_the_graph_is_drawn(self):
        self.assertGreater(sum(len(of) for of in self.arrows.values()), 500)
        self.assertIn(("runtime/bound", "runtime/device"), self.arrows)

    def test_every_folder_has_its_place(self):
        folders = {folder for pair in self.arrows for folder in pair}
        self.assertEqual(folders, set(ORDER))
        self.assertEqual(len(ORDER), len(set(ORDER)))

    def test_no_arrow_runs_back(self):
        place = {folder: number for number, folder in enumerate(ORDER)}
        back = [line for (one, other), lines in sorted(self.arrows.items()) if place[one] < place[other]
                for line in sorted(lines)]
        self.assertEqual(back, [])

    def test_the_map_has_the_same_order(self):
        with open(os.path.join(ROOT, "docs/internals/map.md"), encoding="utf-8") as file:
            part = file.read().split("## The folders")[1].split("Outside `src`:")[0]
        first = [row.split("|")[1] for row in re.findall(r"^\|.*", part, re.M)]
        named = ["" if name == "src" else name for cell in first for name in re.findall(r"`([\w/]+)`", cell)]
        self.assertEqual(named, ORDER)

    def test_a_circle_is_found(self):
        chain = {("a", "a/b/c"): {"1"}, ("a/b/c", "a/b"): {"3", "2"}, ("d", "a"): {"4"}, ("d", "a/b"): {"5"}}
        self.assertEqual(circle(chain), [])
        self.assertEqual(circle(chain | {("a/b", "a"): {"6"}}), ["1", "2", "6"])

    def test_there_are_no_circles(self):
        self.assertEqual(circle(self.arrows), [])
        self.assertEqual(circle(arrows(BINDINGS)), [])

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
