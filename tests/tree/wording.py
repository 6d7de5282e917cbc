"""Pages and comments have the field's terms: phrases that CONTRIBUTING.md names do not occur in them.

    python3 tests/tree/wording.py
"""
import io
import re
import tokenize
import unittest

from check import tracked
from links import CODE, FENCED, read

# (phrase, replacement). The first one finds sentences that begin with a relative "what", but no questions.
BANNED = [
    (r"(?:^|[.:;!] +)(?:[-*] +|\d+\. +|\*\*|#+ +)?What\b[^?.:]*(?:[.:]|\n\n|\Z)", "a sentence with a subject"),
    (r"\b[Bb]ehind\b", "after"),
    (r"\bstands?\b(?!-)", "is"),
    (r"\btold\b", "given"),
    (r"\b[Bb]eside\b", "next to, compared with, in addition to"),
    (r"\blies?\b", "is"),
    (r"\bput together\b", "joined, combined, built"),
    (r"\btaken? apart\b", "split, decomposed"),
    (r"\bin the place of\b|\bin place of\b", "instead of"),
    (r"\breckoned\b", "estimated"),
    (r"\banew\b", "again"),
    (r"\bof ours\b", "of Croton"),
]
# Pages that are not checked: one repeats the titles of tests, one is the list of open work.
UNCHECKED = {"docs/use/programs.md", "docs/status.md"}
SOURCES = ("include/", "src/", "tests/", "tools/", "bench/", "examples/", "scripts/", "python_bindings/",
           "codegen_templates/")
TABLES = re.compile(r"<!-- rules: begin -->.*?<!-- rules: end -->", re.S)
# Comments of C++, and the literals that may contain their marks.
CPP = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"([^()\\ ]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""",
                 re.S)
MARKS = re.compile(r"^[ \t]*(?://+<?|#+|/?\*+/?|r?\"{3})[ \t]?|\"{3}$|\*/$", re.M)


def checked(name):
    """Whether the wording of a file is checked."""
    if name.endswith(".md"):
        pages = ("README.md", "CONTRIBUTING.md", "src/README.md", "bench/README.md")
        return name not in UNCHECKED and (name.startswith("docs/") or name in pages)
    return name.startswith(SOURCES) and name.endswith((".cpp", ".hpp", ".cuh", ".py"))


def cpp_comments(text):
    """(line, comment) of each comment in a C++ text; lines count from 0."""
    return [(text.count("\n", 0, match.start()), match["comment"]) for match in CPP.finditer(text) if match["comment"]]


def python_comments(text):
    """(line, comment) of each comment and docstring in a Python text; lines count from 0."""
    found, at_start = [], True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and at_start):
            found.append((token.start[0] - 1, token.string))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return found


def prose(name, text):
    """The text without code and generated tables, of sources only the comments; line numbers do not change."""
    if name.endswith(".md"):
        for part in (TABLES, FENCED):
            text = part.sub(lambda match: "\n" * match.group().count("\n"), text)
        return CODE.sub("``", text)
    lines = [""] * (text.count("\n") + 1)
    for first, comment in python_comments(text) if name.endswith(".py") else cpp_comments(text):
        for line, words in enumerate(MARKS.sub("", comment).split("\n"), first):
            lines[line] += words
    return CODE.sub("``", "\n".join(lines))


def found_in(name, text):
    """Banned phrases as "file:line: phrase (replacement)"."""
    text = prose(name, text)
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group().strip()!r} (better: {better})"
            for phrase, better in BANNED for match in re.finditer(phrase, text, re.M)]


class Wording(unittest.TestCase):
    def lines_found(self, name, text):
        return [int(found.split(":")[1]) for found in found_in(name, text)]

    def test_a_phrase_is_found_in_a_page(self):
        page = ("# Page\n\nWhat it does: nothing. Is it? What else?\n\n```\nbehind\n```\n"
                "`told` and a stand-in, beside it.\n")
        self.assertEqual(self.lines_found("docs/README.md", page), [3, 8])

    def test_a_phrase_is_found_in_comments_only(self):
        header = "// A thing.\nint told;  ///< what is told\nint behind;  // not `behind`\n"
        self.assertEqual(found_in("include/thing.hpp", header), ["include/thing.hpp:2: 'told' (better: given)"])
        source = ("f(\"// behind\", R\"x(// told \")x\", '\"', 10'000);  // anew\n"
                  "/* A comment\n   of ours */\n// What it does,\n// and how.\nint x;\n")
        self.assertEqual(self.lines_found("src/thing.cpp", source), [4, 1, 3])
        module = ("\"\"\"A module.\n\nIt lies here.\n\"\"\"\nx = \"behind\"  # told\n\n\n"
                  "def f():\n    # Why.\n    \"\"\"What it gives.\"\"\"\n    return \"\"\"beside\"\"\"\n")
        self.assertEqual(self.lines_found("tests/thing.py", module), [10, 5, 3])

    def test_no_page_and_no_comment_has_one(self):
        names = [name for name in tracked() if checked(name)]
        self.assertGreater(len(names), 1000)
        self.assertEqual([line for name in names for line in found_in(name, read(name))], [])


if __name__ == "__main__":
    unittest.main()
