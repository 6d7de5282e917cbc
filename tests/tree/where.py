"""docs/internals/where.md has questions of newcomers, with the files that answer each; and the files that the pages on
internals and on extending name exist.

    python3 tests/tree/where.py
"""
import os
import re
import unittest

from check import ROOT, tracked
from links import FENCED, read

ROW = re.compile(r"^\| (.*?) \| (.*?) \|", re.M)
LINK = re.compile(r"\[([^\]]+)\]\(\.\./\.\./([^)]+)\)")
# Words that the questions must contain, because every newcomer asks about them.
ASKED = ["stages", "interface of a device", "bound", "random op", "Theano's", "`function()`"]
ENDINGS = (".cpp", ".hpp", ".cuh", ".def", ".py", ".sh", ".cmake", ".txt")
# A page that describes an addition names files that do not exist.
EXAMPLES = {"docs/extend/adding_a_schedule.md": {"codegen_templates/whole.cuh", "codegen_templates/cpu/whole.hpp"}}
# The folders with which a path may begin; a name alone may be that of any file.
BELOW = ["", "src", "codegen_templates", "python_bindings/croton/theano"]


def questions(text):
    """{question: files} of the first table, and {role: files} of the second."""
    asked, roles = text.split("\n## ")[:2]
    tables = []
    for part in (asked, roles):
        rows = [line for line in part.split("\n") if line.startswith("| ") and "](" in line]
        tables.append({row.split(" | ")[0].lstrip("| "): LINK.findall(row) for row in rows})
    return tables


def named_files(text):
    """Paths and names of files in a page's code spans."""
    spans = re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
    return {span for span in spans if span.endswith(ENDINGS) and re.fullmatch(r"[\w./-]+", span)}


class Where(unittest.TestCase):
    def setUp(self):
        self.asked, self.roles = questions(read("docs/internals/where.md"))

    def test_there_are_questions(self):
        self.assertGreaterEqual(len(self.asked), 16)
        for word in ASKED:
            self.assertTrue(any(word in question for question in self.asked), word)

    def test_each_is_answered_by_files(self):
        for table in (self.asked, self.roles):
            for question, files in table.items():
                with self.subTest(question):
                    self.assertGreater(len(files), 0)
                    for shown, path in files:
                        self.assertEqual(shown, path)
                        self.assertTrue(os.path.isfile(os.path.join(ROOT, path)), path)

    def test_files_of_one_role_are_in_rooms_of_their_own(self):
        self.assertGreaterEqual(len(self.roles), 6)
        for role, files in self.roles.items():
            self.assertGreaterEqual(len(files), 2, role)

    def test_files_that_pages_name_are_there(self):
        files = tracked()
        names = {os.path.basename(name) for name in files}
        wrong, count = [], 0
        for page in files:
            if not page.endswith(".md") or not page.startswith(("docs/internals/", "docs/extend/", "docs/architecture")):
                continue
            for name in named_files(read(page)) - EXAMPLES.get(page, set()):
                count += 1
                there = name in names if "/" not in name else any(
                    os.path.exists(os.path.join(ROOT, below, name)) for below in BELOW)
                if not there:
                    wrong.append(f"{page}: {name}")
        self.assertGreater(count, 200)
        self.assertEqual(sorted(wrong), [])


if __name__ == "__main__":
    unittest.main()
