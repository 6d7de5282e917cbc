"""The programs to check with: from the pack, built here, or of a build folder that is there already."""
import json
import os
import shutil
import subprocess
import tarfile
import time

import digest
from commands import run
from parts import Failed

BUILD, SOURCE = "@BUILD@", "@SOURCE@"  # stand for the two folders in the pack's list of tests


class Programs:
    def __init__(self, root, folder, how):
        self.root, self.folder, self.how = root, folder, how
        self.env = dict(os.environ, CROTON_TEST_SOURCE_FOLDER=root,
                        CROTON_TEST_FAKE_CUDA_FOLDER=os.path.join(folder, "fake_cuda"))

    def path(self, name):
        return os.path.join(self.folder, "bin", name)

    def starts(self):
        """Whether programs of this folder run here."""
        return run([self.path("croton"), "--version"], 20, self.env)

    def tests(self):
        """ctest's list of tests, with the folders of this machine."""
        kept = os.path.join(self.folder, "tests.json")
        if os.path.exists(kept):
            with open(kept) as file:
                text = file.read().replace(BUILD, self.folder).replace(SOURCE, self.root)
        else:
            text = subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], check=True, timeout=60,
                                  capture_output=True, text=True).stdout
        return json.loads(text)["tests"]


def unpack(archive, folder):
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def from_pack(root, pack, work):
    """The pack's programs and what is wrong with them, or (None, why) where they do not run here."""
    archive = os.path.join(pack, "programs.tar.xz")
    if not os.path.exists(archive):
        return None, f"there is no {os.path.relpath(archive, root)}: scripts/pack_gpu_check.sh makes it"
    unpack(archive, os.path.join(work, "programs"))
    programs = Programs(root, os.path.join(work, "programs"), "unpacked")
    done = programs.starts()
    if not done.good:  # an older libstdc++ than the one they were built with: take that along
        before = programs.env.get("LD_LIBRARY_PATH")
        own = os.path.join(programs.folder, "lib/gcc")
        programs.env["LD_LIBRARY_PATH"] = own + os.pathsep + before if before else own
        programs.how += ", with the pack's libstdc++"
        done = programs.starts()
    if not done.good:
        return None, "the pack's programs do not start: " + done.tail(3)
    with open(os.path.join(pack, "pack.json")) as file:
        fresh = json.load(file)["digest"] == digest.of(root)
    return programs, None if fresh else "the pack is older than the tree: run scripts/pack_gpu_check.sh again"


def build(root, pack, work, limit):
    """Builds without LLVM: work on the CPU is then done by the slow reference evaluator, and nothing is simulated."""
    folder, prefix = os.path.join(work, "build"), os.path.join(work, "dependencies")
    archive = os.path.join(pack, "dependencies.tar.xz")
    if os.path.exists(archive):
        unpack(archive, prefix)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = ["cmake", "-S", root, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DCROTON_WITH_LLVM=OFF",
                 "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_CXX_FLAGS=-isystem " + os.path.join(prefix, "include")]
    log, end = "", time.monotonic() + limit
    for command in (configure, ["cmake", "--build", folder, "-j", str(len(os.sched_getaffinity(0)))]):
        done = run(command, end - time.monotonic())
        log += done.output
        if not done.good:
            raise Failed(f"{command[0]} {command[1]} {done.why()}", tail=done.tail(), log=log)
    return Programs(root, folder, "built here without LLVM"), log


def obtain(root, pack, work, given, limit):
    """(programs, what is to be said of them): of the folder `given`, else of the pack, else built here."""
    if given:
        programs, why = Programs(root, os.path.abspath(given), "given"), None
        if not programs.starts().good:
            raise Failed(f"{programs.path('croton')} does not run", tail=programs.starts().tail())
        return programs, {"how": programs.how}
    programs, why = from_pack(root, pack, work)
    facts = {"note": why} if why else {}
    if not programs:
        programs, facts["log"] = build(root, pack, work, limit)
    return programs, facts | {"how": programs.how}
