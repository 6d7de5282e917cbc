"""Runs scripts/gpu_check.sh without a GPU, and looks at its reports: stand-ins for nvidia-smi and compute-sanitizer,
the fake driver for the ceilings, the CPU for the workloads.

    python3 tests/gpu_check/check.py BUILD_FOLDER
"""
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPT = os.path.join(ROOT, "scripts", "gpu_check.sh")
BUILD = os.path.abspath(sys.argv.pop(1))
QUICK = ["--bench-scale", "4096", "--bench-budget", "0.02", "--peers", "", "--workloads", "axpy_chain_1e6,reduce_sum_1"]


class Check(unittest.TestCase):
    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="croton-gpu-check-test-")
        self.addCleanup(shutil.rmtree, self.out)

    def start(self, *arguments, sanitizer="clean", stand_ins=True, **more):
        env = dict(os.environ, OUT=self.out, STAND_IN_SANITIZER=sanitizer, **more)
        if stand_ins:
            env["PATH"] = os.path.join(HERE, "stand_ins") + os.pathsep + env["PATH"]
        return subprocess.Popen([SCRIPT, "--build", BUILD, "--tests", "base,doctor", *QUICK, *arguments], env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check(self, *arguments, **more):
        """(exit status, JSON, Markdown)"""
        process = self.start(*arguments, **more)
        text, _ = process.communicate()
        self.assertNotIn("Traceback", text)
        return process.returncode, *self.reports()

    def reports(self):
        with open(os.path.join(self.out, "gpu_check.json")) as file:
            data = json.load(file)
        with open(os.path.join(self.out, "gpu_check.md")) as file:
            return data, file.read()

    def test_everything_passes(self):
        status, data, page = self.check("--device", "cpu")
        self.assertEqual({name: part["status"] for name, part in data["parts"].items()},
                         dict.fromkeys(["machine", "programs", "tests", "benchmark", "sanitizers"], "passed"), page)
        self.assertEqual(status, 0)
        self.assertEqual(data["status"], "passed")
        self.assertEqual(data["parts"]["tests"]["counts"], {"passed": 2, "failed": 0, "skipped": 0, "not run": 0})
        self.assertEqual(data["parts"]["machine"]["gpus"][0]["name"], "Stand-in GPU")
        timed = [r["workload"] for r in data["parts"]["benchmark"]["found"] if "median_s" in r]
        self.assertEqual(timed, ["axpy_chain_1e6", "reduce_sum_1"] * 2)
        for words in ("Stand-in GPU", "| memcheck | passed |", "RACECHECK SUMMARY: 0 hazards", "| axpy_chain_1e6 |"):
            self.assertIn(words, page)
        self.assertLessEqual(len(os.listdir(self.out)), 4)
        with lzma.open(os.path.join(self.out, "gpu_check.log.xz"), "rt") as log:
            self.assertIn("All tests passed", log.read())

    def test_what_fails_is_recorded_and_the_rest_runs(self):
        fake = os.path.join(BUILD, "fake_cuda")
        status, data, page = self.check(
            "--device", "cuda7", "--flags", f"cuda_driver={fake}/libcroton_fake_cuda.so,cuda_root={fake}",
            "--limit", "sanitizers=4", sanitizer="broken")
        self.assertEqual((status, data["status"]), (1, "failed"))
        tools = {r["tool"]: r for r in data["parts"]["sanitizers"]["results"]}
        self.assertEqual([tools[t]["status"] for t in ("memcheck", "racecheck", "initcheck", "synccheck")],
                         ["failed"] * 4)
        self.assertEqual((tools["memcheck"]["found"], tools["memcheck"]["exit_status"]), (2, 99))
        self.assertIn("Invalid __global__ write", tools["memcheck"]["first"])
        self.assertEqual(tools["racecheck"]["found"], 1)
        self.assertEqual(tools["initcheck"]["why"], "the program used no GPU")
        self.assertEqual(tools["synccheck"]["why"], "ran past its limit")
        self.assertEqual(data["parts"]["tests"]["status"], "passed")
        self.assertEqual(data["parts"]["benchmark"]["status"], "failed")  # there are two fake devices, not eight
        self.assertIn("cuda7", data["parts"]["benchmark"]["faults"][0])
        for words in ("| sanitizers | failed", "Address 0x7f0000000400 is out of bounds", "fault: croton"):
            self.assertIn(words, page)

    def test_ceilings_of_the_driver(self):
        fake = os.path.join(BUILD, "fake_cuda")
        _, data, page = self.check(
            "--device", "cuda0", "--flags", f"cuda_driver={fake}/libcroton_fake_cuda.so,cuda_root={fake}",
            *(f"--limit={part}=0" for part in ("tests", "sanitizers")))
        found = [r for r in data["parts"]["benchmark"]["found"] if "ceiling" in r]
        self.assertEqual([r["ceiling"] for r in found], ["copy", "product_float32", "product_tf32"])
        self.assertTrue(all(r["median"] > 0 for r in found), found)
        self.assertIn("ceiling, copy (croton)", page)
        self.assertEqual(list(data["parts"]), ["machine", "programs", "benchmark"])

    def test_failed_tests_are_named(self):
        _, data, page = self.check("--device", "cuda9", "--flags", "cuda_root=none", "--tests", "every_kernel",
                                   "--limit=benchmark=0", "--limit=sanitizers=0")
        result, = data["parts"]["tests"]["results"]
        self.assertEqual((result["status"], result["failures"][0]["case"]), ("failed", "pointwise kernels"))
        self.assertIn("cuda9", result["failures"][0]["first"])
        self.assertIn("| every_kernel | failed", page)

    def test_without_tools_and_time(self):
        status, data, page = self.check("--device", "cpu", "--total", "0.5")
        self.assertEqual(status, 1)
        self.assertEqual({part["status"] for part in data["parts"].values()}, {"not run"})
        self.assertIn("no time was left", page)

    def test_a_report_is_there_when_it_is_stopped(self):
        process = self.start("--device", "cpu", "--limit=tests=0", "--limit=benchmark=0", sanitizer="broken")
        for _ in range(1200):
            time.sleep(0.05)
            if os.path.exists(os.path.join(self.out, "gpu_check.json")) and \
                    self.reports()[0]["parts"].get("sanitizers", {}).get("status") == "running":
                break
        process.send_signal(signal.SIGTERM)
        process.communicate()
        data, page = self.reports()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(data["status"], "stopped by SIGTERM")
        self.assertEqual(data["parts"]["machine"]["status"], "passed")
        self.assertIn("| sanitizers | running |", page)


if __name__ == "__main__":
    unittest.main()
