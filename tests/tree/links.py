"""Every link of every page has a target: a file or folder of the tree, and a heading if it names one. Pages that
comments, messages and programs mention exist, and the index of docs/ has all pages.

    python3 tests/tree/links.py
"""
import os
import re
import unittest

from check import ROOT, tracked

LINK = re.compile(r"\]\(([^()\s]+)\)")
PAGE = re.compile(r"\bdocs/[\w/]*\w\.md\b")
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def links(text):
    """The targets of a page's links, without those in code."""
    return LINK.findall(CODE.sub("``", FENCED.sub("", text)))


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *$", FENCED.sub("", text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = found.get(name, 0)
        found[name] = number + 1
        if number:
            found[f"{name}-{number}"] = 1
    return set(found)


def dangling(page, text):
    """The links of a page that have no target."""
    found = []
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if target.startswith("..") or not os.path.exists(os.path.join(ROOT, target)):
            found.append(f"{page}: {link}")
        elif anchor and target.endswith(".md"):
            if anchor not in anchors(text if target == page else read(target)):
                found.append(f"{page}: {link}: no such heading")
    return found


class Links(unittest.TestCase):
    def setUp(self):
        self.files = tracked()
        self.pages = sorted(name for name in self.files if name.endswith(".md"))

    def test_faults_are_found(self):
        text = "# A page\n## Of `two` words\n[a](#of-two-words) [b](../src/compile.cpp)\n```\n[no](link)\n```\n`[no](link)`\n"
        self.assertEqual(dangling("docs/status.md", text), [])
        self.assertEqual(dangling("docs/status.md", "[a](nowhere.md) [b](README.md#nothing)"),
                         ["docs/status.md: nowhere.md", "docs/status.md: README.md#nothing: no such heading"])
        self.assertEqual(dangling("README.md", "[a](../outside)"), ["README.md: ../outside"])

    def test_links_lead_somewhere(self):
        self.assertGreater(len(self.pages), 40)
        self.assertGreater(sum(len(links(read(page))) for page in self.pages), 400)
        self.assertEqual([fault for page in self.pages for fault in dangling(page, read(page))], [])

    def test_pages_that_are_mentioned_are_there(self):
        wrong = []
        for name in self.files:
            if name.endswith((".png", ".svg")):
                continue
            for page in PAGE.findall(read(name)):
                if not os.path.isfile(os.path.join(ROOT, page)):
                    wrong.append(f"{name}: {page}")
        self.assertEqual(wrong, [])

    def test_the_index_has_all_pages(self):
        there = {os.path.relpath(name, "docs") for name in self.pages if name.startswith("docs/")}
        named = {link.partition("#")[0] for link in links(read("docs/README.md"))}
        self.assertEqual(there - named - {"README.md", "architecture.md"}, set())


if __name__ == "__main__":
    unittest.main()
