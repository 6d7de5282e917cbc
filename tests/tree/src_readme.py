"""src/README.md has a heading for each folder of src, and below it the name of each file of that folder.

    python3 tests/tree/src_readme.py
"""
import os
import re
import unittest

from check import tracked
from links import read

ENDINGS = (".cpp", ".hpp", ".def")
# Flags, functions and libraries that the page mentions.
OTHERS = {"logical_devices", "libcroton_llvm.so", "apply", "debugprint", "grad", "ifelse", "source", "transfers", "use",
          "vectorize"}


def sections(text):
    """{folder: the names in code spans below its heading}; the folder src itself is ""."""
    found = {}
    for part in re.split(r"^#+ ", text, flags=re.M)[1:]:
        heading = re.match(r"`([\w/]+)/`", part)
        if heading:
            folder = "" if heading.group(1) == "src" else heading.group(1)
            found[folder] = set(re.findall(r"`([\w.]+)`", part))
    return found


def missing(files, found):
    """Files of src that are not named: neither the name nor the stem occurs below the heading of their folder."""
    wrong = []
    for name in files:
        path = os.path.relpath(name, "src")
        folder, file = os.path.split(path)
        if not {file, os.path.splitext(file)[0]} & found.get(folder, set()):
            wrong.append(path)
    return wrong


class SrcReadme(unittest.TestCase):
    def setUp(self):
        self.files = [name for name in tracked() if name.startswith("src/") and name.endswith(ENDINGS)]
        self.found = sections(read("src/README.md"))

    def test_a_file_that_is_not_named_is_found(self):
        found = sections("# The sources\n## `src/`\n- `compile`\n## `io/`\n- `plot`: SVG\n")
        self.assertEqual(found, {"": {"compile"}, "io": {"plot"}})
        self.assertEqual(missing(["src/compile.hpp", "src/io/plot.cpp", "src/io/npz.cpp", "src/plot.cpp"], found),
                         ["io/npz.cpp", "plot.cpp"])

    def test_every_file_is_named(self):
        self.assertGreater(len(self.files), 400)
        self.assertEqual(missing(self.files, self.found), [])

    def test_every_name_is_a_file(self):
        """A single name in a code span is a file, or one of OTHERS."""
        names = {os.path.basename(name) for name in self.files}
        known = names | {os.path.splitext(name)[0] for name in names}
        named = {name for found in self.found.values() for name in found}
        self.assertEqual(named - known - OTHERS, set())
        self.assertEqual(OTHERS - named, set())


if __name__ == "__main__":
    unittest.main()
