"""The results of tools/check_snippets.py for a page: programs and their outputs, complete and partial. Nothing is
compiled.

    python3 tests/tree/snippets.py
"""
import os
import pathlib
import sys
import tempfile
import unittest

from check import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))
import check_snippets  # noqa: E402

PAGE = """# A page

<!-- run -->
```cpp
f();
```
```text
old
```

<!-- run -->
```cpp
g();
```
The second part first:

<!-- prints g: plan -->
```text
```
And the first one:

<!-- prints g: graph -->
```text
---- g: graph
x
```
"""


class Checker:
    """Simulates the runs of programs."""

    def __init__(self, outputs):
        self.outputs = outputs

    def missing(self, snippet):
        return ""

    def compile_together(self, snippets):
        pass

    def check(self, snippet):
        return "", self.outputs[snippet.code[0]]


class Snippets(unittest.TestCase):
    def check(self, outputs, update, page=PAGE):
        """(number of wrong programs, number of programs, the new page)"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "page.md"
            file.write_text(page)
            wrong, total = check_snippets.check_file(Checker(outputs), file, update)
            return wrong, total, file.read_text()

    def test_parts_are_compared_and_written(self):
        outputs = {"f();": "old\n", "g();": "---- g: graph\nx\n\n---- g: plan\nstep\n"}
        self.assertEqual(self.check(outputs, False)[:2], (1, 2))
        wrong, total, page = self.check(outputs, True)
        self.assertEqual((wrong, total), (0, 2))
        self.assertEqual(page, PAGE.replace("plan -->\n```text\n", "plan -->\n```text\n---- g: plan\nstep\n"))
        self.assertEqual(self.check(outputs, False, page)[:2], (0, 2))
        outputs["g();"] += "one more\n"
        self.assertEqual(self.check(outputs, False, page)[:2], (1, 2))

    def test_a_part_that_is_not_printed(self):
        self.assertEqual(self.check({"f();": "old\n", "g();": "---- g: graph\nx\n"}, True), (1, 2, PAGE))

    def test_a_line_in_no_part(self):
        outputs = {"f();": "old\n", "g();": "first\n---- g: graph\nx\n---- g: plan\n"}
        self.assertEqual(self.check(outputs, True), (1, 2, PAGE))

    def test_an_output_is_never_empty(self):
        outputs = {"f();": "\n", "g();": "---- g: graph\nx\n---- g: plan\n"}
        self.assertEqual(self.check(outputs, True)[0], 1)

    def test_an_output_is_written_whole(self):
        outputs = {"f();": "new\nlines\n", "g();": "---- g: graph\nx\n---- g: plan\n"}
        self.assertIn("```text\nnew\nlines\n```", self.check(outputs, True)[2])


if __name__ == "__main__":
    unittest.main()
