"""The permitted files of the repository: text, in total less than 15 MB, and small pictures of the documentation. No
build products, no archives; no long lines in src.

    python3 tests/tree/check.py
"""
import os
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 15_000_000
MOST_OF_A_FILE = 300_000
MOST_OF_A_PICTURE = 100_000
PICTURES = (".png", ".svg")
CODE = (".cpp", ".hpp", ".def", ".cmake")
COLUMNS = 120
ARCHIVES = (".whl", ".zip", ".gz", ".xz", ".bz2", ".zst", ".tar", ".7z", ".deb", ".jar", ".so", ".a", ".o", ".pyc")


def tracked():
    """The files of git; without git, all files that no line of .gitignore names."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
        return [name for name in listed.decode().split("\0") if name and os.path.isfile(os.path.join(ROOT, name))]
    except (OSError, subprocess.CalledProcessError):
        with open(os.path.join(ROOT, ".gitignore")) as file:
            ignored = {line.strip().strip("/") for line in file} | {".git"}
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in ignored]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if not name.endswith(".pyc")]
        return found


class Tree(unittest.TestCase):
    def setUp(self):
        self.files = tracked()
        self.sizes = {name: os.path.getsize(os.path.join(ROOT, name)) for name in self.files}

    def test_it_is_the_whole_tree(self):
        self.assertGreater(len(self.files), 1000)
        self.assertIn("README.md", self.files)

    def test_it_is_small(self):
        total = sum(self.sizes.values())
        largest = sorted(self.sizes, key=self.sizes.get)[-5:]
        self.assertLess(total, MOST, f"the largest: {largest}")
        self.assertEqual([n for n in self.files if self.sizes[n] > MOST_OF_A_FILE], [])

    def test_pictures_are_those_of_the_documents(self):
        pictures = [n for n in self.files if n.endswith(PICTURES)]
        self.assertEqual([n for n in pictures if not n.startswith("docs/") or self.sizes[n] > MOST_OF_A_PICTURE], [])

    def test_no_archives_and_no_binaries(self):
        self.assertEqual([n for n in self.files if n.endswith(ARCHIVES)], [])
        binary = []
        for name in self.files:
            if not name.endswith(PICTURES):
                with open(os.path.join(ROOT, name), "rb") as file:
                    content = file.read()
                try:
                    content.decode()
                except UnicodeDecodeError:
                    binary.append(name)
                if b"\0" in content:
                    binary.append(name)
        self.assertEqual(binary, [])

    def test_no_line_of_src_is_long(self):
        long = []
        for name in self.files:
            if name.startswith("src/") and name.endswith(CODE):
                with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                    long += [f"{name}:{at}" for at, line in enumerate(file, 1) if len(line.rstrip("\n")) > COLUMNS]
        self.assertEqual(long, [], f"more than {COLUMNS} columns")


if __name__ == "__main__":
    unittest.main()
