"""Pages, comments and string literals have the field's terms: phrases that CONTRIBUTING.md names do not occur in them.

    python3 tests/tree/wording.py
"""
import ast
import io
import re
import tokenize
import unittest

from check import tracked
from links import CODE, FENCED, read

# (phrase, replacement), in any case.
BANNED = [
    (r"\bbehind\b", "after"),
    (r"\bstands?\b(?!-)", "is"),
    (r"\btold\b", "given"),
    (r"\bbeside\b", "next to, compared with, in addition to"),
    (r"\blies?\b", "is"),
    (r"\bput together\b", "joined, combined, built"),
    (r"\btaken? apart\b", "split, decomposed"),
    (r"\bin the place of\b|\bin place of\b", "instead of"),
    (r"\breckoned\b", "estimated"),
    (r"\banew\b", "again"),
    (r"\bof ours\b", "of Croton"),
]
# Sentences that begin with a relative "what", but no questions. In literals a sentence may begin with a small letter.
SUBJECT = "a sentence with a subject"
PROSE = [(r"(?:^|[.:;!] +)(?:[-*] +|\d+\. +|\*\*|#+ +)?(?-i:What)\b[^?.:]*(?:[.:]|\n\n|\Z)", SUBJECT), *BANNED]
LITERALS = [(r"(?:^|[.:;!] +)(?:C\d+\.\d+\w?[ ,:]+)*what +[\w']+ [^?.:;\n]*(?=[.:;\n]|\Z)", SUBJECT), *BANNED,
            (r"\bwants\b", "needs, expects"), (r"\bput right\b", "corrected")]
# The list of open work is not checked.
UNCHECKED = {"docs/status.md"}
# {(file, phrase in a literal): why it stays}
KEPT = {
    ("src/rewrite/placed_loops.cpp", "behind"): "users write the name of the rule",
    ("tests/ops/test_loops.cpp", "behind"): "the name of the rule",
    ("tests/unit/test_cpu_compiler.cpp", "what is this"): "a text that is no C++",
    ("tools/programs/data.py", "what flies to T"): "a sentence of a data set",
}
# Files whose whole text is prose, but for code spans: pages, and text tests.
TEXTS = (".md", ".test", ".txt")
SOURCES = ("include/", "src/", "tests/", "tools/", "bench/", "examples/", "scripts/", "python_bindings/",
           "codegen_templates/")
TABLES = re.compile(r"<!-- rules: begin -->.*?<!-- rules: end -->", re.S)
# Comments and literals of C++.
CPP = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<mark>[^()\\ ]*)\((?P<raw>.*?)\)(?P=mark)"|"""
                 r""""(?P<words>(?:\\.|[^"\\\n])*)"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.S)
MARKS = re.compile(r"^[ \t]*(?://+<?|#+|/?\*+/?|r?\"{3})[ \t]?|\"{3}$|\*/$", re.M)


def checked(name):
    """Whether the wording of a file is checked."""
    if name.endswith(".md"):
        pages = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "src/README.md", "bench/README.md")
        return name not in UNCHECKED and (name.startswith("docs/") or name in pages)
    if name.endswith((".test", "hostile.txt")):
        return True
    return name.startswith(SOURCES) and name.endswith((".cpp", ".hpp", ".def", ".cuh", ".py"))


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


def cpp_literals(text):
    """(line, literal) of each string literal in a C++ text, adjacent ones as one; lines count from 0."""
    found, end = [], 0
    for match in CPP.finditer(text):
        words = match["raw"] if match["raw"] is not None else match["words"]
        if words is None:
            continue
        words = words if match["raw"] is not None else words.replace("\\n", "\n").replace('\\"', '"')
        if found and CPP.sub(lambda between: between.group() if between["comment"] is None else "",
                             text[end:match.start()]).strip() == "":
            found[-1][1] += words
        else:
            found.append([text.count("\n", 0, match.start()), words])
        end = match.end()
    return found


def python_literals(text):
    """(line, literal) of each string literal in a Python text that is not a docstring; lines count from 0."""
    tree = ast.parse(text)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [(node.lineno - 1, node.value) for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings]


def prose(name, text):
    """The text without code and generated tables, of sources only the comments; line numbers do not change."""
    if name.endswith(TEXTS):
        for part in (TABLES, FENCED):
            text = part.sub(lambda match: "\n" * match.group().count("\n"), text)
        return CODE.sub("``", text)
    lines = [""] * (text.count("\n") + 1)
    for first, comment in python_comments(text) if name.endswith(".py") else cpp_comments(text):
        for line, words in enumerate(MARKS.sub("", comment).split("\n"), first):
            lines[line] += words
    return CODE.sub("``", "\n".join(lines))


def found_in(name, text):
    """Banned phrases of pages and comments as "file:line: phrase (replacement)"."""
    text = prose(name, text)
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group().strip()!r} (better: {better})"
            for phrase, better in PROSE for match in re.finditer(phrase, text, re.M | re.I)]


def found_in_literals(name, text):
    """Banned phrases of string literals as (phrase, "file:line: phrase (replacement)")."""
    return [(match.group().strip(), f"{name}:{line + 1}: {match.group().strip()!r} (better: {better})")
            for line, words in (python_literals(text) if name.endswith(".py") else cpp_literals(text))
            for phrase, better in LITERALS for match in re.finditer(phrase, CODE.sub("``", words), re.M | re.I)]


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

    def test_a_phrase_is_found_in_literals(self):
        source = ('f("in "  // behind\n  "place of", R"x(it\nwants)x", \'"\');\nTEST_CASE("C1.2: what is told");\n'
                  'g("what? What is it?", "so\\nWhat x is: y");\n')
        self.assertEqual([phrase for phrase, _ in found_in_literals("src/thing.cpp", source)],
                         ["in place of", "wants", "C1.2: what is told", "told", "What x is"])
        module = '"""Told."""\nx = f"{y} is " "put right", {"what": "`told`"}\n'
        self.assertEqual(found_in_literals("tools/thing.py", module),
                         [("put right", "tools/thing.py:2: 'put right' (better: corrected)")])

    def test_no_page_and_no_comment_has_one(self):
        names = [name for name in tracked() if checked(name)]
        self.assertGreater(len(names), 1000)
        self.assertEqual([line for name in names for line in found_in(name, read(name))], [])

    def test_no_literal_has_one(self):
        """Messages, titles of tests and other strings; this file has the phrases themselves."""
        names = [name for name in tracked() if checked(name) and not name.endswith((*TEXTS, "tree/wording.py"))]
        found = {name: found_in_literals(name, read(name)) for name in names}
        self.assertEqual([line for name in names for phrase, line in found[name] if (name, phrase) not in KEPT], [])
        self.assertEqual({(name, phrase) for name in names for phrase, _ in found[name]} & set(KEPT), set(KEPT))


if __name__ == "__main__":
    unittest.main()
