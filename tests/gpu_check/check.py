"""Runs scripts/gpu_check.sh without a GPU and checks its output: on simulated GPUs, and on the driver for tests with
stand-ins for nvidia-smi, compute-sanitizer and ncu; killed at random times and resumed; with stand-ins for Croton's
programs that crash, hang and lose their device. Rejected runs are in refusals.py, resumed runs in resumed.py.

    python3 tests/gpu_check/check.py BUILD_FOLDER
"""
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import unittest

from harness import BUILD, SCRIPT, STAND_INS, Check, records_in
from refusals import Refusals  # unittest finds these by their names
from resumed import Hangs, Resumed

FAKE = os.path.join(BUILD, "fake_cuda")
CACHE = "cache_dir=" + os.path.join(BUILD, "test_cache", "croton")
SIMULATED = ["--flags", "cuda_simulator=1," + CACHE]
DRIVER = ["--flags", f"cuda_driver={FAKE}/libcroton_fake_cuda.so,cuda_root={FAKE},{CACHE}"]
RUNNER = {"FAKE_CUDA_RUNNER": os.path.join(FAKE, "libcroton_fake_runner.so")}
# A quick part of the suite and of the benchmark, which has every kind of kernel.
QUICK = ["--build", BUILD, "--small", "--tests", "every_kernel,nn_initializers,sanitizers", "--budget", "0.02",
         "--workloads", "axpy_chain_1e6,transpose,reduce_sum_1", "--peers", ""]
DRIVERS_OWN = {"grid barrier: 100,000 rounds", "cooperative launch: full residency", "cuBLASLt: aligned",
               "cuBLASLt: not aligned", "cuDNN: a convolution and its gradient", "asynchronous copies",
               "ceilings of copy and of products"}


def is_running(command):
    """Whether some process has this command line, its words separated by NUL bytes."""
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                with open(f"/proc/{process}/cmdline") as file:
                    if file.read() == command:
                        return True
            except OSError:  # it has ended meanwhile
                pass
    return False


class Tiers(Check):
    def test_on_a_simulated_gpu_killed_and_resumed(self):
        """One complete run in pieces: killed at random times, each piece resumed by the next."""
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", flush=True)
        moments, resume, before = random.Random(seed), [], []
        earlier = os.path.join(self.out, "earlier.jsonl")
        for _ in range(3):
            process = self.start("all", *QUICK, *SIMULATED, *resume)
            time.sleep(moments.uniform(1, 5))
            process.kill()
            process.communicate()
            if os.path.exists(self.jsonl()):
                now = [r for r in records_in(self.jsonl()) if r["record"] == "result"]
                lost = {r["name"] for r in before if r["status"] in ("passed", "failed")} - {r["name"] for r in now}
                self.assertEqual(lost, set(), "results of a killed run are lost")
                shutil.copy(self.jsonl(), earlier)
                resume, before = ["--resume", earlier], now
        status, records, page, said = self.check("all", *QUICK, *SIMULATED, *resume)
        self.assertEqual(status, 0, said)
        # Only parts that need a driver or a tool are omitted, and the page says so.
        self.assertEqual(self.not_passed(records, "smoke"),
                         dict.fromkeys(DRIVERS_OWN | {"all memory taken, then given back"}, "not available"))
        self.assertEqual(set(self.not_passed(records, "suite").values()) - {"not available"}, set())
        self.assertEqual(self.not_passed(records, "bench"), {"profiler": "not available"})
        names = collections.Counter((r["tier"], r["name"]) for r in records if r["record"] == "result"
                                    and r["status"] == "passed" and r["name"] != "doctor")
        self.assertEqual([name for name, count in names.items() if count > 1], [], "a result is there twice")
        for name in ("row: softmax", "logical devices: one GPU as two", "recorded loop: replayed"):
            self.assertIn(("smoke", name), names)
        self.assertIn(("suite", "every_kernel: pointwise kernels"), names)
        self.assertIn(("bench", "croton again transpose"), names)
        kept = {r["name"] for r in before if r["status"] == "passed"}
        self.assertEqual({r["name"] for r in records if r["record"] == "result" and not r.get("resumed")} & kept - {
            "doctor"}, set(), "a result that counts was computed again")
        self.assertIn("**GO**", page)
        self.assertIn("| transpose |", page)
        self.assertIn("GO\n", said)

    def test_on_the_driver_for_tests(self):
        peer = os.path.join(STAND_INS, "gpu_numpy.py")
        status, records, page, said = self.check(
            "all", *QUICK, *DRIVER, "--peers", "numpy", "--scripts", f"numpy={peer}", stand_ins=True, **RUNNER)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.not_passed(records, "smoke"), {"all memory taken, then given back": "not available"})
        self.assertEqual(self.not_passed(records, "suite"), {})
        self.assertEqual(self.not_passed(records, "bench"), {})
        self.assertEqual({"memcheck", "racecheck"} & set(self.states(records, "suite")), {"memcheck", "racecheck"})
        measured = [r for r in records if r["record"] == "measured"]
        self.assertEqual([r["ceiling"] for r in measured if "ceiling" in r][:3],
                         ["copy", "product_float32", "product_tf32"])
        self.assertTrue(all(r["median_s"] > 0 for r in measured if r["run"] in ("croton", "croton again", "numpy")))
        kernel, = [r for r in measured if r["run"] == "profiler"]
        self.assertEqual((kernel["workload"], kernel["seconds"], kernel["bytes_read"], kernel["registers"]),
                         ("transpose", 1234.5e-6, 268.4e6, 30))
        for words in ("Stand-in GPU, driver 580.00", "a planted fault was found", "ceiling, copy (croton)", "numpy",
                      "| pointwise_0123456789ab | transpose |", "| NVRTC | "):
            self.assertIn(words, page)
        self.assertNotIn("fake driver: faults", self.log())
        self.assertNotIn(BUILD, page + json.dumps(records), "a path of the machine is in the report")

    def test_a_launch_that_loses_the_device_is_a_no_go_that_names_it(self):
        status, records, page, said = self.check("all", *QUICK, *DRIVER, stand_ins=True,
                                                 FAKE_CUDA="cuLaunchCooperativeKernel=719", **RUNNER)
        self.assertEqual(status, 1)
        failed = {name for name, state in self.not_passed(records, "smoke").items() if state == "failed"}
        self.assertIn("grid barrier: 100,000 rounds", failed)
        self.assertNotIn("cuBLASLt: aligned", failed)  # has a separate process, and so a separate device
        verdict, = [r for r in records if r["record"] == "verdict"]
        self.assertFalse(verdict["go"])
        self.assertIn("NO-GO: ", said)
        self.assertIn("cuLaunchCooperativeKernel of barrier_rounds failed", page)
        self.assertEqual(self.states(records, "suite"), {}, "the suite is not begun after a no-go")

    def test_tools_that_refuse_are_not_available(self):
        for case, suite in (("blind", {"memcheck": "not available", "racecheck": "not available"}),
                            ("broken", {"memcheck": "failed", "racecheck": "not available"})):
            with self.subTest(case):
                self.clear()
                _, records, page, _ = self.check(
                    "suite", "--build", BUILD, "--small", *DRIVER, "--tests", "sanitizers,nn_initializers",
                    stand_ins=True, STAND_IN_SANITIZER=case, **RUNNER)
                self.assertEqual({k: v for k, v in self.states(records, "suite").items() if "check" in k}, suite)
        self.assertIn("Invalid __global__ write", page)
        self.clear()
        _, records, page, _ = self.check("bench", *QUICK, *SIMULATED, "--peers", "absent", "--scripts",
                                         "absent=" + os.path.join(STAND_INS, "gpu_absent.py"), stand_ins=True,
                                         STAND_IN_NCU="refused")
        self.assertEqual(self.not_passed(records, "bench"), {"profiler": "not available", "absent": "not available"})
        self.assertIn("ERR_NVGPUCTRPERM", page)


class Faults(Check):
    """The harness alone, with stand-ins for Croton's programs."""

    def test_a_check_that_crashes_or_hangs_costs_itself_alone(self):
        status, records, page, said = self.check("smoke", "--build", self.build(), "--silence", "2")
        self.assertEqual(status, 1)
        self.assertEqual(self.states(records, "smoke"), {
            "doctor": "passed", "good": "passed", "wrong": "failed", "crashes": "failed", "hangs": "failed",
            "last": "passed", "ceilings of copy and of products": "not available"})
        why = {r["name"]: r.get("why", "") for r in records if r["record"] == "result"}
        self.assertIn("SIGSEGV", why["crashes"])
        self.assertIn("no answer in 2 s", why["hangs"])
        self.assertIn("NO-GO: wrong: as planned", said)
        self.assertIn("| NVRTC | 13.0 | Python package |", page)
        self.assertIn("/somewhere/libnvrtc.so.13", said)
        self.assertNotIn("/somewhere", page + json.dumps(records))

    def test_a_process_that_is_lost_is_tried_again_case_by_case(self):
        status, records, page, _ = self.check("suite", "--build", self.build(), "--tests", "stand_in")
        self.assertEqual(status, 1)
        states = {"good, with a comma": "passed", "crashes once": "passed", "wrong": "failed",
                  "loses the device": "passed", "after it": "passed", "crashes": "failed", "last": "passed"}
        self.assertEqual(self.states(records, "suite"), {"stand_in: " + name: state for name, state in states.items()})
        self.assertIn("test.cpp:7: a == b (1 == 2)", page)
        self.assertNotIn("/machine/folder", page)

    def test_results_of_another_commit_pack_or_gpu_do_not_count(self):
        build, earlier = self.build(), os.path.join(self.out, "earlier.jsonl")
        self.check("suite", "--build", build)
        for key in (None, "commit", "pack", "gpu"):
            with open(self.jsonl()) as file:
                lines = file.readlines()
            run = json.loads(lines[0])
            if key:
                run["identity"][key] = {"name": "another"}
            with open(earlier, "w") as file:
                file.writelines([json.dumps(run) + "\n", *lines[1:], '{"record": "result", "tier": "su'])
            os.remove(self.jsonl())
            _, records, _, _ = self.check("suite", "--build", build, "--resume", earlier)
            resumed = [r for r in records if r.get("resumed") and r["record"] == "result"]
            self.assertEqual(len(resumed), 0 if key else 9, key)

    def test_times_of_another_card_do_not_count(self):
        build = self.build()
        self.check("bench", "--build", build, "--peers", "")
        with open(self.jsonl()) as file:
            lines = file.readlines()
        for session, again in (("same", False), ("another", True)):
            run = json.loads(lines[0])
            run["session"] = run["session"] if session == "same" else session
            with open(self.jsonl(), "w") as file:  # and a command continues in its output folder
                file.writelines([json.dumps(run) + "\n", *lines[1:]])
            _, records, _, _ = self.check("bench", "--build", build, "--peers", "")
            measured = [r for r in records if r["record"] == "measured"]
            self.assertEqual([bool(r.get("resumed")) for r in measured], [not again] * 4, session)

    def test_a_workload_that_crashes_costs_itself_alone(self):
        status, records, page, _ = self.check("bench", "--build", self.build(), "--peers", "")
        self.assertEqual(status, 1)
        states = self.states(records, "bench")
        for run in ("croton", "croton again"):
            self.assertEqual([states[f"{run} {name}"] for name in ("first", "crashes", "last")],
                             ["passed", "failed", "passed"])
        self.assertIn("SIGSEGV", page)

    def test_a_doctor_that_is_cut_short_has_failed(self):
        _, records, _, said = self.check("smoke", "--build", self.build(), "--silence", "1", STAND_IN_DOCTOR="cut")
        self.assertEqual(self.states(records, "smoke")["doctor"], "failed")
        self.assertIn("NO-GO: doctor: CUDA driver", said)

    def test_a_process_that_crashes_at_its_end_is_noticed(self):
        build = self.build()
        for name, tier in (("croton_gpu_smoke", "smoke"), ("croton_op_tests", "suite")):
            program = os.path.join(build, "bin", name)
            with open(program) as file:
                text = file.read()
            with open(program, "w") as file:
                file.write(text.replace('"hangs", ', "").replace('"crashes", ', "").replace('"wrong", ', "")
                           .replace('"loses the device", ', "").replace('"crashes once", ', "") +
                           "\nos.kill(os.getpid(), signal.SIGSEGV)\n")
            _, records, _, _ = self.check(tier, "--build", build, "--tests", "stand_in")
            states = self.states(records, tier)
            ends = [state for name, state in states.items() if name.endswith("end of the process")]
            self.assertEqual(ends, ["failed"], states)

    def test_nothing_runs_on_after_a_kill(self):
        build = self.build()
        with open(os.path.join(build, "bin", "croton_gpu_smoke"), "w") as file:
            file.write('#!/bin/sh\n[ "$4" = --list ] || [ "$6" = --list ] && echo one\necho \'{"begin": "one"}\'\n'
                       f"sleep 7{os.getpid()} &\nwait\n")
        process = self.start("smoke", "--build", build)
        running = lambda: is_running(f"sleep\0007{os.getpid()}\0")
        for _ in range(200):
            time.sleep(0.05)
            if running():
                break
        self.assertTrue(running())
        process.kill()
        process.communicate()
        for _ in range(100):
            time.sleep(0.05)
            if not running():
                break
        self.assertFalse(running(), "a child of the program still runs")

    def test_without_time_everything_is_named_as_not_reached(self):
        status, records, _, said = self.check("smoke", "--build", self.build(), "--limit", "0.1")
        self.assertEqual(status, 1)
        self.assertIn("not reached", self.states(records, "smoke").values())
        self.assertIn("NO-GO", said)
        _, records, page, _ = self.check("suite", "--build", self.build(), "--tests", "stand_in", "--limit", "0.01")
        self.assertEqual(set(self.states(records, "suite").values()), {"not reached"}, page)

    def test_a_page_is_there_when_it_is_told_to_stop(self):
        process = self.start("smoke", "--build", self.build())
        for _ in range(600):
            time.sleep(0.05)
            if os.path.exists(self.jsonl()) and any(
                    r.get("name") == "crashes" and r["status"] == "failed" for r in records_in(self.jsonl())):
                break
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate()
        self.assertIn("stopped by SIGTERM; ", said)
        records, page = self.written()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("stopped by SIGTERM", page)
        self.assertIn("| smoke | stopped |", page)
        self.assertEqual(self.states(records, "smoke")["good"], "passed")
        # And from the lines alone.
        said = subprocess.run([SCRIPT, "page", "--resume", self.jsonl()], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.strip(), page.strip())

    def test_a_pack_is_unpacked_and_looked_at(self):
        build, pack = self.build(), os.path.join(self.out, "pack")
        os.mkdir(pack)
        archive = os.path.join(pack, "programs.tar.xz")
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(build, ".")
        with open(archive, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        for sha, expected in ((digest, 1), ("0" * 64, 2)):
            with open(os.path.join(pack, "pack.json"), "w") as file:
                json.dump({"digest": "of older sources", "commit": "abc1234", "sha256": sha}, file)
            process = self.start("suite", "--pack", pack)
            said, _ = process.communicate()
            self.assertEqual(process.returncode, expected, said)
            self.assertIn("older than the tree" if expected == 1 else "the pack is damaged", said)
        records, page = self.written()
        self.assertIn("commit abc1234, pack " + digest[:12], page)
        said = self.start("smoke", "--pack", self.out).communicate()[0]
        self.assertIn("scripts/pack_gpu_check.sh makes it", said)


if __name__ == "__main__":
    if sys.argv[1:]:
        unittest.main()
    # Tests with stand-ins mostly wait: they run at the same time as the others.
    beside = subprocess.Popen([sys.executable, __file__, BUILD, "Faults", "Hangs", "Refusals", "Resumed"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    good = unittest.main(argv=[sys.argv[0], "Tiers"], exit=False).result.wasSuccessful()
    print(beside.communicate()[0], flush=True)
    sys.exit(0 if good and beside.returncode == 0 else 1)
