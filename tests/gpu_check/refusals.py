"""Runs that scripts/gpu_check.sh rejects before it starts anything: errors of the command line, broken packs, unusable
lines. The exit status is 2, and one line gives the reason."""
import hashlib
import json
import os
import signal
import subprocess
import time

from harness import SCRIPT, Check


class Refusals(Check):
    def refused(self, words, *arguments, **more):
        process = self.start(*arguments, **more)
        said, _ = process.communicate()
        self.assertEqual(process.returncode, 2, said)
        self.assertIn(words, said)
        self.assertEqual((said.count("\n"), said[:7]), (1, "error: "), said)
        self.assertFalse(os.path.exists(self.jsonl()))

    def pack(self, archive, description=None):
        """A pack of this file; its description matches if none is given."""
        folder = os.path.join(self.out, "pack")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "programs.tar.xz"), "wb") as file:
            file.write(archive)
        with open(os.path.join(folder, "pack.json"), "w") as file:
            file.write(json.dumps({"digest": "", "commit": "a", "sha256": hashlib.sha256(archive).hexdigest()})
                       if description is None else description)
        return folder

    def test_slips_of_the_command_line(self):
        build = ["--build", self.build()]
        for words, *arguments in (
                ("there is no frist; the nearest is first, of crashes, first, last", "bench", "--workloads", "last,frist"),
                ("there is no stand_im; the nearest is stand_in, of sanitizers, stand_in", "suite", "--tests", "stand_im"),
                ("there is no torhc; the nearest is torch", "bench", "--peers", "torhc"),
                ("there is no nvcr; the nearest is nvrtc", "smoke", "--named", "nvcr=/bin/sh"),
                ("/nowhere/ncu is no file", "bench", "--named", "ncu=/nowhere/ncu"),
                ("-3 is no whole number over 0", "suite", "--jobs=-3"), ("nan is no number", "suite", "--limit", "nan"),
                ("-1 is no number", "all", "--total=-1"), ("0 is no number", "bench", "--budget", "0"),
                ("all has --total", "all", "--limit", "5"), ("one tier has --limit", "smoke", "--total", "5"),
                ("invalid choice: 'smok'", "smok")):
            with self.subTest(words):
                self.refused(words, *arguments, *build)

    def test_broken_packs(self):
        for text in ("", '{"digest": "', "{}", "[]", '{"digest": 1, "commit": 2, "sha256": 3}'):
            self.refused("pack.json is damaged", "smoke", "--pack", self.pack(b"no archive", text))
        self.refused("programs.tar.xz cannot be unpacked", "smoke", "--pack", self.pack(b"no archive"))
        self.refused("cannot be unpacked", "smoke", "--pack", self.pack(b"\xfd7zXZ\0\0\x04 and then something else"))

    def test_another_python(self):
        with open(os.path.join(self.out, "lzma.py"), "w") as file:
            file.write("raise ImportError\n")
        self.refused("lacks the module lzma", "smoke", "--pack", self.pack(b"no archive"), PYTHONPATH=self.out)
        with open(os.path.join(self.out, "python3"), "w") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(file.name, 0o755)
        self.refused("needs Python 3.9 or newer", "smoke", PATH=self.out + os.pathsep + os.environ["PATH"])

    def test_a_page_of_what_is_no_result(self):
        self.refused("/nowhere is no file", "page", "--resume", "/nowhere")
        self.refused("is no file", "page", "--resume", self.out)
        other = os.path.join(self.out, "other.jsonl")
        open(other, "w").close()
        self.refused("no run of a check is in it", "page", "--resume", other)

    def test_a_page_of_different_runs(self):
        self.check("suite", "--build", self.build())
        other, both = os.path.join(self.out, "other.jsonl"), os.path.join(self.out, "both.jsonl")
        with open(self.jsonl()) as file:
            lines = file.readlines()
        for key, changed in (("commit", "of another commit"), (None, None)):
            run = json.loads(lines[0])
            run["identity"].update({key: changed} if key else {})
            with open(other, "w") as file:
                file.writelines([json.dumps(run) + "\n", *lines[1:]])
            done = subprocess.run([SCRIPT, "page", "--resume", other, "--resume", self.jsonl()], capture_output=True, text=True)
            self.assertEqual((done.returncode, "another commit" in done.stderr), (2, True) if key else (0, False))
        self.assertIn("7 passed" if "7 passed" in done.stdout else "5 passed, 2 failed", done.stdout)
        # Without a file: of the folder. The reader of the pack may stop, too.
        piped = subprocess.run(["sh", "-c", f"{SCRIPT} page --out {self.out} | true"], capture_output=True, text=True)
        self.assertEqual((piped.returncode, piped.stderr), (0, ""), both)

    def test_lines_that_are_not_whole_are_passed_over(self):
        build = self.build()
        self.check("bench", "--build", build, "--peers", "")
        with open(self.jsonl()) as file:
            lines = file.readlines()
        for broken in ({"record": "measured", "median_s": 1}, {"record": "measured", "run": "croton", "median_s": "x"},
                       {"record": "result", "status": "passed"}, {"record": "result", "tier": "bench"}, {"record": "tier"},
                       {"record": "verdict"}, {"record": "clocks"}, {"record": "machine"}, {}, [], 7, {"record": "what"},
                       {"record": "run"}, {"record": "run", "date": "today", "identity": {}}):
            lines.insert(1, json.dumps(broken) + "\n")
        with open(self.jsonl(), "w") as file:
            file.writelines(lines)
        page = subprocess.run([SCRIPT, "page", "--out", self.out], capture_output=True, text=True)
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        _, records, page, said = self.check("bench", "--build", build, "--peers", "")
        self.assertIn("| first | 1 s |", page)
        self.assertNotIn("was not written", said)
        self.assertTrue(all(r["resumed"] for r in records if r["record"] == "measured"))

    def test_one_check_at_a_time_for_a_folder(self):
        build = self.build()
        first = self.start("smoke", "--build", build, "--silence", "5")
        while not os.path.exists(self.jsonl()):
            time.sleep(0.05)
        second = self.start("smoke", "--build", build)
        said, _ = second.communicate()
        first.kill()
        first.communicate()
        self.assertEqual(second.returncode, 2)
        self.assertIn("another check writes to", said)

    def test_told_to_stop_while_it_unpacks(self):
        pack = self.pack(b"")
        archive = os.path.join(pack, "programs.tar.xz")
        os.remove(archive)
        os.mkfifo(archive)
        process = self.start("smoke", "--pack", pack)
        with open(archive, "wb"):  # the reader is reading now
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate()
        self.assertEqual((process.returncode, said), (130, "stopped by SIGINT\n"))
