"""Runs examples/char_lm.cpp on a small setting: the loss falls, a seed determines the output, weights can be saved, and
errors of users have clear messages.

    python3 tests/char_lm/check.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv.pop(1))
FOLDER = tempfile.TemporaryDirectory()
# The same text on every machine and of every version: 4000 sentences of words of the licence, in a fixed order.
TEXT = os.path.join(FOLDER.name, "sentences.txt")
with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as licence, open(TEXT, "w", encoding="utf-8") as text:
    WORDS = sorted({word.lower() for word in re.findall(r"[A-Za-z]{2,9}", licence.read())})
    for i in range(4000):
        words = [WORDS[(i * i + 7919 * i * k + 104729 * k * k) % len(WORDS)] for k in range(3)]
        text.write(f"Stages {words[0]} the {words[1]}, and a {words[2]} is.\n")
SMALL = ["--text", TEXT, "--batch", "8", "--length", "16", "--hidden", "48", "--rate", "0.01", "--sample-length", "80"]


def run(*arguments, expect=0):
    """(standard output, standard error)"""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, errors="replace")
    assert done.returncode == expect, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout, done.stderr


def held_out(output):
    """Bits per character of the held-out part, in the order of the lines."""
    return [float(row[1]) for row in re.findall(r"^ *\d+ +([\d.]+|-) +([\d.]+)(?=\s)", output, re.M)]


class Check(unittest.TestCase):
    def test_learns_and_repeats_itself(self):
        first, progress = run(*SMALL, "--steps", "400")
        losses = held_out(first)
        self.assertEqual(len(losses), 10)
        # The frequencies of pairs of characters alone give 2.59 bits for this text; the network reaches 1.57.
        self.assertLess(losses[-1], 2)
        self.assertLess(losses[-1], losses[0] - 0.5)
        self.assertIn("steps/s", progress)
        self.assertEqual(run(*SMALL, "--steps", "400")[0], first)
        self.assertNotEqual(run(*SMALL, "--steps", "400", "--seed", "1")[0], first)

    def test_prompt(self):
        written, _ = run(*SMALL, "--steps", "0", "--prompt", "Stages ")
        text = written.split("\n\n", 3)[3]
        self.assertTrue(text.startswith("Stages "))
        self.assertEqual(len(text), len("Stages ") + 80 + len("\n"))
        self.assertIn("the prompt has a character", run(*SMALL, "--prompt", "\x01", expect=1)[1])

    def test_layers(self):
        self.assertLess(held_out(run(*SMALL, "--steps", "60", "--layers", "2")[0])[-1], 5)

    def test_weights_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            learned, _ = run(*SMALL, "--steps", "30", "--save", folder)
            again, _ = run(*SMALL, "--steps", "0", "--load", folder)
            self.assertEqual(held_out(again), held_out(learned)[-1:])
            _, said = run(*SMALL, "--steps", "0", "--load", folder, "--hidden", "32", expect=1)
            self.assertIn("other --hidden or --layers", said)
            _, said = run("--steps", "0", "--hidden", "48", "--load", folder, expect=1)
            self.assertIn("a text of other characters", said)

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as folder:
            def file(content):
                path = os.path.join(folder, "text.txt")
                with open(path, "wb") as out:
                    out.write(content)
                return path
            self.assertIn("'no_such_file' cannot be read", run("--text", "no_such_file", expect=1)[1])
            self.assertIn("cannot be read", run("--text", folder, expect=1)[1])
            self.assertIn("two different characters", run("--text", file(b""), expect=1)[1])
            self.assertIn("two different characters", run("--text", file(b"a" * 100000), expect=1)[1])
            _, said = run("--text", file(b"ab" * 1000), expect=1)
            self.assertIn("too short: the part to learn from has 1875 characters", said)
            self.assertIn("2049 at least", said)
            self.assertIn("the part held out has 312 characters", run("--text", file(b"ab" * 2500), expect=1)[1])
            # Arbitrary bytes are accepted.
            run("--text", file(bytes(range(256)) * 40), "--batch", "2", "--length", "8", "--hidden", "4", "--steps", "2")
        for wrong in (["--setps", "3"], ["--steps"], ["--steps", "-1"], ["--steps", "many"], ["--batch", "0"],
                      ["--temperature", "0"], ["--rate", "nan"], ["--seed", "-1"]):
            with self.subTest(wrong):
                self.assertIn(wrong[0], run(*wrong, expect=2)[1])


unittest.main()
