"""Resumed runs of scripts/gpu_check.sh: results of earlier runs, reports of items that were not done, and programs that
hang."""
import json
import os
import shutil

from harness import STAND_INS, Check

QUICK = ["--peers", ""]


class Resumed(Check):
    def new(self, records, tier):
        """The names of the items that were done again."""
        return {r["name"] for r in records if r["record"] == "result" and r["tier"] == tier and not r.get("resumed")
                and r["status"] not in ("not reached", "replaced")}

    def test_what_was_not_reached_is_seen_until_it_is_done(self):
        build = ["--build", self.build(), *QUICK]
        status, records, page, said = self.check("suite", *build, "--limit", "0.01")
        self.assertEqual(status, 0, "nothing that was reached has failed")
        self.assertIn("| suite | incomplete |", page)
        self.assertIn("    not reached: stand_in\n", said)
        status, records, page, said = self.check("bench", *build, "--limit", "0.01")
        self.assertEqual(status, 1, "Croton's own figures were not reached")
        self.assertEqual(set(self.states(records, "bench").values()) - {"not available"}, {"not reached"})
        self.assertIn("| suite | incomplete, of an earlier run |", page)
        self.assertIn("| bench | incomplete |", page)
        self.assertIn("    not reached: croton again: first, crashes, last\n", said)
        self.check("suite", *build)
        _, records, page, _ = self.check("smoke", *build, "--silence", "1")
        self.assertEqual(len(self.states(records, "suite")), 9)
        self.assertNotIn("not reached", self.states(records, "suite").values())
        self.assertIn("| suite | failed, of an earlier run |", page)
        self.assertIn("| bench | incomplete, of an earlier run |", page)

    def test_a_run_that_is_killed_says_what_it_has_not_reached(self):
        build = self.build()
        self.change(build, "croton_op_tests", ('    if name == "crashes" or', '    if name == "wrong":\n        os.kill('
                    'int(open(f"/proc/{os.getppid()}/stat").read().split()[0]), signal.SIGKILL)\n    if name == "crashes" or'))
        process = self.start("suite", "--build", build)
        process.communicate()
        self.assertEqual(process.returncode, -9)
        states = self.states(self.written()[0], "suite")
        self.assertEqual((len(states), states["stand_in: last"]), (9, "not reached"))

    def test_what_may_have_been_mended_is_tried_again(self):
        build = ["--build", self.build(), *QUICK]
        self.check("smoke", *build, "--silence", "1")
        _, records, page, _ = self.check("smoke", *build, "--silence", "1")
        self.assertEqual(self.new(records, "smoke"), {"doctor", "wrong", "crashes", "hangs",
                                                      "ceilings of copy and of products"})
        self.assertEqual(self.states(records, "smoke")["doctor"], "passed")
        self.check("suite", *build)
        sanitizers, failed = {"memcheck", "racecheck"}, {"stand_in: wrong", "stand_in: crashes"}
        ncu = os.path.join(STAND_INS, "ncu")
        for arguments, expected in (([], sanitizers), (["--again"], sanitizers | failed),
                                    (["--named", "ncu=" + ncu], sanitizers | failed),
                                    (["--named", "ncu=" + ncu], sanitizers)):
            status, records, _, said = self.check("suite", *build, *arguments)
            self.assertEqual(self.new(records, "suite"), expected, arguments)
            self.assertEqual(status, 1)
            self.assertIn("stand_in: wrong: test.cpp:7", said, "a failure that is counted is not named")

    def test_how_much_counts_is_said(self):
        build = ["--build", self.build()]
        _, _, page, said = self.check("suite", *build, "--tests", "stand_in")
        self.assertIn("suite (at most 200 s), only --tests stand_in\n", said)
        self.assertIn("NOTE: this is not all of the tier suite: it was run with --tests stand_in.", page)
        earlier = os.path.join(self.out, "earlier.jsonl")
        shutil.copy(self.jsonl(), earlier)
        with open(earlier) as file:
            lines = file.readlines()
        run = json.loads(lines[0])
        for text, words in (("", "nothing counts: there is no whole line of a check in it"),
                            ("no JSON\n", "nothing counts: there is no whole line of a check in it"),
                            (lines[1], "nothing counts: it names no run"), ("".join(lines), "7 results count"),
                            (json.dumps(run | {"identity": run["identity"] | {"commit": "a", "flags": "b"}}) + "\n" + lines[1],
                             "nothing counts: it is of another commit, flags")):
            with open(earlier, "w") as file:
                file.write(text)
            os.remove(self.jsonl())
            _, records, page, said = self.check("smoke", *build, "--limit", "0.01", "--resume", earlier)
            self.assertIn(f"resumed of {earlier}: {words}\n", said)
        # Results of another run are not overwritten.
        with open(self.jsonl(), "w") as file:
            file.write(text)
        _, _, page, said = self.check("smoke", *build, "--limit", "0.01")
        with open(os.path.join(self.out, "gpu_check.before.jsonl")) as file:
            self.assertEqual(file.read(), text)

    def test_faults_of_the_check_itself_end_with_their_run(self):
        build = self.build()
        self.check("suite", "--build", build, "--tests", "sanitizers")
        with open(self.jsonl(), "a") as file:
            for tier, name in (("suite", "the check itself"), ("bench", "workloads")):
                file.write(json.dumps({"record": "result", "tier": tier, "name": name, "status": "failed"}) + "\n")
        status, records, page, _ = self.check("suite", "--build", build, "--tests", "sanitizers")
        self.assertEqual((status, set(self.states(records, "suite"))), (0, {"memcheck", "racecheck"}))
        self.assertNotIn("bench", page.partition("## suite")[0])


class Hangs(Check):
    def test_a_program_that_hangs_before_its_first_check(self):
        build = self.build()
        self.change(build, "croton_gpu_smoke", ("for check in checks:\n    if check in", "time.sleep(600)\nfor check in checks:\n"
                                                "    if check in"))
        status, records, page, said = self.check("smoke", "--build", build, "--silence", "1")
        self.assertEqual((status, list(self.states(records, "smoke").values()).count("failed")), (1, 1))
        self.assertIn("NO-GO: good: the program gave no answer in 1 s, before its first check", said)
        self.assertEqual(self.states(records, "smoke")["last"], "not reached")

    def test_a_test_program_that_hangs_while_it_lists_its_cases(self):
        build = self.build()
        self.change(build, "croton_op_tests", ('if "--list-test-names-only"', 'import time\ntime.sleep(600)\nif "--list'
                                               '-test-names-only"'))
        _, records, page, _ = self.check("suite", "--build", build, "--tests", "stand_in", "--silence", "1")
        self.assertEqual(self.states(records, "suite"), {"stand_in": "failed"})
        self.assertIn("no answer in 1 s when it was asked for its cases", page)

    def test_without_time_nothing_has_failed(self):
        _, records, _, said = self.check("smoke", "--build", self.build(), "--limit", "0.01")
        self.assertIn("not reached", self.states(records, "smoke").values())
        self.assertNotIn("failed", self.states(records, "smoke").values(), said)

    def test_a_tool_that_hangs_is_asked_once(self):
        build, smi = self.build(), os.path.join(self.out, "nvidia-smi")
        with open(smi, "w") as file:
            file.write("#!/bin/sh\nsleep 600\n")
        os.chmod(smi, 0o755)
        _, records, _, said = self.check("bench", "--build", build, *QUICK, "--limit", "6", "--named", "nvidia-smi=" + smi)
        self.assertEqual(said.count("NOTE: nvidia-smi gave no answer in 3 s, and is not asked again"), 1, said)
        self.assertEqual(self.states(records, "bench")["croton last"], "passed")

    def test_a_verdict_ends_with_a_whole_sentence(self):
        build = self.build()
        self.change(build, "croton", ('"CUDA driver", "state": "ok"', '"CUDA driver", "state": "missing"'),
                    ('libcuda.so.1", "text": ""', 'libcuda.so.1", "text": "the driver was not found. Tried:\\\\n  a"'))
        said = self.check("smoke", "--build", build, "--silence", "1")[3]
        self.assertIn("NO-GO: doctor: CUDA driver: the driver was not found.\n", said)
