"""Shared code of the tests of scripts/gpu_check.sh: it runs the script on a build folder, or with stand-ins for
Croton's programs, and reads the output."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPT = os.path.join(ROOT, "scripts", "gpu_check.sh")
BUILD = os.path.abspath(sys.argv.pop(1))
STAND_INS = os.path.join(HERE, "stand_ins")


def records_in(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


class Check(unittest.TestCase):
    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="croton-gpu-check-test-")
        self.addCleanup(shutil.rmtree, self.out)

    def clear(self):
        """The output of a command is continued by the next command with the same folder."""
        for name in os.listdir(self.out):
            os.remove(os.path.join(self.out, name))

    def start(self, *arguments, stand_ins=False, **more):
        env = os.environ | {"OUT": self.out, "STAND_IN_SANITIZER": "clean"} | more
        if stand_ins:
            env["PATH"] = STAND_INS + os.pathsep + env["PATH"]
        return subprocess.Popen([SCRIPT, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)

    def check(self, *arguments, **more):
        """(exit status, records, messages, page)"""
        process = self.start(*arguments, **more)
        text, _ = process.communicate()
        self.assertNotIn("Traceback", text)
        return process.returncode, *self.written(), text

    def written(self):
        self.assertLessEqual(len(os.listdir(self.out)), 6)
        with open(os.path.join(self.out, "gpu_check.md")) as file:
            return records_in(self.jsonl()), file.read()

    def jsonl(self):
        return os.path.join(self.out, "gpu_check.jsonl")

    def states(self, records, tier):
        found = {r["name"]: r["status"] for r in records if r["record"] == "result" and r["tier"] == tier}
        return {name: status for name, status in found.items() if status != "replaced"}

    def not_passed(self, records, tier):
        return {name: status for name, status in self.states(records, tier).items() if status != "passed"}

    def log(self):
        with open(os.path.join(self.out, "gpu_check.log")) as file:
            return file.read()

    def build(self):
        """A build folder of stand-ins for Croton's programs."""
        folder = tempfile.mkdtemp(prefix="croton-gpu-check-build-")
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(os.path.join(STAND_INS, "programs"), os.path.join(folder, "bin"))
        test = {"name": "stand_in", "command": ["@BUILD@/bin/croton_op_tests", "-#", "[#test_stand_in]"],
                "properties": [{"name": "LABELS", "value": ["full", "gpu"]}]}
        with open(os.path.join(folder, "tests.json"), "w") as file:
            json.dump({"tests": [test]}, file)
        return folder

    def change(self, build, program, *pairs):
        """Replaces words in one of these programs."""
        path = os.path.join(build, "bin", program)
        with open(path) as file:
            text = file.read()
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with open(path, "w") as file:
            file.write(text)
