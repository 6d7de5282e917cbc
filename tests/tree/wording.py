"""Pages and public headers have the field's terms: phrases that CONTRIBUTING.md names do not occur in them.

    python3 tests/tree/wording.py
"""
import re
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
# Pages that programs write, from texts of the sources, and the list of open work.
GENERATED = {"docs/use/ops.md", "docs/use/programs.md", "docs/use/flags.md", "docs/use/types.md",
             "docs/internals/kernel_facts.md", "docs/status.md"}
TABLES = re.compile(r"<!-- rules: begin -->.*?<!-- rules: end -->", re.S)


def checked(name):
    """Whether the wording of a file is checked."""
    if name in GENERATED:
        return False
    if name.endswith(".md"):
        return name.startswith("docs/") or name in ("README.md", "CONTRIBUTING.md", "src/README.md", "bench/README.md")
    return name.startswith("include/") and name.endswith(".hpp")


def prose(name, text):
    """The text with code and generated tables removed, of headers only the comments; line numbers do not change."""
    if name.endswith(".md"):
        for part in (TABLES, FENCED):
            text = part.sub(lambda match: "\n" * match.group().count("\n"), text)
        return CODE.sub("``", text)
    comments = (re.search(r"//+<? ?(.*)", line) for line in text.split("\n"))
    return "\n".join(comment.group(1) if comment else "" for comment in comments)


def found_in(name, text):
    """Banned phrases as "file:line: phrase (replacement)"."""
    text = prose(name, text)
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group().strip()!r} (better: {better})"
            for phrase, better in BANNED for match in re.finditer(phrase, text, re.M)]


class Wording(unittest.TestCase):
    def test_a_phrase_is_found(self):
        page = ("# Page\n\nWhat it does: nothing. Is it? What else?\n\n```\nbehind\n```\n"
                "`told` and a stand-in, beside it.\n")
        found = [line.split(" ")[0] for line in found_in("docs/README.md", page)]
        self.assertEqual(found, ["docs/README.md:3:", "docs/README.md:8:"])
        header = "// A thing.\nint told;  ///< what is told\nint behind;\n"
        self.assertEqual(found_in("include/thing.hpp", header), ["include/thing.hpp:2: 'told' (better: given)"])

    def test_no_page_and_no_header_has_one(self):
        names = [name for name in tracked() if checked(name)]
        self.assertGreater(len(names), 80)
        self.assertEqual([line for name in names for line in found_in(name, read(name))], [])


if __name__ == "__main__":
    unittest.main()
